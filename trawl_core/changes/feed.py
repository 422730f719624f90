"""Stored rows of `changes` as an Atom feed (RFC 4287).

An entry's id follows from crawl date, domain and URL alone: reading the feed again, or building the night again, makes
no new entries. The pages that changed with their template only share one entry a night.
"""

from __future__ import annotations

import re
import uuid
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from datetime import date
from html import escape
from typing import Any

from trawl_core.changes.wording import headline, render_fragment

_ATOM = "http://www.w3.org/2005/Atom"
# Characters that XML 1.0 can't carry, even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "urn:trawl:changes")
_BEGINNING = date(1970, 1, 1)


def entry_id(day: date, domain: str, about: str) -> str:
    """`about` is the URL, or the word "template" for a night's template change."""
    return uuid.uuid5(_NAMESPACE, f"{day} {domain} {about}").urn


def render_atom(rows: Sequence[Mapping[str, Any]]) -> str:
    """Newest night first; a feed without entries is dated 1970, so that it never looks updated."""
    domains = sorted({row["domain"] for row in rows})
    feed = ET.Element("feed", xmlns=_ATOM)
    _add(feed, "id", uuid.uuid5(_NAMESPACE, " ".join(domains)).urn)
    _add(feed, "title", f"Changes of {', '.join(domains)}" if domains else "Changes")
    _add(feed, "updated", _moment(max((row["crawl_date"] for row in rows), default=_BEGINNING)))
    _add(ET.SubElement(feed, "author"), "name", "Trawl")
    stamped: dict[tuple[date, str], list[str]] = {}
    for row in sorted(rows, key=lambda row: row["crawl_date"], reverse=True):
        day, domain, url = row["crawl_date"], row["domain"], row["url"]
        if row["event"] == "template":
            stamped.setdefault((day, domain), []).append(url)
            continue
        title = f"{row.get('title') or url}: {headline(row)}"
        _entry(feed, entry_id(day, domain, url), title, day, url, row["event"], render_fragment(row))
    for (day, domain), urls in sorted(stamped.items(), reverse=True):
        title = f"{domain}: template change on {len(urls)} {'page' if len(urls) == 1 else 'pages'}"
        _entry(feed, entry_id(day, domain, "template"), title, day, min(urls), "template", f"<p>{escape(title)}</p>")
    ET.indent(feed)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(feed, encoding="unicode")


def _entry(feed: ET.Element, identity: str, title: str, day: date, url: str, event: str, content: str) -> None:
    entry = ET.SubElement(feed, "entry")
    _add(entry, "id", identity)
    _add(entry, "title", title)
    _add(entry, "updated", _moment(day))
    ET.SubElement(entry, "link", rel="alternate", href=_clean(url))
    ET.SubElement(entry, "category", term=event)
    _add(entry, "content", content, type="html")


def _add(parent: ET.Element, tag: str, text: str, **attributes: str) -> None:
    ET.SubElement(parent, tag, attributes).text = _clean(text)


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)


def _moment(day: date) -> str:
    return f"{day.isoformat()}T00:00:00Z"
