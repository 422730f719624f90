"""Sitemaps as they are found: index, urlset (news and others included), text; gzipped or not, by content and never by name.

Protocol: https://www.sitemaps.org/protocol.html. Broken ones give what can be read: a missing namespace, blanks around
`<loc>`, an entry without `<loc>`, a cut document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime

from lxml import etree

from trawl_core.urls.normalize import normalize_url
from trawl_core.warc.payload import decode_content

MAX_ENTRIES = 100_000
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_LAYERS = 3
_ENDED = re.compile(rb"</[\w:]*(?:urlset|sitemapindex)\s*>", re.IGNORECASE)
_YEAR_MONTH = re.compile(r"\d{4}(-\d\d)?$")


@dataclass(frozen=True)
class SitemapEntry:
    """`url` is normalised; `is_sitemap` tells an entry of an index; `last_modified` is aware UTC, None when absent or invalid."""

    url: str
    is_sitemap: bool
    last_modified: datetime | None = None


def parse_sitemap(document: bytes, url: str, max_decoded_bytes: int) -> list[SitemapEntry]:
    """The entries in document order, each URL once, at most MAX_ENTRIES; empty for what is no sitemap.

    `document` is the payload with the content coding removed; `url` is where it was fetched.
    """
    for _ in range(_GZIP_LAYERS):
        if not document.startswith(_GZIP_MAGIC):
            break
        document, _ = decode_content(document, "gzip", max_decoded_bytes)
    start = document[:256].lstrip(b"\xef\xbb\xbf \t\r\n")
    raw = _xml_entries(document) if start.startswith(b"<") else _text_entries(document)
    found: dict[str, SitemapEntry] = {}
    for location, is_sitemap, last_modified in raw:
        target = normalize_url(location.strip(), url)
        if target is not None and target not in found:
            found[target] = SitemapEntry(target, is_sitemap, parse_lastmod(last_modified))
            if len(found) >= MAX_ENTRIES:
                break
    return list(found.values())


def parse_lastmod(text: str | None) -> datetime | None:
    """A W3C date or time (https://www.w3.org/TR/NOTE-datetime) as aware UTC, the start of the period it names; None when invalid."""
    value = (text or "").strip()
    if not value:
        return None
    try:
        if _YEAR_MONTH.match(value):
            year, _, month = value.partition("-")
            return datetime(int(year), int(month or 1), 1, tzinfo=UTC)
        if len(value) == 10:
            return datetime.combine(date.fromisoformat(value), datetime.min.time(), UTC)
        moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _text_entries(document: bytes) -> Iterator[tuple[str, bool, str | None]]:
    """One absolute URL a line; other lines are none."""
    for line in document.decode("utf-8-sig", "replace").splitlines():
        if line.strip().lower().startswith(("http://", "https://")):
            yield line, False, None


def _xml_entries(document: bytes) -> Iterator[tuple[str, bool, str | None]]:
    parser = etree.XMLPullParser(events=("end",), recover=True, huge_tree=True, resolve_entities=False, no_network=True)
    for start in range(0, len(document), 1 << 16):
        parser.feed(document[start : start + (1 << 16)])
        yield from _finished_entries(parser)
    with suppress(etree.XMLSyntaxError):  # nothing after this point can be read; what came before counts
        parser.close()
    rest = list(_finished_entries(parser))
    # Closing ends the last entry of a cut document wherever it was, perhaps in the middle of its URL.
    yield from rest if _ENDED.search(document[-200:]) else rest[:-1]


def _finished_entries(parser: etree.XMLPullParser) -> Iterator[tuple[str, bool, str | None]]:
    for _, element in parser.read_events():
        name = _local_name(element)
        if name not in ("url", "sitemap"):
            continue
        children = {_local_name(child): child.text for child in reversed(element)}
        if children.get("loc"):
            yield children["loc"], name == "sitemap", children.get("lastmod")
        element.clear()


def _local_name(element: etree._Element) -> str:
    return element.tag.rpartition("}")[2].lower() if isinstance(element.tag, str) else ""
