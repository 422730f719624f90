"""Answers made to fill the memory: each is fetched and read for links by a process of its own, whose largest size is told."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
# Prints {path: [outcome, truncated, MB of 10^6 bytes above the size after an ordinary answer]}, each path after those before it.
CHILD = """
import json, re, sys
from pathlib import Path
from trawl_core.clock import SystemClock
from trawl_core.fetch.client import HttpClient
from trawl_core.fetch.discovery import discover
from trawl_core.sites import Site

port = int(sys.argv[1])
network = {"allow_networks": ["127.0.0.0/8"], "allow_ports": [port]}
site = Site(domain="127.0.0.1", seeds=[f"http://127.0.0.1:{port}/"], delay_s=0, network=network)
client = HttpClient(user_agent="TrawlBot/1.0 (+https://example.org/bot)", clock=SystemClock())
told, start = {}, 0.0
for path in sys.argv[2:]:
    exchange = client.fetch(f"http://127.0.0.1:{port}{path}", site)
    exchange.payload_digest, exchange.payload_sha256, discover(exchange, "page", site)
    most = int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024 / 1e6
    start = start or most
    told[path] = [exchange.outcome, exchange.truncated, most - start]
print(json.dumps(told))
"""


def _bomb(mebibytes: int, unit: bytes) -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    block = unit * (2**20 // len(unit))
    return b"".join(packer.compress(block) for _ in range(mebibytes)) + packer.flush()


def _coded(body: bytes) -> bytes:
    return OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body) + body


# By path: what is sent once, and what then is sent without end.
ANSWERS: dict[str, tuple[Callable[[], bytes], bytes]] = {
    "/": (lambda: OK + b"Content-Length: 12\r\n\r\n<p>ordinary.", b""),
    "/moved": (lambda: b"HTTP/1.1 302 Found\r\nLocation: /b\r\n\r\n", b"z" * 65536),
    "/head": (lambda: OK, b"X-Filler: filler\r\n" * 1000),
    "/bomb": (lambda: _coded(_bomb(300, b"\0")), b""),
    "/tags": (lambda: _coded(_bomb(300, b"<p>0")), b""),
    "/body": (lambda: OK + b"\r\n", b"<p>z" * 16384),
}


@pytest.fixture
def port() -> Iterator[int]:
    listener = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []

    def serve(conn: socket.socket) -> None:
        with suppress(OSError), conn:
            while request := conn.recv(65536):
                first, endless = ANSWERS[request.split(b" ")[1].decode()]
                conn.sendall(first())
                while endless:
                    conn.sendall(endless)

    def accept() -> None:
        with suppress(OSError):
            while True:
                conn, _ = listener.accept()
                threads.append(threading.Thread(target=serve, args=(conn,)))
                threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    accepting.join()
    for thread in threads:
        thread.join()


def test_none_takes_much_memory(port: int) -> None:
    done = subprocess.run([sys.executable, "-c", CHILD, str(port), *ANSWERS], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert {path: tuple(rest) for path, (*rest, _) in told.items()} == {
        "/": ("ok", None),
        "/moved": ("ok", "length"),
        "/head": ("invalid_http", None),
        "/bomb": ("ok", None),
        "/tags": ("ok", None),
        "/body": ("truncated", "length"),
    }
    added_mb = {path: mb for path, (*_, mb) in told.items()}
    assert added_mb["/tags"] < 50, added_mb
    # The 20 MiB that a body may have stand there twice, as answer and as payload.
    assert added_mb["/body"] < 50 + 2 * 20 * 1.048576, added_mb
