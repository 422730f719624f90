"""The only way out of a rendered page: a proxy on loopback that connects by the crawl's own rules.

The browser resolves no name and opens no connection but to this proxy. For each request the name is resolved here, every answer
is checked against the site's `network`, and the connection goes to a checked address, as for the crawl's own requests. It waits
for a slot of that address (address_slots.py), so what pages ask for and what the crawl asks for stay within one budget together.
"""

from __future__ import annotations

import select
import socket
import threading
from collections import Counter
from contextlib import suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from trawl_core.errors import FetchError, TrawlError
from trawl_core.fetch.address_slots import POLL_S, ConnectionSlots
from trawl_core.fetch.guard import Resolver, checked_addresses
from trawl_core.fetch.resolver import ResolverWithin
from trawl_core.sites import Site

MAX_PAGE_BYTES = 64 * 2**20
MAX_CONNECTIONS = 64
# A tunnel whose server spoke last and that is quiet for so long gives its slot to a connection that waits for one.
IDLE_TUNNEL_S = 1.0
_MAX_HEAD = 64 * 1024
_BLOCK = 64 * 1024
_METHODS = ("GET", "HEAD", "OPTIONS")
# The slot that the page's own request holds.
_PAGES = -1


class BrowserProxy:
    """Serves one page of one site until it is closed; `url` is what the browser is given.

    `refused` holds a line for each request that the guard turned away, `received_bytes` counts what servers sent. After
    MAX_PAGE_BYTES nothing more is passed on.
    """

    def __init__(self, site: Site, resolver: Resolver, slots: ConnectionSlots | None = None, address: str | None = None) -> None:
        """`slots` bound the connections to an address, None for no bound; of `address` the page itself has one, which its
        connections use in turn."""
        self.refused: list[str] = []
        self.received_bytes = 0
        self._site = site
        self._resolver = ResolverWithin(resolver, site.timeout.total_s)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._slots = slots
        self._page_address = address
        self._page_slot_is_free = True
        self._wanted: Counter[str] = Counter()
        self._ended = threading.Event()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._accept, name="trawl-browser-proxy", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def close(self) -> None:
        """Break off every connection; no thread of the proxy connects to anything afterwards."""
        with self._lock:
            self._closed = True
            self._ended.set()
            sockets = list(self._open)
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        for sock in sockets:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if not self._hold(client):
                client.close()
                continue
            threading.Thread(target=self._serve, args=(client,), name="trawl-browser-proxy", daemon=True).start()

    def _hold(self, sock: socket.socket) -> bool:
        with self._lock:
            if self._closed or len(self._open) >= 2 * MAX_CONNECTIONS:
                return False
            self._open.add(sock)
            return True

    def _let_go(self, sock: socket.socket) -> None:
        with self._lock:
            self._open.discard(sock)
        sock.close()

    def _serve(self, client: socket.socket) -> None:
        try:
            client.settimeout(self._site.timeout.read_s)
            with suppress(OSError):
                self._pass_on(client)
        finally:
            self._let_go(client)

    def _pass_on(self, client: socket.socket) -> None:
        head, rest = _read_head(client)
        asked = _parse(head)
        if asked is None:
            client.sendall(_answer("400 Bad Request"))
            return
        host, port, forwarded = asked
        try:
            server, address, slot = self._connect(host, port)
        except TrawlError as error:
            is_blocked = isinstance(error, FetchError) and error.outcome == "blocked_address"
            if is_blocked:
                self.refused.append(f"{host}: {error}")
            client.sendall(_answer("403 Forbidden" if is_blocked else "502 Bad Gateway"))
            return
        try:
            if forwarded is None:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                server.sendall(rest)
                self._relay(client, server, tunnel_to=address)
            else:
                # One request a connection: what the browser sends after it would be meant for another server.
                server.sendall(forwarded)
                client.sendall(self._closing_head(server))
                self._relay(client, server)
        finally:
            self._let_go(server)
            self._give_back(address, slot)

    def _connect(self, host: str, port: int) -> tuple[socket.socket, str, int]:
        """A connection, its address and the slot that it holds of it."""
        failure: OSError | None = None
        for family, address in checked_addresses(host, port, self._site.network, self._resolver):
            slot = self._wait_for_slot(address)
            if slot is None:
                break
            server = socket.socket(family, socket.SOCK_STREAM)
            if not self._hold(server):
                server.close()
                self._give_back(address, slot)
                break
            try:
                server.settimeout(self._site.timeout.connect_s)
                server.connect((address, port))
            except OSError as error:
                failure = error
                self._let_go(server)
                self._give_back(address, slot)
            else:
                server.settimeout(self._site.timeout.read_s)
                return server, address, slot
        reason = failure or "the page was done with before a connection was free"
        raise FetchError("connect_error", f"connecting to {host} port {port} for the browser failed: {reason}.")

    def _wait_for_slot(self, address: str) -> int | None:
        """A slot of the address, _PAGES for the page's own; None when the page is done with before one is to be had."""
        with self._lock:
            self._wanted[address] += 1
        try:
            while (slot := self._take(address)) is None and not self._ended.wait(POLL_S):
                pass
        finally:
            with self._lock:
                self._wanted[address] -= 1
        return slot

    def _take(self, address: str) -> int | None:
        with self._lock:
            if self._slots is None or (address == self._page_address and self._page_slot_is_free):
                self._page_slot_is_free = False
                return _PAGES
        return self._slots.take(address, self._site.host_concurrency)

    def _give_back(self, address: str, slot: int) -> None:
        if slot == _PAGES:
            self._page_slot_is_free = True
        elif self._slots is not None:
            self._slots.give_back(address, slot)

    def _closing_head(self, server: socket.socket) -> bytes:
        """The answer's head, told to the browser as the last of its connection, and what came behind it."""
        head, rest = _read_head(server)
        self.received_bytes += len(head) + len(rest)
        lines = [line for line in head.rstrip(b"\r\n").split(b"\r\n") if _name_of(line) not in (b"connection", b"keep-alive")]
        return b"\r\n".join([*lines, b"Connection: close", b"", b""]) + rest

    def _relay(self, client: socket.socket, server: socket.socket, *, tunnel_to: str | None = None) -> None:
        """Pass on what comes from the server, through a tunnel both ways, until one side ends or is silent for too long."""
        to = {server: client} if tunnel_to is None else {server: client, client: server}
        spoke_last, quiet_s, step_s = client, 0.0, min(IDLE_TUNNEL_S, self._site.timeout.read_s)
        while self.received_bytes < MAX_PAGE_BYTES:
            ready, _, _ = select.select(list(to), [], [], step_s)
            if not ready:
                quiet_s += step_s
                is_spare = tunnel_to is not None and spoke_last is server and self._wanted[tunnel_to] > 0
                if is_spare or quiet_s >= self._site.timeout.read_s:
                    return
            else:
                quiet_s, spoke_last = 0.0, ready[-1]
            for sock in ready:
                data = sock.recv(_BLOCK)
                if not data:
                    return
                if sock is server:
                    self.received_bytes += len(data)
                to[sock].sendall(data)


def _read_head(sock: socket.socket) -> tuple[bytes, bytes]:
    """The head with its empty line, and the bytes behind it. Raises OSError when the connection ends before."""
    received = b""
    while (end := received.find(b"\r\n\r\n")) < 0:
        data = sock.recv(_BLOCK)
        if not data or len(received) > _MAX_HEAD:
            raise ConnectionError("the head has no end")
        received += data
    return received[: end + 4], received[end + 4 :]


def _parse(head: bytes) -> tuple[str, int, bytes | None] | None:
    """Host, port and the head to send on (None for a tunnel); None for a request that is not passed on."""
    lines = head.rstrip(b"\r\n").split(b"\r\n")
    try:
        method, target, version = lines[0].decode("ascii").split(" ")
        if method == "CONNECT":
            parts = urlsplit(f"//{target}")
            return (parts.hostname, parts.port, None) if parts.hostname and parts.port else None
        parts = urlsplit(target)
        port = parts.port or 80
    except ValueError:
        return None
    if method not in _METHODS or parts.scheme != "http" or not parts.hostname:
        return None
    path = target[len("http://") :]
    path = path[path.index("/") :] if "/" in path else "/"
    kept = [line for line in lines[1:] if _name_of(line) not in (b"connection", b"proxy-connection", b"keep-alive", b"upgrade")]
    first = f"{method} {path} {version}".encode("ascii")
    return parts.hostname, port, b"\r\n".join([first, *kept, b"Connection: close", b"", b""])


def _name_of(line: bytes) -> bytes:
    return line.partition(b":")[0].strip().lower()


def _answer(status: str) -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode("ascii")
