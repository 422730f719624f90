"""A server of known bytes: a test says what goes over the wire for each path and sees what was asked."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

Script = Callable[[socket.socket], bool]


@dataclass
class WireServer:
    """`requests` holds each request's bytes in order, `connections` how many were accepted; set `stop` ends dripping scripts."""

    answers: Mapping[str, bytes | Script]
    tls: ssl.SSLContext | None = None
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        self._open: set[socket.socket] = set()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}{path}"

    def close(self) -> None:
        self.stop.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for conn in list(self._open):
            with suppress(OSError):
                conn.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                conn, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.add(conn)
            self._threads.append(threading.Thread(target=self._serve, args=(conn,)))
            self._threads[-1].start()

    def _serve(self, conn: socket.socket) -> None:
        with suppress(OSError, IndexError):
            if self.tls:
                self._open.discard(conn)
                conn = self.tls.wrap_socket(conn, server_side=True)
                self._open.add(conn)
            while request := self._request(conn):
                self.requests.append(request)
                answer = self.answers[request.split(b" ")[1].decode("latin-1")]
                if callable(answer):
                    if not answer(conn):
                        break
                else:
                    conn.sendall(answer)
        self._open.discard(conn)
        conn.close()

    @staticmethod
    def _request(conn: socket.socket) -> bytes:
        request = b""
        while not request.endswith(b"\r\n\r\n"):
            block = conn.recv(65536)
            if not block:
                return b""
            request += block
        return request


@pytest.fixture
def wire_server() -> Iterator[Callable[..., WireServer]]:
    """Starts servers: `wire_server({path: bytes or script}, tls=None)`; a script sends and returns whether to keep the connection."""
    servers: list[WireServer] = []

    def start(answers: Mapping[str, bytes | Script], tls: ssl.SSLContext | None = None) -> WireServer:
        servers.append(WireServer(answers, tls))
        return servers[-1]

    yield start
    for server in servers:
        server.close()
