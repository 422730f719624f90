"""A server whose every answer is odd: each ends in the right row, and the archive of all of them verifies."""

from __future__ import annotations

import gzip
import socketserver
import threading
from collections.abc import Iterator

import pytest

from trawl_core.warc.verify import verify

HOST = "127.0.0.11"
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
ROBOTS = OK + b"Content-Length: 0\r\n\r\n"


def page(number: int) -> bytes:
    return b"<p>page number %d</p>" % number


def sized(body: bytes, *headers: bytes, length: int | None = None) -> bytes:
    lines = [*headers, b"Content-Length: %d" % (len(body) if length is None else length)]
    return OK + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body


# By path: the bytes of the answer (the connection closes behind them), the outcome, content_truncated.
ANSWERS: dict[str, tuple[bytes, str, str | None]] = {
    "/early-hints": (b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n" + sized(page(1)), "ok", None),
    "/many-headers": (sized(page(2), *[b"X-%d: v" % n for n in range(150)]), "ok", None),
    "/no-reason": (b"HTTP/1.1 200\r\nContent-Length: 20\r\n\r\n" + page(3), "ok", None),
    "/latin1-reason": (b"HTTP/1.1 200 Tr\xe8s bien\r\nContent-Length: 20\r\n\r\n" + page(4), "ok", None),
    "/two-lengths": (sized(page(5), b"Content-Length: 20"), "ok", None),
    "/until-close": (b"HTTP/1.0 200 OK\r\n\r\n" + page(6), "ok", None),
    "/line-feeds": (CHUNKED + b"14\n" + page(7) + b"\n0\n\n", "ok", None),
    "/padded-chunks": (CHUNKED + b"0014 \r\n" + page(8) + b"\r\n0000\r\n\r\n", "ok", None),
    "/gzip-lie": (sized(page(9), b"Content-Encoding: gzip"), "ok", None),
    "/null-byte": (sized(b"<p>\x00before</p>"), "ok", None),
    "/short": (sized(page(10), length=500), "truncated", "disconnect"),
    "/gzip-cut": (sized(gzip.compress(page(11) * 50)[:30], b"Content-Encoding: gzip"), "truncated", "unspecified"),
    "/chunk-cut": (CHUNKED + b"50\r\n" + page(12), "truncated", "disconnect"),
    "/not-chunked": (CHUNKED + page(13), "truncated", "disconnect"),
    "/negative-chunk": (CHUNKED + b"-5\r\n" + page(14), "truncated", "unspecified"),
    "/too-long": (sized(b"x" * 5000), "truncated", "length"),
    "/not-http": (b"ICY 200 OK\r\n\r\nhello", "invalid_http", None),
    "/no-head": (page(15), "invalid_http", None),
    "/head-cut": (OK + b"Content-Le", "invalid_http", None),
    "/nothing": (b"", "connect_error", None),
    "/unsolicited": (b"HTTP/1.1 304 Not Modified\r\n\r\n", "unsolicited_304", None),
    "/nowhere": (b"HTTP/1.1 302 Found\r\nLocation: http://[zz/\r\nContent-Length: 0\r\n\r\n", "ok", None),
}


@pytest.fixture
def port() -> Iterator[int]:
    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            path = self.rfile.readline().split(b" ")[1].decode()
            while self.rfile.readline() not in (b"\r\n", b""):
                pass
            self.wfile.write(ANSWERS[path][0] if path in ANSWERS else ROBOTS)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def handle_error(self, request, client_address) -> None:
            """Leaving in the middle of an answer is what the client may do."""

    with Server((HOST, 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def test_each_has_its_row_and_the_archive_verifies(run_crawl, port) -> None:
    root = f"http://{HOST}:{port}"
    entry = {"domain": HOST, "seeds": [root + path for path in ANSWERS], "sitemaps": "none", "attempts": 1, "max_response_bytes": 4096}
    run = run_crawl(entry)
    found = {row["url"].removeprefix(root): (row["outcome"], row["content_truncated"]) for row in run.captures(HOST).iter_rows(named=True)}
    assert found == {path: (outcome, truncated) for path, (_, outcome, truncated) in ANSWERS.items()}
    assert run.outcome(HOST).error is None
    assert verify(run.lake) == []
