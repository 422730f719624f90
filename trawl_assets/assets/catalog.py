"""Group catalog: the DuckDB file with a view over every table."""

import dagster as dg

from trawl_assets.assets.changes import crawl_report
from trawl_assets.assets.search import faiss_index
from trawl_assets.assets.specs import OWNERS, settled
from trawl_assets.resources import Trawl
from trawl_core.lake.catalog import build_catalog

# The last of each night's branches: what is behind them has been built when they have.
_LAST = [crawl_report, faiss_index]


@dg.asset(
    description="trawl.duckdb: a documented view over every table of the lake, for DuckDB and everything that speaks it",
    group_name="catalog",
    kinds={"duckdb"},
    owners=OWNERS,
    deps=_LAST,
    automation_condition=settled,
)
def catalog(context: dg.AssetExecutionContext, trawl: Trawl) -> dg.MaterializeResult:
    result = build_catalog(trawl.lake, trawl.home.catalog_file)
    return dg.MaterializeResult(metadata={**result.facts, "path": dg.MetadataValue.path(str(trawl.home.catalog_file))})
