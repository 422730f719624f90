"""Plain text, CSV and XML that is no feed: the lines, or the text between the tags."""

from __future__ import annotations

from lxml import etree

from trawl_core.extract.charset import Decoded, charset_parameter, decode
from trawl_core.extract.faults import LIBRARY_FAULTS, describe_fault
from trawl_core.extract.language import detected_language
from trawl_core.extract.page import Page, ScopeCheck, failed_page, text_page
from trawl_core.extract.sitemap_text import extract_sitemap, is_sitemap

MAX_BYTES = 50_000_000


def extract_text(body: bytes, url: str, content_type: str | None, mime: str, scope: ScopeCheck | None = None) -> Page:
    """One block a line."""
    if len(body) > MAX_BYTES:
        return failed_page(body, mime, "text", "too_large", f"text of {len(body):,} bytes; the limit is {MAX_BYTES:,}", "text")
    decoded = decode(body, charset_parameter(content_type), markup=False)
    return text_page(_page(body, mime, "text", decoded, decoded.text), decoded.text.splitlines(), "no text: the document is empty")


def extract_xml(body: bytes, url: str, content_type: str | None, mime: str, scope: ScopeCheck | None = None) -> Page:
    """One block for each text between tags, in document order; attributes and comments are no text. Of a sitemap one for each entry."""
    if len(body) > MAX_BYTES:
        return failed_page(body, mime, "xml", "too_large", f"XML of {len(body):,} bytes; the limit is {MAX_BYTES:,}", "text")
    if is_sitemap(body):
        return extract_sitemap(body, url, content_type, mime, scope)
    decoded = decode(body, charset_parameter(content_type))
    # Entities are not resolved and nothing is loaded: an archived document must not read files or grow.
    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True, encoding="utf-8")
    try:
        root = etree.fromstring(_without_declaration(decoded.text).encode("utf-8", "replace"), parser=parser)
    except LIBRARY_FAULTS as error:
        return failed_page(body, mime, "xml", "broken", f"not well-formed XML: {describe_fault(error)}", "text")
    if root is None:
        return failed_page(body, mime, "xml", "broken", "not well-formed XML: no element", "text")
    texts = [text for text in root.itertext() if text and not text.isspace()]
    return text_page(_page(body, mime, "xml", decoded, " ".join(texts)), texts, "no text: the elements hold none")


def _page(body: bytes, mime: str, page_type: str, decoded: Decoded, text: str) -> Page:
    return Page(
        mime_detected=mime,
        page_type=page_type,
        extractor="text",
        html_bytes=len(body),
        charset=decoded.charset,
        charset_source=decoded.source,
        language=detected_language(text),
    )


def _without_declaration(text: str) -> str:
    text = text.lstrip("\ufeff \t\r\n")
    return text.partition("?>")[2] if text.startswith("<?xml") else text
