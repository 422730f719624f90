"""Structured data of an HTML page: JSON-LD, Microdata, RDFa, OpenGraph, and the selector schemas of sites.yaml; entries of a feed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from selectolax.lexbor import LexborHTMLParser

from trawl_core.extract.charset import charset_parameter, decode
from trawl_core.extract.feed_entries import FEED_MIMES, feed_entries
from trawl_core.extract.guards import defuse
from trawl_core.extract.items import Item
from trawl_core.extract.json_ld import json_ld_items
from trawl_core.extract.mapping.entities import with_entities
from trawl_core.extract.microdata import microdata_items
from trawl_core.extract.opengraph import opengraph_items
from trawl_core.extract.rdfa import rdfa_items
from trawl_core.extract.selectors import selector_item
from trawl_core.sites import ExtractionSchema
from trawl_core.urls.normalize import normalize_url
from trawl_core.warc.sniff import HEAD_BYTES, sniff_mime

STRUCTURED_VERSION = "4"
"""Raise it with every change that gives other rows for the same body: rows of another version are not carried over."""
HTML_TYPES = ("text/html", "application/xhtml+xml")
MAX_BYTES = 20_000_000
MAX_ITEMS = 5000
# The root element of a feed, in ASCII or UTF-16: most documents are none, and need not be told by all of the rules.
_FEED = re.compile(rb"<\x00?(?:[\w-]{1,20}:)?(?:r\x00?s\x00?s|f\x00?e\x00?e\x00?d|RDF)[\x00\s>]", re.IGNORECASE)
# One of these stands, in lower case, in each document with items. Looking for them one by one costs less than a pattern for all.
_MARKS = (b"ld+json", b"ld&#", b"itemscope", b"typeof", b"og:")


def structured_items(html_text: str, url: str, schemas: Sequence[ExtractionSchema] = ()) -> list[Item]:
    """Items of an HTML document in the order JSON-LD, Microdata, RDFa, OpenGraph, schemas; `position` counts through them.

    Only schemas whose pattern is found in `url` apply. What is beyond 5,000 items is left out, and the last says so.
    """
    tree = LexborHTMLParser(defuse(html_text)[0])
    base = document_base(tree, url)
    items = [*json_ld_items(tree), *microdata_items(tree, base), *rdfa_items(tree, base), *opengraph_items(tree)]
    left_out = len(items) - MAX_ITEMS
    if left_out > 0:
        del items[MAX_ITEMS:]
        items[-1] = replace(items[-1], problems=(*items[-1].problems, f"{left_out} of the page's items, beyond {MAX_ITEMS}, were left out"))
    items = with_entities(items, base)
    items += [selector_item(tree, base, schema) for schema in schemas if re.search(schema.pattern, url)]
    return [item.at(position) for position, item in enumerate(items)]


def document_base(tree: LexborHTMLParser, url: str) -> str:
    """What relative references of a document are resolved against."""
    for node in tree.css("base[href]"):
        return normalize_url((node.attributes.get("href") or "").strip(), url) or url
    return url


def body_items(document: bytes, url: str, content_type: str | None, schemas: Sequence[ExtractionSchema] = ()) -> list[Item]:
    """Items of a body with its content coding removed, those of a feed its entries; none for what is neither HTML nor feed.

    HTML is read up to 20 MB; of a larger document the last item says so.
    """
    if _FEED.search(document[:HEAD_BYTES]) and sniff_mime(document, content_type) in FEED_MIMES:
        return feed_entries(document, url, content_type)
    applying = [schema for schema in schemas if re.search(schema.pattern, url)]
    start = document[:MAX_BYTES]
    if not (applying or b"\x00" in start[:4] or _has_mark(start)):
        return []
    if sniff_mime(document, content_type) not in HTML_TYPES:
        return []
    items = structured_items(decode(start, charset_parameter(content_type)).text, url, applying)
    if items and len(document) > MAX_BYTES:
        items[-1] = replace(items[-1], problems=(*items[-1].problems, f"only the first {MAX_BYTES} bytes of the document were read"))
    return items


def _has_mark(document: bytes) -> bool:
    lowered = document.lower()
    return any(mark in lowered for mark in _MARKS)
