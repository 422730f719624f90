"""Structured data of an HTML page: JSON-LD, Microdata, OpenGraph, and the selector schemas of sites.yaml."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from trawl_core.extract.charset import charset_parameter, decode
from trawl_core.extract.guards import defuse
from trawl_core.extract.items import Item
from trawl_core.extract.json_ld import json_ld_items
from trawl_core.extract.microdata import microdata_items
from trawl_core.extract.selectors import selector_item
from trawl_core.sites import ExtractionSchema
from trawl_core.warc.sniff import sniff_mime

MAX_BYTES = 20_000_000
_MARKERS = re.compile(rb"ld\+json|itemscope|property\s*=\s*[\"']?(?:og|product|article):", re.IGNORECASE)
_OPENGRAPH = re.compile(r"(?:og|product|article|book|profile|music|video):[\w:.-]+")


def structured_items(html_text: str, url: str, schemas: Sequence[ExtractionSchema] = ()) -> list[Item]:
    """Items of an HTML document in the order JSON-LD, Microdata, OpenGraph, schemas; `position` counts through them.

    Only schemas whose pattern is found in `url` apply.
    """
    tree = LexborHTMLParser(defuse(html_text)[0])
    items = [*json_ld_items(tree), *microdata_items(tree, url), *_opengraph(tree)]
    items.extend(selector_item(tree, url, schema) for schema in schemas if re.search(schema.pattern, url))
    return [item.at(position) for position, item in enumerate(items)]


def body_items(document: bytes, url: str, content_type: str | None, schemas: Sequence[ExtractionSchema] = ()) -> list[Item]:
    """Items of a body with its content coding removed; none for what is no HTML or larger than 20 MB."""
    applying = [schema for schema in schemas if re.search(schema.pattern, url)]
    if len(document) > MAX_BYTES or not (applying or b"\x00" in document[:4] or _MARKERS.search(document)):
        return []
    if sniff_mime(document, content_type) not in ("text/html", "application/xhtml+xml"):
        return []
    return structured_items(decode(document, charset_parameter(content_type)).text, url, applying)


def _opengraph(tree: LexborHTMLParser) -> list[Item]:
    """One item with all OpenGraph properties; one that is repeated has a list of values."""
    fields: dict[str, Any] = {}
    for node in tree.css("meta[property][content]"):
        attributes = node.attributes
        for name in (attributes.get("property") or "").split():
            if _OPENGRAPH.fullmatch(name):
                value = attributes.get("content") or ""
                known = fields.get(name)
                fields[name] = value if known is None else [*known, value] if isinstance(known, list) else [known, value]
    if not any(name.startswith("og:") for name in fields):
        return []
    kind = fields.get("og:type")
    return [Item("opengraph", kind if isinstance(kind, str) else None, fields)]
