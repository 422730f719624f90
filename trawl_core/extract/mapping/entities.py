"""Gives each item of a page that is one of the five its entity, and says which entity to take where several syntaxes tell one thing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from trawl_core.extract.items import Entity, Item, short_type
from trawl_core.extract.mapping.article import article
from trawl_core.extract.mapping.breadcrumbs import breadcrumbs
from trawl_core.extract.mapping.event import event
from trawl_core.extract.mapping.organization import organization
from trawl_core.extract.mapping.product import product
from trawl_core.extract.mapping.reader import Graph, ItemReader
from trawl_core.extract.mapping.vocabulary import kind_of
from trawl_core.extract.opengraph import as_schema_org

MAPPERS: dict[str, Callable[[ItemReader], dict[str, Any]]] = {
    "Product": product,
    "Article": article,
    "Organization": organization,
    "Event": event,
    "BreadcrumbList": breadcrumbs,
}
SYNTAXES = ("json-ld", "microdata", "rdfa", "opengraph")
"""The order in which a syntax falls back to the next."""

# Properties by which an item that is a page, a list or an offer holds what the page is about.
_HOLDING = ("mainEntity", "breadcrumb", "itemListElement", "item", "hasVariant", "hasPart", "itemOffered", "event", "events", "subEvent")
_MAX_PARTS = 500
_MAX_GRAPH = 5000


def with_entities(items: list[Item], base: str) -> list[Item]:
    """The items with their entities, and after each the parts of it that are one of the five, as items with `within`.

    `base` resolves references. Positions are given anew.
    """
    graphs = {syntax: _graph([item for item in items if item.syntax == syntax]) for syntax in SYNTAXES}
    found: list[Item] = []
    for item in items:
        place = len(found)
        graph = graphs.get(item.syntax, {})
        found.append(_mapped(item, graph, base).at(place))
        if item.fields is not None and item.syntax in SYNTAXES:
            parts = list(islice(_parts(item.fields), _MAX_PARTS + 1))
            if len(parts) > _MAX_PARTS:
                more = f"more than {_MAX_PARTS} parts: the others have no rows of their own"
                found[place] = replace(found[place], problems=(*found[place].problems, more))
            for fields in parts[:_MAX_PARTS]:
                part = Item(item.syntax, short_type(fields.get("@type")), fields, within=place)
                found.append(_mapped(part, graph, base).at(len(found)))
    return _with_preference(found)


def _mapped(item: Item, graph: Graph, base: str) -> Item:
    fields = as_schema_org(item.fields) if item.syntax == "opengraph" and item.fields is not None else item.fields
    kind = kind_of(fields.get("@type")) if fields is not None and item.syntax in SYNTAXES else None
    if fields is None or kind is None:
        return item
    problems: list[str] = []
    values = MAPPERS[kind](ItemReader(fields, graph, base, problems))
    entity = Entity(kind, {name: value for name, value in values.items() if value not in (None, [], {})}, tuple(dict.fromkeys(problems)))
    return replace(item, entity=entity, problems=(*item.problems, *entity.problems))


def _parts(fields: dict[str, Any], level: int = 0) -> Iterator[dict[str, Any]]:
    """Items of the five kinds inside an item, outermost first, each level by the properties that hold what a page is about."""
    if kind_of(fields.get("@type")) == "BreadcrumbList":
        return
    for name in _HOLDING:
        for value in _dicts(fields.get(name)):
            if kind_of(value.get("@type")) and value.keys() - {"@id", "@type"}:
                yield value
            if level < 4:
                yield from _parts(value, level + 1)


def _dicts(value: Any) -> list[dict[str, Any]]:
    values = value if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, dict)]


def _graph(items: list[Item]) -> dict[str, dict[str, Any]]:
    """Items of one syntax by `@id`, nested ones too; of several with one `@id`, that which says most."""
    found: dict[str, dict[str, Any]] = {}
    level: list[Any] = [item.fields for item in items if item.fields is not None]
    seen = 0
    while level and seen < _MAX_GRAPH:
        deeper = []
        for one in level:
            if isinstance(one, dict):
                seen += 1
                identity = one.get("@id")
                if isinstance(identity, str) and len(one) > len(found.get(identity, {})) and one.keys() - {"@id", "@type"}:
                    found[identity] = one
            deeper += [inner for inner in (one.values() if isinstance(one, dict) else one) if isinstance(inner, (dict, list))]
        level = deeper
    return found


def _with_preference(items: list[Item]) -> list[Item]:
    """For each kind the entities of the first syntax that has one without a problem, else of the first that has one."""
    best: dict[str, str] = {}
    for wanted in (True, False):
        for syntax in SYNTAXES:
            for item in items:
                if item.syntax == syntax and item.entity is not None and (item.valid or not wanted):
                    best.setdefault(item.entity.kind, syntax)
    return [item if item.entity is None else replace(item, preferred=item.syntax == best[item.entity.kind]) for item in items]
