"""The corpus as of a date: for each URL its newest good page on or before that date, unless the URL is gone.

Good is a page of status 200 or 304. A URL leaves the corpus when its newest answer is 404, 410 or a permanent
redirect (301, 308); an error or a timeout leaves it in. Read from `pages` and `captures` alone, so the answer does
not depend on the order in which other tables were built.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import polars as pl

from trawl_core.lake import tables
from trawl_core.lake.layout import Lake, Partition

LEFT = (301, 308, 404, 410)
_COLUMNS = ("url", "capture_id", "body_capture_id", "fetch_time", "fetch_status")


def corpus_asof(lake: Lake, crawl_date: date, domain: str | None = None, columns: Sequence[str] = ()) -> pl.DataFrame:
    """One row per URL, sorted by domain and URL: crawl_date domain url capture_id body_capture_id fetch_time fetch_status
    first_seen, and further `columns` of pages.

    `crawl_date` is the date of the row's own partition.
    """
    domains = [domain] if domain else sorted({partition.domain for partition in lake.partitions("pages") if partition.domain})
    parts = [_corpus_of_domain(lake, crawl_date, name, columns) for name in domains]
    parts = [part for part in parts if part.height]
    if not parts:
        wanted = ["crawl_date", "domain", *_COLUMNS, *[column for column in columns if column not in _COLUMNS]]
        return pl.from_arrow(tables.empty("pages").select(wanted)).with_columns(first_seen=pl.lit(None, pl.Datetime("us", "UTC")))
    return pl.concat(parts).sort("domain", "url")


def _corpus_of_domain(lake: Lake, crawl_date: date, domain: str, columns: Sequence[str]) -> pl.DataFrame:
    wanted = ["crawl_date", "domain", *_COLUMNS, *[column for column in columns if column not in _COLUMNS]]
    partitions = [Partition(day, domain) for day in tables.dates_of(lake, "pages", domain, upto=crawl_date)]
    pages = pl.from_arrow(tables.read_many(lake, "pages", partitions, wanted)).filter(pl.col("fetch_status").is_in([200, 304]))
    newest = pages.sort("fetch_time", "capture_id").group_by("url", maintain_order=True).last()
    first = pages.group_by("url").agg(first_seen=pl.col("fetch_time").min())
    gone = _left(lake, crawl_date, domain)
    return newest.join(first, on="url").join(gone, on="url", how="anti").select(*wanted, "first_seen")


def _left(lake: Lake, crawl_date: date, domain: str) -> pl.DataFrame:
    """URLs whose newest decisive answer says that they are no longer there."""
    partitions = [Partition(day, domain) for day in tables.dates_of(lake, "captures", domain, upto=crawl_date)]
    captures = pl.from_arrow(tables.read_many(lake, "captures", partitions, ["url", "fetch_time", "capture_id", "fetch_status", "outcome"]))
    decisive = captures.filter(pl.col("fetch_status").is_in([200, 304, *LEFT]))
    newest = decisive.sort("fetch_time", "capture_id").group_by("url", maintain_order=True).last()
    return newest.filter(pl.col("fetch_status").is_in(LEFT)).select("url")
