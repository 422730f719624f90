"""Article: who wrote what, when, for whom."""

from __future__ import annotations

from typing import Any

from trawl_core.extract.mapping.reader import ItemReader


def article(item: ItemReader) -> dict[str, Any]:
    headline = item.text("headline", "name")
    if headline is None:
        item.problem("headline", "missing")
    return {
        "headline": headline,
        "description": item.text("description"),
        "authors": item.texts("author", "creator"),
        "publisher": item.text("publisher", "sourceOrganization"),
        "published": item.date("datePublished") or item.date("dateCreated"),
        "modified": item.date("dateModified"),
        "section": item.text("articleSection"),
        "keywords": _keywords(item),
        "language": item.text("inLanguage"),
        "url": item.url("url", "mainEntityOfPage") or item.identity,
        "images": item.urls("image", "thumbnailUrl"),
    }


def _keywords(item: ItemReader) -> list[str]:
    found = item.texts("keywords")
    if len(found) == 1:
        found = [word.strip() for word in found[0].split(",")]
    return list(dict.fromkeys(word for word in found if word))
