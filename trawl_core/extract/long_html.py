"""HTML of more than 10 MB or 120,000 tags, without a tree of the whole: as much memory as the document and its text.

Such a page is mostly scripts and images written into it, and without them a page as any other; or it is a table or a log of
hundreds of thousands of rows, of which no extractor makes anything but its lines: those are read from the tags as they pass by.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace

from trawl_core.extract.blocks import CELL, Block, block_hash, normalize_space
from trawl_core.extract.charset import charset_parameter, decode
from trawl_core.extract.content.choice import Profile
from trawl_core.extract.elements import INLINE, INVISIBLE
from trawl_core.extract.html import extract_html
from trawl_core.extract.links import find_links_in_text
from trawl_core.extract.page import Heading, Outlink, Page, ScopeCheck, with_text

MAX_BYTES = 10_000_000
MAX_TAGS = 120_000
"""Documents up to these sizes are read as a tree: its blocks cost some 30 µs a tag."""
MAX_TEXT_CHARS = 20_000_000
MAX_BLOCKS = 200_000
MAX_LINKS = 20_000
_HEAD_CHARS = 200_000
_PIECE_CHARS = 500_000

# Each alternative ends at the end of the document at the latest, so none is tried twice over the same characters.
_UNSEEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<style(?=[\s>/])[^>]*(?:>|\Z).*?(?:</style(?=[\s>/])[^>]*(?:>|\Z)|\Z)"
    r"|<script(?=[\s>/])(?![^>]{0,200}ld\+json)[^>]*(?:>|\Z).*?(?:</script(?=[\s>/])[^>]*(?:>|\Z)|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_WRITTEN_IN = re.compile(r"(?<=[\"'(=])data:[\w/+.;=-]{1,100},[\w+/=%-]{1000,}+", re.IGNORECASE)
_LD_JSON = re.compile(r"<script(?=[\s>/])[^>]*(?:>|\Z).*?(?:</script(?=[\s>/])[^>]*(?:>|\Z)|\Z)", re.IGNORECASE | re.DOTALL)
# Scripts and styles are gone by then; a head holds no text but its title; embed has no end.
_NOT_HIDING = {"script", "style", "head", "embed"}
_NOT_SHOWN = re.compile(
    "|".join(rf"<{name}(?=[\s>/])[^>]*(?:>|\Z).*?(?:</{name}(?=[\s>/])[^>]*(?:>|\Z)|\Z)" for name in sorted(INVISIBLE - _NOT_HIDING)),
    re.IGNORECASE | re.DOTALL,
)
_CELL = re.compile(r"<t[dh](?=[\s>/])[^<>]*>", re.IGNORECASE)
_HEADING = re.compile(r"<h([1-6])(?=[\s>/])[^<>]*>", re.IGNORECASE)
_INLINE_TAG = re.compile(rf"</?(?:{'|'.join(sorted(INLINE, key=len, reverse=True))})(?=[\s>/])[^<>]*>|</t[dh]\s*>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>|<[!?][^<>]*>")
_HEADING_MARK = "\x01"


def is_long_html(body: bytes) -> bool:
    return len(body) > MAX_BYTES or (len(body) > MAX_TAGS and body.count(b"<") > MAX_TAGS)


def extract_long_html(
    body: bytes, url: str, content_type: str | None = None, *, mime: str, scope: ScopeCheck | None = None, profile: Profile = "quality"
) -> Page:
    """The page in an HTML body that `is_long_html`; status `too_large` with the text of its beginning where that is beyond
    MAX_TEXT_CHARS or MAX_BLOCKS."""
    decoded = decode(body, charset_parameter(content_type))
    source = _WRITTEN_IN.sub("", _UNSEEN.sub("", decoded.text.replace("\x00", "")))
    of_body = {"mime_detected": mime, "charset": decoded.charset, "charset_source": decoded.source, "html_bytes": len(body)}
    if len(source) <= MAX_BYTES and source.count("<") <= MAX_TAGS:
        return replace(extract_html(source.encode("utf-8", "replace"), url, _AS_UTF8, scope=scope, profile=profile), **of_body)
    del decoded
    head = extract_html(source[:_HEAD_CHARS].encode("utf-8", "replace"), url, _AS_UTF8, scope=scope, profile=profile)
    blocks, read_chars = _blocks(source)
    page = replace(
        head,
        **of_body,
        extractor="stream",
        extract_status="ok",
        extract_error=None,
        blocks=blocks,
        headings=tuple(Heading(block.level, block.text) for block in blocks if block.level),
        outlinks=_outlinks(source[:read_chars], url, scope),
        link_density=None,
        needs_browser=False,
    )
    page = with_text(page, "\n".join(block.text for block in blocks))
    if not page.text:
        return replace(page, extract_status="empty", extract_error=f"no text: {len(body):,} bytes of tags show none")
    if read_chars < len(source):
        reason = f"document of {len(body):,} bytes: the text of its first {read_chars / len(source):.0%} is kept"
        return replace(page, extract_status="too_large", extract_error=reason)
    return page


_AS_UTF8 = "text/html; charset=utf-8"


def _blocks(source: str) -> tuple[tuple[Block, ...], int]:
    """The lines that the document shows, and how many of its characters they are from."""
    blocks: list[Block] = []
    chars = read = 0
    carried = ""
    for piece in _pieces(source):
        read += len(piece)
        lines = _lines(piece)
        # What stands before the first tag of a piece that ends a line goes on with the line before.
        lines[0] = carried + lines[0]
        carried = lines.pop()
        for line in lines:
            chars += _add(blocks, line)
            if chars >= MAX_TEXT_CHARS or len(blocks) >= MAX_BLOCKS:
                return tuple(blocks), read
        if len(carried) + chars >= MAX_TEXT_CHARS:
            carried = carried[: MAX_TEXT_CHARS - chars]
            break
    _add(blocks, carried)
    return tuple(blocks), read


def _add(blocks: list[Block], line: str) -> int:
    level = int(line[line.index(_HEADING_MARK) + 1]) if _HEADING_MARK in line else 0
    text = normalize_space(_after_mark(line) if level else line).removeprefix(CELL.lstrip()).removesuffix(CELL.rstrip()).strip()
    if len(text) < 3 and not any(letter.isalnum() for letter in text):
        return 0
    blocks.append(Block(len(blocks), block_hash(text), "", text, True, level))
    return len(text)


def _after_mark(line: str) -> str:
    before, _, after = line.partition(_HEADING_MARK)
    return before + after[1:]


def _pieces(source: str) -> Iterator[str]:
    """Cut before a tag, or else at a space, so that neither a tag nor a character reference is cut."""
    start = 0
    while start < len(source):
        end = start + _PIECE_CHARS
        if end < len(source):
            end = next((place for sign in "< " if (place := source.rfind(sign, start + 1, end)) > 0), end)
        yield source[start:end]
        start = end


def _lines(piece: str) -> list[str]:
    text = piece.replace("\n", " ").replace("\r", " ").replace(_HEADING_MARK, "")
    text = _NOT_SHOWN.sub(" ", _LD_JSON.sub(" ", text))
    text = _CELL.sub(CELL, text)
    text = _INLINE_TAG.sub("", text)
    text = _HEADING.sub(rf"\n{_HEADING_MARK}\1", text)
    return html.unescape(_TAG.sub("\n", text)).split("\n")


def _outlinks(source: str, url: str, scope: ScopeCheck | None) -> tuple[Outlink, ...]:
    """The first MAX_LINKS, each URL once."""
    found: dict[str, Outlink] = {}
    base = url
    for number, piece in enumerate(_pieces(source)):
        if "href" not in piece and "HREF" not in piece:
            continue
        links = find_links_in_text(piece, base)
        base = links.base if number == 0 else base
        for link in links.links:
            if link.url not in found:
                found[link.url] = Outlink(link.url, link.rel, link.text, None if scope is None else scope(link.url) is None)
            if len(found) >= MAX_LINKS:
                return tuple(found.values())
    return tuple(found.values())
