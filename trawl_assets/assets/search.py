"""Group search: section chunks with embeddings, and the index over the corpus as of the date."""

import dagster as dg

from trawl_assets.assets.duplicates import duplicates
from trawl_assets.assets.extraction import pages
from trawl_assets.assets.specs import date_asset, domain_asset
from trawl_assets.batches import per_date, per_partition
from trawl_assets.resources import Trawl
from trawl_core.search.index import build_index
from trawl_core.search.stage import embed_chunks


@domain_asset("chunks", group="search", kinds={"onnx", "parquet"}, deps=[pages])
def chunks(context: dg.AssetExecutionContext, trawl: Trawl) -> dg.MaterializeResult:
    return per_partition(context, trawl, lambda partition: embed_chunks(trawl.lake, partition, work=trawl.home.work))


@date_asset(
    "faiss_index",
    description="FAISS shards and keyword index over the chunks of the corpus as of this date, with a manifest",
    group="search",
    kinds={"faiss", "sqlite"},
    per_domain=[chunks],
    same_date=[duplicates],
)
def faiss_index(context: dg.AssetExecutionContext, trawl: Trawl) -> dg.MaterializeResult:
    return per_date(context, trawl, lambda crawl_date: build_index(trawl.lake, crawl_date))
