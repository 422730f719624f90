"""JSON Pointer (RFC 6901) with `*` for every member of an array or object: `/items/*/body`."""

from __future__ import annotations

from typing import Any


def pointed_at(document: Any, pointer: str) -> list[tuple[str, Any]]:
    """(path, value) of what `pointer` leads to, in document order, paths as in `items[0].body`; empty when that is nothing."""
    found = [("", document)]
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        found = [pair for path, value in found for pair in _members(path, value, name)]
    return found


def _members(path: str, value: Any, name: str) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        if name in value:
            return [(f"{path}.{name}" if path else name, value[name])]
        return [(f"{path}.{key}" if path else key, child) for key, child in value.items()] if name == "*" else []
    if isinstance(value, list):
        if name == "*":
            return [(f"{path}[{index}]", child) for index, child in enumerate(value)]
        if name.isdecimal() and name.isascii() and len(name) < 10 and int(name) < len(value):
            return [(f"{path}[{int(name)}]", value[int(name)])]
    return []
