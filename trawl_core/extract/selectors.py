"""Selector schemas of sites.yaml on one page: CSS and XPath, `::text` and `::attr(name)`, containers with fields and lists."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import lxml.html
from lxml import etree
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from trawl_core.extract.blocks import normalize_space
from trawl_core.extract.faults import LIBRARY_FAULTS, describe_fault
from trawl_core.extract.items import Item
from trawl_core.sites import ExtractionSchema, Selector
from trawl_core.urls.normalize import normalize_url

_PSEUDO = re.compile(r"\s*::(?:(text)|attr\(\s*([\w:.-]+)\s*\))\s*$")
_NUMBER = re.compile(r"-?\d[\d.,'\u00a0\u202f ]*")
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")

Place = LexborNode | etree._Element


class _Mismatch(Exception):
    """A selector that can't be evaluated, or a value that is not of its type; the message is the problem."""


def selector_item(tree: LexborHTMLParser, url: str, schema: ExtractionSchema) -> Item:
    """One item: the schema's fields with their values. A field that matches nothing has its default; when none matches, the
    item says so in its problems."""
    problems: list[str] = []
    root = tree.root
    if root is None:
        return Item("selector", schema.page_type, {}, ("no selector matched",))
    fields, matched = _fields(root, schema.selectors, url, problems, "")
    if not matched:
        problems.append("no selector matched")
    return Item("selector", schema.page_type, fields, tuple(problems))


def _fields(place: Place, selectors: dict[str, Selector], url: str, problems: list[str], path: str) -> tuple[dict[str, Any], int]:
    """Values by name, and how many of the selectors matched anything."""
    values: dict[str, Any] = {}
    matched = 0
    for name, selector in selectors.items():
        try:
            found = _values(place, selector, url, problems, f"{path}{name}.")
        except _Mismatch as error:
            problems.append(f"{path}{name}: {error}")
            found = []
        matched += bool(found)
        values[name] = found if selector.many else found[0] if found else selector.default
    return values, matched


def _values(place: Place, selector: Selector, url: str, problems: list[str], path: str) -> list[Any]:
    places, attribute = _matches(place, selector)
    if not selector.many:
        places = places[:1]
    if selector.fields:
        return [_fields(inner, selector.fields, url, problems, path)[0] for inner in places if not isinstance(inner, str)]
    texts = (_text(inner, attribute, selector.type) for inner in places)
    return [_typed(text, selector.type, url) for text in texts if text is not None and text.strip()]


def _matches(place: Place, selector: Selector) -> tuple[list[Any], str | None]:
    """Elements (or texts, for an XPath that ends in some), and the attribute that `::attr()` asks for."""
    if selector.css is not None:
        pseudo = _PSEUDO.search(selector.css)
        expression = selector.css[: pseudo.start()] if pseudo else selector.css
        try:
            return list(_as_lexbor(place).css(expression.strip() or "*")), pseudo[2] if pseudo else None
        except (SelectolaxError, ValueError) as error:
            raise _Mismatch(f"the CSS selector {selector.css!r} can't be evaluated: {error}") from None
    if selector.xpath is not None:
        try:
            result = _as_lxml(place).xpath(selector.xpath)
        except LIBRARY_FAULTS as error:
            raise _Mismatch(f"the XPath {selector.xpath!r} can't be evaluated: {describe_fault(error)}") from None
        return (result if isinstance(result, list) else [_plain(result)]), None
    return [place], None


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _as_lexbor(place: Place) -> LexborNode:
    if isinstance(place, LexborNode):
        return place
    return LexborHTMLParser(etree.tostring(place, encoding="unicode", method="html", with_tail=False)).body


def _as_lxml(place: Place) -> etree._Element:
    if not isinstance(place, LexborNode):
        return place
    parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=True)
    source = (place.html or "").replace("\x00", "").encode("utf-8", "replace")
    return (
        lxml.html.document_fromstring(source, parser=parser)
        if place.tag == "html"
        else lxml.html.fragment_fromstring(source, parser=parser)
    )


def _text(place: Any, attribute: str | None, kind: str) -> str | None:
    if isinstance(place, str):
        return place
    if isinstance(place, LexborNode):
        if attribute:
            return place.attributes.get(attribute.lower())
        return place.html if kind == "html" else normalize_space(place.text())
    if kind == "html":
        return etree.tostring(place, encoding="unicode", method="html", with_tail=False)
    return normalize_space("".join(place.itertext()))


def _typed(text: str, kind: str, url: str) -> Any:
    if kind == "number":
        return parse_number(text)
    if kind == "url":
        if (target := normalize_url(text.strip(), url)) is None:
            raise _Mismatch(f"{text[:80]!r} is no URL")
        return target
    if kind == "date":
        match = _ISO_DATE.search(text)
        try:
            return date.fromisoformat(match[0] if match else text).isoformat()
        except ValueError:
            raise _Mismatch(f"{text[:80]!r} is no ISO 8601 date") from None
    return text if kind == "html" else normalize_space(text)


def parse_number(text: str) -> float | int:
    """The first number in a text, with the decimal and grouping signs of either habit: `1,299.00`, `1.299,00 €`, `12`.

    A single sign followed by exactly three digits groups (`1,299` is 1299). Raises when there is no number.
    """
    match = _NUMBER.search(text)
    if match is None:
        raise _Mismatch(f"{text[:80]!r} holds no number")
    digits = re.sub(r"['\u00a0\u202f ]", "", match[0]).rstrip(".,")
    last = max(digits.rfind("."), digits.rfind(","))
    if last >= 0:
        sign, tail = digits[last], digits[last + 1 :]
        other = "," if sign == "." else "."
        groups = len(tail) == 3 and (digits.count(sign) > 1 or (other not in digits and not digits.lstrip("-").startswith("0")))
        digits = re.sub(r"[.,]", "", digits) if groups else re.sub(r"[.,]", "", digits[:last]) + "." + tail
    value = float(digits)
    return int(value) if value.is_integer() else value
