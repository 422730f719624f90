"""Product: what it is, what it costs, whether it can be had."""

from __future__ import annotations

import re
from typing import Any

from trawl_core.extract.mapping.offers import offers, rating, sums_up
from trawl_core.extract.mapping.reader import ItemReader

_GTIN = ("gtin", "gtin13", "gtin14", "gtin12", "gtin8", "isbn")


def product(item: ItemReader) -> dict[str, Any]:
    name = item.text("name")
    if name is None:
        item.problem("name", "missing")
    found = offers(item)
    return {
        "name": name,
        "description": item.text("description"),
        "sku": item.text("sku"),
        "mpn": item.text("mpn"),
        "gtin": _gtin(item),
        "brand": item.text("brand", "manufacturer"),
        "category": item.text("category"),
        "color": item.text("color"),
        "url": item.url("url", "mainEntityOfPage") or item.identity,
        "images": item.urls("image"),
        **sums_up(found),
        "offers": found,
        **rating(item),
    }


def _gtin(item: ItemReader) -> str | None:
    """The digits; a wrong length or check digit (GS1 General Specifications, 7.9) is a problem."""
    for name in _GTIN:
        if text := item.text(name):
            digits = re.sub(r"^(?:urn:)?(?:isbn|gtin|ean)[:\s]*|[\s-]", "", text, flags=re.IGNORECASE)
            if not _is_gtin(digits) and not (name in ("isbn", "gtin") and _is_isbn10(digits)):
                item.problem(name, f"{text[:40]!r} is no GTIN: wrong length or check digit")
            return digits
    return None


def _is_gtin(digits: str) -> bool:
    if not digits.isascii() or not digits.isdigit() or len(digits) not in (8, 12, 13, 14):
        return False
    return sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(reversed(digits))) % 10 == 0


def _is_isbn10(digits: str) -> bool:
    if re.fullmatch(r"\d{9}[\dXx]", digits, re.ASCII) is None:
        return False
    values = [10 if digit in "Xx" else int(digit) for digit in digits]
    return sum(weight * value for weight, value in zip(range(10, 0, -1), values, strict=True)) % 11 == 0
