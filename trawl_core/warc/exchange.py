"""One HTTP exchange as it went over the wire: what fetch hands to the WARC writer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from trawl_core.warc.content_coding import Decoded, Piece
from trawl_core.warc.format import base32_of, sha1_base32
from trawl_core.warc.http_message import chunk_data, is_chunked
from trawl_core.warc.sniff import HEAD_BYTES, sniff_mime

# What is this short may stand in memory twice.
SHORT_BYTES = 1 << 20
_PIECE_BYTES = 1 << 18


class _Payload:
    """The field `payload`: the bytes that it was given, or, where it was given None, those of the answer."""

    def __get__(self, exchange: Exchange | None, owner: type | None = None) -> bytes:
        if exchange is None:
            raise AttributeError("payload has no default")
        given: bytes | None = exchange.__dict__["payload"]
        if given is not None:
            return given
        payload = b"".join(exchange.payload_pieces())
        if len(payload) <= SHORT_BYTES:
            self.__set__(exchange, payload)
        return payload

    def __set__(self, exchange: Exchange, given: bytes | None) -> None:
        exchange.__dict__["payload"] = given


@dataclass(frozen=True)
class Exchange:
    """A request that was sent and the answer that came, if one came. Byte strings are exactly what the wire carried.

    `response_bytes` is head and body without interim 1xx heads, which are in `interim`; it is empty when no answer
    came, and may be a memoryview when the answer is long. `payload` is the body with the transfer coding removed and the
    content coding kept; made with None, it is what an archive's reader takes from `response_bytes`, put together anew
    for every look at a long one: whoever can, reads `payload_pieces`. `truncated` is a WARC-Truncated reason (length,
    time, disconnect, unspecified), None when the answer is complete. `outcome` is one of captures.outcome as far as one
    exchange can tell (ok for every complete answer below 400, not_modified for 304).
    `document` is the payload without its content coding where that was found to be sound and small; None means that
    whoever wants it decodes the payload.
    """

    url: str
    started_at: datetime
    request_bytes: bytes
    response_bytes: bytes | memoryview
    head_length: int
    payload: bytes = _Payload()  # type: ignore[assignment]
    status: int | None
    reason: str
    headers: tuple[tuple[str, str], ...]
    outcome: str
    error: str | None = None
    truncated: str | None = None
    interim: bytes = b""
    ip_address: str | None = None
    http_version: str | None = None
    tls_version: str | None = None
    tls_cipher: str | None = None
    ttfb_ms: float | None = None
    fetch_ms: float | None = None
    document: bytes | None = field(default=None, repr=False)

    def header(self, name: str) -> str | None:
        """First value of a header (latin-1, as sent), None when it is absent."""
        return self._first_values.get(name.lower())

    @cached_property
    def _first_values(self) -> dict[str, str]:
        return {key.lower(): value for key, value in reversed(self.headers)}

    def header_values(self, name: str) -> list[str]:
        wanted = name.lower()
        return [value for key, value in self.headers if key.lower() == wanted]

    @property
    def has_response(self) -> bool:
        """True when a status line was received: only then a record is written."""
        return self.status is not None

    def payload_pieces(self) -> Iterator[Piece]:
        """The payload in order, none of it empty, without a copy of a long one."""
        given: bytes | None = self.__dict__["payload"]
        return payload_pieces(self.response_bytes, self.head_length, self._is_chunked) if given is None else payload_pieces(given, 0)

    @cached_property
    def payload_length(self) -> int:
        given: bytes | None = self.__dict__["payload"]
        if given is not None:
            return len(given)
        return self._measured[2] if self._is_chunked else len(self.response_bytes) - self.head_length

    def decoded(self, max_decoded_bytes: int) -> Decoded:
        """The document in pieces: the payload without its content coding, at most so much of it."""
        return Decoded(self.payload_pieces(), self.header("Content-Encoding"), max_decoded_bytes)

    def document_start(self, count: int) -> bytes:
        """The first bytes of the document."""
        return self.document[:count] if self.document is not None else b"".join(self.decoded(count))

    @cached_property
    def payload_digest(self) -> str:
        """sha1 base32 of the payload, without the 'sha1:' label."""
        given: bytes | None = self.__dict__["payload"]
        return self._measured[0] if given is None else sha1_base32(given)

    @cached_property
    def mime(self) -> str | None:
        """Media type by the document's content, None without a payload."""
        if not self.payload_length:
            return None
        # One byte more than is looked at: a document that is longer is judged by its beginning.
        return sniff_mime(self.document_start(HEAD_BYTES + 1), self.header("Content-Type"))

    @cached_property
    def payload_sha256(self) -> str:
        given: bytes | None = self.__dict__["payload"]
        return self._measured[1] if given is None else hashlib.sha256(given).hexdigest()

    @cached_property
    def _measured(self) -> tuple[str, str, int]:
        """Both digests and the length at once: to go through an answer in chunks of a byte takes seconds."""
        sha1, sha256, length = hashlib.sha1(usedforsecurity=False), hashlib.sha256(), 0
        for piece in self.payload_pieces():
            sha1.update(piece)
            sha256.update(piece)
            length += len(piece)
        return base32_of(sha1.digest()), sha256.hexdigest(), length

    @cached_property
    def _is_chunked(self) -> bool:
        return is_chunked(self.headers)


def payload_pieces(response: bytes | memoryview, head_length: int, is_chunked: bool = False) -> Iterator[Piece]:
    """What an archive's reader takes for the payload of an answer, in order, none of it empty, without a copy of a long one."""
    if is_chunked:
        yield from _gathered(chunk_data(response, head_length))
        return
    view = memoryview(response)
    for start in range(head_length, len(view), _PIECE_BYTES):
        yield view[start : start + _PIECE_BYTES]


def _gathered(chunks: Iterator[memoryview]) -> Iterator[Piece]:
    """The same bytes, neither in pieces of a byte nor in those of a gigabyte."""
    small = bytearray()
    for chunk in chunks:
        if len(chunk) < _PIECE_BYTES:
            small += chunk
        if small and (len(small) >= _PIECE_BYTES or len(chunk) >= _PIECE_BYTES):
            yield bytes(small)
            small.clear()
        if len(chunk) >= _PIECE_BYTES:
            for start in range(0, len(chunk), _PIECE_BYTES):
                yield chunk[start : start + _PIECE_BYTES]
    if small:
        yield bytes(small)
