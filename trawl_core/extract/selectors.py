"""Selector schemas of sites.yaml on one page: CSS and XPath, `::text` and `::attr(name)`, containers with fields and lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import lxml.html
from lxml import etree
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from trawl_core.extract.blocks import normalize_space
from trawl_core.extract.faults import LIBRARY_FAULTS, describe_fault
from trawl_core.extract.item_text import BEYOND, ItemText
from trawl_core.extract.items import Item
from trawl_core.extract.typed_values import Mismatch, typed_value
from trawl_core.selector_syntax import XPATH_NAMESPACES, css_parts
from trawl_core.sites import ExtractionSchema, Selector
from trawl_core.urls.normalize import normalize_url

NOTHING_MATCHED = "no selector matched"
MAX_MATCHES = 10_000
"""Places that one selector may give; one that gives more is a mistake."""

Place = LexborNode | etree._Element
_NO_VALUE = ""


def selector_item(tree: LexborHTMLParser, url: str, schema: ExtractionSchema) -> Item:
    """One item: the schema's fields with their values. A field that matches nothing has its default; when none matches, the
    item says so in its problems. `url` is what references are resolved against."""
    root = tree.root
    if root is None:
        return Item("selector", schema.page_type, {}, (NOTHING_MATCHED,))
    reader = _Reader(url)
    fields, matched = reader.fields(root, schema.selectors, "")
    if not matched:
        reader.problems.append(NOTHING_MATCHED)
    return Item("selector", schema.page_type, fields, tuple(dict.fromkeys(reader.problems)))


def next_page(tree: LexborHTMLParser, url: str, schema: ExtractionSchema) -> str | None:
    """Where `follow_next` leads, absolute and normalised; None when it matches nothing. A selector of an element means its
    href. Raises Mismatch when it can't be evaluated."""
    root = tree.root
    if root is None or schema.pagination is None:
        return None
    for place, attribute in _Reader(url).matches(root, schema.pagination.selector):
        reference = place if isinstance(place, str) else _attribute(place, attribute or "href")
        if reference and (target := normalize_url(reference.strip(), url)) is not None:
            return target
    return None


class _Reader:
    """Evaluates selectors; a place that CSS gave is parsed by lxml once, however many XPaths are asked of it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.problems: list[str] = []
        self._text = ItemText()
        # With the place itself: while it is held, its identity is no other's.
        self._in_lxml: dict[int, tuple[LexborNode, etree._Element]] = {}

    def fields(self, place: Place, selectors: Mapping[str, Selector], path: str) -> tuple[dict[str, Any], int]:
        """Values by name, and how many of the selectors matched anything."""
        values: dict[str, Any] = {}
        matched = 0
        for name, selector in selectors.items():
            wrong = len(self.problems)
            try:
                found = self._values(place, selector, f"{path}{name}")
                # A value that is not of its type was found all the same.
                matched += bool(found) or len(self.problems) > wrong
            except Mismatch as error:
                self.problems.append(f"{path}{name}: {error}")
                found = []
            values[name] = (found if selector.many else found[0]) if found else selector.nothing
        return values, matched

    def _values(self, place: Place, selector: Selector, path: str) -> list[Any]:
        places = self.matches(place, selector)
        if selector.fields:
            inner = [one for one, _ in places if not isinstance(one, str)]
            found = [self.fields(one, selector.fields, f"{path}.") for one in (inner if selector.many else inner[:1])]
            return [values for values, matched in found if matched]
        values = []
        for one, attribute in places:
            if self._text.is_full:
                self.problems.append(BEYOND)
                break
            text = _text(one, attribute, selector.type)
            self._text.spent(text or "")
            if text is None or not (text.strip() or selector.type == "bool"):
                continue
            try:
                values.append(typed_value(text, selector.type, self.url))
            except Mismatch as error:
                self.problems.append(f"{path}: {error}")
            if not selector.many:
                break
        return values

    def matches(self, place: Place, selector: Selector) -> list[tuple[Any, str | None]]:
        """Elements (or texts, for an XPath that ends in some), each with the attribute that `::attr()` asks of it."""
        if selector.css is not None:
            found = self._css(_as_lexbor(place), selector.css)
        elif selector.xpath is not None:
            found = [(one, None) for one in self._xpath(place, selector.xpath)]
        else:
            return [(place, None)]
        if len(found) > MAX_MATCHES:
            self.problems.append(f"{selector.css or selector.xpath!r} matches {len(found)} places: only {MAX_MATCHES} are read")
        return found[:MAX_MATCHES]

    def _css(self, place: LexborNode, selector: str) -> list[tuple[LexborNode, str | None]]:
        found: dict[tuple[int, str | None], tuple[LexborNode, str | None]] = {}
        for part in css_parts(selector):
            try:
                # Without a selector before it, ::attr() is of the place itself.
                nodes = place.css(part.expression) if part.expression else [place]
            except (SelectolaxError, ValueError) as error:
                raise Mismatch(f"the CSS selector {selector!r} can't be evaluated: {error}") from None
            for node in nodes:
                found.setdefault((node.mem_id, part.attribute), (node, part.attribute))
        return list(found.values())

    def _xpath(self, place: Place, selector: str) -> list[Any]:
        try:
            result = self._as_lxml(place).xpath(selector, namespaces=XPATH_NAMESPACES)
        except LIBRARY_FAULTS as error:
            raise Mismatch(f"the XPath {selector!r} can't be evaluated: {describe_fault(error)}") from None
        return result if isinstance(result, list) else [_plain(result)]

    def _as_lxml(self, place: Place) -> etree._Element:
        if not isinstance(place, LexborNode):
            return place
        if place.mem_id not in self._in_lxml:
            self._in_lxml[place.mem_id] = place, _parsed_again(place)
        return self._in_lxml[place.mem_id][1]


def _parsed_again(place: LexborNode) -> etree._Element:
    parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=True)
    source = (place.html or "").replace("\x00", "").encode("utf-8", "replace")
    return (
        lxml.html.document_fromstring(source, parser=parser)
        if place.tag == "html"
        else lxml.html.fragment_fromstring(source, parser=parser)
    )


def _as_lexbor(place: Place) -> LexborNode:
    if isinstance(place, LexborNode):
        return place
    return LexborHTMLParser(etree.tostring(place, encoding="unicode", method="html", with_tail=False)).body


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _attribute(place: Place, name: str) -> str | None:
    """None for an element without it; empty for one that has it without a value."""
    attributes = place.attributes if isinstance(place, LexborNode) else place.attrib
    return attributes[name.lower()] or _NO_VALUE if name.lower() in attributes else None


def _text(place: Any, attribute: str | None, kind: str) -> str | None:
    if isinstance(place, str):
        return place
    if attribute:
        return _attribute(place, attribute)
    if isinstance(place, LexborNode):
        return place.html if kind == "html" else normalize_space(place.text())
    if not isinstance(place.tag, str):  # a comment or a processing instruction
        return place.text
    if kind == "html":
        return etree.tostring(place, encoding="unicode", method="html", with_tail=False)
    return normalize_space("".join(place.itertext()))
