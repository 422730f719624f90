"""One item, read by the property names of schema.org, whatever its syntax made of them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from typing import Any

from trawl_core.extract.blocks import normalize_space
from trawl_core.extract.mapping.dates import iso_8601
from trawl_core.urls.normalize import normalize_url

_PREFIX = re.compile(r"^(?:schema:|https?://(?:www\.)?schema\.org/)")
_WRAPPERS = ("@list", "@set")
_MAX_VALUES = 1000
MAX_TEXT_CHARS = 10_000
Graph = Mapping[str, dict[str, Any]]


class ItemReader:
    """`graph` has the page's items by `@id`, for values that only refer to one; problems are told with `path` before them."""

    def __init__(self, fields: Mapping[str, Any], graph: Graph, base: str, problems: list[str], path: str = "") -> None:
        self._values = {_PREFIX.sub("", name): value for name, value in fields.items()}
        self._graph = graph
        self._base = base
        self._problems = problems
        self._path = path

    @property
    def identity(self) -> str | None:
        """`@id` as an absolute URL; None without one, or for a name inside the page's data (`_:b0`, `#product`)."""
        identity = self._values.get("@id")
        if not isinstance(identity, str) or identity.startswith(("_:", "#")):
            return None
        return normalize_url(identity, self._base)

    def problem(self, name: str, what: str) -> None:
        self._problems.append(f"{self._path}{name}: {what}" if name else f"{self._path}{what}")

    def values(self, *names: str) -> list[Any]:
        """All values of the first of these properties that has any: texts, numbers, booleans and items."""
        for name in names:
            if found := list(_flat(self._values.get(name))):
                if len(found) > _MAX_VALUES:
                    self.problem(name, f"only the first {_MAX_VALUES} of {len(found)} values are read")
                return found[:_MAX_VALUES]
        return []

    def text(self, *names: str) -> str | None:
        """The first value that is text or a number, entities resolved, white space joined; for an item, its name."""
        return next(iter(self.texts(*names)), None)

    def texts(self, *names: str) -> list[str]:
        """Every such value, each once."""
        for name in names:
            if found := [text for value in self.values(name) if (text := self._text(value))]:
                return list(dict.fromkeys(found))
        return []

    def items(self, *names: str) -> list[ItemReader]:
        """The values that are items, or refer to one by its `@id`."""
        found = []
        for value in self.values(*names):
            item = self._resolved(value)
            if isinstance(item, dict):
                found.append(ItemReader(item, self._graph, self._base, self._problems, f"{self._path}{names[0]}."))
        return found

    def urls(self, *names: str) -> list[str]:
        """Absolute URLs, each once; of an item its `url`, `contentUrl` or `@id`. One that is none is a problem."""
        found = []
        for value in self.values(*names):
            item = self._resolved(value) if isinstance(value, dict) else value
            reference = _reference(item)
            if not reference:
                continue
            if (target := normalize_url(reference.strip(), self._base)) is not None:
                found.append(target)
            elif not reference.startswith("data:"):
                self.problem(names[0], f"{reference[:80]!r} is no URL")
        return list(dict.fromkeys(found))

    def url(self, *names: str) -> str | None:
        return next(iter(self.urls(*names)), None)

    def date(self, name: str) -> str | None:
        """ISO 8601; what is no date is a problem."""
        text = self.text(name)
        if text is None:
            return None
        found = iso_8601(text)
        if found is None:
            self.problem(name, f"{text[:80]!r} is no ISO 8601 date")
        return found

    def number(self, name: str) -> int | float | None:
        """What is no number is a problem. A comma before decimals is read as one."""
        text = self.text(name)
        if text is None:
            return None
        match = re.fullmatch(r"\s*(-?\d{1,15}(?:[.,]\d{1,15})?)\s*%?", text)
        if match is None:
            self.problem(name, f"{text[:80]!r} is no number")
            return None
        value = float(match[1].replace(",", "."))
        return int(value) if value.is_integer() else value

    def count(self, name: str) -> int | None:
        """A number of things, grouping signs removed (`1,204`)."""
        text = self.text(name)
        if text is None:
            return None
        digits = re.sub(r"(?<=\d)[.,'\u00a0\u202f ](?=\d{3}(?!\d))", "", text)
        if re.fullmatch(r"\d{1,15}(?:\.0+)?", digits) is None:
            self.problem(name, f"{text[:80]!r} is no count")
            return None
        return int(digits.partition(".")[0])

    def term(self, name: str, terms: Mapping[str, str]) -> str | None:
        """The bare term of an enumeration, `InStock` for `https://schema.org/InStock` or `in stock`; another word is a problem."""
        text = self.text(name)
        if text is None:
            return None
        found = terms.get(re.sub(r"[^a-z]", "", re.split(r"[/#:]", text.rstrip("/"))[-1].lower()))
        if found is None:
            self.problem(name, f"{text[:80]!r} is none of {', '.join(dict.fromkeys(terms.values()))}")
        return found

    def _resolved(self, value: Any) -> Any:
        """The item that a value refers to; other values as they are."""
        if isinstance(value, dict) and "@id" in value and value.keys() <= {"@id", "@type"}:
            return self._graph.get(str(value["@id"]), value)
        return self._graph.get(value, value) if isinstance(value, str) else value

    def _text(self, value: Any) -> str | None:
        if isinstance(value, dict):
            named = ItemReader(self._resolved(value), self._graph, self._base, self._problems)
            return next((text for name in named.values("name", "@value") if (text := _plain(name))), None)
        text = _plain(value)
        if text in self._graph:
            named = ItemReader(self._graph[text], self._graph, self._base, self._problems)
            return next((name for name in map(_plain, named.values("name")) if name), text)
        return text


def _plain(value: Any) -> str | None:
    if isinstance(value, bool) or value is None or isinstance(value, (dict, list)):
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return normalize_space(html.unescape(str(value)))[:MAX_TEXT_CHARS] or None


def _reference(value: Any) -> str | None:
    if isinstance(value, dict):
        for name in ("url", "contentUrl", "schema:url", "schema:contentUrl", "@id"):
            for one in _flat(value.get(name)):
                if isinstance(one, str) and one.strip() and not one.startswith("_:"):
                    return one
        return None
    return value if isinstance(value, str) and value.strip() else None


def _flat(value: Any) -> Iterator[Any]:
    """Values of a property without the lists and value objects of JSON-LD around them."""
    if value is None:
        return
    if isinstance(value, list):
        for one in value:
            yield from _flat(one)
    elif isinstance(value, dict):
        if "@value" in value:
            yield from _flat(value["@value"])
        elif wrapper := next((name for name in _WRAPPERS if name in value), None):
            yield from _flat(value[wrapper])
        else:
            yield value
    else:
        yield value
