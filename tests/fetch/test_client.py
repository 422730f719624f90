"""What one exchange brings back, whatever the server does. The bytes are compared with those that were sent."""

from __future__ import annotations

import gzip
import hashlib
import random
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trawl_core.clock import SystemClock
from trawl_core.fetch.client import MAX_REDIRECT_BODY_BYTES, HttpClient
from trawl_core.sites import Site
from trawl_core.warc.exchange import Exchange
from trawl_core.warc.format import sha1_base32
from trawl_core.warc.http_message import parse_response

BODY = b"<!doctype html><title>Reef</title>" + b"".join(b"<p>coral number %d</p>\n" % n for n in range(300))
ZIPPED = gzip.compress(BODY, mtime=0)
OK = b"HTTP/1.1 200 OK\r\nServer: wire\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"


def length(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n" % len(body)


def chunks(body: bytes, size: int, extension: bytes = b"", trailer: bytes = b"") -> bytes:
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x%s\r\n%s\r\n" % (len(part), extension, part) for part in parts) + b"0\r\n" + trailer + b"\r\n"


def then_close(wire: bytes) -> Callable[[socket.socket], bool]:
    def script(conn: socket.socket) -> bool:
        conn.sendall(wire)
        return False

    return script


def site_at(port: int, domain: str = "127.0.0.1", **settings) -> Site:
    return Site(
        domain=domain,
        seeds=[f"http://{domain}:{port}/"],
        delay_s=0,
        network={"allow_networks": ["127.0.0.0/8"], "allow_ports": [port]},
        **{"timeout": {"connect_s": 5, "read_s": 5, "total_s": 10}, **settings},
    )


@pytest.fixture
def client() -> Iterator[HttpClient]:
    client = HttpClient(user_agent="TrawlBot/1.0 (+https://example.org/bot)", clock=SystemClock())
    yield client
    client.close()


@pytest.fixture
def exchange_with(client: HttpClient, wire_server) -> Callable[..., Exchange]:
    """The exchange for one answer, fetched from a server of its own."""

    def run(answer, path: str = "/", headers: dict[str, str] | None = None, max_bytes: int | None = None, **settings) -> Exchange:
        server = wire_server({path: answer})
        return client.fetch(server.url(path), site_at(server.port, **settings), headers=headers or {}, max_bytes=max_bytes)

    return run


WHOLE = {
    "length": (OK + length(BODY) + b"\r\n" + BODY, BODY),
    "chunked": (OK + CHUNKED + b"\r\n" + chunks(BODY, 700), BODY),
    "chunked, extensions and trailer": (OK + CHUNKED + b"\r\n" + chunks(BODY, 333, b";a=b", b"X-T: 1\r\n"), BODY),
    "gzip": (OK + b"Content-Encoding: gzip\r\n" + length(ZIPPED) + b"\r\n" + ZIPPED, ZIPPED),
    "gzip in chunks": (OK + b"Content-Encoding: gzip\r\n" + CHUNKED + b"\r\n" + chunks(ZIPPED, 100), ZIPPED),
    "no reason": (b"HTTP/1.1 200\r\n" + length(BODY) + b"\r\n" + BODY, BODY),
    "odd reason": (b"HTTP/1.1 200 Tr\xe8s  bien\r\n" + length(BODY) + b"\r\n" + BODY, BODY),
    "bare line feeds": (b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", b"hello"),
    "length said twice": (OK + length(BODY) * 2 + b"\r\n" + BODY, BODY),
    "line without a colon": (OK + b"this is no header\r\n" + length(BODY) + b"\r\n" + BODY, BODY),
    "150 headers": (OK + b"".join(b"X-%d: v\r\n" % n for n in range(150)) + length(BODY) + b"\r\n" + BODY, BODY),
    "empty": (OK + length(b"") + b"\r\n", b""),
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    "moved": (b"HTTP/1.1 301 Moved\r\nLocation: /b\r\n" + length(b"moved") + b"\r\nmoved", b"moved"),
    "a record inside": (OK + length(b"\r\n\r\nWARC/1.1\r\n\r\n") + b"\r\n\r\n\r\nWARC/1.1\r\n\r\n", b"\r\n\r\nWARC/1.1\r\n\r\n"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_answers_byte_for_byte_on_a_kept_connection(client: HttpClient, wire_server, name: str) -> None:
    wire, payload = WHOLE[name]
    server = wire_server({"/": wire})
    for _ in range(2):
        exchange = client.fetch(server.url("/"), site_at(server.port))
        assert exchange.response_bytes == wire
        assert exchange.payload == payload
        assert exchange.response_bytes[exchange.head_length :] == wire.partition(b"\n\n" if name == "bare line feeds" else b"\r\n\r\n")[2]
        assert (exchange.outcome, exchange.error, exchange.truncated, exchange.interim) == ("ok", None, None, b"")
    assert server.connections == 1


def test_the_request_as_sent(client: HttpClient, wire_server) -> None:
    server = wire_server({"/100%/%C3%A9?": WHOLE["empty"][0]})
    exchange = client.fetch(server.url("/100%/%C3%A9?"), site_at(server.port), headers={"If-None-Match": '"caf\xe9"', "X-Bad": "a\r\nb"})
    assert exchange.request_bytes == server.requests[0]
    lines = exchange.request_bytes.split(b"\r\n")
    assert lines[0] == b"GET /100%/%C3%A9? HTTP/1.1"
    assert b"Host: 127.0.0.1:%d" % server.port in lines
    assert b"User-Agent: TrawlBot/1.0 (+https://example.org/bot)" in lines
    assert b"Accept-Encoding: gzip, deflate" in lines
    assert b'If-None-Match: "caf\xe9"' in lines
    assert b"X-Bad" not in exchange.request_bytes


def test_what_is_known_of_the_answer(exchange_with) -> None:
    head = b"HTTP/1.1 404 Not Found\r\nset-COOKIE: a=1\r\nX-Empty:\r\nX-Fold: a\r\n  b\r\nSet-Cookie: b=2, c=3\r\n"
    exchange = exchange_with(head + length(b"no") + b"\r\nno")
    assert (exchange.status, exchange.reason, exchange.outcome) == (404, "Not Found", "http_error")
    assert exchange.error == "the server answered 404 Not Found."
    assert exchange.header_values("Set-Cookie") == ["a=1", "b=2, c=3"]
    assert (exchange.header("x-empty"), exchange.header("x-fold"), exchange.header("x-none")) == ("", "a b", None)
    assert (exchange.ip_address, exchange.http_version, exchange.tls_version) == ("127.0.0.1", "HTTP/1.1", None)
    assert 0 <= exchange.ttfb_ms <= exchange.fetch_ms


def test_interim_heads_are_kept_apart(exchange_with) -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
    exchange = exchange_with(interim + WHOLE["length"][0])
    assert (exchange.status, exchange.outcome, exchange.payload) == (200, "ok", BODY)
    assert (exchange.interim, exchange.response_bytes) == (interim, WHOLE["length"][0])


def test_not_modified(exchange_with) -> None:
    exchange = exchange_with(b'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\nContent-Length: 999\r\n\r\n')
    assert (exchange.outcome, exchange.status, exchange.payload, exchange.truncated) == ("not_modified", 304, b"", None)


def test_an_answer_until_close(exchange_with) -> None:
    wire = b"HTTP/1.0 200 OK\r\n\r\n" + BODY
    exchange = exchange_with(then_close(wire))
    assert (exchange.outcome, exchange.payload, exchange.response_bytes) == ("ok", BODY, wire)
    assert exchange.http_version == "HTTP/1.0"


def test_a_location_that_is_not_ascii(exchange_with) -> None:
    exchange = exchange_with(b"HTTP/1.1 302 Found\r\nLocation: /caf\xe9\r\nContent-Length: 0\r\n\r\n")
    assert (exchange.outcome, exchange.header("location")) == ("ok", "/caf\xe9")


CUT = {
    "short body": (OK + b"Content-Length: %d\r\n\r\n" % (len(BODY) + 9) + BODY, BODY, "disconnect"),
    "chunk cut": (OK + CHUNKED + b"\r\n" + chunks(BODY, 1000)[:2500], None, "disconnect"),
    "no last chunk": (OK + CHUNKED + b"\r\n" + chunks(BODY, 1000)[:-5], BODY, "disconnect"),
    "size is no number": (OK + CHUNKED + b"\r\n5\r\nhello\r\n-1\r\nx", b"hello", "unspecified"),
    "gzip cut": (OK + b"Content-Encoding: gzip\r\n" + length(ZIPPED[:80]) + b"\r\n" + ZIPPED[:80], ZIPPED[:80], "unspecified"),
}


@pytest.mark.parametrize("name", CUT)
def test_answers_that_end_too_early(exchange_with, name: str) -> None:
    wire, payload, reason = CUT[name]
    exchange = exchange_with(then_close(wire))
    assert (exchange.outcome, exchange.truncated, exchange.status) == ("truncated", reason, 200)
    assert wire.startswith(exchange.response_bytes)
    assert exchange.error
    if payload is not None:
        assert exchange.payload == payload
    else:
        assert exchange.payload
        assert BODY.startswith(exchange.payload)


ODD_CHUNKS = {
    "line feeds": (b"5\nhello\n1e\n" + b"x" * 30 + b"\n0\n\n", b"hello" + b"x" * 30, None),
    "no line end behind a chunk": (b"5\r\nhello5\r\nworld0\r\n\r\n", b"helloworld", None),
    "padded sizes": (b"0005  \r\nhello\r\n00000\r\n\r\n", b"hello", None),
    "an empty line too much": (b"5\r\nhello\r\n\r\n0\r\n\r\n", b"hello", "unspecified"),
    "not chunked at all": (b"<p>plain\n", b"<p>plain\n", "unspecified"),
    "negative": (b"-5\r\nhello\r\n0\r\n\r\n", b"-5\r\n", "unspecified"),
    "a size cut": (b"1", b"1", "disconnect"),
    "larger than any disk": (b"F" * 40 + b"\r\nhello", b"hello", "disconnect"),
}


@pytest.mark.parametrize("name", ODD_CHUNKS)
def test_odd_chunks_are_read_as_the_archive_reads_them(exchange_with, name: str) -> None:
    framing, payload, reason = ODD_CHUNKS[name]
    exchange = exchange_with(then_close(OK + CHUNKED + b"\r\n" + framing))
    assert (exchange.payload, exchange.truncated) == (payload, reason)
    assert parse_response(exchange.response_bytes).payload == payload


@given(st.lists(st.sampled_from([b"5", b"0", b"a", b"\r\n", b"\n", b"\r", b"hello", b";x=y", b" ", b"-", b"G"]), max_size=14))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_framing_is_read_as_the_archive_reads_it(client: HttpClient, echo_server, pieces: list[bytes]) -> None:
    echo_server.answers["/"] = then_close(OK + CHUNKED + b"\r\n" + b"".join(pieces))
    exchange = client.fetch(echo_server.url("/"), site_at(echo_server.port))
    assert parse_response(exchange.response_bytes).payload == exchange.payload


@pytest.fixture
def echo_server(wire_server):
    """One server whose answer the test changes."""
    return wire_server({})


def test_only_the_last_transfer_coding_frames(exchange_with) -> None:
    exchange = exchange_with(then_close(OK + b"Transfer-Encoding: chunked, identity\r\n\r\n5\r\nhello"))
    assert parse_response(exchange.response_bytes).payload == exchange.payload == b"5\r\nhello"


def test_a_reset_keeps_what_came(exchange_with) -> None:
    def script(conn: socket.socket) -> bool:
        conn.sendall(OK + b"Content-Length: 100\r\n\r\nhello")
        threading.Event().wait(0.2)
        conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        conn.close()
        return False

    exchange = exchange_with(script)
    assert (exchange.outcome, exchange.truncated, exchange.payload) == ("truncated", "disconnect", b"hello")


def test_a_gzip_lie_is_kept_and_told(exchange_with) -> None:
    exchange = exchange_with(OK + b"Content-Encoding: gzip\r\n" + length(BODY) + b"\r\n" + BODY)
    assert (exchange.outcome, exchange.truncated, exchange.payload) == ("ok", None, BODY)
    assert "not gzip" in exchange.error


def test_a_bomb_is_kept_as_it_is(exchange_with) -> None:
    bomb = gzip.compress(bytes(8 << 20), mtime=0)
    exchange = exchange_with(OK + b"Content-Encoding: gzip\r\n" + length(bomb) + b"\r\n" + bomb, max_decoded_bytes=1 << 20)
    assert (exchange.outcome, exchange.truncated, exchange.payload) == ("ok", None, bomb)
    assert "more than 1048576 bytes" in exchange.error


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
def test_the_size_limit_is_exact(exchange_with, framing: str) -> None:
    body = random.Random(7).randbytes(5000)
    wire = {
        "length": OK + length(body) + b"\r\n" + body,
        "chunked": OK + CHUNKED + b"\r\n" + chunks(body, 1000),
        "close": b"HTTP/1.0 200 OK\r\n\r\n" + body,
    }[framing]
    whole = exchange_with(then_close(wire), max_bytes=5000)
    assert (whole.outcome, whole.truncated, whole.payload) == ("ok", None, body)
    for limit in (4999, 4000, 0):
        cut = exchange_with(then_close(wire), max_bytes=limit)
        assert (cut.outcome, cut.truncated, cut.payload) == ("truncated", "length", body[:limit])
        assert wire.startswith(cut.response_bytes)
    by_site = exchange_with(then_close(wire), max_response_bytes=4096)
    assert (by_site.truncated, len(by_site.payload)) == ("length", 4096)


def endless(conn: socket.socket, head: bytes, block: bytes) -> bool:
    conn.sendall(head)
    try:
        while True:
            conn.sendall(block)
    except OSError:
        return False


def test_an_endless_redirect_body_is_left(exchange_with) -> None:
    exchange = exchange_with(lambda conn: endless(conn, b"HTTP/1.1 302 Found\r\nLocation: /b\r\n\r\n", b"z" * 65536))
    assert (exchange.outcome, exchange.truncated, exchange.header("location")) == ("ok", "length", "/b")
    assert len(exchange.payload) == MAX_REDIRECT_BODY_BYTES


@pytest.mark.parametrize(
    ("head", "block", "outcome"),
    [
        (OK, b"X-Filler: filler\r\n" * 1000, "invalid_http"),
        (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000, "invalid_http"),
        (OK + b"X-Endless: ", b"v" * 65536, "invalid_http"),
        (OK + CHUNKED + b"\r\n5\r\nhello\r\n0\r\n", b"X-Filler: filler\r\n" * 1000, "truncated"),
    ],
)
def test_endless_heads_and_trailers_are_left(exchange_with, head: bytes, block: bytes, outcome: str) -> None:
    exchange = exchange_with(lambda conn: endless(conn, head, block), max_bytes=100_000)
    assert exchange.outcome == outcome
    assert exchange.has_response == (outcome == "truncated")


class TickingClock(SystemClock):
    """Every look at it takes a second, so a total time ends after that many steps however fast the machine is."""

    ticks = 0

    def monotonic(self) -> float:
        type(self).ticks += 1
        return float(self.ticks)


def dripping(stop: threading.Event, head: bytes, drop: bytes) -> Callable[[socket.socket], bool]:
    def script(conn: socket.socket) -> bool:
        conn.sendall(head)
        while not stop.wait(0.001):
            conn.sendall(drop)
        return False

    return script


def drip(wire_server, head: bytes, drop: bytes) -> Exchange:
    answers: dict = {}
    server = wire_server(answers)
    answers["/"] = dripping(server.stop, head, drop)
    client = HttpClient(user_agent="TrawlBot/1.0 (+https://example.org/bot)", clock=TickingClock())
    exchange = client.fetch(server.url("/"), site_at(server.port, timeout={"connect_s": 20, "read_s": 20, "total_s": 40}))
    client.close()
    return exchange


def test_a_dripping_body_ends_at_the_total_time(wire_server) -> None:
    exchange = drip(wire_server, OK + b"Content-Length: 1000000\r\n\r\n", b"z")
    assert (exchange.outcome, exchange.truncated, exchange.status) == ("truncated", "time", 200)
    assert exchange.payload.strip(b"z") == b""
    assert exchange.payload
    assert exchange.response_bytes[exchange.head_length :] == exchange.payload
    assert "total_s 40" in exchange.error


def test_a_dripping_head_is_no_answer(wire_server) -> None:
    exchange = drip(wire_server, OK, b"X-A: b\r\n")
    assert (exchange.outcome, exchange.has_response, exchange.head_length, exchange.payload) == ("timeout", False, 0, b"")


def test_a_silent_server_ends_at_the_read_time(client: HttpClient, wire_server) -> None:
    answers: dict = {}
    server = wire_server(answers)
    answers["/"] = lambda conn: server.stop.wait() and False
    exchange = client.fetch(server.url("/"), site_at(server.port, timeout={"connect_s": 5, "read_s": 0.2, "total_s": 60}))
    assert (exchange.outcome, exchange.status, exchange.response_bytes) == ("timeout", None, b"")
    assert exchange.request_bytes.startswith(b"GET / HTTP/1.1\r\n")


@pytest.mark.parametrize(
    ("wire", "outcome"),
    [
        (b"", "connect_error"),
        (b"ICY 200 OK\r\n\r\nhello", "invalid_http"),
        (b"hello, no line end", "invalid_http"),
        (b"HTTP/2.0 200 OK\r\n\r\n", "invalid_http"),
        (b"HTTP/1.1 abc OK\r\n\r\n", "invalid_http"),
        (b"HTTP/1.1 200 OK\r\nServer: wi", "invalid_http"),
        (b"\x16\x03\x01\x02\x00", "invalid_http"),
    ],
)
def test_answers_that_are_none(exchange_with, wire: bytes, outcome: str) -> None:
    exchange = exchange_with(then_close(wire))
    assert (exchange.outcome, exchange.status, exchange.has_response) == (outcome, None, False)
    assert exchange.error.startswith("fetching http://127.0.0.1")


def test_switching_protocols_is_not_an_answer(exchange_with) -> None:
    exchange = exchange_with(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nbinary")
    assert (exchange.outcome, exchange.status) == ("invalid_http", 101)


def test_surplus_bytes_are_no_part_of_it_and_end_the_connection(client: HttpClient, wire_server) -> None:
    server = wire_server({"/": OK + b"Content-Length: 5\r\n\r\nhello, and more"})
    for _ in range(2):
        exchange = client.fetch(server.url("/"), site_at(server.port))
        assert (exchange.outcome, exchange.payload) == ("ok", b"hello")
        assert exchange.response_bytes == OK + b"Content-Length: 5\r\n\r\nhello"
    assert server.connections == 2


def test_a_connection_closed_behind_our_back_is_opened_again(client: HttpClient, wire_server) -> None:
    served: list[bool] = []

    def once_then_hang_up(conn: socket.socket) -> bool:
        # The second request on a connection meets a closed door after it was sent.
        if len(served) % 2:
            served.append(False)
            return False
        served.append(True)
        conn.sendall(WHOLE["length"][0])
        return True

    server = wire_server({"/": once_then_hang_up})
    first, second = (client.fetch(server.url("/"), site_at(server.port)) for _ in range(2))
    assert (first.outcome, second.outcome, second.payload) == ("ok", "ok", BODY)
    assert served == [True, False, True]
    assert server.connections == 2


def test_nobody_listens(client: HttpClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    exchange = client.fetch(f"http://127.0.0.1:{port}/", site_at(port))
    assert (exchange.outcome, exchange.status, exchange.fetch_ms) == ("connect_error", None, None)
    assert str(port) in exchange.error


class Names:
    """Answers one after the other, the last one again and again."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)

    def resolve(self, host: str, port: int) -> list[tuple[int, str]]:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if not answer:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(int(socket.AF_INET6 if ":" in address else socket.AF_INET), address) for address in answer]


def client_with(names: Names, **settings) -> HttpClient:
    return HttpClient(user_agent="TrawlBot/1.0 (+https://example.org/bot)", clock=SystemClock(), resolver=names, **settings)


def test_a_name_without_address() -> None:
    exchange = client_with(Names([])).fetch("http://site.test/", Site(domain="site.test", seeds=["http://site.test/"]))
    assert (exchange.outcome, exchange.request_bytes) == ("dns_error", b"")
    assert "site.test" in exchange.error


@pytest.mark.parametrize("answer", [["127.0.0.1"], ["1.1.1.1", "127.0.0.1"], ["::1"], ["169.254.169.254"], ["::ffff:127.0.0.1"]])
def test_a_name_that_leads_inside_is_refused_before_connecting(wire_server, answer: list[str]) -> None:
    server = wire_server({"/": WHOLE["length"][0]})
    site = Site(domain="site.test", seeds=["http://site.test/"], network={"allow_ports": [server.port]})
    exchange = client_with(Names(answer)).fetch(server.url("/", "site.test"), site)
    assert (exchange.outcome, exchange.request_bytes, server.connections) == ("blocked_address", b"", 0)


def test_a_rebinding_name_is_checked_at_each_connection(wire_server) -> None:
    server = wire_server({"/": then_close(WHOLE["length"][0])})
    client = client_with(Names(["127.0.0.1"], ["169.254.169.254"]))
    site = site_at(server.port, "site.test")
    outcomes = [client.fetch(server.url("/", "site.test"), site).outcome for _ in range(2)]
    client.close()
    assert outcomes == ["ok", "blocked_address"]
    assert server.connections == 1


def test_a_port_that_is_not_allowed(client: HttpClient, wire_server) -> None:
    server = wire_server({"/": WHOLE["length"][0]})
    exchange = client.fetch(server.url("/"), site_at(server.port + 1))
    assert (exchange.outcome, server.connections) == ("blocked_address", 0)


def test_one_sites_networks_are_not_anothers(client: HttpClient, wire_server) -> None:
    server = wire_server({"/": WHOLE["length"][0]})
    assert client.fetch(server.url("/"), site_at(server.port)).outcome == "ok"
    stranger = Site(domain="stranger.test", seeds=["http://stranger.test/"], network={"allow_ports": [server.port]})
    assert client.fetch(server.url("/"), stranger).outcome == "blocked_address"


def test_a_proxy_in_the_environment_is_ignored(exchange_with, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert exchange_with(WHOLE["length"][0]).outcome == "ok"


def test_the_next_address_is_tried(wire_server) -> None:
    server = wire_server({"/": WHOLE["length"][0]})
    client = client_with(Names(["127.0.0.2", "127.0.0.1"]))
    exchange = client.fetch(server.url("/", "site.test"), site_at(server.port, "site.test"))
    client.close()
    assert (exchange.outcome, exchange.ip_address) == ("ok", "127.0.0.1")


def test_threads_share_the_client(client: HttpClient, wire_server) -> None:
    pages = {f"/{n}": (b"%d|" % n) * (50 + n) for n in range(100)}
    server = wire_server(
        {
            path: OK + (CHUNKED + b"\r\n" + chunks(body, 97) if len(body) % 2 else length(body) + b"\r\n" + body)
            for path, body in pages.items()
        }
    )
    site = site_at(server.port)
    with ThreadPoolExecutor(8) as pool:
        exchanges = list(pool.map(lambda path: client.fetch(server.url(path), site), pages))
    assert [exchange.payload for exchange in exchanges] == list(pages.values())
    assert {exchange.outcome for exchange in exchanges} == {"ok"}
    assert server.connections <= 8


def test_whichever_thread_asks_the_connection_is_kept(client: HttpClient, wire_server) -> None:
    server = wire_server({"/": OK + length(b"x") + b"\r\nx"})
    site = site_at(server.port)
    for _ in range(5):
        thread = threading.Thread(target=client.fetch, args=(server.url("/"), site))
        thread.start()
        thread.join()
    assert server.connections == 1


def test_closing_the_client_closes_what_waits(client: HttpClient, wire_server) -> None:
    server = wire_server({"/": OK + length(b"x") + b"\r\nx"})
    site = site_at(server.port)
    assert client.fetch(server.url("/"), site).outcome == "ok"
    client.close()
    assert client.fetch(server.url("/"), site).outcome == "ok"
    assert client.fetch(server.url("/"), site).outcome == "ok"
    assert server.connections == 3


TLS = Path(__file__).parent / "tls"


def server_tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "site.test.pem")
    return context


def test_tls_with_the_name_asked_for(wire_server) -> None:
    asked: list[str] = []
    context = server_tls()
    context.sni_callback = lambda _socket, name, _context: asked.append(name)
    server = wire_server({"/": WHOLE["chunked"][0]}, tls=context)
    client = client_with(Names(["127.0.0.1"]), tls=ssl.create_default_context(cafile=TLS / "authority.pem"))
    exchanges = [client.fetch(server.url("/", "site.test"), site_at(server.port, "site.test")) for _ in range(2)]
    client.close()
    for exchange in exchanges:
        assert (exchange.outcome, exchange.error, exchange.payload) == ("ok", None, BODY)
        assert exchange.response_bytes == WHOLE["chunked"][0]
        assert exchange.tls_version == "TLSv1.3"
        assert exchange.tls_cipher.startswith("TLS_")
    assert asked == ["site.test"]


@pytest.mark.parametrize("host", ["site.test", "other.test"])
def test_a_certificate_that_does_not_hold(wire_server, host: str) -> None:
    server = wire_server({"/": WHOLE["length"][0]}, tls=server_tls())
    # site.test by an unknown authority, other.test by a known one for another name.
    trusted = ssl.create_default_context(cafile=TLS / "authority.pem") if host == "other.test" else ssl.create_default_context()
    client = client_with(Names(["127.0.0.1"]), tls=trusted)
    exchange = client.fetch(server.url("/", host), site_at(server.port, host))
    assert (exchange.outcome, exchange.request_bytes) == ("tls_error", b"")
    assert "certificate" in exchange.error


def test_plain_http_where_tls_was_expected(client: HttpClient, wire_server) -> None:
    server = wire_server({"/": WHOLE["length"][0]})
    exchange = client.fetch(
        server.url("/").replace("http:", "https:"), site_at(server.port, timeout={"connect_s": 1, "read_s": 1, "total_s": 1})
    )
    assert exchange.outcome in ("tls_error", "timeout")
    assert not exchange.has_response


def test_a_small_sound_document_is_decoded_once_for_all(exchange_with) -> None:
    gzipped = OK + b"Content-Encoding: gzip\r\n"
    assert exchange_with(gzipped + length(ZIPPED) + b"\r\n" + ZIPPED).document == BODY
    assert exchange_with(OK + length(BODY) + b"\r\n" + BODY).document == BODY
    for payload in (ZIPPED[:-9], BODY, gzip.compress(bytes(2_000_000))):
        assert exchange_with(gzipped + length(payload) + b"\r\n" + payload).document is None


def test_long_answers_are_exact_too(exchange_with) -> None:
    body = b"".join(b"<p>%d" % number for number in range(400_000))
    for wire in (
        OK + length(body) + b"\r\n" + body,
        OK + CHUNKED + b"\r\n" + chunks(body, 20),
        OK + CHUNKED + b"\r\n" + chunks(body, 700_000),
    ):
        exchange = exchange_with(then_close(b"HTTP/1.1 103 Early Hints\r\n\r\n" + wire))
        assert (exchange.outcome, exchange.truncated, exchange.interim) == ("ok", None, b"HTTP/1.1 103 Early Hints\r\n\r\n")
        assert exchange.response_bytes == wire
        assert exchange.payload == b"".join(exchange.payload_pieces()) == body
        assert exchange.payload_length == len(body)
        assert exchange.payload_sha256 == hashlib.sha256(body).hexdigest()
        assert exchange.payload_digest == sha1_base32(body)
        assert exchange.document_start(10) == body[:10]


@pytest.mark.parametrize("size", [1, 3, 100])
def test_the_size_limit_is_exact_in_chunks_of_any_size(exchange_with, size: int) -> None:
    body = random.Random(size).randbytes(5000)
    wire = OK + CHUNKED + b"\r\n" + chunks(body, size)
    assert exchange_with(then_close(wire), max_bytes=5000).payload == body
    for limit in (4999, 4998, 1):
        cut = exchange_with(then_close(wire), max_bytes=limit)
        assert (cut.truncated, cut.payload, parse_response(cut.response_bytes).payload) == ("length", body[:limit], body[:limit])
