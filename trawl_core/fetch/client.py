"""One HTTP exchange: ask for a URL once, follow nothing, and bring back what the wire carried, whatever the server does."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Iterable, Mapping
from functools import cache

import certifi
import requests
import urllib3.exceptions

from trawl_core.clock import Clock
from trawl_core.errors import FetchError
from trawl_core.fetch.adapters import Adapters
from trawl_core.fetch.body import take_body
from trawl_core.fetch.connection import WireAdapter
from trawl_core.fetch.guard import Resolver, check_port
from trawl_core.fetch.head import ResponseHead
from trawl_core.fetch.resolver import DnsResolver
from trawl_core.fetch.wire import MAX_HEAD_BYTES, Recording, WireResponse
from trawl_core.sites import Site
from trawl_core.urls.normalize import host_and_port
from trawl_core.warc.content_coding import CUT, LENGTH, Piece, content_fault
from trawl_core.warc.exchange import SHORT_BYTES, Exchange, payload_pieces
from trawl_core.warc.payload import decode_content

ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
ACCEPT_ENCODING = "gzip, deflate"
MAX_REDIRECT_BODY_BYTES = 64 * 1024

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_NO_HEADERS: Mapping[str, str] = {}


@cache
def _public_authorities() -> ssl.SSLContext:
    """certifi's, read once a process: it takes as long as fetching a hundred pages."""
    return ssl.create_default_context(cafile=certifi.where())


class HttpClient:
    """Fetches for all sites; safe to call from several threads.

    `tls` is the context for certificate checks; by default certifi's authorities.
    """

    def __init__(self, *, user_agent: str, clock: Clock, resolver: Resolver | None = None, tls: ssl.SSLContext | None = None) -> None:
        self._headers = requests.structures.CaseInsensitiveDict(
            {"User-Agent": user_agent, "Accept": ACCEPT, "Accept-Encoding": ACCEPT_ENCODING}
        )
        self._clock = clock
        self._adapters = Adapters(resolver or DnsResolver.of_machine(clock), tls or _public_authorities())

    def fetch(self, url: str, site: Site, *, headers: Mapping[str, str] = _NO_HEADERS, max_bytes: int | None = None) -> Exchange:
        """GET a normalised URL under the site's timeouts, network rules and size limit (`max_bytes` of payload, content coding kept).

        Never raises for what a server or the network does: `outcome`, `error` and `truncated` tell it. A connection that
        the server had closed meanwhile is opened again once.
        """
        limit = site.max_response_bytes if max_bytes is None else max_bytes
        deadline = self._clock.monotonic() + site.timeout.total_s
        recording = self._record(url, site, deadline, limit)
        try:
            check_port(host_and_port(url)[1], site.network)
        except FetchError as error:
            return _failed(recording, error)
        request = self._prepare(url, headers)
        adapter = self._adapters.take(site)
        try:
            exchange = self._try(adapter, request, recording, site, limit)
            if exchange.outcome == "connect_error" and not recording.connected and recording.first_byte_at is None:
                exchange = self._try(adapter, request, self._record(url, site, deadline, limit), site, limit)
        except BaseException:
            adapter.close()
            raise
        # What was received would stay in memory for as long as the connection is kept.
        adapter.wire.recording = None
        self._adapters.give_back(site, adapter)
        return exchange

    def close(self) -> None:
        self._adapters.close()

    def _record(self, url: str, site: Site, deadline: float, limit: int) -> Recording:
        return Recording(
            url=url,
            target="/" + url.split("/", 3)[3],
            timeout=site.timeout,
            clock=self._clock,
            started_at=self._clock.now(),
            deadline=deadline,
            # Room for chunk headers and trailers; who sends more of them is not sending a document.
            max_wire_bytes=limit + limit // 4 + MAX_HEAD_BYTES,
        )

    def _prepare(self, url: str, headers: Mapping[str, str]) -> requests.PreparedRequest:
        request = requests.PreparedRequest()
        request.method = "GET"
        # Not through prepare_url, which would re-encode it.
        request.url = url
        request.headers = self._headers.copy() if headers else self._headers
        for name, value in headers.items():
            # A validator that came with a control character can't be sent back.
            if not any(ord(character) < 32 or ord(character) > 255 for character in value):
                request.headers[name] = value
        return request

    def _try(self, adapter: WireAdapter, request: requests.PreparedRequest, recording: Recording, site: Site, limit: int) -> Exchange:
        adapter.wire.recording = recording
        try:
            adapter.send(request)
        except FetchError as error:
            return _failed(recording, error)
        except (urllib3.exceptions.HTTPError, http.client.HTTPException, OSError) as error:
            return _failed(recording, FetchError("connect_error", f"fetching {recording.url} failed: {error}."))
        response = recording.answer
        if response.status in _REDIRECTS:
            limit = min(limit, MAX_REDIRECT_BODY_BYTES)
        truncated, problem = take_body(response, limit)
        reusable = truncated is None and not response.will_close and not response.reader.surplus
        response.close()
        if not reusable:
            adapter.drop(recording.url)
        return _finished(recording, response, truncated, problem, site.max_decoded_bytes)


def _finished(recording: Recording, response: WireResponse, truncated: str | None, problem: str | None, max_decoded_bytes: int) -> Exchange:
    fetch_ms = recording.elapsed_ms()
    head, response_bytes = recording.head, response.reader.start_anew()
    payload, document = None, None
    if len(response_bytes) <= SHORT_BYTES:
        payload = b"".join(payload_pieces(response_bytes, response.head_length, head.chunked))
    if truncated is None and payload != b"":
        codings = [value for name, value in head.headers if name.lower() == "content-encoding"]
        if payload is not None:
            document = _short_document(payload, codings, max_decoded_bytes)
        if document is None:
            pieces = payload_pieces(response_bytes, response.head_length, head.chunked)
            truncated, problem = _check_coding(pieces, codings, max_decoded_bytes)
    return Exchange(
        url=recording.url,
        started_at=recording.started_at,
        request_bytes=bytes(recording.request),
        response_bytes=response_bytes,
        head_length=response.head_length,
        payload=payload,
        status=head.status,
        reason=head.reason,
        headers=head.headers,
        outcome=_outcome(head.status, truncated),
        error=problem or _status_error(head),
        truncated=truncated,
        interim=response.interim,
        ip_address=recording.ip_address,
        http_version=head.version,
        tls_version=recording.tls_version,
        tls_cipher=recording.tls_cipher,
        ttfb_ms=recording.ttfb_ms,
        fetch_ms=fetch_ms,
        document=document,
    )


def _short_document(payload: bytes, codings: list[str], max_decoded_bytes: int) -> bytes | None:
    """The document of a sound payload, decoded once for all who read it; None for one that is not sound or not short."""
    if len(codings) > 1:
        return None
    document, fault = decode_content(payload, codings[0] if codings else None, min(SHORT_BYTES, max_decoded_bytes))
    return document if fault is None else None


def _check_coding(payload: Iterable[Piece], codings: list[str], max_decoded_bytes: int) -> tuple[str | None, str | None]:
    """A coded stream that is cut is a truncated answer, although its length is as announced (requests would not notice)."""
    coding = ", ".join(codings)
    if not coding:
        return None, None
    reason = content_fault(payload, coding, max_decoded_bytes)
    if reason == CUT:
        return CUT, f"the {coding} stream ends too early or is damaged."
    if reason is None:
        return None, None
    if reason == LENGTH:
        return None, f"the payload decodes to more than {max_decoded_bytes} bytes (max_decoded_bytes); only so many are read."
    return None, f"Content-Encoding says {coding}: {reason}; the payload is kept as it came."


def _outcome(status: int, truncated: str | None) -> str:
    if status == 304:
        return "not_modified"
    if status >= 400:
        return "http_error"
    if status == 101:
        return "invalid_http"
    # A redirect is whole with its head.
    return "truncated" if truncated and status not in _REDIRECTS else "ok"


def _status_error(head: ResponseHead) -> str | None:
    if head.status == 101:
        return "the server switched to another protocol, which was not asked for."
    return f"the server answered {head.status} {head.reason}".rstrip() + "." if head.status >= 400 else None


def _failed(recording: Recording, error: FetchError) -> Exchange:
    """No complete head came: there is nothing to archive, only a reason."""
    response = recording.response
    received = b"".join((response.interim, response.reader.taken.value(), response.reader.waiting)) if response else b""
    return Exchange(
        url=recording.url,
        started_at=recording.started_at,
        request_bytes=bytes(recording.request),
        response_bytes=received,
        head_length=0,
        payload=b"",
        status=None,
        reason="",
        headers=(),
        outcome=error.outcome,
        error=str(error),
        ip_address=recording.ip_address,
        tls_version=recording.tls_version,
        tls_cipher=recording.tls_cipher,
        ttfb_ms=recording.ttfb_ms,
        fetch_ms=recording.elapsed_ms(),
    )
