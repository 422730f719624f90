"""One structured item of a page, whatever its syntax."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any

MAX_PROBLEMS = 50
_VOCABULARY = re.compile(r"^(?:.*[/#]|[\w-]+:)(?=[^/#:]+$)")


@dataclass(frozen=True)
class Entity:
    """An item in the one schema of docs/structured.md. `kind` is Product, Article, Organization, Event or BreadcrumbList."""

    kind: str
    fields: dict[str, Any]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Item:
    """`fields` is None when the item can't be parsed; `type` has no vocabulary (`Product`), None when it is unknown.

    `position` counts the items of a page from 0; `within` is the position of the item whose part this is, None for an item
    of its own. `preferred` is None without an `entity`.
    """

    syntax: str
    type: str | None
    fields: dict[str, Any] | None
    problems: tuple[str, ...] = ()
    position: int = 0
    within: int | None = None
    entity: Entity | None = None
    preferred: bool | None = None

    @property
    def valid(self) -> bool:
        return self.fields is not None and not self.problems

    def at(self, position: int) -> Item:
        return replace(self, position=position)

    def columns(self) -> dict[str, Any]:
        """The columns of `structured_data` that come from the item."""
        return {
            "position": self.position,
            "syntax": self.syntax,
            "type": self.type,
            "fields": None if self.fields is None else canonical_json(self.fields),
            "valid": self.valid,
            "problems": _told(self.problems),
            "within": self.within,
            "entity_type": self.entity.kind if self.entity else None,
            "entity": canonical_json(self.entity.fields) if self.entity else None,
            "preferred": self.preferred,
        }


def _told(problems: tuple[str, ...]) -> list[str]:
    """Fifty wrong values say as much as ten thousand."""
    more = len(problems) - MAX_PROBLEMS
    return [*problems[:MAX_PROBLEMS], f"and {more} more"] if more > 0 else list(problems)


def canonical_json(value: Any) -> str:
    """JSON with sorted keys: equal values have equal text."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "replace").decode()


def add_value(fields: dict[str, Any], name: str, value: Any) -> None:
    """Give `fields[name]` one more value; the second makes it a list."""
    if name not in fields:
        fields[name] = value
    elif isinstance(fields[name], list):
        fields[name].append(value)
    else:
        fields[name] = [fields[name], value]


def short_type(value: Any) -> str | None:
    """`Product` for `https://schema.org/Product`, `schema:Product` or a list that begins with one."""
    if isinstance(value, list):
        value = next((entry for entry in value if isinstance(entry, str) and entry.strip()), None)
    if not isinstance(value, str) or not value.strip():
        return None
    return _VOCABULARY.sub("", value.strip().split()[0]) or None
