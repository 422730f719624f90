"""What is exactly as long as it may be is whole; one byte more is told."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

import pytest

from trawl_core.clock import SystemClock
from trawl_core.fetch.client import HttpClient
from trawl_core.fetch.wire import MAX_HEAD_BYTES
from trawl_core.sites import Site
from trawl_core.warc.exchange import Exchange

OK = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture
def client() -> Iterator[HttpClient]:
    client = HttpClient(user_agent="TrawlBot/1.0 (+https://example.org/bot)", clock=SystemClock())
    yield client
    client.close()


def _fetch(client: HttpClient, wire_server, wire: bytes, **settings) -> Exchange:
    server = wire_server({"/": wire})
    network = {"allow_networks": ["127.0.0.0/8"], "allow_ports": [server.port]}
    return client.fetch(server.url("/"), Site(domain="127.0.0.1", seeds=[server.url("/")], delay_s=0, network=network, **settings))


@pytest.mark.parametrize(("more", "outcome", "truncated"), [(0, "ok", None), (1, "truncated", "length")])
def test_the_raw_cap(client, wire_server, more: int, outcome: str, truncated: str | None) -> None:
    body = b"x" * (4096 + more)
    exchange = _fetch(client, wire_server, OK + b"Content-Length: %d\r\n\r\n" % len(body) + body, max_response_bytes=4096)
    assert (exchange.outcome, exchange.truncated, len(exchange.payload)) == (outcome, truncated, 4096)
    assert exchange.response_bytes[exchange.head_length :] == exchange.payload


@pytest.mark.parametrize("members", [1, 2])
@pytest.mark.parametrize("more", [0, 1])
def test_the_decoded_cap(client, wire_server, more: int, members: int) -> None:
    half = (50_000 // members) * b"x"
    body = b"".join(gzip.compress(half + b"y" * (more if n == 0 else 0), mtime=0) for n in range(members))
    wire = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    exchange = _fetch(client, wire_server, wire, max_decoded_bytes=50_000)
    assert (exchange.outcome, exchange.truncated, exchange.payload) == ("ok", None, body)
    assert (exchange.error is None) == (more == 0)


@pytest.mark.parametrize(("more", "outcome"), [(0, "ok"), (1, "invalid_http")])
@pytest.mark.parametrize("interim", [b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"])
def test_the_header_cap(client, wire_server, more: int, outcome: str, interim: bytes) -> None:
    head = interim + OK + b"Content-Length: 2\r\nX-Filler: "
    wire = head + b"v" * (MAX_HEAD_BYTES + more - len(head) - 4) + b"\r\n\r\n"
    assert len(wire) == MAX_HEAD_BYTES + more
    exchange = _fetch(client, wire_server, wire + b"ok")
    assert exchange.outcome == outcome
    assert exchange.has_response == (outcome == "ok")
