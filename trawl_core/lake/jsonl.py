"""Pages as JSON Lines: what a page says and where its record lies, one object a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from typing import Any

from trawl_core.lake import tables
from trawl_core.lake.layout import Lake, Partition

# The order in a line: what names the page, what was answered, what it is about, where it lies, what it says.
FIELDS = (
    "url",
    "fetch_time",
    "crawl_date",
    "domain",
    "final_url",
    "canonical_url",
    "fetch_status",
    "mime_detected",
    "charset",
    "language",
    "title",
    "description",
    "author",
    "site_name",
    "date_published",
    "date_modified",
    "page_type",
    "capture_id",
    "warc_filename",
    "warc_record_offset",
    "warc_record_length",
    "text_sha256",
    "text_words",
    "text_chars",
    "extract_status",
    "text",
)


def page_lines(lake: Lake, partitions: Iterable[Partition], *, without_text: bool = False) -> Iterator[str]:
    """A line for each row of `pages` that has text, in the partitions' order; with `without_text` for every row.

    Fields are the table's columns FIELDS, null ones left out; times are ISO 8601 in UTC. Each line ends in its break.
    """
    for partition in partitions:
        for piece in tables.stream(lake, "pages", partition, FIELDS):
            for row in piece.to_pylist():
                if row["text"] or without_text:
                    yield json.dumps({name: _plain(row[name]) for name in FIELDS if row[name] is not None}, ensure_ascii=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return value.isoformat() if isinstance(value, date) else value
