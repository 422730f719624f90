"""A sitemap as a page: its URLs are the text and the links."""

from __future__ import annotations

import re

from trawl_core.extract.charset import charset_parameter, decode
from trawl_core.extract.page import Outlink, Page, ScopeCheck, text_page
from trawl_core.extract.sitemaps import read_sitemap

_ROOT = re.compile(rb"<(?:[\w.-]{1,20}:)?(?:urlset|sitemapindex)[\s>]")
_HEAD_BYTES = 4096


def is_sitemap(body: bytes) -> bool:
    return bool(_ROOT.search(body[:_HEAD_BYTES]))


def extract_sitemap(body: bytes, url: str, content_type: str | None, mime: str, scope: ScopeCheck | None = None) -> Page:
    """One block an entry: its URL, and its lastmod where that is a date."""
    decoded = decode(body[:_HEAD_BYTES], charset_parameter(content_type))
    entries = list(read_sitemap([body], url, len(body)))
    page = Page(
        mime_detected=mime,
        page_type="xml",
        extractor="sitemap",
        html_bytes=len(body),
        charset=decoded.charset,
        charset_source=decoded.source,
        outlinks=tuple(Outlink(entry.url, "", "", None if scope is None else scope(entry.url) is None) for entry in entries),
    )
    lines = [f"{entry.url} {entry.last_modified:%Y-%m-%dT%H:%M:%SZ}" if entry.last_modified else entry.url for entry in entries]
    return text_page(page, lines, "no text: the sitemap has no entries")
