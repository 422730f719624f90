"""The extractors of others that are asked for a page's main content."""

from __future__ import annotations

import re
from collections import Counter

import lxml.html
from lxml import etree
from resiliparse.extract.html2text import extract_plain_text
from selectolax.lexbor import LexborHTMLParser

from trawl_core.extract.elements import FORMATTING
from trawl_core.extract.faults import LIBRARY_FAULTS

# Without IGNORECASE it costs a fifth.
_FORMATTING_NAMES = "|".join(spelt for name in ("a", *sorted(FORMATTING)) for spelt in (name, name.upper()))
_FORMATTING_TAG = re.compile(rf"</?(?:{_FORMATTING_NAMES})(?=[\s>])")
MAX_TREE_TAGS = 40_000
_HAS_BODY = re.compile(r"<(?:html|body|head|frameset)[\s>/]", re.IGNORECASE)


def resiliparse_text(source: str) -> str:
    """Main content with comments, a block a line; empty when it finds none.

    resiliparse's parser (2.0.1) ends the process on one in some ten thousand documents that leave formatting elements open: of those it
    gets what their tree says, in which none is.
    """
    if _leaves_formatting_open(source):
        source = LexborHTMLParser(source).html or ""
    try:
        return extract_plain_text(source, main_content=True, comments=True, list_bullets=False, alt_texts=False)
    except LIBRARY_FAULTS:
        return ""


def _leaves_formatting_open(source: str) -> bool:
    tags = Counter(_FORMATTING_TAG.findall(source))
    return any(count > tags[f"</{tag[1:]}"] for tag, count in tags.items() if tag[1] != "/")


def trafilatura_text(source: str) -> str | None:
    """Main content without comments; None when it finds none or can't read the document."""
    tree = lxml_tree(source)
    return None if tree is None else trafilatura_text_of(tree)


def trafilatura_text_of(tree: etree._Element) -> str | None:
    from trafilatura import bare_extraction  # half of all that a worker would import, and `fast` needs none of it

    try:
        document = bare_extraction(tree, include_comments=False, fast=True)
    except LIBRARY_FAULTS:
        return None
    return (document.text or None) if document is not None else None


def lxml_tree(source: str) -> etree._Element | None:
    """The tree that trafilatura reads; None when lxml finds no document, or it has so many tags that trafilatura takes seconds.

    The caller has made the source harmless (guards).
    """
    if source.count("<") > MAX_TREE_TAGS:
        return None
    if not _HAS_BODY.search(source):
        # trafilatura finds nothing in a bare fragment.
        source = f"<html><body>{source}</body></html>"
    parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        tree = lxml.html.document_fromstring(source.encode("utf-8", "replace"), parser=parser)
        _unlist_cells(tree)  # lxml refuses to move texts that hold control characters
    except LIBRARY_FAULTS:
        return None
    return tree


def _unlist_cells(tree: etree._Element) -> None:
    """Make lists inside table cells paragraphs: trafilatura keeps a cell's paragraphs and loses its lists."""
    for items in tree.xpath("//td//ul | //td//ol | //td//dl | //th//ul | //th//ol"):
        for item in items:
            item.tag = "p"
        items.drop_tag()
