"""`trawl show`: from a URL back to its captures and their archived bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

import polars as pl

from trawl_core.errors import UsageError, WarcError
from trawl_core.lake import Lake, Partition, tables
from trawl_core.urls.normalize import normalize_url, split_url
from trawl_core.warc.format import NOT_MODIFIED, unescape_line
from trawl_core.warc.http_message import parse_headers
from trawl_core.warc.imported import is_imported
from trawl_core.warc.payload import CUT, LENGTH, decode_content
from trawl_core.warc.reader import payload_of_capture, read_payload
from trawl_core.warc.record import Record

_COLUMNS = [
    "crawl_date", "domain", "capture_id", "warc_type", "url", "fetch_time", "fetch_status", "fetch_redirect", "outcome",
    "error", "kind", "content_mime_detected", "content_digest", "content_truncated", "payload_bytes", "warc_filename",
    "warc_record_offset", "warc_record_length", "metadata_offset", "metadata_length", "rendered_offset", "rendered_length",
    "revisit_profile", "refers_to_id",
    "refers_to_url", "refers_to_date", "refers_to_warc_filename", "refers_to_warc_offset", "refers_to_warc_length",
]  # fmt: skip
MAX_DECODED_BYTES = 256 * 2**20


def find_captures(lake: Lake, url: str, date: date | None = None) -> list[dict[str, Any]]:
    """Captures of `url` (normalised here) as rows with the columns that the functions below need, newest first.

    `date` is a crawl date, None for all. Looks into the collection of the URL's own host, and into the others only when
    that has nothing. Raises UsageError for what is no http(s) URL.
    """
    wanted = normalize_url(url)
    if wanted is None:
        raise UsageError(f"{url!r} is not an http(s) URL. Write it whole, like https://docs.example.org/page.")
    host = split_url(wanted).url_host_name.strip("[]")
    partitions = [partition for partition in lake.partitions("captures") if date is None or partition.crawl_date == date]
    own = [partition for partition in partitions if partition.domain == host]
    others = [partition for partition in partitions if partition.domain != host]
    rows = _captures_in(lake, own, wanted) or _captures_in(lake, others, wanted)
    return sorted(rows, key=lambda row: (row["fetch_time"], row["capture_id"]), reverse=True)


def _captures_in(lake: Lake, partitions: Iterable[Partition], url: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for partition in partitions:
        urls = pl.from_arrow(tables.read(lake, "captures", partition, ["url"]))
        if (urls["url"] == url).any():
            rows += pl.from_arrow(tables.read(lake, "captures", partition, _COLUMNS)).filter(pl.col("url") == url).to_dicts()
    return rows


def show_headers(lake: Lake, row: Mapping[str, Any]) -> str:
    """The HTTP head that this capture received, as sent; that of a 304 lies in its metadata record.

    Raises WarcError when nothing was archived, or a record that has no such head.
    """
    if row["warc_type"] is None:
        raise WarcError(f"showing the head of the capture {row['capture_id']}: nothing was archived ({row['outcome']}: {row['error']}).")
    if row["revisit_profile"] != NOT_MODIFIED or is_imported(row["warc_filename"]):  # others keep a 304's head in its record, or nowhere
        record = read_payload(lake, row["warc_filename"], row["warc_record_offset"], row["warc_record_length"])
        if not record.head:
            raise WarcError(f"showing the head of the capture {row['capture_id']}: its {record.warc_type} record came without one.")
        return record.head.decode("latin-1")
    metadata = read_payload(lake, row["warc_filename"], row["metadata_offset"], row["metadata_length"])
    head = dict(parse_headers(b"\n" + metadata.block)).get("not-modified-head", "")
    return unescape_line(head).decode("latin-1")


def show_body(lake: Lake, row: Mapping[str, Any], *, raw: bool = False, max_decoded_bytes: int = MAX_DECODED_BYTES) -> bytes:
    """The body of this capture, that of a revisit from the record it refers to; with `raw` its content coding is kept.

    A body whose coding is damaged is given as far as it goes (`decoded_body` says so). Raises WarcError when nothing was archived.
    """
    record = payload_of_capture(lake, row)
    return record.payload if raw else decoded_body(record, max_decoded_bytes)[0]


def decoded_body(record: Record, max_decoded_bytes: int = MAX_DECODED_BYTES) -> tuple[bytes, str | None]:
    """The body that a record holds, content coding removed, and None or a sentence that says why it is not whole or not decoded."""
    coding = record.content_coding
    document, reason = decode_content(record.payload, coding, max_decoded_bytes)
    if reason is None:
        return document, None
    if reason == LENGTH:
        return document, f"The body decodes to more than {max_decoded_bytes} bytes: these are the first."
    if reason == CUT:
        return document, f"The {coding} coding of the body is cut off or damaged: these are the bytes before that."
    return document, f"Content-Encoding says {coding} ({reason}): these are the bytes of the body as they came."


def show_rendered(lake: Lake, row: Mapping[str, Any]) -> bytes | None:
    """The DOM (HTML in UTF-8) that a browser made of this capture; None when none did. Raises WarcError."""
    if row["rendered_offset"] is None:
        return None
    return read_payload(lake, row["warc_filename"], row["rendered_offset"], row["rendered_length"]).block


def show_text(lake: Lake, row: Mapping[str, Any]) -> str | None:
    """The main text that was extracted from this capture; None when `pages` has no row or no text for it."""
    partition = Partition(row["crawl_date"], row["domain"])
    pages = pl.from_arrow(tables.read(lake, "pages", partition, ["capture_id", "text"]))
    found = pages.filter(pl.col("capture_id") == row["capture_id"])["text"].to_list()
    return found[0] if found else None
