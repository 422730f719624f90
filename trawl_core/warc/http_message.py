"""An archived HTTP response taken apart: head, headers, entity with its transfer coding removed.

Lenient, since an archive also holds what broken servers sent: what is wrong is named in `faults`, never raised.
"""

from __future__ import annotations

import re
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
    codings = ",".join(value for name, value in headers if name.lower() == "transfer-encoding").lower()
    # Only the last coding frames the message (RFC 9112 section 6.3).
    if codings.replace(",", " ").split()[-1:] == ["chunked"]:
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


def dechunk(body: bytes) -> tuple[bytes, str | None]:
    """The data of a chunked body (RFC 9112 section 7.1), extensions and trailers dropped, and what is wrong with it.

    A body whose first line is no chunk size was stored without its framing and is returned as it is.
    """
    data = bytearray()
    position = 0
    while True:
        size_line = CHUNK_SIZE.match(body, position)
        if not size_line:
            if position == 0 and body:
                return body, "Transfer-Encoding says chunked, the body is not"
            fault = "the chunked body is cut off" if position >= len(body) - 20 else f"no chunk size at byte {position} of the body"
            return bytes(data), fault
        size = int(size_line[1], 16)
        if size == 0:
            return bytes(data), None
        start = size_line.end()
        data += body[start : start + size]
        position = start + size
        if position > len(body):
            return bytes(data), "the chunked body is cut off"
        position += 2 if body[position : position + 2] == b"\r\n" else 1 if body[position : position + 1] == b"\n" else 0
