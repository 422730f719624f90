"""HTML: main content, metadata, blocks, links. One parse by lexbor, and one by lxml where trafilatura is asked.

trafilatura may read pages up to 5 MB that are nested less than 250 levels: beyond, lxml returns nothing and no error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from selectolax.lexbor import LexborHTMLParser

from trawl_core.extract.blocks import Split, split_tree
from trawl_core.extract.charset import Decoded, charset_parameter, decode
from trawl_core.extract.content.choice import Content, Profile, read_content
from trawl_core.extract.content.readers import lxml_tree
from trawl_core.extract.guards import defuse
from trawl_core.extract.language import declared_language, detected_language
from trawl_core.extract.links import links_of_tree
from trawl_core.extract.metadata import page_metadata
from trawl_core.extract.page import Heading, Outlink, Page, ScopeCheck, with_text
from trawl_core.extract.scripted import needs_browser
from trawl_core.warc.sniff import sniff_mime

MAX_TRAFILATURA_BYTES = 5_000_000
MAX_TRAFILATURA_DEPTH = 250


@dataclass(frozen=True)
class HtmlDocument:
    """An HTML body parsed by lexbor and cut into blocks, its content not yet looked for. `defused` says what guards changed."""

    url: str
    source: str
    defused: str | None
    tree: LexborHTMLParser
    split: Split
    decoded: Decoded
    html_bytes: int
    mime_detected: str


def extract_html(
    body: bytes, url: str, content_type: str | None = None, *, scope: ScopeCheck | None = None, profile: Profile = "quality"
) -> Page:
    """The page in an HTML body. Never raises for anything a body can hold: what can't be read is in `extract_error`.

    `content_type` is the header as sent; `scope` judges the links (`Scope.check`), without it `in_scope` is None. `profile` says
    what the text may cost: see trawl_core.extract.content.choice.
    """
    return read_html(parse_html(body, url, content_type), scope=scope, profile=profile)


def parse_html(body: bytes, url: str, content_type: str | None = None) -> HtmlDocument:
    decoded = decode(body, charset_parameter(content_type))
    source, defused = defuse(decoded.text.replace("\x00", ""))
    tree = LexborHTMLParser(source)
    return HtmlDocument(url, source, defused, tree, split_tree(tree), decoded, len(body), sniff_mime(body[:65536], content_type))


def read_html(document: HtmlDocument, *, scope: ScopeCheck | None = None, profile: Profile = "quality") -> Page:
    """The page of a document, its content by the best of the profile's extractors."""
    source, split = document.source, document.split
    readable = document.defused is None and len(source) <= MAX_TRAFILATURA_BYTES and split.depth < MAX_TRAFILATURA_DEPTH
    content = read_content(
        split, document.tree, source, document.url, profile=profile, lxml_tree=(lambda: lxml_tree(source)) if readable else None
    )
    return page_of(document, content, scope)


def page_of(document: HtmlDocument, content: Content, scope: ScopeCheck | None = None) -> Page:
    """The page of a document whose content was found."""
    tree, split = document.tree, document.split
    links = links_of_tree(tree, document.url)
    metadata = page_metadata(tree, split.blocks)
    page = Page(
        mime_detected=document.mime_detected,
        page_type=content.page_type if split.blocks else "html",
        predicted_type=content.page_type if split.blocks else None,
        extractor=content.extractor,
        title=metadata.title,
        description=metadata.description,
        author=metadata.author,
        site_name=metadata.site_name,
        date_published=metadata.date_published,
        date_modified=metadata.date_modified,
        language=declared_language(tree) or detected_language(content.text),
        charset=document.decoded.charset,
        charset_source=document.decoded.source,
        canonical_hint=links.canonical_hint,
        html_bytes=document.html_bytes,
        link_density=round(split.link_density, 6),
        headings=tuple(Heading(block.level, block.text) for block in split.blocks if block.level),
        outlinks=tuple(Outlink(link.url, link.rel, link.text, None if scope is None else scope(link.url) is None) for link in links.links),
        needs_browser=needs_browser(tree, split),
        blocks=split.blocks,
    )
    page = with_text(page, content.text)
    return page if page.text else replace(page, extract_status="empty", extract_error=_why_empty(page, document.defused))


def _why_empty(page: Page, defused: str | None) -> str:
    if defused:
        return f"no text: {defused}"
    if page.needs_browser:
        return "no text: scripts seem to render the content"
    return "no text: the document is empty" if not page.html_bytes else "no text: the document shows none"
