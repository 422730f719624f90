"""What a fetched document leads to: links of a page, entries of a sitemap, items of a feed. Pure functions of the exchange."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

import feedparser

from trawl_core.extract.charset import charset_parameter, decode, decode_pieces
from trawl_core.extract.links import Link, Requisite, find_links_in_text
from trawl_core.extract.scripted import is_scripted
from trawl_core.extract.sitemaps import SitemapEntry, read_sitemap
from trawl_core.fetch.browser import Rendered
from trawl_core.fetch.feeds import feed_slices
from trawl_core.fetch.pieces import READ_BYTES, pieces
from trawl_core.fetch.script_redirect import script_redirect
from trawl_core.sites import Site
from trawl_core.urls.normalize import normalize_url
from trawl_core.urls.references import KnownLinks
from trawl_core.urls.traps import pattern_of
from trawl_core.warc.exchange import SHORT_BYTES, Exchange

REFRESH_FOLLOWED_S = 5.0
# So much of memory may what one document names take: 40,000 links of a page, 50,000 entries of a sitemap with URLs of 160 characters.
MOST_FOUND_BYTES = 12 * 2**20
MOST_ENTRY_BYTES = 20 * 2**20
HTML = ("text/html", "application/xhtml+xml")
_FEEDS = ("application/rss+xml", "application/atom+xml")


class Found(NamedTuple):
    """A URL that a document names. `kind` is page, media, sitemap or script_redirect (which is told and never fetched).

    `text` is the link's own, `context` the title of the document around it. `most_pages` is set for the next page of a list
    that a schema of sites.yaml follows: how many pages the list may have; `after` is the page before it.
    """

    url: str
    kind: str = "page"
    text: str = ""
    nofollow: bool = False
    from_page: bool = True
    last_modified: datetime | None = None
    context: str = ""
    most_pages: int = 0
    after: str = ""


def discover(
    exchange: Exchange, kind: str, site: Site, known: KnownLinks | None = None, known_media: KnownLinks | None = None
) -> tuple[Found, ...]:
    """URLs named by the document that a complete or cut 2xx answer carries, in its order; `kind` is what it was fetched as.

    Of a page's `known` links only the first is told: most links of a site lead to what the crawl knows, and telling of
    them again costs more than fetching the page. What a page shows is told where the site wants it, but for `known_media`.
    Of a page or feed the first READ_BYTES are read, of a sitemap all that the site allows.
    """
    if exchange.status is None or not 200 <= exchange.status < 300 or not exchange.payload_length:
        return ()
    if kind == "media":
        return ()
    if kind == "sitemap":
        return tuple(_sitemap(exchange, site))
    limit = min(site.max_decoded_bytes, READ_BYTES)
    declared, mime = exchange.header("Content-Type"), exchange.mime
    if kind == "feed" or mime in _FEEDS:
        return tuple(_feed(exchange.decoded(limit) if exchange.document is None else [exchange.document], exchange.url))
    if mime not in HTML:
        return ()
    charset = charset_parameter(declared)
    shown = _shown(site, known_media)
    start = exchange.document_start(min(limit, SHORT_BYTES + 1))
    if len(start) <= SHORT_BYTES:
        return tuple(_page(pieces([decode(start, charset).text]), exchange.url, start, known, shown))
    del start
    return tuple(_page(pieces(decode_pieces(exchange.decoded(limit), charset)), exchange.url, known=known, shown=shown))


def discover_rendered(rendered: Rendered, url: str, site: Site, known_media: KnownLinks | None = None) -> tuple[Found, ...]:
    """URLs to which scripts wanted to move on, and links of the DOM, with what it shows where the site wants that."""
    moved = [Found(target) for target in rendered.led_to]
    if rendered.html is None:
        return tuple(moved)
    return (*moved, *_page(pieces([decode(rendered.html, "utf-8").text]), url, rendered.html, shown=_shown(site, known_media)))


def _shown(site: Site, known: KnownLinks | None) -> KnownLinks | None:
    """What of the things that pages show is known; None where the site skips them."""
    if site.media == "skip":
        return None
    return known if known is not None else KnownLinks(lambda url: False)


def is_scripted_page(exchange: Exchange, site: Site) -> bool:
    """Whether a whole good answer is an HTML page that shows next to nothing before its scripts have run."""
    if exchange.status != 200 or exchange.outcome != "ok" or exchange.mime not in HTML:
        return False
    document = exchange.document_start(min(site.max_decoded_bytes, READ_BYTES))
    return is_scripted(document, charset_parameter(exchange.header("Content-Type")))


def _page(
    parts: Iterator[str], url: str, document: bytes = b"", known: KnownLinks | None = None, shown: KnownLinks | None = None
) -> Iterable[Found]:
    """`document` is that of a page that is short enough to be nothing but a redirect by script."""
    page = find_links_in_text(next(parts), url, known, shown)
    if page.meta_refresh is not None and page.meta_refresh[0] < REFRESH_FOLLOWED_S:
        yield Found(page.meta_refresh[1], context=page.title)
    if (reference := script_redirect(document)) and (target := normalize_url(reference, page.base)) not in (None, url):
        yield Found(target, kind="script_redirect", context=pattern_of(url))
    for link in page.links:
        yield Found(link.url, text=link.text, nofollow=link.nofollow, context=page.title)
    yield from (Found(requisite.url, kind="media") for requisite in page.requisites)
    told = {link.url for link in (*page.links, *page.requisites)}
    room = MOST_FOUND_BYTES - sum(map(_bytes_of, (*page.links, *page.requisites)))
    for part in parts:
        more = find_links_in_text(part, page.base, known, shown)
        for link in (*more.links, *more.requisites):
            if link.url not in told:
                room -= _bytes_of(link)
                if room < 0:
                    return
                told.add(link.url)
                if isinstance(link, Requisite):
                    yield Found(link.url, kind="media")
                else:
                    yield Found(link.url, text=link.text, nofollow=link.nofollow, context=page.title)


def _bytes_of(found: Link | Requisite | Found | SitemapEntry) -> int:
    """About what is kept of a link."""
    return 256 + len(found.url) + (0 if isinstance(found, SitemapEntry | Requisite) else len(found.text))


def _sitemap(exchange: Exchange, site: Site) -> Iterable[Found]:
    document = exchange.decoded(site.max_decoded_bytes) if exchange.document is None else [exchange.document]
    room = MOST_ENTRY_BYTES
    for entry in read_sitemap(document, exchange.url, site.max_decoded_bytes):
        room -= _bytes_of(entry)
        if room < 0:
            return
        yield Found(entry.url, kind="sitemap" if entry.is_sitemap else "page", from_page=False, last_modified=entry.last_modified)


def _feed(document: Iterable[bytes | memoryview], url: str) -> Iterable[Found]:
    """Item links of RSS, Atom and RDF, through feedparser's tolerant parser; relative ones resolved against the feed."""
    room = MOST_FOUND_BYTES
    for part in feed_slices(document):
        feed = feedparser.parse(part, response_headers={"content-location": url}, sanitize_html=False, resolve_relative_uris=False)
        for entry in feed.entries:
            beside = (link.get("href") for link in entry.get("links", []) if link.get("rel", "alternate") == "alternate")
            targets = (normalize_url(link, url) for link in (entry.get("link"), *beside) if link)
            for target in dict.fromkeys(target for target in targets if target):
                found = Found(target, text=entry.get("title") or "", from_page=False)
                # Beside the memory it takes a millisecond for three of them.
                room -= 4 * _bytes_of(found)
                if room < 0:
                    return
                yield found
