"""What a night's archived sitemaps say of their pages' last change."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, time, timedelta
from typing import Any

import polars as pl

from trawl_core.errors import WarcError
from trawl_core.extract.sitemaps import parse_sitemap
from trawl_core.lake import Lake, Partition, tables
from trawl_core.recrawl.history import TIME
from trawl_core.warc.payload import decode_content
from trawl_core.warc.reader import payload_of_capture

_COLUMNS = [
    "capture_id",
    "url",
    "kind",
    "fetch_time",
    "fetch_status",
    "content_encoding",
    "warc_type",
    "warc_filename",
    "warc_record_offset",
    "warc_record_length",
    "refers_to_warc_filename",
    "refers_to_warc_offset",
    "refers_to_warc_length",
]


def sitemap_hints(lake: Lake, partition: Partition, max_decoded_bytes: int) -> tuple[pl.DataFrame, list[str]]:
    """The latest `hint_at` of each `url` in the night's sitemaps, and what is wrong with each sitemap whose record can't be read.

    A revisit repeats what an earlier night's history took in already. Dates after the fetch of the sitemap are ignored.
    """
    captures = pl.from_arrow(tables.read(lake, "captures", partition, _COLUMNS))
    sitemaps = captures.filter((pl.col("kind") == "sitemap") & (pl.col("warc_type") == "response") & (pl.col("fetch_status") == 200))
    latest: dict[str, datetime] = {}
    unread = []
    for row in sitemaps.iter_rows(named=True):
        try:
            payload = payload_of_capture(lake, row).payload
        except WarcError as error:
            unread.append(str(error))
            continue
        for url, moment in _hints_of(payload, row, max_decoded_bytes):
            if url not in latest or moment > latest[url]:
                latest[url] = moment
    return pl.DataFrame({"url": list(latest), "hint_at": list(latest.values())}, schema={"url": pl.String, "hint_at": TIME}), unread


def _hints_of(payload: bytes, row: Mapping[str, Any], max_decoded_bytes: int) -> list[tuple[str, datetime]]:
    document, _ = decode_content(payload, row["content_encoding"], max_decoded_bytes)
    read_at = row["fetch_time"]
    return [
        (entry.url, min(_end_of(entry.last_modified), read_at))
        for entry in parse_sitemap(document, row["url"], max_decoded_bytes)
        if not entry.is_sitemap and entry.last_modified is not None and entry.last_modified <= read_at
    ]


def _end_of(moment: datetime) -> datetime:
    """A date without a time may mean any moment of its day: the last one, so that a change after the night's fetch is not missed."""
    return moment + timedelta(days=1) if moment.time() == time() else moment


def apply_hints(history: pl.DataFrame, hints: pl.DataFrame) -> pl.DataFrame:
    """`history` with the later of its own `hint_at` and that of `hints`.

    Only for URLs that had a good fetch, which alone can be out of date: whether another is in the history yet depends on
    the tables that were built before.
    """
    joined = history.join(hints, on="url", how="left", suffix="_new", maintain_order="left")
    told = pl.when(pl.col("last_ok_at").is_not_null()).then("hint_at_new")
    return joined.with_columns(hint_at=pl.max_horizontal("hint_at", told)).drop("hint_at_new")
