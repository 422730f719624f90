"""RSS and Atom through feedparser: title and entries as text, entries' links as outlinks."""

from __future__ import annotations

from trawl_core.extract.charset import charset_parameter, decode
from trawl_core.extract.faults import LIBRARY_FAULTS, describe_fault
from trawl_core.extract.feed_entries import MAX_BYTES, absolute, entry_contents, feed_text, parse_feed
from trawl_core.extract.language import detected_language, primary_subtag
from trawl_core.extract.page import Heading, Outlink, Page, ScopeCheck, failed_page, text_page


def extract_feed(body: bytes, url: str, content_type: str | None, mime: str, scope: ScopeCheck | None = None) -> Page:
    """Blocks: the feed's title, then title and content of each entry."""
    if len(body) > MAX_BYTES:
        return failed_page(body, mime, "feed", "too_large", f"feed of {len(body):,} bytes; the limit is {MAX_BYTES:,}", "feed")
    decoded = decode(body, charset_parameter(content_type))
    try:
        parsed = parse_feed(body, url, content_type or mime)
    except LIBRARY_FAULTS as error:
        return failed_page(body, mime, "feed", "broken", f"not a readable feed: {describe_fault(error)}", "feed")
    lines = [_plain(parsed.feed.get("title")), _plain(parsed.feed.get("subtitle"))]
    headings = []
    links: dict[str, str] = {}
    for entry in parsed.entries:
        title = _plain(entry.get("title"))
        lines.extend([title, *(text for content in entry_contents(entry) for text in feed_text(content))])
        if title:
            headings.append(Heading(2, title))
        if target := absolute(entry.get("link"), url):
            links.setdefault(target, title)
    if not parsed.entries and parsed.bozo and not any(lines):
        return failed_page(body, mime, "feed", "broken", f"not a readable feed: {describe_fault(parsed.bozo_exception)}", "feed")
    page = Page(
        mime_detected=mime,
        page_type="feed",
        extractor="feed",
        html_bytes=len(body),
        charset=decoded.charset,
        charset_source=decoded.source,
        title=_plain(parsed.feed.get("title")) or None,
        description=_plain(parsed.feed.get("subtitle")) or None,
        author=_plain(parsed.feed.get("author")) or None,
        language=primary_subtag(parsed.feed.get("language")) or detected_language(" ".join(lines[:100])),
        headings=tuple(headings),
        outlinks=tuple(Outlink(target, "", text, None if scope is None else scope(target) is None) for target, text in links.items()),
    )
    return text_page(page, lines, "no text: the feed has no entries")


def _plain(markup: str | None) -> str:
    """Text of a title, which may hold HTML, on one line."""
    return " ".join(feed_text(markup))
