"""The head of an HTTP/1 answer, read from its own bytes (RFC 9112 sections 4 to 6), as lenient as browsers are.

http.client hides every header behind a line without a colon, refuses the hundredth one and can't give back the bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_STATUS_LINE = re.compile(r"HTTP/(\d)\.(\d)[ \t]+(\d{3})(?:[ \t]+([^\r\n]*))?[ \t]*\r?\n?$", re.ASCII)
_TOKEN_SEPARATOR = re.compile(r"[\s,]+")
_FRAMING = ("transfer-encoding", "content-length", "connection")


@dataclass(frozen=True)
class ResponseHead:
    """`headers` in the order sent, latin-1, names as sent. `length` is the body's length in bytes, None when unknown."""

    version: str
    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    chunked: bool
    length: int | None
    keep_alive: bool

    @property
    def interim(self) -> bool:
        """A 1xx head that another head follows; 101 is followed by another protocol."""
        return 100 <= self.status < 200 and self.status != 101


def parse_head(head: bytes) -> ResponseHead | None:
    """`head` up to and with its empty line; None when its first line is no HTTP/1 status line."""
    first, *lines = head.decode("latin-1").split("\n")
    match = _STATUS_LINE.match(first)
    if match is None or match[1] != "1" or match[3] < "100":
        return None
    status = int(match[3])
    headers = _headers(lines)
    framing = _framing(headers)
    chunked = framing["transfer-encoding"][-1:] == ["chunked"]
    bodiless = status in (204, 304) or status < 200
    lengths = set(framing["content-length"])
    length = _length(lengths) if not chunked else None
    version = f"HTTP/1.{match[2]}"
    tokens = framing["connection"]
    persistent = "keep-alive" in tokens if version == "HTTP/1.0" else "close" not in tokens
    framed = bodiless or chunked or length is not None
    return ResponseHead(
        version=version,
        status=status,
        reason=(match[4] or "").strip(),
        headers=headers,
        chunked=chunked and not bodiless,
        length=0 if bodiless else length,
        # Several different lengths, or a length beside chunks: whatever follows on this connection can't be trusted.
        keep_alive=persistent and framed and status != 101 and len(lengths) <= 1 and not (chunked and lengths),
    )


def _headers(lines: list[str]) -> tuple[tuple[str, str], ...]:
    headers: list[tuple[str, str]] = []
    for raw in lines:
        line = raw.removesuffix("\r")
        if line[:1] in (" ", "\t"):
            if headers:
                name, value = headers[-1]
                headers[-1] = (name, f"{value} {line.strip()}".strip())
            continue
        name, colon, value = line.partition(":")
        if colon and (name := name.strip()):
            headers.append((name, value.strip(" \t")))
    return tuple(headers)


def _framing(headers: tuple[tuple[str, str], ...]) -> dict[str, list[str]]:
    """Comma-separated members of every header of each name that tells where the body ends, lower case."""
    found: dict[str, list[str]] = {name: [] for name in _FRAMING}
    for name, value in headers:
        if (key := name.lower()) in found:
            found[key] += filter(None, _TOKEN_SEPARATOR.split(value.lower()))
    return found


def _length(lengths: set[str]) -> int | None:
    """The one length all of them agree on; the least when they don't, since more may never come."""
    numbers = [int(text) for text in lengths if text.isascii() and text.isdigit() and len(text) < 19]
    return min(numbers) if numbers else None
