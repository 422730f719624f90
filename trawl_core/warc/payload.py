"""Content codings: from a payload as archived to the document it carries (RFC 9110 section 8.4).

Servers lie about codings, cut streams and send bombs, so decoding never raises and never yields more than it is told to.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

import brotli
from isal import isal_zlib

_BLOCK_BYTES = 1 << 16
_PIECE_BYTES = 1 << 20
_GZIP = zlib.MAX_WBITS | 16
_GZIP_MAGIC = b"\x1f\x8b"

LENGTH = "length"
CUT = "unspecified"


def decode_content(payload: bytes, content_encoding: str | None, max_decoded_bytes: int) -> tuple[bytes, str | None]:
    """The document inside `payload`, at most `max_decoded_bytes` of it, and None or the reason why it is not whole.

    Reasons: `length` (stopped at the cap), `unspecified` (the stream is cut or damaged; what came before is returned),
    `not gzip` (or another coding: the payload is not in it, its bytes are returned as they are),
    `unknown coding x` (the bytes are returned as they are).
    """
    document, reason = payload, None
    # Codings stand in the order in which they were applied.
    for coding in reversed([part.strip().lower() for part in (content_encoding or "").split(",")]):
        if coding in ("", "identity", "none"):
            continue
        decode = _DECODERS.get(coding.removeprefix("x-"))
        if decode is None:
            reason = reason or f"unknown coding {coding}"
            break
        document, problem = decode(document, max_decoded_bytes) if document else (document, None)
        reason = reason or problem
    if len(document) > max_decoded_bytes:
        return document[:max_decoded_bytes], LENGTH
    return document, reason


def content_fault(payload: bytes, content_encoding: str | None, max_decoded_bytes: int) -> str | None:
    """The reason that decode_content would give; a gzip document is looked through piece by piece, so a bomb costs no memory."""
    if (content_encoding or "").strip().lower().removeprefix("x-") != "gzip":
        return decode_content(payload, content_encoding, max_decoded_bytes)[1]
    if not payload or not _GZIP_MAGIC.startswith(payload[:2]):
        return "not gzip" if payload else None
    end, seen = 0, 0
    while end == 0 or payload.startswith(_GZIP_MAGIC, end):
        try:
            size, end = _measure_member(payload, end, max_decoded_bytes - seen)
        except (isal_zlib.error, EOFError):
            return CUT
        seen += size
        if seen > max_decoded_bytes:
            return LENGTH
    return None


def _measure_member(payload: bytes, start: int, limit: int) -> tuple[int, int]:
    """(decoded bytes, where the member ends), or the bytes so far once they pass `limit`; raises EOFError for a cut one."""
    decoder, size = isal_zlib.decompressobj(_GZIP), 0
    for position in range(start, len(payload), _BLOCK_BYTES):
        piece = decoder.decompress(payload[position : position + _BLOCK_BYTES], _PIECE_BYTES)
        size += len(piece)
        while len(piece) == _PIECE_BYTES and size <= limit and not decoder.eof:
            piece = decoder.decompress(decoder.unconsumed_tail, _PIECE_BYTES)
            size += len(piece)
        if decoder.eof or size > limit:
            return size, min(position + _BLOCK_BYTES, len(payload)) - len(decoder.unused_data)
    raise EOFError


def _gunzip(payload: bytes, limit: int) -> tuple[bytes, str | None]:
    """All gzip members one after the other; bytes after the last member that are no member are ignored, as browsers do."""
    if not _GZIP_MAGIC.startswith(payload[:2]):
        return payload, "not gzip"
    document, rest = bytearray(), payload
    while rest.startswith(_GZIP_MAGIC) or rest is payload:
        part, problem, rest = _inflate(rest, _GZIP, limit - len(document))
        document += part
        if problem:
            return bytes(document), problem
    return bytes(document), None


def _undeflate(payload: bytes, limit: int) -> tuple[bytes, str | None]:
    """`deflate` is zlib's format; many servers send the bare stream (RFC 9110 section 8.4.1.2)."""
    for window_bits in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
        document, problem, _ = _inflate(payload, window_bits, limit)
        if problem != CUT or document:
            return document, problem
    return payload, "not deflate"


def _inflate(stream: bytes, window_bits: int, limit: int) -> tuple[bytes, str | None, bytes]:
    """One zlib stream: (document, reason, bytes behind the stream)."""
    if window_bits == _GZIP and (whole := _gunzip_fast(stream, limit)):
        return whole
    decoder = zlib.decompressobj(window_bits)
    document = bytearray()
    for start in range(0, len(stream), _BLOCK_BYTES):
        block = stream[start : start + _BLOCK_BYTES]
        before = decoder.copy()
        try:
            document += decoder.decompress(block, limit + 1 - len(document))
        except zlib.error:
            return bytes(document + _up_to_the_damage(before, block, limit - len(document)))[:limit], CUT, b""
        if len(document) > limit:
            return bytes(document[:limit]), LENGTH, b""
        if decoder.eof:
            return bytes(document), None, decoder.unused_data + stream[start + len(block) :]
    return bytes(document), CUT, b""


def _gunzip_fast(stream: bytes, limit: int) -> tuple[bytes, str | None, bytes] | None:
    """The same by ISA-L, in less than half the time; None when the stream is not sound, which zlib then tells more of."""
    decoder = isal_zlib.decompressobj(_GZIP)
    try:
        document = decoder.decompress(stream, limit + 1)
    except isal_zlib.error:
        return None
    if len(document) > limit:
        return document[:limit], LENGTH, b""
    return (document, None, decoder.unused_data) if decoder.eof else None


def _up_to_the_damage(decoder: zlib._Decompress, block: bytes, limit: int) -> bytes:
    """zlib drops a block's whole output when it meets an error; byte by byte keeps what precedes it."""
    document = bytearray()
    for index in range(len(block)):
        if len(document) >= limit:
            break
        try:
            document += decoder.decompress(block[index : index + 1])
        except zlib.error:
            break
    return bytes(document)


def _unbrotli(payload: bytes, limit: int) -> tuple[bytes, str | None]:
    decoder = brotli.Decompressor()
    document = bytearray()
    try:
        for start in range(0, len(payload), _BLOCK_BYTES):
            block = payload[start : start + _BLOCK_BYTES]
            document += decoder.process(block, output_buffer_limit=limit + 1 - len(document))
            while len(document) <= limit and not decoder.can_accept_more_data():
                document += decoder.process(b"", output_buffer_limit=limit + 1 - len(document))
            if len(document) > limit:
                return bytes(document[:limit]), LENGTH
            if decoder.is_finished():
                return bytes(document), None
    except brotli.error:
        return (bytes(document), CUT) if document else (payload, "not br")
    return bytes(document), CUT


_DECODERS: dict[str, Callable[[bytes, int], tuple[bytes, str | None]]] = {
    "gzip": _gunzip,
    "deflate": _undeflate,
    "br": _unbrotli,
}
