"""JSON-LD, block by block: one broken block loses no other.

What pages do around and inside the JSON is accepted where only one meaning is possible: comments, CDATA marks, a semicolon
at the end, commas too many, raw line breaks and control characters, escapes that JSON does not know, several values in
one block. What would need a guess (a quote too few, a cut end) is not.
"""

from __future__ import annotations

import html
import json
import math
import re
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from trawl_core.extract.items import Item, short_type

MAX_NESTING = 100
"""Levels of an item; more is a generator gone wrong, and what reads items recurses."""

_OPENING = re.compile(r"(?:<!--//--><!\[CDATA\[//><!--|(?://|/\*)?\s*(?:<!--|<!\[CDATA\[)\s*(?:\*/)?)\s*")
_CLOSINGS = ("<!]]>", "]]&gt;", "]]>", "-->")
_END = re.compile(r"[\s;\ufeff\xa0\x00]*")
# Alternatives that take what is never closed up to the end: no character is looked at twice.
_PIECE = re.compile(r"(\"(?:[^\"\\]|\\.)*+\"?)|(//[^\n]*|/\*(?:.*?\*/|.*))|([\x00-\x1f\x7f\xa0\u200b\u2028\u2029\ufeff]+)", re.DOTALL)
_COMMAS = re.compile(r"(\"(?:[^\"\\]|\\.)*+\"?)|,(?:\s*+,)*+(?=\s*+[}\]])|,(?:\s*+,)++|(?<=[\[{]),(?:\s*+,)*+", re.DOTALL)
_BAD_ESCAPE = re.compile(r"\\(?:([\"\\/bfnrt]|u[0-9a-fA-F]{4})|(.))", re.DOTALL)


def json_ld_items(tree: LexborHTMLParser) -> list[Item]:
    """Items of all blocks in document order; members of an array or a @graph are items of their own."""
    items: list[Item] = []
    for node in tree.css("script[type]"):
        if (node.attributes.get("type") or "").split(";")[0].strip().lower() == "application/ld+json":
            items.extend(_block_items(node.text() or ""))
    return items


def _block_items(text: str) -> list[Item]:
    try:
        return [item for value in parse_block(text) for item in _items_of(value)]
    except (ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else str(error) or "no value"
        return [Item("json-ld", None, None, (f"not JSON: {why}",))]


def parse_block(text: str) -> list[Any]:
    """The JSON values of a block; empty for a block without any. Raises ValueError or RecursionError."""
    text = _unwrap(text)
    try:
        return _values(text)
    except ValueError as error:
        for candidate in (_repaired(text), html.unescape(text)):
            if candidate != text:
                try:
                    return _values(candidate)
                except ValueError:
                    continue
        raise error


def _unwrap(text: str) -> str:
    """Without the comment and CDATA marks around the JSON."""
    start, end = 0, len(text)
    while match := _OPENING.match(text, _end_of_space(text, start)):
        start = match.end()
    while mark := _closing(text, bare := _before(text, end, "*/")):
        end = _before(text, _before(text, bare - len(mark), "//"), "/*")
    return text[start:end]


def _closing(text: str, end: int) -> str:
    """The mark that ends at `end`; empty for none."""
    return next((mark for mark in _CLOSINGS if text.endswith(mark, 0, end)), "")


def _before(text: str, end: int, mark: str) -> int:
    """Where what stands before `mark` ends, if that is what ends at `end`; else where the space before `end` begins."""
    end = _without_space(text, end)
    return _without_space(text, end - len(mark)) if text.endswith(mark, 0, end) else end


def _without_space(text: str, end: int) -> int:
    while end > 0 and text[end - 1].isspace():
        end -= 1
    return end


def _repaired(text: str) -> str:
    return _COMMAS.sub(lambda match: match[1] or ("," if _separates(match) else ""), _PIECE.sub(_mended, text))


def _mended(match: re.Match[str]) -> str:
    if match[1]:
        return _BAD_ESCAPE.sub(lambda escape: escape[0] if escape[1] else escape[2] if escape[2] == "'" else f"\\\\{escape[2]}", match[1])
    return " "


def _separates(commas: re.Match[str]) -> bool:
    """Whether a run of commas stands between two values."""
    text = commas.string
    rest = _END.match(text, commas.end())
    before = text[: commas.start()][-1:]
    return before not in ("[", "{", "") and text[rest.end() if rest else commas.end() :][:1] not in ("]", "}", "")


def _values(text: str) -> list[Any]:
    decoder = json.JSONDecoder(strict=False, parse_constant=lambda name: None, parse_float=_finite)
    values = []
    at = _end_of_space(text, 0)
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        values.append(value)
        at = _end_of_space(text, at)
    return values


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def _end_of_space(text: str, at: int) -> int:
    match = _END.match(text, at)
    return match.end() if match else at


def _items_of(value: Any) -> list[Item]:
    if isinstance(value, list):
        return [item for member in value for item in _items_of(member)]
    if not isinstance(value, dict):
        return []
    graph = value.get("@graph")
    if isinstance(graph, (list, dict)):
        rest = {name: field for name, field in value.items() if name not in ("@graph", "@context", "@id")}
        return ([_item(rest)] if rest else []) + _items_of(graph)
    fields = {name: field for name, field in value.items() if name != "@context"}
    return [_item(fields)] if fields else []


def _item(fields: dict[str, Any]) -> Item:
    kind = short_type(fields.get("@type"))
    if _is_deeper_than(fields, MAX_NESTING):
        return Item("json-ld", kind, None, (f"nested deeper than {MAX_NESTING} levels",))
    return Item("json-ld", kind, fields, () if kind else ("no @type",))


def _is_deeper_than(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one) if isinstance(inner, (dict, list))]
        if not level:
            return False
    return True
