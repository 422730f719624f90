"""OpenGraph (https://ogp.me): the properties of a page as one item, and what they say in the terms of schema.org."""

from __future__ import annotations

import re
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from trawl_core.extract.items import Item, add_value

_PROPERTY = re.compile(r"(?:og|product|article|book|profile|music|video|event):[\w:.-]+")

# OpenGraph's name → schema.org's, by the kind of page that og:type tells.
_ANY = {"og:description": "description", "og:url": "url", "og:image": "image", "og:image:url": "image", "og:image:secure_url": "image"}
_ARTICLE = {
    "og:title": "headline",
    "article:published_time": "datePublished",
    "article:modified_time": "dateModified",
    "article:author": "author",
    "article:section": "articleSection",
    "article:tag": "keywords",
    "og:site_name": "publisher",
    "og:locale": "inLanguage",
}
_PRODUCT = {
    "og:title": "name",
    "product:brand": "brand",
    "og:brand": "brand",
    "product:retailer_item_id": "sku",
    "product:ean": "gtin",
    "product:upc": "gtin",
    "product:isbn": "gtin",
    "product:mfr_part_no": "mpn",
}
_OFFER = {
    "product:price:amount": "price",
    "product:sale_price:amount": "price",
    "og:price:amount": "price",
    "product:price:currency": "priceCurrency",
    "product:sale_price:currency": "priceCurrency",
    "og:price:currency": "priceCurrency",
    "product:availability": "availability",
    "og:availability": "availability",
    "product:condition": "itemCondition",
}
_KINDS: dict[str, tuple[str, dict[str, str]]] = {
    "article": ("Article", _ARTICLE),
    "product": ("Product", _PRODUCT),
    "product.item": ("Product", _PRODUCT),
    "og:product": ("Product", _PRODUCT),
}


def opengraph_items(tree: LexborHTMLParser) -> list[Item]:
    """One item with all OpenGraph properties; one that is repeated has a list of values. None without an `og:` property."""
    fields: dict[str, Any] = {}
    for node in tree.css("meta[property][content]"):
        attributes = node.attributes
        for name in (attributes.get("property") or "").split():
            if _PROPERTY.fullmatch(name):
                add_value(fields, name, attributes.get("content") or "")
    if not any(name.startswith("og:") for name in fields):
        return []
    kind = fields.get("og:type")
    return [Item("opengraph", kind if isinstance(kind, str) else None, fields)]


def as_schema_org(fields: dict[str, Any]) -> dict[str, Any] | None:
    """The properties under the names of schema.org; None for a kind of page (`og:type`) that has none of our types."""
    kind = fields.get("og:type")
    kind = kind[0] if isinstance(kind, list) else kind
    if not isinstance(kind, str) or kind.strip().lower() not in _KINDS:
        return None
    name, own = _KINDS[kind.strip().lower()]
    found: dict[str, Any] = {"@type": name, **_renamed(fields, own | _ANY)}
    if name == "Product" and (offer := _renamed(fields, _OFFER)):
        found["offers"] = {"@type": "Offer", **offer}
    return found


def _renamed(fields: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """The first of several that say the same wins; a sale's price stands after the regular one and replaces it."""
    found: dict[str, Any] = {}
    for name, target in names.items():
        if name in fields and (target not in found or name.startswith("product:sale_price:")):
            found[target] = fields[name]
    return found
