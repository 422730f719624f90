"""Author and date as a page shows them to its readers: what stands in `time` elements, in bylines, in links to an author's page, and in
the lines around the first heading. For pages whose metadata do not tell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from selectolax.lexbor import LexborHTMLParser

from trawl_core.extract.blocks import Block, normalize_space

MAX_NAME_CHARS = 60
_MAX_NAME_WORDS = 5
_LINES_ABOVE, _LINES_BELOW = 4, 8
_MAX_LINE_CHARS = 160

_BYLINES = (
    'a[href*="/author/"], a[href*="/authors/"], a[href*="/contributor"]',
    '[class*="author-name" i], [class*="author_name" i], [class*="authorName"], [class*="byline" i] a',
    '[class~="author" i], [class~="post-author" i], [class~="entry-author" i]',
    '[class*="byline" i]',
)
_BY = re.compile(
    r"^(?:(?:written|posted|published|article|text|words|story)\s+)?(?:by|von|par|por|de|di)[:\s]\s*|^author[s]?[:\s]\s*", re.IGNORECASE
)
_BY_LINE = re.compile(r"^(?:(?:written|posted|published)\s+)?by:?\s+(\S.*)$", re.IGNORECASE)
_NAME_ENDS = re.compile(r"\s*(?:[|•·,–—]|\bon\b|\bupdated\b|\bpublished\b|\bposted\b|\d).*$", re.IGNORECASE)
_NO_NAME = re.compile(r"^(?:about|all|more|view|read|see|the author|author|by|sign|log|follow|posts?|share|home|contact)\b", re.IGNORECASE)

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATES = (
    re.compile(r"\b(?P<y>(?:19|20)\d\d)[-/.](?P<m>\d\d?)[-/.](?P<d>\d\d?)(?!\d)"),
    re.compile(r"(?<![\d.])(?P<d>\d\d?)\.(?P<m>\d\d?)\.(?P<y>(?:19|20)\d\d)(?![\d.])"),
    re.compile(rf"\b(?P<n>{_MONTH})\s+(?P<d>\d\d?)(?:st|nd|rd|th)?,?\s+(?P<y>(?:19|20)\d\d)\b", re.IGNORECASE),
    re.compile(rf"\b(?P<d>\d\d?)(?:st|nd|rd|th)?[\s.-]+(?:of\s+)?(?P<n>{_MONTH})[\s,.-]+(?P<y>(?:19|20)\d\d)\b", re.IGNORECASE),
)
_SAYS_WHEN = re.compile(
    r"(?:first |originally )?(?:published|posted|date|veröffentlicht|erschienen|publié|publicado|pubblicato)\b", re.IGNORECASE
)


def byline_author(tree: LexborHTMLParser, blocks: Sequence[Block]) -> str | None:
    """The name that a byline shows; None where none looks like a name."""
    for selector in _BYLINES:
        for node in tree.css(selector)[:6]:
            if (name := _name(node.text(separator=" "))) is not None:
                return name
    for block in _near_heading(blocks):
        if (match := _BY_LINE.match(block.text)) and (name := _name(match[1])) is not None:
            return name
    return None


def shown_date(tree: LexborHTMLParser, blocks: Sequence[Block]) -> str | None:
    """ISO date of the first `time` element in an article or main content that has one, else of a line that says when the page was
    published, else of one around the first heading."""
    for node in tree.css("time")[:3]:
        if found := date_in(node.attributes.get("datetime") or "") or date_in(node.text()):
            return found
    saying = (block for block in blocks if len(block.text) <= _MAX_LINE_CHARS and _SAYS_WHEN.match(block.text))
    for block in (*saying, *_near_heading(blocks)):
        if len(block.text) <= _MAX_LINE_CHARS and (found := date_in(block.text)):
            return found
    return None


def date_in(text: str) -> str | None:
    """The first calendar date in a text, day, month and year; None when there is none that can be."""
    for pattern in _DATES:
        if match := pattern.search(text):
            parts = match.groupdict()
            month = int(parts["m"]) if parts.get("m") else _MONTHS.index(parts["n"][:3].lower()) + 1
            try:
                return date(int(parts["y"]), month, int(parts["d"])).isoformat()
            except ValueError:
                continue
    return None


def _near_heading(blocks: Sequence[Block]) -> Sequence[Block]:
    """The lines just above and below the first heading of the highest level, in reading order from below it."""
    first = next((at for at, block in enumerate(blocks) if block.level == 1), None)
    if first is None:
        return ()
    return (*blocks[first + 1 : first + 1 + _LINES_BELOW], *blocks[max(0, first - _LINES_ABOVE) : first])


def _name(text: str) -> str | None:
    name = _NAME_ENDS.sub("", _BY.sub("", normalize_space(text[:400]))).strip(" :,.")
    words = name.split()
    if (
        not 1 <= len(words) <= _MAX_NAME_WORDS
        or len(name) > MAX_NAME_CHARS
        or len(name) < 3
        or not name[0].isupper()
        or _NO_NAME.match(name)
    ):
        return None
    return name
