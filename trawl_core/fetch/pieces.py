"""A long page cut into pieces, so that neither its text nor its tree ever has to stand in memory whole.

A tree of the shortest elements takes eighty times the bytes of its text: a page of 20 MiB would take 1.6 GB.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

# A page of so many characters is read in one.
WHOLE_CHARS = 256 * 1024
PIECE_CHARS = 64 * 1024
# What a page's links are read from: a page of more has said enough, and a bomb has no end.
READ_BYTES = 8 * 2**20

_RAW = re.compile(r"<(script|style|textarea)\b|<!--", re.IGNORECASE)
_LONGEST_CLOSING = len("</textarea")


def pieces(parts: Iterable[str], size: int = PIECE_CHARS, whole: int = WHOLE_CHARS) -> Iterator[str]:
    """The text that comes in `parts`, in order, cut before a tag and not inside a script or comment; at least one piece.

    A text of up to `whole` characters is one piece, a longer one comes in pieces of up to `size`. A script, style, textarea
    or comment longer than that is left out: it holds no links.
    """
    text, begun, is_told = "", False, False
    closing: re.Pattern[str] | None = None
    for part in parts:
        text += part
        while len(text) > (size if begun else whole):
            begun = True
            if closing is not None:
                found = closing.search(text)
                if found is None:
                    text = text[-_LONGEST_CLOSING:]
                    break
                text, closing = text[found.start() :], None
                continue
            end, closing = _cut(text, size)
            if end:
                is_told = True
                yield text[:end]
            text = text[end:]
    if closing is not None:
        found = closing.search(text)
        text = text[found.start() :] if found else ""
    if text or not is_told:
        yield text


def _cut(text: str, size: int) -> tuple[int, re.Pattern[str] | None]:
    """Where to cut a text that is longer than a piece, and, when it begins with what is to be left out, what ends that."""
    end = text.rfind("<", 1, size)
    if end < 0:
        end = size
    at = 0
    while (opened := _RAW.search(text, at, end)) is not None:
        closing = re.compile(f"</{opened[1]}" if opened[1] else "-->", re.IGNORECASE)
        closed = closing.search(text, opened.end(), end + _LONGEST_CLOSING)
        if closed is None:
            return opened.start(), None if opened.start() else closing
        at = closed.end()
    return end, None
