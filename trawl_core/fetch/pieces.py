"""A long page cut into pieces, so that its tree never has to stand in memory whole.

A tree of the shortest elements takes eighty times the bytes of its text: a page of 20 MiB would take 1.6 GB.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

PIECE_CHARS = 256 * 1024
# What a page's links are read from: a page of more has said enough, and a bomb has no end.
READ_BYTES = 8 * 2**20

_RAW = re.compile(r"<(script|style|textarea)\b|<!--", re.IGNORECASE)


def pieces(text: str, size: int = PIECE_CHARS) -> Iterator[str]:
    """The text in order, cut before a tag and not inside a script or comment, each at most `size` long where that is possible."""
    start = 0
    while len(text) - start > size:
        end = text.rfind("<", start + 1, start + size)
        if end < 0:
            end = start + size
        opened = None
        for match in _RAW.finditer(text, start, end):
            opened = match
        if opened is not None and (closing := _closing(text, opened)) > end:
            end = opened.start() if opened.start() > start else min(closing, len(text))
        yield text[start:end]
        start = end
    if start < len(text) or not text:
        yield text[start:]


def _closing(text: str, opened: re.Match[str]) -> int:
    """Where the raw text ends that `opened` begins; past the end of `text` when it never does."""
    if opened[1] is None:
        found = text.find("-->", opened.end())
    else:
        match = re.compile(f"</{opened[1]}", re.IGNORECASE).search(text, opened.end())
        found = match.start() if match else -1
    return found if found >= 0 else len(text) + 1
