"""JSON-LD, block by block: one broken block loses no other.

What pages do around and inside the JSON that browsers' consumers accept is accepted: comments, CDATA marks, a semicolon at
the end, trailing commas, raw line breaks in strings, several values in one block.
"""

from __future__ import annotations

import html
import json
import re
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from trawl_core.extract.items import Item, short_type

_OPENING = re.compile(r"(?://|/\*)?\s*(?:<!--|<!\[CDATA\[)\s*(?:\*/)?\s*")
_LAX = re.compile(r"(\"(?:[^\"\\]|\\.)*\")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])", re.DOTALL)
_END = re.compile(r"[\s;\ufeff\xa0]*")


def json_ld_items(tree: LexborHTMLParser) -> list[Item]:
    """Items of all blocks in document order; members of an array or a @graph are items of their own."""
    items: list[Item] = []
    for node in tree.css("script[type]"):
        if (node.attributes.get("type") or "").split(";")[0].strip().lower() == "application/ld+json":
            items.extend(_block_items(node.text() or ""))
    return items


def _block_items(text: str) -> list[Item]:
    try:
        values = parse_block(text)
    except (ValueError, RecursionError) as error:
        return [Item("json-ld", None, None, (f"not JSON: {error or 'nested too deeply'}",))]
    items: list[Item] = []
    for value in values:
        items.extend(_items_of(value))
    return items


def parse_block(text: str) -> list[Any]:
    """The JSON values of a block; empty for a block without any. Raises ValueError or RecursionError."""
    text = _unwrap(text)
    try:
        return _values(text)
    except ValueError as error:
        repaired = _LAX.sub(lambda match: match[1] or "", text)
        for candidate in (repaired, html.unescape(text)):
            if candidate != text:
                try:
                    return _values(candidate)
                except ValueError:
                    continue
        raise error


def _unwrap(text: str) -> str:
    """Without the comment and CDATA marks around the JSON."""
    text = text.strip()
    while match := _OPENING.match(text):
        text = text[match.end() :]
    while (bare := text.removesuffix("*/").rstrip()).endswith(("-->", "]]>")):
        text = bare[:-3].rstrip().removesuffix("//").removesuffix("/*").rstrip()
    return text


def _values(text: str) -> list[Any]:
    decoder = json.JSONDecoder(strict=False, parse_constant=lambda name: None)
    values = []
    at = _end_of_space(text, 0)
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        values.append(value)
        at = _end_of_space(text, at)
    return values


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
    return Item("json-ld", kind, fields, () if kind else ("no @type",))
