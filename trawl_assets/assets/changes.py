"""Group changes: what changed since each URL's previous good capture, what is known of each URL, the night's report."""

import dagster as dg

from trawl_assets.alerts import ERROR_RATE, OLDEST_PAGE, PAGE_COUNT
from trawl_assets.assets.crawl import warc_snapshot
from trawl_assets.assets.duplicates import fingerprints
from trawl_assets.assets.extraction import pages, structured_data
from trawl_assets.assets.specs import date_asset, domain_asset
from trawl_assets.batches import per_date, per_partition
from trawl_assets.checks import matches_schema
from trawl_assets.resources import Trawl
from trawl_core.changes.stage import detect_changes
from trawl_core.lake.schemas import TABLES
from trawl_core.recrawl.health import report_night
from trawl_core.recrawl.stage import update_url_history

CHANGE_CHECKS = (matches_schema("changes"),)
HISTORY_CHECKS = (matches_schema("url_history"), PAGE_COUNT)
REPORT_CHECKS = (matches_schema("crawl_report"), ERROR_RATE, OLDEST_PAGE)


@domain_asset(
    "changes",
    group="changes",
    kinds={"python", "parquet"},
    deps=[warc_snapshot, pages, structured_data, fingerprints],
    checks=CHANGE_CHECKS,
)
def changes(context: dg.AssetExecutionContext, trawl: Trawl) -> dg.MaterializeResult:
    return per_partition(context, trawl, lambda partition: detect_changes(trawl.lake, partition), CHANGE_CHECKS)


@domain_asset("url_history", group="changes", kinds={"polars", "parquet"}, deps=[warc_snapshot, changes], checks=HISTORY_CHECKS)
def url_history(context: dg.AssetExecutionContext, trawl: Trawl) -> dg.MaterializeResult:
    return per_partition(
        context, trawl, lambda partition: update_url_history(trawl.lake, partition, trawl.site(partition.domain)), HISTORY_CHECKS
    )


@date_asset(
    "crawl_report",
    table="crawl_report",
    description=TABLES["crawl_report"].doc,
    group="changes",
    kinds={"polars", "parquet"},
    per_domain=[warc_snapshot, pages, changes, url_history],
    checks=REPORT_CHECKS,
)
def crawl_report(context: dg.AssetExecutionContext, trawl: Trawl) -> dg.MaterializeResult:
    return per_date(
        context, trawl, lambda crawl_date: report_night(trawl.lake, crawl_date, trawl.config, work=trawl.home.work), REPORT_CHECKS
    )
