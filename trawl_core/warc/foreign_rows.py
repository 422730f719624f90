"""A record that others wrote as a row of `captures`: what it says, what its bytes give, and NULL for the rest."""

from __future__ import annotations

import base64
import hashlib
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from trawl_core.urls.normalize import normalize_url, split_url
from trawl_core.urls.surt import url_key
from trawl_core.warc import format as warc
from trawl_core.warc.captures import redirect_target_of
from trawl_core.warc.http_message import parse_headers
from trawl_core.warc.loose import digest_holds, loose_date
from trawl_core.warc.payload import decode_content
from trawl_core.warc.record import Record
from trawl_core.warc.sniff import declared_mime, sniff_mime

ROWS = ("response", "revisit", "resource", "conversion")
BESIDE = ("request", "metadata")
_SNIFF_BYTES = 64 * 1024
# The first web page; what claims to be older has a wrong clock.
_EARLIEST = datetime(1990, 12, 20, tzinfo=UTC)
_CONDITIONAL = ("if-none-match", "if-modified-since")
_REASONS = ("length", "time", "disconnect", "unspecified")
_STATUS_LINE = re.compile(rb"(HTTP/\d(?:\.\d)?)[ \t]")
_METHOD = re.compile(rb"([A-Z]{3,20}) ")


class NoRow(Exception):
    """Why a record can't become a capture. `is_fault`: something is wrong with it; else it is of another kind (dns:, urn:)."""

    def __init__(self, reason: str, *, is_fault: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_fault = is_fault


def url_of(record: Record) -> str:
    """The record's target URI, normalised; raises NoRow for what is no http(s) URL."""
    stated = (record.target_uri or "").strip()
    if not stated:
        raise NoRow("WARC-Target-URI is missing", is_fault=True)
    url = normalize_url(stated)
    if url is None:
        scheme = stated.split(":", 1)[0].lower() if ":" in stated else ""
        is_http = scheme in ("http", "https") or not re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme)
        raise NoRow(f"WARC-Target-URI {stated[:200]!r} is no URL" if is_http else f"of {scheme}:, not http(s)", is_fault=is_http)
    return url


def record_id_of(record: Record) -> str | None:
    """WARC-Record-ID without brackets, None when it is missing."""
    return (record.field("WARC-Record-ID") or "").strip().strip("<>") or None


def capture_id(record: Record, sha256: str, offset: int) -> str:
    """The UUID of the record's id; where it has none, one that is always the same for this record of this file."""
    stated = record_id_of(record)
    if stated is None:
        return own_id(sha256, offset)
    found = warc.capture_id_of(stated)
    try:
        return str(uuid.UUID(found)) if found else str(uuid.uuid5(uuid.NAMESPACE_URL, stated))
    except ValueError:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, stated))


def own_id(sha256: str, offset: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"warc:sha256:{sha256}#{offset}"))


@dataclass(frozen=True)
class Origin:
    """What a file says of its records as a whole: the newest warcinfo read so far."""

    software: str | None = None
    date: datetime | None = None


def origin_of_file(warcinfo: Record) -> Origin:
    fields = {name.lower(): value for name, value in parse_headers(b"\n" + warcinfo.block)}
    return Origin(fields.get("software") or None, loose_date(warcinfo.field("WARC-Date")))


def moment_of(record: Record, origin: Origin, now: datetime) -> tuple[datetime | None, str | None]:
    """When the record was fetched, and what is wrong with its WARC-Date.

    Where that is no date, or one before the web or after now, it is the Date header of the server, else the date of the
    file's warcinfo; None when there is neither.
    """
    stated = record.field("WARC-Date")
    moment = loose_date(stated)
    if moment is not None and _is_possible(moment, now):
        return moment, None
    what = f"WARC-Date {stated!r} is no date" if moment is None else f"WARC-Date {stated!r} can't be"
    if (moment := _date_header(record)) and _is_possible(moment, now):
        return moment, f"{what}; the server's Date header is taken"
    if origin.date is not None and _is_possible(origin.date, now):
        return origin.date, f"{what}; the date of the file's warcinfo is taken"
    return None, what


def _is_possible(moment: datetime, now: datetime) -> bool:
    return _EARLIEST <= moment <= now + timedelta(days=1)


def _date_header(record: Record) -> datetime | None:
    try:
        moment = parsedate_to_datetime(record.header("Date") or "")
    except (ValueError, OverflowError, TypeError):
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def row_of(
    record: Record, url: str, fetched: datetime, origin: Origin, *, capture_id: str, doubt: str | None
) -> tuple[dict[str, Any], list[str]]:
    """The row, without its partition, and what is wrong with the record's content.

    The record of `doubt` (it is cut, or its member is damaged) must prove itself by a digest: raises NoRow else. A revisit's place of
    payload is left open.
    """
    faults = _digest_faults(record)
    if doubt is not None and not _is_proven(record, faults):
        raise NoRow(f"{doubt}, and no digest proves what is there", is_fault=True)
    message = record.message
    kind = record.warc_type
    has_payload = kind != "revisit"
    payload = record.payload if has_payload else b""
    if kind == "response":
        faults += list(message.faults) or _length_fault(record)
    status = _status(record)
    truncated = (record.truncated or "").strip().lower() or None
    if truncated and truncated not in _REASONS:
        truncated = "unspecified"
    content_type = record.header("Content-Type") if kind in ("response", "revisit") else record.field("Content-Type")
    row = {
        "capture_id": capture_id,
        "warc_type": kind,
        "url": url,
        "url_surtkey": url_key(url),
        **vars(split_url(url)),
        "fetch_time": fetched,
        "fetch_status": status,
        "fetch_redirect": redirect_target_of(status, record.header("Location"), url),
        "content_digest": warc.sha1_base32(payload) if has_payload else _stated_sha1(record),
        "content_mime_type": declared_mime(content_type),
        "content_mime_detected": _detected_mime(record, payload, content_type) if payload else None,
        "content_truncated": truncated,
        "warc_filename": record.filename,
        "warc_record_offset": record.offset,
        "warc_record_length": record.length,
        "http_header_length": len(record.head) if kind in ("response", "revisit") else None,
        "payload_bytes": len(payload) if has_payload else None,
        "payload_sha256": hashlib.sha256(payload).hexdigest() if has_payload else None,
        "block_digest": warc.sha1_base32(record.block),
        **{
            name: record.header(header)
            for name, header in (
                ("content_encoding", "Content-Encoding"),
                ("transfer_encoding", "Transfer-Encoding"),
                ("etag", "ETag"),
                ("last_modified", "Last-Modified"),
                ("cache_control", "Cache-Control"),
                ("retry_after", "Retry-After"),
            )
        },
        **_refers_to(record),
        **_connection(record),
        "outcome": _outcome(record, status, truncated),
        "kind": "robots" if url.split("/", 3)[3:] == ["robots.txt"] else "page",
        "software": origin.software,
    }
    return row, faults


def _status(record: Record) -> int | None:
    if record.status is None and record.warc_type == "revisit" and _profile(record) == warc.NOT_MODIFIED:
        return 304  # what the profile says, where the head was not kept
    return record.status


def _outcome(record: Record, status: int | None, truncated: str | None) -> str:
    if record.warc_type in ("resource", "conversion"):
        return "truncated" if truncated else "ok"
    if record.warc_type == "revisit" and (status == 304 or _profile(record) == warc.NOT_MODIFIED):
        return "not_modified"
    if status is None:
        return "ok" if record.warc_type == "revisit" else "invalid_http"
    if status == 304:
        return "unsolicited_304"
    if truncated:
        return "truncated"
    return "http_error" if status >= 400 else "ok"


def _profile(record: Record) -> str | None:
    return (record.field("WARC-Profile") or "").strip().rstrip("/").rsplit("/", 1)[-1] or None


def _refers_to(record: Record) -> dict[str, Any]:
    """What a revisit, or a conversion, says of the record it was made of."""
    if record.warc_type not in ("revisit", "conversion"):
        return {}
    stated = (record.field("WARC-Refers-To") or "").strip().strip("<>")
    target = (record.field("WARC-Refers-To-Target-URI") or "").strip().strip("<>")
    return {
        "revisit_profile": _profile(record) if record.warc_type == "revisit" else None,
        "refers_to_id": (warc.capture_id_of(stated) or str(uuid.uuid5(uuid.NAMESPACE_URL, stated))) if stated else None,
        "refers_to_url": normalize_url(target) if target else None,
        "refers_to_date": loose_date(record.field("WARC-Refers-To-Date")),
    }


def _connection(record: Record) -> dict[str, Any]:
    line = _STATUS_LINE.match(record.head)
    protocols = [value.strip().lower() for value in record.field_values("WARC-Protocol")]
    tls = next((value for value in protocols if value.startswith("tls/")), None)
    return {
        "ip_address": record.field("WARC-IP-Address"),
        "http_version": line[1].decode() if line else None,
        "tls_version": f"TLSv{tls.removeprefix('tls/')}" if tls else None,
        "tls_cipher": record.field("WARC-Cipher-Suite"),
    }


def _digest_faults(record: Record) -> list[str]:
    """Digests that the record states and its bytes do not give; a payload digest over the chunk framing is an older reading, no fault."""
    faults = []
    stated = record.field("WARC-Block-Digest")
    if digest_holds(stated, record.block) is False:
        faults.append(f"the block digest is {stated}, its bytes give sha1:{warc.sha1_base32(record.block)}")
    stated = record.field("WARC-Payload-Digest")
    if record.warc_type in ("response", "resource", "conversion") and digest_holds(stated, record.payload) is False:
        framed = record.block[len(record.head) :]
        # ClueWeb's and others' are over the whole block.
        if not digest_holds(stated, framed) and not digest_holds(stated, record.block):
            faults.append(f"the payload digest is {stated}, its bytes give sha1:{warc.sha1_base32(record.payload)}")
    return faults


def _is_proven(record: Record, faults: list[str]) -> bool:
    """Whether the record states a digest that can be computed, and its bytes give each that it states."""
    block = digest_holds(record.field("WARC-Block-Digest"), record.block)
    payload = digest_holds(record.field("WARC-Payload-Digest"), record.payload) if record.warc_type != "revisit" else None
    return not faults and (block is True or payload is True)


def _length_fault(record: Record) -> list[str]:
    declared = (record.header("Content-Length") or "").strip()
    status = record.status
    if record.truncated or status is None or status < 200 or status in (204, 304) or record.header("Transfer-Encoding"):
        return []
    if declared.isascii() and declared.isdigit() and len(record.payload) < int(declared):
        return [f"the body has {len(record.payload)} of {declared} bytes, and WARC-Truncated is missing"]
    return []


def _stated_sha1(record: Record) -> str | None:
    match = re.match(r"sha1:([A-Za-z2-7]{32})$", record.field("WARC-Payload-Digest") or "", re.IGNORECASE)
    if match:
        return match[1].upper()
    match = re.match(r"sha1:([0-9a-fA-F]{40})$", record.field("WARC-Payload-Digest") or "", re.IGNORECASE)
    return base64.b32encode(bytes.fromhex(match[1])).decode() if match else None


def _detected_mime(record: Record, payload: bytes, content_type: str | None) -> str:
    document, _ = decode_content(payload, record.header("Content-Encoding"), _SNIFF_BYTES)
    return sniff_mime(document[:_SNIFF_BYTES], content_type)


def facts_beside(record: Record) -> Mapping[str, Any]:
    """What a request or metadata record adds to the row of its capture."""
    if record.warc_type == "metadata":
        fields = {name.lower(): value for name, value in parse_headers(b"\n" + record.block[: 1 << 16])}
        text = fields.get("fetchtimems", "").strip()
        return {"fetch_ms": float(text)} if text.isascii() and text.isdigit() and len(text) < 12 else {}
    method = _METHOD.match(record.block)
    names = {name.lower() for name, _ in parse_headers(record.block.split(b"\r\n\r\n", 1)[0])}
    return {
        **({"method": method[1].decode()} if method else {}),
        **({"is_conditional": True} if names.intersection(_CONDITIONAL) else {}),
    }
