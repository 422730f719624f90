"""Content codings undone piece by piece (RFC 9110 section 8.4), so that neither a bomb nor a long document stands in memory whole.

Servers lie about codings, cut streams and send bombs, so decoding never raises and never yields more than it is told to.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Generator, Iterable, Iterator

import brotli

LENGTH = "length"
CUT = "unspecified"

Piece = bytes | memoryview
# Yields what it decodes; returns None or the reason why that is not whole.
_Stage = Generator[Piece, None, str | None]

_BLOCK_BYTES = 1 << 16
_PIECE_BYTES = 1 << 18
_GZIP = zlib.MAX_WBITS | 16
_GZIP_MAGIC = b"\x1f\x8b"


class Decoded:
    """The document inside a payload that comes in pieces, at most `max_decoded_bytes` of it; iterated once, it yields pieces.

    `fault` is known when the iteration has come to its end: None, or the reason why the document is not whole. Reasons:
    `length` (stopped at the cap), `unspecified` (the stream is cut or damaged; what came before is yielded),
    `not gzip` (or another coding: the payload is not in it, its bytes are yielded as they are),
    `unknown coding x` (the bytes are yielded as they are).
    """

    def __init__(self, payload: Iterable[Piece], content_encoding: str | None, max_decoded_bytes: int) -> None:
        self.fault: str | None = None
        self._limit = max_decoded_bytes
        self._pieces = iter(payload)
        # Codings stand in the order in which they were applied.
        for coding in reversed(codings_of(content_encoding)):
            decode = _DECODERS.get(coding.removeprefix("x-"))
            self._pieces = self._stage(decode(_Input(self._pieces)) if decode else _unknown(self._pieces, coding))
            if decode is None:
                break

    def __iter__(self) -> Iterator[Piece]:
        left = self._limit
        for piece in self._pieces:
            if len(piece) > left:
                if left:
                    yield piece[:left]
                self.fault = LENGTH
                return
            left -= len(piece)
            yield piece

    def _stage(self, pieces: _Stage) -> Iterator[Piece]:
        """What is wrong first is the reason. No coding between may grow beyond the cap either: it would cost no memory, but time."""
        left = self._limit
        problem = None
        while True:
            try:
                piece = next(pieces)
            except StopIteration as end:
                problem = end.value
                break
            if len(piece) > left:
                if left:
                    yield piece[:left]
                problem = LENGTH
                break
            left -= len(piece)
            yield piece
        self.fault = self.fault or problem


def codings_of(content_encoding: str | None) -> list[str]:
    """The codings of a Content-Encoding value that change anything, in order, lower case."""
    named = (part.strip().lower() for part in (content_encoding or "").split(","))
    return [part for part in named if part not in ("", "identity", "none")]


def content_fault(payload: Iterable[Piece], content_encoding: str | None, max_decoded_bytes: int) -> str | None:
    """The reason alone."""
    decoded = Decoded(payload, content_encoding, max_decoded_bytes)
    for _ in decoded:
        pass
    return decoded.fault


class _Input:
    """A stream of coded bytes from which blocks are taken, and to which they can be given back."""

    def __init__(self, pieces: Iterator[Piece]) -> None:
        self._pieces = pieces
        self._waiting: list[Piece] = []
        self._since_mark: list[Piece] | None = None

    def take(self) -> Piece:
        """A block of at most _BLOCK_BYTES; empty at the end."""
        piece: Piece | None = b""
        while not piece:
            piece = self._waiting.pop() if self._waiting else next(self._pieces, None)
            if piece is None:
                return b""
        if len(piece) > _BLOCK_BYTES:
            whole = memoryview(piece)
            piece, rest = whole[:_BLOCK_BYTES], whole[_BLOCK_BYTES:]
            self._waiting.append(rest)
        if self._since_mark is not None:
            self._since_mark.append(piece)
        return piece

    def give_back(self, rest: Piece) -> None:
        if rest:
            self._waiting.append(rest)

    def starts(self) -> bytes:
        """The next two bytes, fewer at the end."""
        start = b""
        taken = []
        while len(start) < 2 and (block := self.take()):
            taken.append(block)
            start += block[: 2 - len(start)]
        self._waiting += reversed(taken)
        return start

    def mark(self) -> None:
        self._since_mark = []

    def forget(self) -> None:
        """There will be no way back to the mark."""
        self._since_mark = None

    def rewind(self) -> None:
        """Back to the mark."""
        self._waiting += reversed(self._since_mark or ())
        self._since_mark = None

    def rest(self) -> Iterator[Piece]:
        while block := self.take():
            yield block


def _unknown(pieces: Iterator[Piece], coding: str) -> _Stage:
    yield from pieces
    return f"unknown coding {coding}"


def _gunzip(source: _Input) -> _Stage:
    """All gzip members one after the other; bytes after the last member that are no member are ignored, as browsers do."""
    start = source.starts()
    if not start:
        return None
    if not _GZIP_MAGIC.startswith(start):
        yield from source.rest()
        return "not gzip"
    while True:
        problem = yield from _inflate(source, _GZIP)
        if problem or source.starts() != _GZIP_MAGIC:
            return problem


def _undeflate(source: _Input) -> _Stage:
    """`deflate` is zlib's format; many servers send the bare stream (RFC 9110 section 8.4.1.2)."""
    if not source.starts():
        return None
    for window_bits in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
        source.mark()
        stream = _inflate(source, window_bits)
        begun = False
        while True:
            try:
                piece = next(stream)
            except StopIteration as end:
                problem = end.value
                break
            begun = True
            source.forget()
            yield piece
        if problem != CUT or begun:
            return problem
        source.rewind()
    yield from source.rest()
    return "not deflate"


def _inflate(source: _Input, window_bits: int) -> _Stage:
    """One zlib stream; what follows it stays in `source`."""
    decoder = zlib.decompressobj(window_bits)
    while block := source.take():
        while block:
            before = decoder.copy()
            try:
                piece = decoder.decompress(block, _PIECE_BYTES)
            except zlib.error:
                yield from _up_to_the_damage(before, block)
                return CUT
            if piece:
                yield piece
            if decoder.eof:
                source.give_back(decoder.unused_data)
                return None
            # A full piece may have left output inside of the decoder although all input was taken.
            block = decoder.unconsumed_tail
    if piece := decoder.flush():
        yield piece
    return None if decoder.eof else CUT


def _up_to_the_damage(decoder: zlib._Decompress, block: Piece) -> Iterator[bytes]:
    """zlib drops a call's whole output when it meets an error; byte by byte keeps what precedes it."""
    for index in range(len(block)):
        try:
            piece = decoder.decompress(block[index : index + 1])
        except zlib.error:
            return
        if piece:
            yield piece


def _unbrotli(source: _Input) -> _Stage:
    if not source.starts():
        return None
    decoder = brotli.Decompressor()
    source.mark()
    begun = False
    try:
        for block in source.rest():
            piece = decoder.process(bytes(block), output_buffer_limit=_PIECE_BYTES)
            while piece or not decoder.can_accept_more_data():
                if piece:
                    begun = True
                    source.forget()
                    yield piece
                if decoder.can_accept_more_data():
                    break
                piece = decoder.process(b"", output_buffer_limit=_PIECE_BYTES)
            if decoder.is_finished():
                return None
    except brotli.error:
        if begun:
            return CUT
        source.rewind()
        yield from source.rest()
        return "not br"
    return CUT


_DECODERS: dict[str, Callable[[_Input], _Stage]] = {"gzip": _gunzip, "deflate": _undeflate, "br": _unbrotli}
