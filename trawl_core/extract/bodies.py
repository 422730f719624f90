"""Captures that have a body to extract, and those bodies with their content codings removed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trawl_core.lake import Lake, Partition, tables
from trawl_core.warc.payload import decode_content
from trawl_core.warc.reader import payload_of_capture, read_payload

_COLUMNS = (
    "capture_id",
    "url",
    "fetch_time",
    "fetch_status",
    "kind",
    "warc_type",
    "warc_filename",
    "warc_record_offset",
    "warc_record_length",
    "payload_bytes",
    "payload_sha256",
    "content_encoding",
    "content_mime_type",
    "content_mime_detected",
    "content_charset",
    "content_truncated",
    "refers_to_id",
    "refers_to_url",
    "refers_to_warc_filename",
    "refers_to_warc_offset",
    "refers_to_warc_length",
    "rendered_offset",
    "rendered_length",
)


# Records of imported files that hold a document without an HTTP head.
_NOT_BY_HTTP = ("resource", "conversion")


@dataclass(frozen=True)
class Body:
    """`document` has no content coding any more; `content_type` is the header as sent; `fault` says why it is not whole."""

    document: bytes
    content_type: str | None
    fault: str | None


def captures_with_body(lake: Lake, partition: Partition) -> list[dict[str, Any]]:
    """Captures of pages that carry a body or confirm an earlier one, whatever their status but redirects, by URL and time.

    An imported document that did not come by HTTP has no status; here it counts as a page that was served.
    """
    rows = tables.read(lake, "captures", partition, _COLUMNS).to_pylist()
    kept = [row if row["warc_type"] not in _NOT_BY_HTTP else {**row, "fetch_status": 200} for row in rows if _has_body(row)]
    return sorted(kept, key=lambda row: (row["url"], row["fetch_time"], row["capture_id"]))


def body_capture_id(capture: Mapping[str, Any]) -> str:
    """The capture whose record holds the body: itself, or what a revisit refers to that no browser rendered."""
    if is_rendered(capture) or capture["warc_type"] != "revisit":
        return capture["capture_id"]
    return capture["refers_to_id"] or capture["capture_id"]


def is_rendered(capture: Mapping[str, Any]) -> bool:
    """True when the document to be extracted is the DOM that a browser made of this answer."""
    return capture.get("rendered_offset") is not None


def body_place(capture: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of `pages` that lead to the record with the body."""
    if is_rendered(capture):
        names = "warc_filename", "rendered_offset", "rendered_length"
        return dict(zip(("warc_filename", "warc_record_offset", "warc_record_length"), (capture[name] for name in names), strict=True))
    prefix = "refers_to_warc" if capture["warc_type"] == "revisit" else "warc_record"
    return {
        "warc_filename": capture["refers_to_warc_filename" if prefix == "refers_to_warc" else "warc_filename"],
        "warc_record_offset": capture[f"{prefix}_offset"],
        "warc_record_length": capture[f"{prefix}_length"],
    }


def read_body(lake: Lake, capture: Mapping[str, Any], max_decoded_bytes: int) -> Body | None:
    """The document that a capture leads to; None when it is empty. Raises WarcError when the archive can't give it."""
    if is_rendered(capture):
        rendered = read_payload(lake, capture["warc_filename"], capture["rendered_offset"], capture["rendered_length"])
        return Body(rendered.block, rendered.field("Content-Type"), None) if rendered.block else None
    record = payload_of_capture(lake, capture)
    if not record.payload:
        return None
    document, fault = decode_content(record.payload, record.header("Content-Encoding"), max_decoded_bytes)
    content_type = record.field("Content-Type") if record.warc_type in _NOT_BY_HTTP else record.header("Content-Type")
    return Body(document, content_type, fault)


def _has_body(row: Mapping[str, Any]) -> bool:
    status = row["fetch_status"]
    if row["kind"] == "page" and row["warc_type"] in _NOT_BY_HTTP:
        return bool(row["payload_bytes"])
    if row["kind"] != "page" or row["warc_type"] is None or status is None:
        return False
    if 300 <= status < 400 and status != 304:
        return False
    if row["warc_type"] == "revisit":
        return row["refers_to_warc_filename"] is not None  # an imported one may refer to what is archived elsewhere
    return status != 304 and bool(row["payload_bytes"])
