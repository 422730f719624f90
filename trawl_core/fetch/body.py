"""Taking an answer's body off the wire: where it ends (RFC 9112 section 6), and how much of it is taken at most.

Nothing is put together here: the reader keeps the bytes as they came, and an archive's reader finds the payload in them.
"""

from __future__ import annotations

from trawl_core.errors import FetchError
from trawl_core.fetch.wire import MAX_HEAD_BYTES, WireReader, WireResponse
from trawl_core.warc.http_message import CHUNK_SIZE

_TRUNCATED_BY = {"timeout": "time", "connect_error": "disconnect", "truncated": "length"}


def take_body(response: WireResponse, limit: int) -> tuple[str | None, str | None]:
    """Take the body, of which at most `limit` bytes are payload. (WARC-Truncated reason, explanation), None for a whole one."""
    try:
        if response.chunked:
            return _take_chunks(response.reader, limit)
        return _take_bytes(response.reader, response.length, limit)
    except FetchError as error:
        return _TRUNCATED_BY.get(error.outcome, "unspecified"), str(error)


def _take_bytes(reader: WireReader, length: int | None, limit: int) -> tuple[str | None, str | None]:
    """`length` bytes, or all until the server closes."""
    wanted = limit if length is None else min(length, limit)
    taken = _take(reader, wanted)
    if taken == limit != length and _more_comes(reader):
        return _too_long(limit)
    if length is not None and taken < length:
        return "disconnect", f"the server closed the connection {length - taken} bytes before the end of its answer."
    return None, None


def _take_chunks(reader: WireReader, limit: int) -> tuple[str | None, str | None]:
    left = limit
    while True:
        left -= _take_small_chunks(reader, left)
        line = reader.readline(MAX_HEAD_BYTES)
        match = CHUNK_SIZE.fullmatch(line)
        if match is None:
            if reader.at_end and not reader.surplus:
                return "disconnect", "the server closed the connection inside a chunked answer."
            return "unspecified", "the answer's chunks are malformed."
        size = int(match[1], 16)
        if size == 0:
            break
        taken = _take(reader, min(size, left))
        left -= taken
        if taken < size:
            if left == 0 and _more_comes(reader):
                return _too_long(limit)
            return "disconnect", "the server closed the connection inside a chunked answer."
        reader.skip_line_end()
    # Trailers, up to an empty line or the end of the connection.
    while reader.readline(MAX_HEAD_BYTES) not in (b"\r\n", b"\n", b""):
        pass
    return None, None


def _take_small_chunks(reader: WireReader, limit: int) -> int:
    """Take the whole chunks that wait; the size of their data, at most `limit`. (A server may send each byte in a chunk of its own.)"""
    waiting = reader.waiting
    end, size = 0, 0
    while (match := CHUNK_SIZE.match(waiting, end)) is not None:
        chunk = int(match[1], 16)
        behind = match.end() + chunk
        if chunk == 0 or size + chunk > limit or waiting[behind : behind + 2] != b"\r\n":
            break
        size += chunk
        end = behind + 2
    if end:
        reader.take_waiting(end)
    return size


def _take(reader: WireReader, count: int) -> int:
    """Take `count` bytes, fewer at the end of the stream; the number taken. A deadline or broken connection leaves what came before."""
    left = count
    while left and (taken := reader.take(left)):
        left -= taken
    return count - left


def _more_comes(reader: WireReader) -> bool:
    """Whether a byte follows; it stays where it is."""
    return reader.surplus or reader.fill()


def _too_long(limit: int) -> tuple[str, str]:
    return "length", f"the answer is longer than {limit} bytes; the rest was not read."
