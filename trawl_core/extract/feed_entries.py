"""Entries of RSS and Atom feeds as structured items: one of type Entry each, in document order."""

from __future__ import annotations

import calendar
import io
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import feedparser

from trawl_core.extract.blocks import page_blocks
from trawl_core.extract.faults import LIBRARY_FAULTS, describe_fault
from trawl_core.extract.items import Item
from trawl_core.urls.normalize import normalize_url

FEED_MIMES = ("application/rss+xml", "application/atom+xml")
MAX_BYTES = 20_000_000
MAX_ENTRIES = 5000


def parse_feed(body: bytes, url: str, content_type: str | None) -> Any:
    """What feedparser reads. Raises one of LIBRARY_FAULTS."""
    return feedparser.parse(io.BytesIO(body), response_headers={"content-location": url, "content-type": content_type or "application/xml"})


def feed_entries(body: bytes, url: str, content_type: str | None) -> list[Item]:
    """Fields, each only where the entry has it: id, link, title, summary, content (text), authors, categories, published and updated
    (ISO 8601, UTC), comments, enclosures (url, type, bytes). An entry without title and link, or with a date that is none, says so.

    A feed that can't be read is one item without fields.
    """
    if len(body) > MAX_BYTES:
        return [Item("feed", "Entry", None, (f"feed of {len(body):,} bytes; the limit is {MAX_BYTES:,}",))]
    try:
        entries = parse_feed(body, url, content_type).entries
    except LIBRARY_FAULTS as error:
        return [Item("feed", "Entry", None, (f"not a readable feed: {describe_fault(error)}",))]
    items = [_item(entry, url) for entry in entries[:MAX_ENTRIES]]
    if len(entries) > MAX_ENTRIES:
        items.append(Item("feed", "Entry", None, (f"{len(entries) - MAX_ENTRIES:,} more entries of this feed were left out",)))
    return [item.at(position) for position, item in enumerate(items)]


def feed_text(markup: str | None) -> list[str]:
    """Blocks of a title, summary or content, which may hold HTML."""
    if not markup:
        return []
    if "<" not in markup and "&" not in markup:
        return [" ".join(markup.split())]
    return [block.text for block in page_blocks(markup)]


def entry_contents(entry: Any) -> list[str]:
    """Markup of the contents of an entry, or of its summary where it has none."""
    return [value for part in entry.get("content", []) if (value := part.get("value"))] or [entry.get("summary") or ""]


def absolute(reference: str | None, base: str) -> str | None:
    """None for no reference as well as for one that is none; an empty one would be the feed itself."""
    return normalize_url(reference, base) if reference and reference.strip() else None


def _item(entry: Any, url: str) -> Item:
    contents = "\n".join(text for part in entry.get("content", []) for text in feed_text(part.get("value")))
    fields = {
        "id": entry.get("id"),
        "link": absolute(entry.get("link"), url),
        "title": " ".join(feed_text(entry.get("title"))),
        "summary": "\n".join(feed_text(entry.get("summary"))) if not contents or entry.get("summary") else None,
        "content": contents,
        "authors": _names(author.get("name") for author in entry.get("authors", [])) or _names([entry.get("author")]),
        "categories": _names(tag.get("term") for tag in entry.get("tags", [])),
        # feedparser answers one date for the other where an entry has one of them only.
        "published": _moment(dict.get(entry, "published_parsed")),
        "updated": _moment(dict.get(entry, "updated_parsed")),
        "comments": absolute(entry.get("comments"), url),
        "enclosures": [found for part in entry.get("enclosures", []) if (found := _enclosure(part, url))],
    }
    problems = [
        f"{name} is no date: {entry[name]}"[:200] for name in ("published", "updated") if dict.get(entry, name) and not fields[name]
    ]
    if not fields["title"] and not fields["link"]:
        problems.append("the entry has neither title nor link")
    return Item("feed", "Entry", {name: value for name, value in fields.items() if value}, tuple(problems))


def _names(values: Iterable[str | None]) -> list[str]:
    return list(dict.fromkeys(name for value in values if value and (name := " ".join(value.split()))))


def _enclosure(part: Any, url: str) -> dict[str, Any] | None:
    target = absolute(part.get("href"), url)
    if target is None:
        return None
    length = part.get("length") or ""
    size = int(length) if length.isascii() and length.isdecimal() and len(length) < 19 else None
    return {name: value for name, value in (("url", target), ("type", part.get("type")), ("bytes", size)) if value}


def _moment(parsed: time.struct_time | None) -> str | None:
    """What feedparser read as UTC; it takes years and days that do not exist."""
    if parsed is None:
        return None
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=calendar.timegm(parsed))).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError):
        return None
