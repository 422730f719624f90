"""An archived HTTP response taken apart: head, headers, entity with its transfer coding removed.

Lenient, since an archive also holds what broken servers sent: what is wrong is named in `faults`, never raised.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from dataclasses import dataclass

_HEAD_END = re.compile(rb"\n\r?\n")
_STATUS = re.compile(rb"HTTP/\d(?:\.\d)?[ \t]+(\d{3})(?:[ \t]+(.*?))?[ \t]*\r?(?:\n|\Z)")
CHUNK_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]+)[ \t]*(?:;[^\n]*)?\r?\n")


@dataclass(frozen=True)
class Message:
    """`head` is every byte up to and with the empty line; header values are latin-1, as sent, without surrounding blanks.

    `status` is None when the head has no status line. `payload` keeps the content coding.
    """

    head: bytes
    status: int | None
    reason: str
    headers: tuple[tuple[str, str], ...]
    payload: bytes
    faults: tuple[str, ...]


def parse_response(block: bytes) -> Message:
    end = _HEAD_END.search(block)
    head = block[: end.end()] if end else block
    faults = [] if end or not block else ["the HTTP head has no end"]
    status_line = _STATUS.match(head)
    if block and not status_line:
        faults.append("the HTTP status line is missing or damaged")
    headers = parse_headers(head)
    payload = block[len(head) :]
    if is_chunked(headers):
        payload, fault = dechunk(payload)
        if fault:
            faults.append(fault)
    return Message(
        head=head,
        status=int(status_line[1]) if status_line else None,
        reason=(status_line[2] or b"").decode("latin-1") if status_line else "",
        headers=headers,
        payload=payload,
        faults=tuple(faults),
    )


def parse_headers(head: bytes) -> tuple[tuple[str, str], ...]:
    """The fields behind the first line; folded lines are joined by a space, lines without a colon are passed over."""
    found: list[tuple[str, str]] = []
    for line in head.decode("latin-1").split("\n")[1:]:
        text = line.removesuffix("\r")
        if text[:1] in (" ", "\t") and found:
            name, value = found[-1]
            found[-1] = (name, f"{value} {text.strip()}".strip())
        elif ":" in text:
            name, value = text.split(":", 1)
            found.append((name.strip(), value.strip(" \t")))
    return tuple(found)


def is_chunked(headers: Iterable[tuple[str, str]]) -> bool:
    """Only the last coding frames the message (RFC 9112 section 6.3)."""
    codings = ",".join(value for name, value in headers if name.lower() == "transfer-encoding").lower()
    return codings.replace(",", " ").split()[-1:] == ["chunked"]


def dechunk(body: bytes) -> tuple[bytes, str | None]:
    """The data of a chunked body and what is wrong with it, as `chunk_data` tells it."""
    data = bytearray()
    chunks = chunk_data(body)
    while True:
        try:
            data += next(chunks)
        except StopIteration as end:
            return bytes(data), end.value


def chunk_data(message: bytes | memoryview, start: int = 0) -> Generator[memoryview, None, str | None]:
    """The data of each chunk of the body that begins at `start` (RFC 9112 section 7.1), extensions and trailers dropped.

    Returns what is wrong with it, None for nothing. A body whose first line is no chunk size was stored without its
    framing and is given as it is.
    """
    view, position, end = memoryview(message), start, len(message)
    while True:
        size_line = CHUNK_SIZE.match(message, position)
        if not size_line:
            if position == start and position < end:
                yield view[start:]
                return "Transfer-Encoding says chunked, the body is not"
            return "the chunked body is cut off" if position >= end - 20 else f"no chunk size at byte {position - start} of the body"
        size = int(size_line[1], 16)
        if size == 0:
            return None
        data = size_line.end()
        position = data + size
        yield view[data:position]
        if position > end:
            return "the chunked body is cut off"
        position += 2 if message[position : position + 2] == b"\r\n" else 1 if message[position : position + 1] == b"\n" else 0
