"""How selectors of sites.yaml are written: CSS with `::text` and `::attr(name)`, or XPath 1.0 with EXSLT's regular expressions.

`check_css` and `check_xpath` find what can't be evaluated when sites.yaml is read; lexbor and libxml2 judge, as they will
evaluate. Both are imported only when there is a selector to check.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

XPATH_NAMESPACES = {"re": "http://exslt.org/regular-expressions"}
_PSEUDO = re.compile(r"\s*::\s*(?:(text)|attr\(\s*([\w:.-]+)\s*\))\s*$", re.IGNORECASE)
# Strings, brackets one in another are told apart by counting, and the commas between.
_SIGNS = re.compile(r"\"(?:[^\"\\]|\\.)*+\"?|'(?:[^'\\]|\\.)*+'?|\\.|[(\[\])]|,")


class CssPart(NamedTuple):
    """`expression` selects elements; `attribute` is what `::attr()` asks for, None for the element or its text."""

    expression: str
    attribute: str | None


@lru_cache(maxsize=1000)
def css_parts(selector: str) -> tuple[CssPart, ...]:
    """The alternatives of a selector list, each with what it takes of an element; `::attr(href)` alone is of the place itself."""
    parts = []
    for piece in _alternatives(selector):
        pseudo = _PSEUDO.search(piece)
        parts.append(CssPart((piece[: pseudo.start()] if pseudo else piece).strip(), pseudo[2] if pseudo else None))
    return tuple(parts)


def is_xpath(selector: str) -> bool:
    """Whether a selector that does not say so is XPath: no CSS selector begins with a slash, `./`, `..` or a bracket."""
    return selector.lstrip().startswith(("/", "./", "..", "("))


def check_css(selector: str) -> str:
    from selectolax.lexbor import LexborHTMLParser, SelectolaxError

    tree = LexborHTMLParser("<p></p>")
    for part in css_parts(selector):
        if not part.expression and (part.attribute or _PSEUDO.search(selector)):
            continue
        try:
            tree.css(part.expression)
        except (SelectolaxError, ValueError):
            where = "" if part.expression == selector.strip() else f" at {part.expression!r}"
            raise ValueError(
                f"the CSS selector {selector!r} can't be read{where}; besides CSS it may end in ::text or ::attr(name)"
            ) from None
    return selector


def check_xpath(selector: str) -> str:
    from lxml import etree

    try:
        etree.XPath(selector, namespaces=XPATH_NAMESPACES)(etree.fromstring("<html/>"))
    except (etree.XPathError, ValueError) as error:
        raise ValueError(f"the XPath {selector!r} can't be read: {' '.join(str(error).split())}") from None
    return selector


def _alternatives(selector: str) -> list[str]:
    pieces, start, depth = [], 0, 0
    for match in _SIGNS.finditer(selector):
        sign = match[0]
        if sign in "([":
            depth += 1
        elif sign in ")]":
            depth -= 1
        elif sign == "," and depth == 0:
            pieces.append(selector[start : match.start()])
            start = match.end()
    return [*pieces, selector[start:]]
