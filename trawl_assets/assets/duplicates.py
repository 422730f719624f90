"""Group duplicates: fingerprints of the night's pages, clusters over the corpus as of the date."""

import dagster as dg

from trawl_assets.alerts import CLUSTER_SHARE
from trawl_assets.assets.extraction import pages
from trawl_assets.assets.specs import date_asset, domain_asset
from trawl_assets.batches import per_date, per_partition
from trawl_assets.checks import matches_schema
from trawl_assets.resources import Trawl
from trawl_core.dedup.stage import find_duplicates, fingerprint_pages
from trawl_core.lake.schemas import TABLES

PRINT_CHECKS = (matches_schema("fingerprints"),)
CLUSTER_CHECKS = (matches_schema("duplicates"), CLUSTER_SHARE)


@domain_asset("fingerprints", group="duplicates", kinds={"numpy", "parquet"}, deps=[pages], checks=PRINT_CHECKS)
def fingerprints(context: dg.AssetExecutionContext, trawl: Trawl) -> dg.MaterializeResult:
    return per_partition(context, trawl, lambda partition: fingerprint_pages(trawl.lake, partition), PRINT_CHECKS)


@date_asset(
    "duplicates",
    table="duplicates",
    description=TABLES["duplicates"].doc,
    group="duplicates",
    kinds={"polars", "parquet"},
    per_domain=[fingerprints],
    checks=CLUSTER_CHECKS,
)
def duplicates(context: dg.AssetExecutionContext, trawl: Trawl) -> dg.MaterializeResult:
    return per_date(context, trawl, lambda crawl_date: find_duplicates(trawl.lake, crawl_date), CLUSTER_CHECKS)
