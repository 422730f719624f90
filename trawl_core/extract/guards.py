"""What must be made harmless before a parser sees it: parsers are quadratic in nesting, in attributes of one tag, and in
formatting elements that are never closed.

Measured with lexbor on one core: 20,000 nested elements take 0.8 s, 100,000 take 40 s; 100,000 attributes on one tag take
24 s; 10,000 unclosed `<b id=…><p>` take minutes, since each paragraph opens all of them again. They come from generators
gone wrong as well as from attackers; the text beside them is worth keeping.
"""

from __future__ import annotations

import re
from collections import Counter

from trawl_core.extract.elements import FLAT, FORMATTING

MAX_DEPTH = 20_000
MAX_TAG_CHARS = 50_000
MAX_ATTRIBUTES = 5_000
MAX_REOPENED = 3_000_000
"""Unclosed formatting elements times tags: what the parser may have to open again."""
_HARMLESS_TAGS = 3000

_TAG_START = re.compile(r"<[a-zA-Z]")
_TAG_NAME = re.compile(r"<(/?[a-zA-Z][^\s/>]*)")
_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|textarea|title)\b.*?(?:</\1\s*>|\Z)|<(/?)([a-zA-Z][^\s/>]*)", re.IGNORECASE | re.DOTALL
)
_FLATTENED = re.compile(r"</?(?!(?:p|h[1-6]|a|title|script|style|base|meta|link|br|html|head|body)(?![\w-]))[a-zA-Z][^>]*>", re.IGNORECASE)
_FORMATTING = re.compile(rf"</?(?:{'|'.join(sorted(FORMATTING))})(?=[\s/>])[^>]*>", re.IGNORECASE)


def defuse(html_text: str) -> tuple[str, str | None]:
    """The document in a form that a parser reads in linear time, and what had to be done to it (None: nothing)."""
    html_text, done = _cut_long_tags(html_text)
    tags = html_text.count("<")
    if tags <= _HARMLESS_TAGS:
        return html_text, done
    opened, closed = _tags_by_name(html_text)
    if sum(max(0, opened[name] - closed[name]) for name in FORMATTING) * tags > MAX_REOPENED:
        html_text, done = _FORMATTING.sub("", html_text), "formatting elements that are never closed were removed"
    if sum(count for name, count in opened.items() if name not in FLAT) > MAX_DEPTH and is_deeper_than(html_text, MAX_DEPTH):
        return _FLATTENED.sub("<p>", html_text), f"nested deeper than {MAX_DEPTH} elements: read as a flat list of blocks"
    return html_text, done


def is_deeper_than(html_text: str, limit: int) -> bool:
    """Whether elements are nested deeper than `limit`, judged by the tags alone."""
    depth = 0
    still_open: Counter[str] = Counter()
    for match in _TAG.finditer(html_text):
        name = (match[3] or "").lower()
        if not name or name in FLAT:
            continue
        if not match[2]:
            still_open[name] += 1
            depth += 1
            if depth > limit:
                return True
        elif still_open[name] > 0:  # the end of what was never opened ends nothing
            still_open[name] -= 1
            depth -= 1
    return False


def has_longer_piece(html_text: str, limit: int) -> bool:
    """Whether more than `limit` characters stand together without a `>`; most pages take two look-ups."""
    start = 0
    while len(html_text) - start > limit:
        start = html_text.rfind(">", start, start + limit + 1) + 1
        if start == 0:
            return True
    return False


def _tags_by_name(html_text: str) -> tuple[Counter[str], Counter[str]]:
    """How often each element is opened and closed, by the tags alone."""
    opened: Counter[str] = Counter()
    closed: Counter[str] = Counter()
    for name, count in Counter(_TAG_NAME.findall(html_text)).items():
        if name.startswith("/"):
            closed[name[1:].lower()] += count
        else:
            opened[name.lower()] += count
    return opened, closed


def _cut_long_tags(html_text: str) -> tuple[str, str | None]:
    if not has_longer_piece(html_text, MAX_TAG_CHARS):
        return html_text, None
    pieces = html_text.split(">")
    cut = 0
    for index, piece in enumerate(pieces):
        if len(piece) > MAX_TAG_CHARS and (start := _TAG_START.search(piece)) and _attributes(piece, start.start()) > MAX_ATTRIBUTES:
            pieces[index] = piece[: start.start() + MAX_TAG_CHARS].rpartition(" ")[0]
            cut += 1
    if not cut:
        return html_text, None
    return ">".join(pieces), f"{cut} tag(s) with more than {MAX_ATTRIBUTES} attributes were cut"


def _attributes(tag: str, start: int) -> int:
    """About how many attributes a tag has: values may hold signs of equality, names without a value stand between spaces."""
    return max(tag.count("=", start), tag.count(" ", start), tag.count("\n", start), tag.count("\t", start), tag.count("/", start))
