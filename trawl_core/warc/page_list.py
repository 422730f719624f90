"""The pages of an archive as players list them: where a reader may begin, with titles and text for a search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from trawl_core.lake import Lake, Partition, tables

_CAPTURE = ["capture_id", "url", "fetch_time", "fetch_status", "warc_type", "kind", "depth", "is_seed", "content_mime_detected"]
_DOCUMENTS = ("text/html", "application/xhtml+xml", "application/pdf", "text/plain")


def least_depth(lake: Lake, partitions: Sequence[Partition]) -> int | None:
    """The smallest link depth of any page, 0 where a seed was fetched; None without a page."""
    return min((page["depth"] or 0 for partition in partitions for page in _captured(lake, partition).values()), default=None)


def list_pages(lake: Lake, partitions: Sequence[Partition], with_text: bool) -> Iterator[dict[str, Any]]:
    """Each page with an archived body or a revisit of one: id, url, ts, depth, and title, text, seed where there is one.

    `ts` is cut to seconds, as indexes are. Without a `pages` table there are neither titles nor text.
    """
    for partition in partitions:
        captured = _captured(lake, partition)
        columns = ["capture_id", "title", "mime_detected", *(["text"] if with_text else [])]
        for piece in tables.stream(lake, "pages", partition, columns):
            for row in piece.to_pylist():
                page = captured.pop(row["capture_id"], None)
                if page is not None and _is_document(page, row["mime_detected"]):
                    yield _page(page, row)
        for page in captured.values():
            if _is_document(page):
                yield _page(page, {})


def _captured(lake: Lake, partition: Partition) -> dict[str, dict[str, Any]]:
    """Good answers of one partition by capture_id, in the table's order."""
    rows = pl.from_arrow(tables.read(lake, "captures", partition, _CAPTURE))
    good = rows.filter((pl.col("kind") == "page") & pl.col("warc_type").is_not_null() & pl.col("fetch_status").is_in([200, 304]))
    return {row["capture_id"]: row for row in good.iter_rows(named=True)}


def _is_document(capture: dict[str, Any], extracted: str | None = None) -> bool:
    """What a 304 confirms is taken for a document as long as nobody looked into it."""
    mime = extracted or capture["content_mime_detected"]
    return mime in _DOCUMENTS or (mime is None and capture["fetch_status"] == 304)


def _page(capture: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    page = {
        "id": capture["capture_id"],
        "url": capture["url"],
        "ts": capture["fetch_time"].strftime("%Y-%m-%dT%H:%M:%SZ"),
        "depth": capture["depth"] or 0,  # nobody tells how an imported page was found
        "title": row.get("title"),
        "text": row.get("text"),
        "seed": capture["is_seed"] or None,
    }
    return {name: value for name, value in page.items() if value is not None}
