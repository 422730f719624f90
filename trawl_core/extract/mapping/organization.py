"""Organization, and the postal addresses that places have too."""

from __future__ import annotations

from typing import Any

from trawl_core.extract.mapping.offers import rating
from trawl_core.extract.mapping.reader import ItemReader

_ADDRESS = {
    "street": "streetAddress",
    "postal_code": "postalCode",
    "locality": "addressLocality",
    "region": "addressRegion",
    "country": "addressCountry",
}


def organization(item: ItemReader) -> dict[str, Any]:
    name = item.text("name", "legalName")
    if name is None:
        item.problem("name", "missing")
    return {
        "name": name,
        "legal_name": item.text("legalName"),
        "description": item.text("description"),
        "url": item.url("url") or item.identity,
        "logo": item.url("logo"),
        "images": item.urls("image"),
        "telephone": item.text("telephone"),
        "email": (item.text("email") or "").removeprefix("mailto:") or None,
        "address": address(item),
        "same_as": item.urls("sameAs"),
        **rating(item),
    }


def address(place: ItemReader) -> dict[str, str] | None:
    """street, postal_code, locality, region and country as far as they are given; `text` for an address in one piece."""
    for postal in place.items("address"):
        found = {name: text for name, source in _ADDRESS.items() if (text := postal.text(source))}
        if found:
            return found
    text = place.text("address")
    return {"text": text} if text else None
