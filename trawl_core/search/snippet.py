"""The part of a chunk that shows why it was found."""

from __future__ import annotations

import re

_WORD = re.compile(r"\w+")
ELLIPSIS = "…"


def snippet(text: str, query: str, max_chars: int = 240) -> str:
    """At most `max_chars` characters of `text` on one line: the window with most distinct words of `query`, else the beginning."""
    line = " ".join(text.split())
    if len(line) <= max_chars:
        return line
    stems = {_stem(word) for word in _WORD.findall(query)}
    places = [(match.start(), _stem(match[0])) for match in _WORD.finditer(line) if _stem(match[0]) in stems]
    room = max_chars - 2 * len(ELLIPSIS)
    start = 0
    if places:
        found = [len({word for at, word in places if first <= at < first + room}) for first, _ in places]
        start = max(0, places[found.index(max(found))][0] - room // 4)
    start = min(start, len(line) - room)
    if start > 0:
        start = _next_word(line, start)
    cut = line[start : start + room]
    if start + room < len(line) and " " in cut.strip():
        cut = cut[: cut.rstrip().rfind(" ")]
    return f"{ELLIPSIS if start else ''}{cut.strip()}{ELLIPSIS if start + len(cut) < len(line) else ''}"


def _stem(word: str) -> str:
    """Rough on purpose: it only chooses where the window lies."""
    lowered = word.casefold()
    return lowered[:-1] if lowered.endswith("s") and len(lowered) > 3 else lowered


def _next_word(line: str, at: int) -> int:
    if line[at - 1] == " ":
        return at
    space = line.find(" ", at, at + 30)
    return at if space < 0 else space + 1
