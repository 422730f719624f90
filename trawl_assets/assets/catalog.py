"""Group catalog: the DuckDB file with a view over every table."""

import dagster as dg

from trawl_assets.assets.changes import changes, crawl_report, url_history
from trawl_assets.assets.crawl import crawl_plan, warc_snapshot
from trawl_assets.assets.duplicates import duplicates, fingerprints
from trawl_assets.assets.extraction import pages, structured_data
from trawl_assets.assets.search import chunks, faiss_index
from trawl_assets.assets.specs import OWNERS, settled
from trawl_assets.resources import Trawl
from trawl_core.lake.catalog import build_catalog

_UPSTREAM = [
    crawl_plan, warc_snapshot, pages, structured_data, fingerprints, duplicates, changes, url_history, chunks, faiss_index, crawl_report,
]  # fmt: skip


@dg.asset(
    description="trawl.duckdb: a documented view over every table of the lake, for DuckDB and everything that speaks it",
    group_name="catalog",
    kinds={"duckdb"},
    owners=OWNERS,
    deps=_UPSTREAM,
    automation_condition=settled,
)
def catalog(context: dg.AssetExecutionContext, trawl: Trawl) -> dg.MaterializeResult:
    result = build_catalog(trawl.lake, trawl.home.catalog_file)
    return dg.MaterializeResult(metadata={**result.facts, "path": dg.MetadataValue.path(str(trawl.home.catalog_file))})
