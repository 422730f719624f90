"""Structured data compared path by path: `Product.offers.price` was 310, is 283.

OpenGraph is kept apart: it tells other sites about the page and mostly repeats its title and address.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from trawl_core.changes.version import StructuredItem

# What the comparison of titles and canonical links covers, and moments that claim a change without being one.
_REPEATED = ("og:title", "og:url", "og:updated_time", "article:modified_time")

Difference = tuple[str, str | None, str | None]


def changed_paths(old: Iterable[StructuredItem], new: Iterable[StructuredItem]) -> list[Difference]:
    """(path, old value, new value) of everything but OpenGraph, sorted by path; None where a side has no such path.

    A path begins with the item's type, with its syntax before it when that is not JSON-LD, and counts items of one kind from
    the second on: `Product[2].name`. Values are text as it stands, numbers and booleans as JSON.
    """
    return _differences(
        _flat(item for item in old if item.syntax != "opengraph"), _flat(item for item in new if item.syntax != "opengraph")
    )


def changed_opengraph(old: Iterable[StructuredItem], new: Iterable[StructuredItem]) -> list[Difference]:
    """The same of OpenGraph's own properties: `og:image` was one URL, is another."""
    before, after = ({key: value for item in items for key, value in _properties(item)} for items in (old, new))
    return _differences(before, after)


def _differences(before: dict[str, str], after: dict[str, str]) -> list[Difference]:
    return [
        (path, before.get(path), after.get(path)) for path in sorted(before.keys() | after.keys()) if before.get(path) != after.get(path)
    ]


def _properties(item: StructuredItem) -> Iterator[tuple[str, str]]:
    if item.syntax == "opengraph" and item.fields is not None:
        for key, value in json.loads(item.fields).items():
            if key not in _REPEATED:
                yield from _leaves(key, value)


def _flat(items: Iterable[StructuredItem]) -> dict[str, str]:
    seen: Counter[str] = Counter()
    flat: dict[str, str] = {}
    for item in items:
        if item.fields is None:
            continue
        kind = item.type or "item"
        root = kind if item.syntax == "json-ld" else f"{item.syntax}:{kind}"
        seen[root] += 1
        flat.update(_leaves(root if seen[root] == 1 else f"{root}[{seen[root]}]", json.loads(item.fields)))
    return flat


def _leaves(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(f"{path}.{key}", inner)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _leaves(f"{path}[{place}]", inner)
    elif value is not None:
        yield path, value if isinstance(value, str) else json.dumps(value)
