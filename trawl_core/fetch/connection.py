"""The connection under requests: guarded addresses, one total deadline, and every byte kept as the wire carried it.

An adapter belongs to one thread and one site. Before each exchange its `Wire` gets a fresh `Recording`; the connection
and the response classes below write into it and obey its deadline.
"""

from __future__ import annotations

import http.client
import io
import re
import socket
import ssl
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import SSLError as Urllib3SslError
from urllib3.util.ssl_match_hostname import CertificateError

from trawl_core.clock import Clock
from trawl_core.errors import FetchError
from trawl_core.fetch.guard import Resolver, checked_addresses
from trawl_core.fetch.head import ResponseHead, parse_head
from trawl_core.sites import NetworkAccess, Timeout
from trawl_core.urls.normalize import host_and_port

MAX_HEAD_BYTES = 256 * 1024
_READ_BYTES = 64 * 1024
_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?\r?\n", re.DOTALL)


@dataclass
class Recording:
    """One exchange while it happens. Times are monotonic seconds; `connected` says that a new connection was opened for it."""

    url: str
    target: str
    timeout: Timeout
    clock: Clock
    started_at: datetime
    deadline: float
    max_wire_bytes: int
    request: bytearray = field(default_factory=bytearray)
    response: WireResponse | None = None
    connected: bool = False
    sent_at: float | None = None
    first_byte_at: float | None = None
    ip_address: str | None = None
    tls_version: str | None = None
    tls_cipher: str | None = None

    @property
    def answer(self) -> WireResponse:
        if self.response is None:
            raise RuntimeError("asked for the answer of an exchange that has none")
        return self.response

    @property
    def head(self) -> ResponseHead:
        if self.answer.head is None:
            raise RuntimeError("asked for the head of an exchange that has none")
        return self.answer.head

    @property
    def ttfb_ms(self) -> float | None:
        """Milliseconds from sending the request to the first byte of the answer, None when either is missing."""
        return None if self.sent_at is None or self.first_byte_at is None else (self.first_byte_at - self.sent_at) * 1000

    def elapsed_ms(self) -> float | None:
        """Milliseconds since the request was sent, None when it was not."""
        return None if self.sent_at is None else (self.clock.monotonic() - self.sent_at) * 1000

    def remaining_s(self, step_s: float, doing: str) -> float:
        """Seconds that a step may still take; raises FetchError("timeout") when the total time is over."""
        left = self.deadline - self.clock.monotonic()
        if left <= 0:
            raise self.late(doing)
        return min(left, step_s)

    def late(self, doing: str) -> FetchError:
        limits = f"connect_s {self.timeout.connect_s:g}, read_s {self.timeout.read_s:g}, total_s {self.timeout.total_s:g}"
        return FetchError("timeout", f"{doing} {self.url} took too long (timeout: {limits}).")


class Wire:
    """What one adapter's connections share: the site's network rules and the exchange that is going on."""

    def __init__(self, access: NetworkAccess, resolver: Resolver) -> None:
        self.access = access
        self.resolver = resolver
        self.recording: Recording | None = None

    @property
    def now(self) -> Recording:
        if self.recording is None:
            raise RuntimeError("a connection was used outside of an exchange")
        return self.recording


class WireReader(io.BufferedIOBase):
    """A buffered reader over the socket that keeps what it received: `received[:consumed]` is what was taken as answer."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, recording: Recording) -> None:
        self._raw = raw
        self._sock = sock
        self._recording = recording
        self.received = bytearray()
        self.consumed = 0
        self.at_end = False

    @property
    def surplus(self) -> bool:
        """Bytes came behind the answer: the connection can't be used again."""
        return len(self.received) > self.consumed

    def _fill(self) -> bool:
        """Receive once; False at the end of the stream. Raises FetchError for a timeout or a broken connection."""
        if self.at_end:
            return False
        recording = self._recording
        if len(self.received) > recording.max_wire_bytes:
            raise FetchError("truncated", f"{recording.url} sent more than {recording.max_wire_bytes} bytes of framing and content.")
        doing = "reading" if self.received else "waiting for an answer from"
        self._sock.settimeout(recording.remaining_s(recording.timeout.read_s, doing))
        block = bytearray(_READ_BYTES)
        try:
            count = self._raw.readinto(block) or 0
        except TimeoutError:
            raise recording.late(doing) from None
        except OSError as error:
            raise FetchError("connect_error", f"{doing} {recording.url} failed: {error.strerror or error}.") from error
        if not count:
            self.at_end = True
            return False
        if recording.first_byte_at is None:
            recording.first_byte_at = recording.clock.monotonic()
        self.received += memoryview(block)[:count]
        return True

    def _take(self, count: int) -> bytes:
        start = self.consumed
        self.consumed = min(start + count, len(self.received))
        return bytes(memoryview(self.received)[start : self.consumed])

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0:
            while self._fill():
                pass
            return self._take(len(self.received))
        while len(self.received) - self.consumed < size and self._fill():
            pass
        return self._take(size)

    def read1(self, size: int = -1) -> bytes:
        if not self.surplus:
            self._fill()
        return self._take(size if size >= 0 else len(self.received))

    def readline(self, size: int | None = -1) -> bytes:
        searched = self.consumed
        limit = _READ_BYTES if size is None or size < 0 else size
        while (end := self.received.find(b"\n", searched)) < 0 and len(self.received) - self.consumed < limit:
            searched = len(self.received)
            if not self._fill():
                break
        return self._take(min(limit, (end + 1 if end >= 0 else len(self.received)) - self.consumed))

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()


class WireResponse(http.client.HTTPResponse):
    """http.client's response with our reader under it and our parser for the head; `head` is None until one was read."""

    def __init__(self, wire: Wire, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.fp.close()
        raw = sock.makefile("rb", buffering=0)
        self.reader = WireReader(raw, sock, wire.now)
        self.fp = self.reader
        self.head: ResponseHead | None = None
        self.head_start = 0
        self.head_length = 0
        self._url = wire.now.url
        wire.now.response = self

    def begin(self) -> None:
        """Read heads until one is final. Raises FetchError when none comes."""
        while self.head is None or self.head.interim:
            self.head_start = self.reader.consumed
            self.head = None
            self.head = parse_head(self._read_head())
            if self.head is None:
                first_line = bytes(self.reader.received[self.head_start : self.reader.consumed]).split(b"\n", 1)[0].rstrip()[:80]
                raise self._invalid(f"the answer does not begin with an HTTP status line: {first_line.decode('latin-1')!r}")
        self.head_length = self.reader.consumed - self.head_start
        self.code = self.status = self.head.status
        self.version = 10 if self.head.version == "HTTP/1.0" else 11
        self.reason = self.head.reason
        self.headers = self.msg = http.client.HTTPMessage()
        self.chunked = self.head.chunked
        self.chunk_left = None
        self.length = self.head.length
        self.will_close = not self.head.keep_alive

    def _read_head(self) -> bytes:
        start = self.reader.consumed
        while (line := self.reader.readline(MAX_HEAD_BYTES)) not in (b"\r\n", b"\n"):
            if not line.endswith(b"\n") and self.reader.at_end:
                if not self.reader.received:
                    raise FetchError("connect_error", f"fetching {self._url}: the server closed the connection without an answer.")
                raise self._invalid("the server closed the connection inside the head of its answer")
            if self.reader.consumed == start + len(line) and not line.startswith(b"HTTP/"):
                break
            if self.reader.consumed > MAX_HEAD_BYTES:
                raise self._invalid(f"the head of the answer is larger than {MAX_HEAD_BYTES} bytes")
        return bytes(self.reader.received[start : self.reader.consumed])

    def _invalid(self, reason: str) -> FetchError:
        return FetchError("invalid_http", f"fetching {self._url}: {reason}.")

    def _read_next_chunk_size(self) -> int:
        """http.client would take `-1`, `+5` and `1_0` for sizes."""
        match = _CHUNK_SIZE.fullmatch(self.fp.readline(MAX_HEAD_BYTES))
        if match is None:
            raise ValueError("not a chunk size")
        return int(match[1], 16)


class _WireConnection(HTTPConnection):
    """Mixed into both of urllib3's connection classes."""

    def __init__(self, wire: Wire, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._wire = wire
        self._ip_address: str | None = None
        self.response_class = partial(WireResponse, wire)

    def _new_conn(self) -> socket.socket:
        """Connect to the first checked address that answers; raises FetchError."""
        recording = self._wire.now
        recording.connected = True
        addresses = checked_addresses(self._dns_host.strip("[]"), self.port, self._wire.access, self._wire.resolver)
        failure: OSError | None = None
        for family, address in addresses:
            sock = socket.socket(family, socket.SOCK_STREAM)
            try:
                for option in self.socket_options or ():
                    sock.setsockopt(*option)
                sock.settimeout(recording.remaining_s(recording.timeout.connect_s, "connecting to"))
                sock.connect((address, self.port))
            except OSError as error:
                failure = error
                sock.close()
            except BaseException:
                sock.close()
                raise
            else:
                self._ip_address = address
                return sock
        if isinstance(failure, TimeoutError):
            raise recording.late("connecting to") from failure
        where = ", ".join(address for _, address in addresses)
        raise FetchError(
            "connect_error", f"connecting to {self.host} port {self.port} ({where}) failed: {(failure and failure.strerror) or failure}."
        ) from failure

    def request(self, method: str, url: str, *args: Any, **kwargs: Any) -> None:
        """The target as the crawl has it: urllib3 re-encodes and requests drops an empty query."""
        super().request(method, self._wire.now.target, *args, **kwargs)

    def send(self, data: Any) -> None:
        recording = self._wire.now
        if self.sock is None:
            self.connect()
        if recording.sent_at is None:
            recording.sent_at = recording.clock.monotonic()
            recording.started_at = recording.clock.now()
            recording.ip_address = self._ip_address
            if isinstance(self.sock, ssl.SSLSocket):
                recording.tls_version = self.sock.version()
                recording.tls_cipher = (self.sock.cipher() or (None,))[0]
        recording.request += data
        self.sock.settimeout(recording.remaining_s(recording.timeout.read_s, "sending to"))
        try:
            super().send(data)
        except TimeoutError:
            raise recording.late("sending to") from None


class WireHttpConnection(_WireConnection):
    pass


class WireHttpsConnection(_WireConnection, HTTPSConnection):
    def connect(self) -> None:
        recording = self._wire.now
        try:
            super().connect()
        except (ssl.SSLError, CertificateError, Urllib3SslError) as error:
            raise FetchError("tls_error", f"the TLS handshake with {self.host} failed: {error}.") from error
        except TimeoutError:
            raise recording.late("the TLS handshake with") from None
        except OSError as error:
            raise FetchError("tls_error", f"the TLS handshake with {self.host} failed: {error.strerror or error}.") from error

    def _new_conn(self) -> socket.socket:
        sock = super()._new_conn()
        try:
            recording = self._wire.now
            sock.settimeout(recording.remaining_s(recording.timeout.connect_s, "the TLS handshake with"))
        except FetchError:
            sock.close()
            raise
        return sock


class WireAdapter(HTTPAdapter):
    """requests' transport over the connections above: no proxy, no redirect, no retry, no cookies."""

    def __init__(self, wire: Wire, tls: ssl.SSLContext) -> None:
        self.wire = wire
        self._tls = tls
        # One thread uses it, so one connection an origin is enough, and a retry can't meet a second stale one.
        super().__init__(pool_connections=8, pool_maxsize=1)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        http_pool = type("WireHttpPool", (HTTPConnectionPool,), {"ConnectionCls": staticmethod(partial(WireHttpConnection, self.wire))})
        https_pool = type("WireHttpsPool", (HTTPSConnectionPool,), {"ConnectionCls": staticmethod(partial(WireHttpsConnection, self.wire))})
        self.poolmanager.pool_classes_by_scheme = {"http": http_pool, "https": https_pool}

    def get_connection_with_tls_context(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> HTTPConnectionPool:
        scheme = request.url.partition(":")[0]
        host, port = host_and_port(request.url)
        pool_kwargs = {"ssl_context": self._tls} if scheme == "https" else None
        return self.poolmanager.connection_from_host(host, port, scheme, pool_kwargs=pool_kwargs)

    def cert_verify(self, *args: Any, **kwargs: Any) -> None:
        """The context that the pool was given decides; requests would load its bundle again for every connection."""

    def request_url(self, *args: Any, **kwargs: Any) -> str:
        """A placeholder: the connection sends the recording's target."""
        return "/"

    def build_response(self, req: requests.PreparedRequest, resp: Any) -> requests.Response:
        response = requests.Response()
        response.status_code = resp.status
        response.raw = resp
        response.request = req
        return response
