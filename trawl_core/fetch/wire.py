"""What the wire carried: one exchange's recording, and the reader and response that write into it.

http.client reads its answers through these, so the bytes kept are the bytes taken, and the total deadline holds for
each of them. Memory: the answer once.
"""

from __future__ import annotations

import http.client
import io
import re
import socket
from dataclasses import dataclass, field
from datetime import datetime

from trawl_core.clock import Clock
from trawl_core.errors import FetchError
from trawl_core.fetch.guard import Resolver
from trawl_core.fetch.head import ResponseHead, parse_head
from trawl_core.fetch.taken import Taken
from trawl_core.sites import NetworkAccess, Timeout

MAX_HEAD_BYTES = 256 * 1024
_READ_BYTES = 64 * 1024
_WHOLE_HEAD = re.compile(rb"HTTP/.*?\n\r?\n", re.DOTALL)


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
    """Reads from the socket and keeps in `taken` what was taken as answer; what was received beyond it waits."""

    def __init__(self, sock: socket.socket, recording: Recording) -> None:
        self._sock = sock
        self._recording = recording
        self._waiting = bytearray()
        self._received = 0
        self.taken = Taken()
        self.at_end = False

    @property
    def is_empty(self) -> bool:
        """Nothing was received so far."""
        return not self._received

    @property
    def surplus(self) -> bool:
        """Bytes came behind the answer: the connection can't be used again."""
        return bool(self._waiting)

    @property
    def waiting(self) -> bytearray:
        """What was received and not taken yet, for those who look before they take; not to be changed."""
        return self._waiting

    def start_anew(self) -> bytes | memoryview:
        """What was taken so far, which is no longer kept here."""
        taken, self.taken = self.taken.value(), Taken()
        return taken

    def _receive(self) -> bytes:
        """What comes next from the socket; empty at the end of the stream. Raises FetchError for a timeout or a broken connection."""
        if self.at_end:
            return b""
        recording = self._recording
        if self._received > recording.max_wire_bytes:
            raise FetchError("truncated", f"{recording.url} sent more than {recording.max_wire_bytes} bytes of framing and content.")
        doing = "reading" if self._received else "waiting for an answer from"
        self._sock.settimeout(recording.remaining_s(recording.timeout.read_s, doing))
        try:
            block = self._sock.recv(_READ_BYTES)
        except TimeoutError:
            raise recording.late(doing) from None
        except OSError as error:
            raise FetchError("connect_error", f"{doing} {recording.url} failed: {error.strerror or error}.") from error
        if not block:
            self.at_end = True
        elif recording.first_byte_at is None:
            recording.first_byte_at = recording.clock.monotonic()
        self._received += len(block)
        return block

    def fill(self) -> bool:
        """Have more waiting than before; False at the end of the stream."""
        block = self._receive()
        self._waiting += block
        return bool(block)

    def take(self, count: int) -> int:
        """Take at most `count` bytes, at least one unless the stream is at its end; the number taken."""
        if not self._waiting:
            block = self._receive()
            if len(block) <= count:
                return self.taken.write(block)
            self._waiting += block
        return self.take_waiting(count)

    def take_waiting(self, count: int) -> int:
        """The same, of what waits already."""
        if count < len(self._waiting):
            taken = self.taken.write(memoryview(self._waiting)[:count])
            del self._waiting[:count]
            return taken
        taken = self.taken.write(self._waiting)
        self._waiting.clear()
        return taken

    def readable(self) -> bool:
        return True

    def readline(self, size: int | None = -1) -> bytes:
        limit = _READ_BYTES if size is None or size < 0 else size
        searched = 0
        while (end := self._waiting.find(b"\n", searched)) < 0 and len(self._waiting) < limit:
            searched = len(self._waiting)
            if not self.fill():
                break
        line = bytes(self._waiting[: min(limit, end + 1 if end >= 0 else limit)])
        self.take_waiting(len(line))
        return line

    def take_head(self) -> bytes:
        """A whole head when it has come or comes at once, as mostly; nothing is taken otherwise."""
        match = _WHOLE_HEAD.match(self._waiting) if self._waiting or self.fill() else None
        if match is None:
            return b""
        head = bytes(match[0])
        self.take_waiting(len(head))
        return head

    def skip_line_end(self) -> None:
        """Take CR LF or LF when that comes next."""
        while self._waiting[:2] in (b"", b"\r") and self.fill():
            pass
        for line_end in (b"\r\n", b"\n"):
            if self._waiting.startswith(line_end):
                self.take_waiting(len(line_end))
                return

    def makefile(self, mode: str) -> WireReader:
        """What http.client asks the socket for."""
        return self


class WireResponse(http.client.HTTPResponse):
    """http.client's response with our reader under it and our parser for the head; `head` is None until one was read."""

    def __init__(self, wire: Wire, sock: socket.socket) -> None:
        self.reader = WireReader(sock, wire.now)
        super().__init__(self.reader, method="GET")
        self.head: ResponseHead | None = None
        self.head_length = 0
        self.interim = b""
        self._url = wire.now.url
        wire.now.response = self

    def begin(self) -> None:
        """Read heads until one is final. Raises FetchError when none comes."""
        while self.head is None or self.head.interim:
            self.interim += self.reader.start_anew()
            self.head = None
            self.head = parse_head(self._read_head())
            if self.head is None:
                first_line = bytes(self.reader.taken.value()).split(b"\n", 1)[0].rstrip()[:80]
                raise self._invalid(f"the answer does not begin with an HTTP status line: {first_line.decode('latin-1')!r}")
        self.head_length = len(self.reader.taken)
        self.code = self.status = self.head.status
        self.version = 10 if self.head.version == "HTTP/1.0" else 11
        self.reason = self.head.reason
        self.headers = self.msg = http.client.HTTPMessage()
        self.chunked = self.head.chunked
        self.chunk_left = None
        self.length = self.head.length
        self.will_close = not self.head.keep_alive

    def _read_head(self) -> bytes:
        reader = self.reader
        if whole := reader.take_head():
            self._bound_head()
            return whole
        while (line := reader.readline(MAX_HEAD_BYTES)) not in (b"\r\n", b"\n"):
            if not line.endswith(b"\n") and reader.at_end:
                if reader.is_empty:
                    raise FetchError("connect_error", f"fetching {self._url}: the server closed the connection without an answer.")
                raise self._invalid("the server closed the connection inside the head of its answer")
            if len(reader.taken) == len(line) and not line.startswith(b"HTTP/"):
                break
            self._bound_head()
        self._bound_head()
        return bytes(reader.taken.value())

    def _bound_head(self) -> None:
        """Interim heads count too."""
        if len(self.interim) + len(self.reader.taken) > MAX_HEAD_BYTES:
            raise self._invalid(f"the head of the answer is larger than {MAX_HEAD_BYTES} bytes")

    def _invalid(self, reason: str) -> FetchError:
        return FetchError("invalid_http", f"fetching {self._url}: {reason}.")
