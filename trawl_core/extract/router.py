"""Which extractor reads a document: by its media type as content shows it. A new type is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable

from trawl_core.extract.content.choice import Profile
from trawl_core.extract.feeds import extract_feed
from trawl_core.extract.html import extract_html
from trawl_core.extract.json_text import extract_json
from trawl_core.extract.page import Page, ScopeCheck, failed_page
from trawl_core.extract.pdf import extract_pdf
from trawl_core.extract.plain_text import extract_text, extract_xml

Extractor = Callable[[bytes, str, str | None, str, ScopeCheck | None], Page]

_HTML = ("text/html", "application/xhtml+xml")
# The first row whose names or endings match wins.
_ROUTES: tuple[tuple[tuple[str, ...], tuple[str, ...], Extractor], ...] = (
    (("application/pdf",), (), extract_pdf),
    (("application/rss+xml", "application/atom+xml"), (), extract_feed),
    (("application/json", "text/json", "application/x-ndjson", "application/jsonl"), ("+json",), extract_json),
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
) -> Page:
    """The page in `body` (content codings removed), fetched from `url`.

    `declared_content_type` is the header as sent, used for its charset; `mime_detected` is what `sniff_mime` says and
    chooses the extractor; `profile` is that of HTML. Types without one give a page of status `unsupported`: the bytes stay in the archive.
    """
    if not body:
        return failed_page(body, mime_detected, "other", "empty", "no text: the document is empty")
    if mime_detected in _HTML:
        return extract_html(body, url, declared_content_type, scope=scope, profile=profile)
    for names, endings, extract in _ROUTES:
        if mime_detected in names or mime_detected.endswith(endings or ("\x00",)):
            return extract(body, url, declared_content_type, mime_detected, scope)
    return failed_page(
        body, mime_detected, "other", "unsupported", f"there is no extractor for {mime_detected}; the bytes are in the archive"
    )
