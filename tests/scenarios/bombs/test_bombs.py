"""Answers made to fill the memory, at the default caps: a process of its own crawls each of them, and its largest size is told.

The bar: no such answer adds 50 MB to a crawl that gets an ordinary page instead.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

MOST_ADDED_MB = 50
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
# Crawls one URL, by way of a sitemap or not, and prints the rows of what it fetched and the largest size of its process in MB of 10^6 bytes.
CHILD = """
import json, re, sys
from pathlib import Path
from trawl_core.clock import SystemClock, crawl_date
from trawl_core.fetch.crawl import CrawlJob, crawl
from trawl_core.lake import Lake, Partition, tables
from trawl_core.sites import parse_sites

home, port, path, sitemaps = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4])
root = f"http://127.0.0.1:{port}"
network = {"allow_networks": ["127.0.0.0/8"], "allow_ports": [port]}
config = parse_sites(json.dumps({
    "user_agent": "TrawlBot/1.0 (+https://example.org/bot)",
    "defaults": {"delay_s": 0, "network": network, "budget": {"pages": 1}, "attempts": 1},
    "sites": [{"domain": "127.0.0.1", "seeds": [root + path], "sitemaps": [root + name for name in sitemaps] or "none"}],
}))
lake, clock = Lake(home / "lake"), SystemClock()
partition = Partition(crawl_date(clock), "127.0.0.1")
crawl([CrawlJob(partition, config.sites[0])], lake=lake, work=home / "work", config=config, clock=clock)
rows = tables.read(lake, "captures", partition).to_pylist()
names = ("url", "kind", "outcome", "content_truncated", "payload_bytes", "wire_bytes")
most = int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024 / 1e6
print(json.dumps([most, [{name: row[name] for name in names} for row in rows]]))
"""


def bomb(mebibytes: int, unit: bytes, head: bytes = b"") -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    block = unit * (2**20 // len(unit))
    return packer.compress(head) + b"".join(packer.compress(block) for _ in range(mebibytes)) + packer.flush()


def coded(body: bytes) -> bytes:
    return OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


class Numbered:
    """Blocks without end, each made of numbered units, so that none says what another did."""

    def __init__(self, unit: bytes, framed: Callable[[bytes], bytes] = bytes) -> None:
        self._unit = unit
        self._framed = framed

    def __iter__(self) -> Iterator[bytes]:
        numbers = count()
        while True:
            yield self._framed(b"".join(self._unit % next(numbers) for _ in range(2000)))


PARAGRAPHS = b"<p>z" * 16384
# By name: what is sent once, and what then is sent again and again.
ANSWERS: dict[str, tuple[Callable[[], bytes], Any]] = {
    "ordinary": (lambda: OK + b"Content-Length: 12\r\n\r\n<p>ordinary.", None),
    "moved": (lambda: b"HTTP/1.1 302 Found\r\nLocation: /ordinary\r\n\r\n", [b"z" * 65536]),
    "tags": (lambda: coded(bomb(300, b"<p>0")), None),
    "body": (lambda: OK + b"\r\n", [PARAGRAPHS]),
    "links": (lambda: OK + b"\r\n", Numbered(b"<a href=%d>z</a>")),
    "chunks": (lambda: CHUNKED, Numbered(b"<p>%d", chunk)),
    "sitemap-bomb": (lambda: coded(bomb(300, b"<url><loc>/ordinary</loc></url>", b"<urlset>")), None),
    "lines": (lambda: OK + b"\r\n", Numbered(b"Disallow: /%d\n")),
    "sitemap": (lambda: OK + b"\r\n<urlset>", Numbered(b"<url><loc>/%d</loc></url>")),
}


@pytest.fixture
def serve() -> Iterator[Callable[[str | None], int]]:
    """Gives the port of a server; its robots.txt is missing unless an answer is named for it."""
    listeners: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def start(target: Callable[..., None], *arguments: Any) -> None:
        threads.append(threading.Thread(target=target, args=arguments))
        threads[-1].start()

    def answer(conn: socket.socket, robots: str | None) -> None:
        with suppress(OSError), conn:
            while request := conn.recv(65536):
                name = request.split(b" ")[1].decode()[1:]
                if name == "robots.txt" and robots is None:
                    conn.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                    continue
                first, endless = ANSWERS[robots if name == "robots.txt" and robots is not None else name]
                conn.sendall(first())
                while endless is not None:
                    for block in endless:
                        conn.sendall(block)

    def accept(listener: socket.socket, robots: str | None) -> None:
        with suppress(OSError):
            while True:
                start(answer, listener.accept()[0], robots)

    def run(robots: str | None = None) -> int:
        listeners.append(socket.create_server(("127.0.0.1", 0)))
        start(accept, listeners[-1], robots)
        return listeners[-1].getsockname()[1]

    yield run
    for listener in listeners:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
    for thread in threads:
        thread.join()


@pytest.fixture
def crawled(serve: Callable[..., int], tmp_path: Path) -> Callable[..., tuple[float, list[dict[str, Any]]]]:
    """Crawls one answer in a process of its own: its largest size in MB and the rows."""

    def run(name: str, *, sitemap: str | None = None, robots: str | None = None) -> tuple[float, list[dict[str, Any]]]:
        home = tmp_path / f"{name} {sitemap} {robots}"
        sitemaps = json.dumps([f"/{sitemap}"] if sitemap else [])
        command = [sys.executable, "-c", CHILD, str(home), str(serve(robots)), f"/{name}", sitemaps]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        most_mb, rows = json.loads(done.stdout)
        return most_mb, rows

    return run


def told_of(rows: list[dict[str, Any]], kind: str) -> tuple[str, str | None]:
    (row,) = (row for row in rows if row["kind"] == kind)
    return row["outcome"], row["content_truncated"]


# By answer: what it is asked for as, and what its row says.
FETCHED: dict[str, tuple[str, tuple[str, str | None]]] = {
    "moved": ("page", ("ok", "length")),
    "tags": ("page", ("ok", None)),
    "body": ("page", ("truncated", "length")),
    "chunks": ("page", ("truncated", "length")),
    "links": ("page", ("truncated", "length")),
    "sitemap-bomb": ("sitemap", ("ok", None)),
    "sitemap": ("sitemap", ("truncated", "length")),
    "lines": ("robots", ("truncated", "length")),
}


def test_none_takes_much_memory(crawled: Callable[..., tuple[float, list[dict[str, Any]]]]) -> None:
    ordinary_mb, rows = crawled("ordinary")
    assert told_of(rows, "page") == ("ok", None)

    def added_mb(name: str) -> float:
        kind, told = FETCHED[name]
        most_mb, rows = crawled(name) if kind == "page" else crawled("ordinary", **{kind: name})
        assert told_of(rows, kind) == told, name
        assert kind == "page" or told_of(rows, "page") == ("ok", None), name
        return most_mb - ordinary_mb

    with ThreadPoolExecutor(2) as pool:
        added = dict(zip(FETCHED, pool.map(added_mb, FETCHED), strict=True))
    assert max(added.values()) < MOST_ADDED_MB, added
