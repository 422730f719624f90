"""What a fetched document leads to: links of a page, entries of a sitemap, items of a feed. Pure functions of the exchange."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

import feedparser

from trawl_core.extract.charset import charset_parameter, decode
from trawl_core.extract.links import find_links_in_text
from trawl_core.extract.scripted import is_scripted
from trawl_core.extract.sitemaps import parse_sitemap
from trawl_core.fetch.browser import Rendered
from trawl_core.fetch.pieces import READ_BYTES, pieces
from trawl_core.fetch.script_redirect import script_redirect
from trawl_core.sites import Site
from trawl_core.urls.normalize import normalize_url
from trawl_core.urls.references import KnownLinks
from trawl_core.urls.traps import pattern_of
from trawl_core.warc.exchange import Exchange
from trawl_core.warc.payload import decode_content
from trawl_core.warc.sniff import sniff_mime

REFRESH_FOLLOWED_S = 5.0
_HTML = ("text/html", "application/xhtml+xml")
_FEEDS = ("application/rss+xml", "application/atom+xml")


class Found(NamedTuple):
    """A URL that a document names. `kind` is page, sitemap or script_redirect (which is told and never fetched).

    `text` is the link's own, `context` the title of the document around it.
    """

    url: str
    kind: str = "page"
    text: str = ""
    nofollow: bool = False
    from_page: bool = True
    last_modified: datetime | None = None
    context: str = ""


def discover(exchange: Exchange, kind: str, site: Site, known: KnownLinks | None = None) -> tuple[Found, ...]:
    """URLs named by the document that a complete or cut 2xx answer carries, in its order; `kind` is what it was fetched as.

    Of a page's `known` links only the first is told: most links of a site lead to what the crawl knows, and telling of
    them again costs more than fetching the page.
    Of a page or feed the first READ_BYTES are read, of a sitemap all that the site allows.
    """
    if exchange.status is None or not 200 <= exchange.status < 300 or not exchange.payload:
        return ()
    limit = site.max_decoded_bytes if kind == "sitemap" else min(site.max_decoded_bytes, READ_BYTES)
    document = exchange.document
    if document is None:
        document, _ = decode_content(exchange.payload, exchange.header("Content-Encoding"), limit)
    if kind == "sitemap":
        return tuple(_sitemap(document, exchange.url, site))
    declared = exchange.header("Content-Type")
    mime = sniff_mime(document, declared)
    if kind == "feed" or mime in _FEEDS:
        return tuple(_feed(document, exchange.url))
    if mime in _HTML:
        return tuple(_page(document, exchange.url, charset_parameter(declared), known))
    return ()


def discover_rendered(rendered: Rendered, url: str) -> tuple[Found, ...]:
    """URLs to which scripts wanted to move on, and links of the DOM."""
    moved = [Found(target) for target in rendered.led_to]
    return (*moved, *(_page(rendered.html, url, "utf-8") if rendered.html is not None else ()))


def is_scripted_page(exchange: Exchange, site: Site) -> bool:
    """Whether a whole good answer is an HTML page that shows next to nothing before its scripts have run."""
    if exchange.status != 200 or exchange.outcome != "ok" or not exchange.payload:
        return False
    document, _ = decode_content(exchange.payload, exchange.header("Content-Encoding"), site.max_decoded_bytes)
    declared = exchange.header("Content-Type")
    return sniff_mime(document, declared) in _HTML and is_scripted(document, charset_parameter(declared))


def _page(document: bytes, url: str, charset: str | None, known: KnownLinks | None = None) -> Iterable[Found]:
    text = decode(document, charset).text
    parts = pieces(text)
    page = find_links_in_text(next(parts), url, known)
    if page.meta_refresh is not None and page.meta_refresh[0] < REFRESH_FOLLOWED_S:
        yield Found(page.meta_refresh[1], context=page.title)
    if (reference := script_redirect(document)) and (target := normalize_url(reference, page.base)) not in (None, url):
        yield Found(target, kind="script_redirect", context=pattern_of(url))
    for link in page.links:
        yield Found(link.url, text=link.text, nofollow=link.nofollow, context=page.title)
    told = {link.url for link in page.links}
    for part in parts:
        for link in find_links_in_text(part, page.base, known).links:
            if link.url not in told:
                told.add(link.url)
                yield Found(link.url, text=link.text, nofollow=link.nofollow, context=page.title)


def _sitemap(document: bytes, url: str, site: Site) -> Iterable[Found]:
    for entry in parse_sitemap(document, url, site.max_decoded_bytes):
        yield Found(entry.url, kind="sitemap" if entry.is_sitemap else "page", from_page=False, last_modified=entry.last_modified)


def _feed(document: bytes, url: str) -> Iterable[Found]:
    """Item links of RSS, Atom and RDF, through feedparser's tolerant parser; relative ones resolved against the feed."""
    feed = feedparser.parse(document, response_headers={"content-location": url}, sanitize_html=False, resolve_relative_uris=False)
    for entry in feed.entries:
        links = [entry.get("link"), *(link.get("href") for link in entry.get("links", []) if link.get("rel", "alternate") == "alternate")]
        targets = (normalize_url(link, url) for link in links if link)
        for target in dict.fromkeys(target for target in targets if target):
            yield Found(target, text=entry.get("title") or "", from_page=False)
