"""The two WARC writers that bench.warc compares, each run in a process of its own over the same exchanges.

Both write a warcinfo record, then for each exchange a response with both digests, its request and a metadata record, one gzip
member a record. CPU seconds are those of the writing alone, once the file is open and the first exchange is in it.
"""

from __future__ import annotations

import gzip
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

from trawl_core.clock import SystemClock
from trawl_core.lake import Lake, Partition
from trawl_core.sites import Compression
from trawl_core.warc.exchange import Exchange
from trawl_core.warc.http_message import Message, parse_response
from trawl_core.warc.packing import packing_of
from trawl_core.warc.writer import WarcWriter

RECORDS_AN_EXCHANGE = 3
AGENT = "TrawlBot/1.0 (+https://example.org/bot; crawl@example.org)"
_START = datetime(2026, 11, 30, 2, tzinfo=UTC)


@dataclass(frozen=True)
class Wire:
    """What one fetch sent and received; `document` is the body without content coding."""

    url: str
    request: bytes
    response: bytes
    document: bytes
    at: datetime


def wires(pages: str, coded: bool) -> Iterator[Wire]:
    """One for each HTML file of the folder `pages`, plain or gzipped by the server."""
    for number, file in enumerate(sorted(Path(pages).glob("**/*.html"))):
        document = file.read_bytes()
        body = gzip.compress(document, 6, mtime=0) if coded else document
        yield Wire(
            url=f"https://docs.example.org/articles/{number}/{file.stem}.html",
            request=f"GET /articles/{number}/{file.stem}.html HTTP/1.1\r\nHost: docs.example.org\r\nAccept-Encoding: gzip, deflate\r\n"
            f"User-Agent: {AGENT}\r\nAccept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\r\n".encode(),
            response=_head(number, len(body), coded) + body,
            document=document,
            at=_START + timedelta(milliseconds=37 * number),
        )


def _head(number: int, length: int, coded: bool) -> bytes:
    etag = uuid.uuid5(uuid.NAMESPACE_URL, str(number)).hex
    coding = "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n" if coded else ""
    return (
        "HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Mon, 30 Nov 2026 02:00:00 GMT\r\nContent-Type: text/html; charset=utf-8\r\n"
        f'Content-Length: {length}\r\nLast-Modified: Sun, 29 Nov 2026 17:03:11 GMT\r\nConnection: keep-alive\r\nETag: "{etag[:20]}"\r\n'
        f"{coding}Cache-Control: public, max-age=600\r\nStrict-Transport-Security: max-age=31536000\r\n"
        "X-Content-Type-Options: nosniff\r\nAccept-Ranges: bytes\r\n\r\n"
    ).encode()


def exchange_of(wire: Wire) -> Exchange:
    message = parse_response(wire.response)
    return Exchange(
        url=wire.url,
        started_at=wire.at,
        request_bytes=wire.request,
        response_bytes=wire.response,
        head_length=len(message.head),
        payload=message.payload,
        status=message.status,
        reason=message.reason,
        headers=message.headers,
        outcome="ok",
        ip_address="192.0.2.7",
        http_version="HTTP/1.1",
        tls_version="TLSv1.3",
        tls_cipher="TLS_AES_256_GCM_SHA384",
        ttfb_ms=21.0,
        fetch_ms=37.0,
        document=wire.document,
    )


def trawl(pages: str, coded: bool, folder: str, compression: dict[str, Any] | None = None) -> dict[str, Any]:
    """Write all pages with Trawl's writer; `compression` is the key of sites.yaml."""
    packing = packing_of(Compression.model_validate(compression or {}))
    lake, partition = Lake(folder), Partition(_START.date(), "docs.example.org")
    first, *exchanges = [exchange_of(wire) for wire in wires(pages, coded)]
    with WarcWriter(
        lake, partition, software="trawl", user_agent=AGENT, config_hash="0" * 16, clock=SystemClock(), work=Path(folder), packing=packing
    ) as writer:
        writer.write(first, str(uuid.uuid4()))
        started = time.process_time()
        for exchange in exchanges:
            writer.write(exchange, str(uuid.uuid4()))
        cpu_s = time.process_time() - started
    return _figures(cpu_s, len(exchanges), folder)


def warcio(pages: str, coded: bool, folder: str) -> dict[str, Any]:
    """The same with warcio's: its objects for heads and bodies stand ready before the clock runs."""
    from warcio.warcwriter import WARCWriter

    Path(folder).mkdir(parents=True, exist_ok=True)
    exchanges = [(wire, parse_response(wire.response)) for wire in wires(pages, coded)]
    prepared = [(wire, _status_and_headers(message), _request(wire), BytesIO(message.payload)) for wire, message in exchanges]
    with Path(folder, "warcio.warc.gz").open("wb") as file:
        writer = WARCWriter(file, gzip=True, warc_version="1.1")
        writer.write_record(writer.create_warcinfo_record("warcio.warc.gz", {"software": "warcio", "http-header-user-agent": AGENT}))
        for number, (wire, answer, request, body) in enumerate(prepared):
            if number == 1:
                started = time.process_time()
            named = {
                "WARC-Date": wire.at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
                "WARC-IP-Address": "192.0.2.7",
                "WARC-Protocol": "http/1.1",
                "WARC-Cipher-Suite": "TLS_AES_256_GCM_SHA384",
            }
            length = body.getbuffer().nbytes
            response = writer.create_warc_record(
                wire.url, "response", payload=body, length=length, http_headers=answer, warc_headers_dict=named
            )
            asked = writer.create_warc_record(wire.url, "request", http_headers=request, warc_headers_dict=named)
            writer.write_request_response_pair(asked, response)
            facts = {"WARC-Date": named["WARC-Date"], "WARC-Concurrent-To": response.rec_headers.get_header("WARC-Record-ID")}
            block = b"fetchTimeMs: 37\r\n"
            writer.write_record(
                writer.create_warc_record(wire.url, "metadata", payload=BytesIO(block), length=len(block), warc_headers_dict=facts)
            )
        cpu_s = time.process_time() - started
    return _figures(cpu_s, len(prepared) - 1, folder)


def _status_and_headers(message: Message) -> Any:
    from warcio.statusandheaders import StatusAndHeaders

    return StatusAndHeaders(f"{message.status} {message.reason}", list(message.headers), protocol="HTTP/1.1")


def _request(wire: Wire) -> Any:
    from warcio.statusandheaders import StatusAndHeaders

    first, *lines = wire.request.decode().rstrip("\r\n").split("\r\n")
    headers = [(name, value) for name, _, value in (line.partition(": ") for line in lines)]
    return StatusAndHeaders(first, headers, is_http_request=True)


def _figures(cpu_s: float, exchanges: int, folder: str) -> dict[str, Any]:
    files = [file.stat().st_size for file in Path(folder).rglob("*.warc.gz")]
    return {"exchanges": exchanges, "cpu_s": cpu_s, "mb": sum(files) / 1e6}
