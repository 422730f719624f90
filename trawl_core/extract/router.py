"""Which extractor reads a document: by its media type as content shows it. A new type is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from trawl_core.extract.content.choice import Profile
from trawl_core.extract.feeds import extract_feed
from trawl_core.extract.gzipped import GZIP_MIMES, unpacked
from trawl_core.extract.html import extract_html
from trawl_core.extract.json_text import extract_json
from trawl_core.extract.long_html import extract_long_html, is_long_html
from trawl_core.extract.page import Page, ScopeCheck, failed_page
from trawl_core.extract.pdf import extract_pdf
from trawl_core.extract.plain_text import extract_text, extract_xml
from trawl_core.warc.content_coding import LENGTH
from trawl_core.warc.sniff import JSON_LINES

Extractor = Callable[[bytes, str, str | None, str, ScopeCheck | None], Page]

HTML_TYPES = ("text/html", "application/xhtml+xml")
_JSON = ("application/json", "text/json", *JSON_LINES)
# Types of which sites.yaml says nothing. The first row whose names or endings match wins.
_ROUTES: tuple[tuple[tuple[str, ...], tuple[str, ...], Extractor], ...] = (
    (("application/pdf",), (), extract_pdf),
    (("application/rss+xml", "application/atom+xml"), (), extract_feed),
    (("application/xml", "text/xml"), ("+xml",), extract_xml),
    (("text/plain", "text/csv", "text/markdown", "text/tab-separated-values", "text/x-rst"), (), extract_text),
)


def extract_document(
    body: bytes,
    url: str,
    declared_content_type: str | None,
    *,
    mime_detected: str,
    scope: ScopeCheck | None = None,
    profile: Profile = "quality",
    json_pointers: Sequence[str] = (),
) -> Page:
    """The page in `body` (content codings removed), fetched from `url`.

    `declared_content_type` is the header as sent, used for its charset; `mime_detected` is what `sniff_mime` says and
    chooses the extractor; `profile` is that of HTML, `json_pointers` choose the text of JSON. Types without an extractor give a page of
    status `unsupported`: the bytes stay in the archive.
    """
    if not body:
        return failed_page(body, mime_detected, "other", "empty", "no text: the document is empty")
    if mime_detected in GZIP_MIMES:
        return _extract_gzip(body, url, scope, profile, json_pointers)
    if mime_detected in HTML_TYPES and is_long_html(body):
        return extract_long_html(body, url, declared_content_type, mime=mime_detected, scope=scope, profile=profile)
    if mime_detected in HTML_TYPES:
        return extract_html(body, url, declared_content_type, scope=scope, profile=profile)
    if mime_detected in _JSON or mime_detected.endswith("+json"):
        return extract_json(body, url, declared_content_type, mime_detected, scope, pointers=json_pointers)
    for names, endings, extract in _ROUTES:
        if mime_detected in names or mime_detected.endswith(endings or ("\x00",)):
            return extract(body, url, declared_content_type, mime_detected, scope)
    return failed_page(
        body, mime_detected, "other", "unsupported", f"there is no extractor for {mime_detected}; the bytes are in the archive"
    )


def _extract_gzip(body: bytes, url: str, scope: ScopeCheck | None, profile: Profile, json_pointers: Sequence[str]) -> Page:
    """The page in a gzip file, of whose document nothing is declared; `mime_detected` stays that of the body."""
    document, mime, fault = unpacked(body)
    if mime in GZIP_MIMES:
        return failed_page(body, mime, "other", "unsupported", "gzip files inside gzip files; the bytes are in the archive")
    page = extract_document(document, url, None, mime_detected=mime, scope=scope, profile=profile, json_pointers=json_pointers)
    page = replace(page, mime_detected=GZIP_MIMES[0], html_bytes=len(document))
    if page.extract_status == "unsupported":
        return replace(page, extract_error=f"there is no extractor for {mime}, which is in this gzip file; the bytes are in the archive")
    if fault and page.extract_status in ("ok", "empty"):
        status = "too_large" if fault == LENGTH else "broken"
        return replace(page, extract_status=status, extract_error=f"the gzip file was not read whole: {fault}")
    return page
