"""Jobs: `nightly` crawls and derives, `reprocess` derives again, `daily` builds what spans all domains, `refresh_catalog`."""

from __future__ import annotations

import dagster as dg

REPROCESS = ("pages", "structured_data", "fingerprints", "changes", "url_history", "chunks")
NIGHTLY = ("crawl_plan", "warc_snapshot", *REPROCESS)
DAILY = ("duplicates", "faiss_index", "crawl_report")

nightly = dg.define_asset_job(
    "nightly",
    selection=list(NIGHTLY),
    description="Tonight's crawl of one domain or a range of domains: plan, fetch, archive, extract, compare, embed.",
)
reprocess = dg.define_asset_job(
    "reprocess",
    selection=list(REPROCESS),
    description="Everything from `pages` on, from the archive alone: for backfills after an extractor or a setting changed.",
)
daily = dg.define_asset_job(
    "daily",
    selection=list(DAILY),
    description="What spans all domains of a date: duplicate clusters, the search index, the report.",
)
refresh_catalog = dg.define_asset_job("refresh_catalog", selection=["catalog"], description="Rebuild trawl.duckdb.")
