"""What a body gives: the columns of `pages` that do not come from its capture, and its blocks."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import xxhash

from trawl_core.extract.blocks import Block, block_hash, normalize_space
from trawl_core.lake.comparison import tokens, tokens_sha256

EXTRACTOR_VERSION = "3"
"""Raise it with every change that gives another row for the same body: rows of another version are not carried over."""


def version_of(profile: str, json_pointers: Sequence[str] = ()) -> str:
    """`pages.extractor_version` of rows that a site's extraction_profile and json_pointers give."""
    version = EXTRACTOR_VERSION if profile == "quality" else f"{EXTRACTOR_VERSION}-{profile}"
    return f"{version}-{xxhash.xxh32_hexdigest(json.dumps(json_pointers).encode())}" if json_pointers else version


ScopeCheck = Callable[[str], str | None]
"""`Scope.check`: None when the URL is in scope, else the rule that holds it back."""


class Heading(NamedTuple):
    level: int
    text: str


class Outlink(NamedTuple):
    """`in_scope` is None when no scope was given to judge by."""

    url: str
    rel: str
    text: str
    in_scope: bool | None


@dataclass(frozen=True)
class Page:
    """Field by field the columns of `pages` (see lake/schemas.py); `text` is empty only with a reason in `extract_error`."""

    mime_detected: str
    page_type: str
    extractor: str | None
    extract_status: str = "ok"
    extract_error: str | None = None
    text: str = ""
    blocks: tuple[Block, ...] = ()
    title: str | None = None
    description: str | None = None
    author: str | None = None
    site_name: str | None = None
    date_published: str | None = None
    date_modified: str | None = None
    language: str | None = None
    charset: str | None = None
    charset_source: str | None = None
    canonical_hint: str | None = None
    predicted_type: str | None = None
    html_bytes: int = 0
    page_count: int | None = None
    link_density: float | None = None
    headings: tuple[Heading, ...] = ()
    outlinks: tuple[Outlink, ...] = ()
    needs_browser: bool = False
    text_sha256: str | None = None
    text_chars: int = 0
    text_words: int = 0
    extractor_version: str = EXTRACTOR_VERSION
    extract_ms: float | None = None

    def columns(self) -> dict[str, Any]:
        """The row of `pages` as far as a body gives it, in arrow's terms."""
        row = {name: getattr(self, name) for name in _COLUMNS}
        row["headings"] = [heading._asdict() for heading in self.headings]
        row["outlinks"] = [link._asdict() for link in self.outlinks]
        return row


_COLUMNS = tuple(field.name for field in fields(Page) if field.name != "blocks")


def with_text(page: Page, text: str) -> Page:
    """`page` with its text and what is counted from it; a page without text must say why in `extract_error`.

    No line is empty; indentation stays, since programs are text too.
    """
    lines = [line for line in (line.rstrip() for line in text.replace("\x00", "").splitlines()) if line]
    text = "\n".join(lines)
    words = tokens(text)
    return replace(page, text=text, text_chars=len(text), text_words=len(words), text_sha256=tokens_sha256(words))


def failed_page(body: bytes, mime_detected: str, page_type: str, status: str, reason: str, extractor: str | None = None) -> Page:
    """The page of a body that gave nothing."""
    return Page(mime_detected, page_type, extractor, extract_status=status, extract_error=reason, html_bytes=len(body))


def blocks_of_lines(lines: Sequence[str]) -> tuple[Block, ...]:
    """Blocks of a document without markup: one a line that is not empty, all of them main content."""
    texts = [text for text in map(normalize_space, lines) if text]
    return tuple(Block(position, block_hash(text), "", text, True) for position, text in enumerate(texts))


def text_page(page: Page, lines: Sequence[str], empty_reason: str) -> Page:
    """`page` with text and blocks from `lines`; status `empty` with `empty_reason` when they hold nothing."""
    blocks = blocks_of_lines(lines)
    if not blocks:
        return replace(page, extract_status="empty", extract_error=empty_reason)
    return with_text(replace(page, blocks=blocks), "\n".join(block.text for block in blocks))
