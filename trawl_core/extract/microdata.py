"""Microdata (https://html.spec.whatwg.org/multipage/microdata.html): top-level items with their properties, itemref included."""

from __future__ import annotations

from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from trawl_core.extract.item_text import BEYOND, ItemText
from trawl_core.extract.items import Item, add_value, short_type
from trawl_core.urls.normalize import normalize_url

MAX_NESTING = 20
MAX_ITEMS = 5000
"""Items read of one page: itemref can make a page of some kilobytes refer to millions."""
MAX_VISITS = 300_000
"""Elements looked at for all items of one page, which many items may refer to."""

_URL_ATTRIBUTES = {
    "a": "href",
    "area": "href",
    "link": "href",
    "audio": "src",
    "embed": "src",
    "iframe": "src",
    "img": "src",
    "source": "src",
    "track": "src",
    "video": "src",
    "object": "data",
}


def microdata_items(tree: LexborHTMLParser, url: str) -> list[Item]:
    """Items that are no property of another, in document order."""
    nodes = [node for node in tree.css("[itemscope]") if "itemprop" not in node.attributes]
    order: dict[int, int] = {}
    if any("itemref" in node.attributes for node in tree.css("[itemscope][itemref]")):
        order = {node.mem_id: place for place, node in enumerate(tree.css("*"))}
    reader = _Reader(tree, url, order)
    items = []
    for node in nodes:
        reader.problems = []
        fields = reader.item(node, frozenset(), 0)
        items.append(Item("microdata", short_type(fields.get("@type")), fields, tuple(reader.problems)))
    return items


class _Reader:
    def __init__(self, tree: LexborHTMLParser, url: str, order: dict[int, int]) -> None:
        self.url = url
        self.order = order
        self.problems: list[str] = []
        self.text = ItemText()
        self.visits = 0
        self.items = 0
        self.by_id: dict[str, LexborNode] = {}
        for node in tree.css("[id]") if order else ():
            self.by_id.setdefault(node.attributes.get("id") or "", node)

    def item(self, node: LexborNode, above: frozenset[int], nesting: int) -> dict[str, Any]:
        self.items += 1
        attributes = node.attributes
        fields: dict[str, Any] = {}
        if kinds := (attributes.get("itemtype") or "").split():
            fields["@type"] = kinds[0] if len(kinds) == 1 else kinds
        if identifier := attributes.get("itemid"):
            fields["@id"] = normalize_url(identifier, self.url) or identifier
        for member in self._properties(node, attributes):
            value = self._value(member, above | {node.mem_id}, nesting)
            for name in dict.fromkeys((member.attributes.get("itemprop") or "").split()):
                add_value(fields, name, value)
        return fields

    def _properties(self, root: LexborNode, attributes: dict[str, str | None]) -> list[LexborNode]:
        """Elements with itemprop that belong to this item, in tree order."""
        starts = list(root.iter(include_text=False))
        for name in (attributes.get("itemref") or "").split():
            target = self.by_id.get(name)
            if target is None:
                self.problems.append(f"itemref to #{name}, which does not exist")
            else:
                starts.append(target)
        found: dict[int, LexborNode] = {}
        stack = starts[::-1]
        seen = {root.mem_id}
        while stack:
            node = stack.pop()
            if node.mem_id in seen:
                continue
            seen.add(node.mem_id)
            self.visits += 1
            if self.visits > MAX_VISITS:
                self.problems.append("items refer to so many elements that not all were looked at")
                break
            if "itemprop" in node.attributes:
                found[node.mem_id] = node
            if "itemscope" not in node.attributes:
                stack.extend(list(node.iter(include_text=False))[::-1])
        return sorted(found.values(), key=lambda node: self.order[node.mem_id]) if self.order else list(found.values())

    def _value(self, node: LexborNode, above: frozenset[int], nesting: int) -> Any:
        attributes = node.attributes
        tag = node.tag or ""
        if "itemscope" in attributes:
            if node.mem_id in above or nesting >= MAX_NESTING or self.items >= MAX_ITEMS:
                self.problems.append("an item nested in itself, too deeply, or one of too many")
                return None
            return self.item(node, above, nesting + 1)
        if tag == "meta":
            return attributes.get("content") or ""
        if tag in _URL_ATTRIBUTES:
            reference = attributes.get(_URL_ATTRIBUTES[tag]) or ""
            return normalize_url(reference, self.url) or reference
        if tag in ("data", "meter"):
            return attributes.get("value") or ""
        if tag == "time" and attributes.get("datetime"):
            return attributes["datetime"]
        if attributes.get("content") is not None:
            return attributes["content"]
        text = self.text.of(node)
        if text is None and BEYOND not in self.problems:
            self.problems.append(BEYOND)
        return text
