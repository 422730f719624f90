"""Sitemaps as they are found: index, urlset (news and others included), text; gzipped or not, by content and never by name.

Protocol: https://www.sitemaps.org/protocol.html. Broken ones give what can be read: a missing namespace, blanks around
`<loc>`, an entry without `<loc>`, a cut document.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import chain, islice

from trawl_core.extract.sitemap_xml import RawEntry, read_xml_entries
from trawl_core.urls.normalize import normalize_url
from trawl_core.warc.content_coding import Decoded

# As many as the protocol allows.
MAX_ENTRIES = 50_000
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_LAYERS = 3
_LONGEST_LINE = 1 << 16
_YEAR_MONTH = re.compile(r"\d{4}(-\d\d)?$")


@dataclass(frozen=True)
class SitemapEntry:
    """`url` is normalised; `is_sitemap` tells an entry of an index; `last_modified` is aware UTC, None when absent or invalid."""

    url: str
    is_sitemap: bool
    last_modified: datetime | None = None


def parse_sitemap(document: bytes, url: str, max_decoded_bytes: int) -> list[SitemapEntry]:
    """The entries of a document in memory, as `read_sitemap` gives them."""
    return list(read_sitemap([document], url, max_decoded_bytes))


def read_sitemap(document: Iterable[bytes | memoryview], url: str, max_decoded_bytes: int) -> Iterator[SitemapEntry]:
    """The entries in document order, each URL once, of the first MAX_ENTRIES; none for what is no sitemap.

    `document` is the payload with the content coding removed, in pieces; `url` is where it was fetched. Memory: a piece
    and the URLs.
    """
    start, pieces = _begun(document)
    for _ in range(_GZIP_LAYERS):
        if not start.startswith(_GZIP_MAGIC):
            break
        start, pieces = _begun(Decoded(pieces, "gzip", max_decoded_bytes))
    is_xml = start[:256].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    found: set[str] = set()
    entries = read_xml_entries(pieces) if is_xml else _text_entries(pieces)
    for location, is_sitemap, last_modified in islice(entries, MAX_ENTRIES):
        target = normalize_url(location.strip(), url)
        if target is not None and target not in found:
            found.add(target)
            yield SitemapEntry(target, is_sitemap, parse_lastmod(last_modified))


def _begun(document: Iterable[bytes | memoryview]) -> tuple[bytes, Iterator[bytes | memoryview]]:
    """The first 256 bytes or what there is, and all of the document."""
    pieces = iter(document)
    start = b""
    for piece in pieces:
        start += piece
        if len(start) >= 256:
            break
    return start, chain([start], pieces)


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


def _text_entries(document: Iterable[bytes | memoryview]) -> Iterator[RawEntry]:
    """One absolute URL a line; other lines are none."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    rest = ""
    for piece in chain(document, [b""]):
        lines = (rest + decoder.decode(piece, final=not piece)).splitlines(keepends=True)
        # The end of the line may be still to come; what is longer than any URL is none, whatever it begins with.
        rest = lines.pop() if lines and piece else ""
        rest = rest if len(rest) <= _LONGEST_LINE else "#"
        for line in lines:
            if line.strip().lower().startswith(("http://", "https://")):
                yield line, False, None
