"""Group search: section chunks with embeddings, and the index over the corpus as of the date."""

import dagster as dg

from trawl_assets.alerts import INDEX_HOLDS_CHUNKS
from trawl_assets.assets.duplicates import duplicates
from trawl_assets.assets.extraction import pages
from trawl_assets.assets.specs import date_asset, domain_asset
from trawl_assets.batches import per_date, per_partition
from trawl_assets.checks import matches_schema
from trawl_assets.resources import Trawl
from trawl_core.search.index import build_index
from trawl_core.search.stage import embed_chunks

CHUNK_CHECKS = (matches_schema("chunks"),)
INDEX_CHECKS = (INDEX_HOLDS_CHUNKS,)


@domain_asset("chunks", group="search", kinds={"onnx", "parquet"}, deps=[pages], checks=CHUNK_CHECKS)
def chunks(context: dg.AssetExecutionContext, trawl: Trawl) -> dg.MaterializeResult:
    return per_partition(context, trawl, lambda partition: embed_chunks(trawl.lake, partition, work=trawl.home.work), CHUNK_CHECKS)


@date_asset(
    "faiss_index",
    description="FAISS shards and keyword index over the chunks of the corpus as of this date, with a manifest",
    group="search",
    kinds={"faiss", "sqlite"},
    per_domain=[chunks],
    same_date=[duplicates],
    checks=INDEX_CHECKS,
)
def faiss_index(context: dg.AssetExecutionContext, trawl: Trawl) -> dg.MaterializeResult:
    return per_date(context, trawl, lambda crawl_date: build_index(trawl.lake, crawl_date), INDEX_CHECKS)
