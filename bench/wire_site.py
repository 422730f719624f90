"""A small site whose answers are written to the wire by hand: codings, chunks, redirects, validators, every kind of end.

Each page is reached from `/`. From one night to the next some change, some answer 304 and some send the same body again.
"""

from __future__ import annotations

import gzip
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HTML = "text/html; charset=utf-8"
CHUNK_SIZES = (1, 1000, 17)


@dataclass(frozen=True)
class Wire:
    """One answer: `headers` besides type and framing; `framing` is length, chunked or close (the body ends with the connection)."""

    body: bytes
    status: str = "200 OK"
    content_type: str = HTML
    headers: tuple[str, ...] = ()
    framing: str = "length"

    @property
    def data(self) -> bytes:
        head = [f"HTTP/1.{0 if self.framing == 'close' else 1} {self.status}", f"Content-Type: {self.content_type}", *self.headers]
        if self.framing == "chunked":
            return _head([*head, "Transfer-Encoding: chunked"]) + b"".join(_chunks(self.body))
        return _head([*head, f"Content-Length: {len(self.body)}"] if self.framing == "length" else head) + self.body


@dataclass
class WireSite:
    """Counts its requests; `night` is turned by the caller."""

    pages: int
    night: int = 0
    origin: str = ""
    requests: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, path: str, validators: set[str]) -> Wire:
        with self._lock:
            self.requests += 1
        wire = self._answers().get(path)
        if wire is None:
            return Wire(b"<!doctype html><p>There is no such page.", "404 Not Found")
        own = {line.partition(": ")[2] for line in wire.headers if line.startswith(("ETag", "Last-Modified"))}
        if own & validators:
            return Wire(b"", "304 Not Modified", headers=wire.headers, framing="none")
        return wire

    def _answers(self) -> dict[str, Wire]:
        answers = {
            "/plain.html": _page("plain"),
            "/gzip.html": Wire(gzip.compress(_text("gzip"), mtime=0), headers=("Content-Encoding: gzip",)),
            "/deflate.html": Wire(zlib.compress(_text("deflate")), headers=("Content-Encoding: deflate",)),
            "/chunked.html": Wire(_text("chunked"), framing="chunked"),
            "/chunked-gzip.html": Wire(gzip.compress(_text("both"), mtime=0), headers=("Content-Encoding: gzip",), framing="chunked"),
            "/close.html": Wire(_text("close"), framing="close"),
            "/empty.html": Wire(b""),
            "/large.html": Wire(gzip.compress(_text("large", 4000), mtime=0), headers=("Content-Encoding: gzip",)),
            "/latin1.html": Wire(
                "<!doctype html><p>Café".encode("latin-1"), content_type="text/html; charset=iso-8859-1", headers=("X-Name: Café",)
            ),
            "/caf%C3%A9.html": _page("a name beyond ASCII"),
            "/CamelCase.html": _page("a name in two cases"),
            "/query?b=2&a=1": _page("a query"),
            "/bytes.bin": Wire(bytes(range(256)) * 20, content_type="application/octet-stream"),
            "/style.css": Wire(b"body { color: #333; background: url(/picture.png) }\n", content_type="text/css"),
            "/script.js": Wire(b"window.location.assign && console.log('script');\n", content_type="text/javascript"),
            "/data.json": Wire(b'{"name": "data", "href": "/plain.html"}\n', content_type="application/json"),
            "/picture.png": Wire(b"\x89PNG\r\n\x1a\n" + bytes(200), content_type="image/png"),
            "/moved": Wire(b"<p>Moved.", "301 Moved Permanently", headers=("Location: /plain.html",)),
            "/elsewhere": Wire(b"", "302 Found", headers=("Location: /gzip.html",)),
            "/forbidden.html": Wire(b"<p>No.", "403 Forbidden"),
            "/same-1.html": _page("the same body"),
            "/same-2.html": _page("the same body"),
            "/etag.html": Wire(gzip.compress(_text("etag"), mtime=0), headers=('ETag: "v1"', "Content-Encoding: gzip")),
            "/etag-chunked.html": Wire(_text("etag in chunks"), headers=('ETag: W/"c1"',), framing="chunked"),
            "/dated.html": Wire(_text("dated"), headers=("Last-Modified: Sun, 01 Nov 2026 10:00:00 GMT",)),
            "/changing.html": _page(f"night {self.night}"),
        }
        answers |= {f"/p/{number}.html": _page(f"page {number}") for number in range(self.pages)}
        links = "".join(f'<p><a href="{path}">{path}</a>' for path in [*answers, "/missing.html"])
        answers["/"] = Wire(f"<!doctype html><title>All</title>{links}".encode())
        answers["/robots.txt"] = Wire(b"User-agent: *\nDisallow: /private/\n", content_type="text/plain")
        return answers


def _page(name: str) -> Wire:
    return Wire(_text(name))


def _text(name: str, lines: int = 20) -> bytes:
    rows = "".join(f"<p>Line {number} of the page that is called {name}." for number in range(lines))
    return f"<!doctype html><title>{name}</title><link rel=stylesheet href=/style.css><h1>{name}</h1>{rows}".encode()


def _head(lines: list[str]) -> bytes:
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _chunks(body: bytes) -> Iterator[bytes]:
    position, turn = 0, 0
    while position < len(body):
        piece = body[position : position + CHUNK_SIZES[turn % len(CHUNK_SIZES)]]
        yield b"%x\r\n%s\r\n" % (len(piece), piece)
        position += len(piece)
        turn += 1
    yield b"0\r\n\r\n"


@contextmanager
def serve(site: WireSite, host: str) -> Iterator[WireSite]:
    """`site` at a free port of `host` while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            wire = site.answer(self.path, {self.headers.get("If-None-Match", ""), self.headers.get("If-Modified-Since", "")} - {""})
            self.wfile.write(wire.data)
            self.close_connection = wire.framing == "close"

        def log_message(self, format: str, *args: object) -> None:
            """A bench prints its own table."""

    server = ThreadingHTTPServer((host, 0), Handler)
    server.daemon_threads = True
    site.origin = f"http://{host}:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
