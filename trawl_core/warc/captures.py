"""One exchange as one row of the `captures` table."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote_from_bytes

from trawl_core.errors import WarcError
from trawl_core.lake import Partition
from trawl_core.urls.normalize import normalize_url, split_url
from trawl_core.urls.surt import url_key
from trawl_core.warc.exchange import Exchange
from trawl_core.warc.format import IDENTICAL, NOT_MODIFIED
from trawl_core.warc.sniff import declared_mime
from trawl_core.warc.writer import RevisitOf, Written

_RECORD_COLUMNS = (
    "warc_filename",
    "warc_record_offset",
    "warc_record_length",
    "http_header_length",
    "request_offset",
    "request_length",
    "metadata_offset",
    "metadata_length",
    "block_digest",
    "rendered_offset",
    "rendered_length",
)
_REVISIT_COLUMNS = (
    "revisit_profile",
    "refers_to_id",
    "refers_to_url",
    "refers_to_date",
    "refers_to_warc_filename",
    "refers_to_warc_offset",
    "refers_to_warc_length",
)
_ITSELF = ("capture_id", "url", "fetch_time", "warc_filename", "warc_record_offset", "warc_record_length")
_REFERS_TO = _REVISIT_COLUMNS[1:]
_PRINTABLE = bytes(range(0x21, 0x7F)).decode()


def capture_row(
    exchange: Exchange,
    *,
    capture_id: str,
    partition: Partition,
    written: Written | None,
    revisit: RevisitOf | None,
    kind: str,
    depth: int,
    is_seed: bool,
    attempt: int,
    redirect_from_id: str | None = None,
    redirect_hop: int = 0,
    via_id: str | None = None,
    robots_digest: str | None = None,
    config_hash: str | None = None,
    software: str | None = None,
    fetch_redirect: str | None = None,
    content_charset: str | None = None,
    content_languages: str | None = None,
    rendered_digest: str | None = None,
    outcome: str | None = None,
    error: str | None = None,
) -> dict[str, Any]:
    """The whole row, partition columns included. `written` and `revisit` are what `WarcWriter.write` returned and was given.

    `outcome` and `error` replace the exchange's where the crawl knows better (robots_denied, redirect_loop, …);
    `fetch_redirect` replaces the target read from Location. A server-not-modified revisit carries the digests of the
    body that it confirms; `payload_bytes` stays what was received. Raises WarcError when record and revisit disagree.
    """
    if written is not None and (written.warc_type == "revisit") != (revisit is not None):
        raise WarcError(
            f"describing the capture {capture_id} of {exchange.url}: the record is a {written.warc_type}, "
            f"but it was {'not ' if revisit is None else ''}given what it refers to. Pass what the writer was given."
        )
    confirms = revisit is not None and revisit.profile == NOT_MODIFIED
    has_payload = exchange.has_response and not confirms
    return {
        "crawl_date": partition.crawl_date,
        "domain": partition.domain,
        "capture_id": capture_id,
        "warc_type": written.warc_type if written else None,
        "url": exchange.url,
        "url_surtkey": url_key(exchange.url),
        **vars(split_url(exchange.url)),
        "fetch_time": exchange.started_at,
        "fetch_status": exchange.status,
        "fetch_redirect": fetch_redirect or redirect_target(exchange),
        "content_digest": revisit.payload_digest if confirms else exchange.payload_digest if has_payload else None,
        "content_mime_type": declared_mime(exchange.header("Content-Type")),
        "content_mime_detected": exchange.mime if has_payload else None,
        "content_charset": content_charset,
        "content_languages": content_languages,
        "content_truncated": exchange.truncated,
        **_record_columns(written),
        "payload_bytes": exchange.payload_length if exchange.has_response else None,
        "wire_bytes": len(exchange.response_bytes) + len(exchange.interim),
        "payload_sha256": revisit.payload_sha256 if confirms else exchange.payload_sha256 if has_payload else None,
        **_header_columns(exchange),
        **_revisit_columns(revisit),
        "ip_address": exchange.ip_address,
        "http_version": exchange.http_version,
        "tls_version": exchange.tls_version,
        "tls_cipher": exchange.tls_cipher,
        "fetch_ms": exchange.fetch_ms,
        "ttfb_ms": exchange.ttfb_ms,
        "outcome": outcome or exchange.outcome,
        "error": error or exchange.error,
        "attempt": attempt,
        "redirect_from_id": redirect_from_id,
        "redirect_hop": redirect_hop,
        "via_id": via_id,
        "depth": depth,
        "is_seed": is_seed,
        "kind": kind,
        "robots_digest": robots_digest,
        "rendered_digest": rendered_digest,
        "config_hash": config_hash,
        "software": software,
    }


def redirect_target(exchange: Exchange) -> str | None:
    """Where a 3xx answer leads, normalised; None when it is no redirect or leads to no http(s) URL."""
    return redirect_target_of(exchange.status, exchange.header("Location"), exchange.url)


def redirect_target_of(status: int | None, location: str | None, url: str) -> str | None:
    """`redirect_target` of a status and a Location header as it was sent (latin-1).

    Location bytes outside ASCII are escaped as they were sent: browsers send exactly these bytes back.
    """
    if status is None or not 300 <= status < 400 or status == 304:
        return None
    if not location or not location.strip():
        return None
    return normalize_url(quote_from_bytes(location.strip().encode("latin-1", "replace"), safe=_PRINTABLE), url)


def revisit_of(row: dict[str, Any], profile: str) -> RevisitOf:
    """What a later capture refers to: `row` is a captures row with a record, itself a response or a revisit of one.

    A revisit leads on to the response that it refers to, so that every revisit is one step from its payload. Raises
    WarcError for a row without a record.
    """
    if profile not in (IDENTICAL, NOT_MODIFIED):
        raise WarcError(f"referring to the capture {row.get('capture_id')}: {profile!r} is no revisit profile.")
    names = _REFERS_TO if row.get("warc_type") == "revisit" else _ITSELF
    capture, url, date, filename, offset, length = (row.get(name) for name in names)
    if not filename:
        raise WarcError(f"referring to the capture {row.get('capture_id')} of {row.get('url')}: it has no WARC record.")
    return RevisitOf(
        profile=profile,
        refers_to_id=capture,
        url=url,
        date=date,
        warc_filename=filename,
        offset=offset,
        length=length,
        payload_digest=row["content_digest"],
        payload_sha256=row.get("payload_sha256"),
    )


def _record_columns(written: Written | None) -> dict[str, Any]:
    if written is None:
        return dict.fromkeys(_RECORD_COLUMNS)
    values = (
        written.filename,
        written.offset,
        written.length,
        written.http_header_length,
        written.request_offset,
        written.request_length,
        written.metadata_offset,
        written.metadata_length,
        written.block_digest,
        written.rendered_offset,
        written.rendered_length,
    )
    return dict(zip(_RECORD_COLUMNS, values, strict=True))


def _header_columns(exchange: Exchange) -> dict[str, Any]:
    return {
        "content_encoding": exchange.header("Content-Encoding"),
        "transfer_encoding": exchange.header("Transfer-Encoding"),
        "etag": exchange.header("ETag"),
        "last_modified": exchange.header("Last-Modified"),
        "cache_control": exchange.header("Cache-Control"),
        "retry_after": exchange.header("Retry-After"),
    }


def _revisit_columns(revisit: RevisitOf | None) -> dict[str, Any]:
    if revisit is None:
        return dict.fromkeys(_REVISIT_COLUMNS)
    values = (
        revisit.profile,
        revisit.refers_to_id,
        revisit.url,
        revisit.date,
        revisit.warc_filename,
        revisit.offset,
        revisit.length,
    )
    return dict(zip(_REVISIT_COLUMNS, values, strict=True))
