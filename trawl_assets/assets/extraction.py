"""Group extraction: text, metadata and structured data of the night's pages."""

import dagster as dg

from trawl_assets.assets.crawl import warc_snapshot
from trawl_assets.assets.specs import domain_asset
from trawl_assets.batches import per_partition
from trawl_assets.checks import GATE_AGREES, PAGES_LEAD_TO_RECORDS, SCHEMAS_MATCH, matches_schema
from trawl_assets.resources import Trawl
from trawl_core.extract.page import EXTRACTOR_VERSION
from trawl_core.extract.stage import ExtractorPool, extract_pages
from trawl_core.extract.structured import STRUCTURED_VERSION
from trawl_core.extract.structured_stage import extract_structured

PAGE_CHECKS = (PAGES_LEAD_TO_RECORDS, matches_schema("pages"), GATE_AGREES)
DATA_CHECKS = (matches_schema("structured_data"), SCHEMAS_MATCH)


@domain_asset(
    "pages",
    group="extraction",
    kinds={"python", "parquet"},
    deps=[warc_snapshot],
    version=EXTRACTOR_VERSION,
    checks=PAGE_CHECKS,
)
def pages(context: dg.AssetExecutionContext, trawl: Trawl) -> dg.MaterializeResult:
    with ExtractorPool() as pool:
        return per_partition(
            context,
            trawl,
            lambda partition: extract_pages(trawl.lake, partition, trawl.site(partition.domain), pool=pool),
            PAGE_CHECKS,
        )


@domain_asset(
    "structured_data",
    group="extraction",
    kinds={"python", "parquet"},
    deps=[warc_snapshot, pages],
    version=STRUCTURED_VERSION,
    checks=DATA_CHECKS,
)
def structured_data(context: dg.AssetExecutionContext, trawl: Trawl) -> dg.MaterializeResult:
    return per_partition(
        context, trawl, lambda partition: extract_structured(trawl.lake, partition, trawl.site(partition.domain)), DATA_CHECKS
    )
