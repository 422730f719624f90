"""HTML: main content, metadata, blocks, links. One parse by lexbor, one by lxml for trafilatura.

trafilatura gives the main content of pages up to 5 MB that are nested less than 250 levels: beyond, lxml returns nothing
and no error. There, and where trafilatura finds next to nothing of a page that shows text, the blocks of the main content
are the text; `extractor` says which.
"""

from __future__ import annotations

import re
from dataclasses import replace

import lxml.html
from lxml import etree
from selectolax.lexbor import LexborHTMLParser
from trafilatura import bare_extraction

from trawl_core.extract.blocks import Split, split_tree
from trawl_core.extract.charset import charset_parameter, decode
from trawl_core.extract.faults import LIBRARY_FAULTS
from trawl_core.extract.guards import defuse
from trawl_core.extract.language import declared_language, detected_language
from trawl_core.extract.links import links_of_tree
from trawl_core.extract.metadata import page_metadata
from trawl_core.extract.page import Heading, Outlink, Page, ScopeCheck, with_text
from trawl_core.extract.scripted import needs_browser
from trawl_core.warc.sniff import sniff_mime

MAX_TRAFILATURA_BYTES = 5_000_000
MAX_TRAFILATURA_DEPTH = 250
# Share of the main content's words below which trafilatura's answer is taken as a miss: on WCXB listings, products and
# forums gain, articles hardly ever get there.
_MISSED_SHARE = 0.2
_HAS_BODY = re.compile(r"<(?:html|body|head|frameset)[\s>/]", re.IGNORECASE)


def extract_html(body: bytes, url: str, content_type: str | None = None, *, scope: ScopeCheck | None = None) -> Page:
    """The page in an HTML body. Never raises for anything a body can hold: what can't be read is in `extract_error`.

    `content_type` is the header as sent; `scope` judges the links (`Scope.check`), without it `in_scope` is None.
    """
    decoded = decode(body, charset_parameter(content_type))
    source, defused = defuse(decoded.text.replace("\x00", ""))
    tree = LexborHTMLParser(source)
    split = split_tree(tree)
    found = links_of_tree(tree, url)
    readable = defused is None and len(source) <= MAX_TRAFILATURA_BYTES and split.depth < MAX_TRAFILATURA_DEPTH
    lxml_tree = _lxml_tree(source) if readable and split.blocks else None
    metadata = page_metadata(tree, lxml_tree, url)
    text, extractor = _main_content(lxml_tree, split)
    page = Page(
        mime_detected=sniff_mime(body[:65536], content_type),
        page_type="html",
        extractor=extractor,
        title=metadata.title,
        description=metadata.description,
        author=metadata.author,
        site_name=metadata.site_name,
        date_published=metadata.date_published,
        date_modified=metadata.date_modified,
        language=declared_language(tree) or detected_language(text),
        charset=decoded.charset,
        charset_source=decoded.source,
        canonical_hint=found.canonical_hint,
        html_bytes=len(body),
        link_density=round(split.link_density, 6),
        headings=tuple(Heading(block.level, block.text) for block in split.blocks if block.level),
        outlinks=tuple(Outlink(link.url, link.rel, link.text, None if scope is None else scope(link.url) is None) for link in found.links),
        needs_browser=needs_browser(tree, split),
        blocks=split.blocks,
    )
    page = with_text(page, text)
    return page if page.text else replace(page, extract_status="empty", extract_error=_why_empty(page, defused))


def _lxml_tree(source: str) -> etree._Element | None:
    if not _HAS_BODY.search(source):
        # trafilatura finds nothing in a bare fragment.
        source = f"<html><body>{source}</body></html>"
    parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        tree = lxml.html.document_fromstring(source.encode("utf-8", "replace"), parser=parser)
    except LIBRARY_FAULTS:
        return None
    _unlist_cells(tree)
    return tree


def _unlist_cells(tree: etree._Element) -> None:
    """Make lists inside table cells paragraphs: trafilatura keeps a cell's paragraphs and loses its lists."""
    for items in tree.xpath("//td//ul | //td//ol | //td//dl | //th//ul | //th//ol"):
        for item in items:
            item.tag = "p"
        items.drop_tag()


def _main_content(lxml_tree: etree._Element | None, split: Split) -> tuple[str, str]:
    """Text of the main content, one block a line, and which extractor gave it."""
    shown = [block.text for block in split.blocks if block.in_main] or [block.text for block in split.blocks]
    if lxml_tree is not None:
        try:
            document = bare_extraction(lxml_tree, include_comments=False)
        except LIBRARY_FAULTS:
            document = None
        text = (document.text or "") if document is not None else ""
        if text and len(text.split()) >= _MISSED_SHARE * sum(len(line.split()) for line in shown):
            return text, "trafilatura"
    return "\n".join(shown), "lexbor"


def _why_empty(page: Page, defused: str | None) -> str:
    if defused:
        return f"no text: {defused}"
    if page.needs_browser:
        return "no text: scripts seem to render the content"
    return "no text: the document is empty" if not page.html_bytes else "no text: the document shows none"
