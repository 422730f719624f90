"""PDF through PDFium: text in reading order, title, author, dates. Encrypted, broken and scanned documents are named as such."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import date

import pypdfium2
import pypdfium2.raw as pdfium

from trawl_core.extract.language import detected_language
from trawl_core.extract.page import Page, ScopeCheck, failed_page, text_page

MAX_PAGES = 5000
MAX_CHARS = 20_000_000
_SAMPLED_PAGES = 20
_DATE = re.compile(r"\s*(?:D:)?(\d{4})-?(\d\d)-?(\d\d)")


def extract_pdf(body: bytes, url: str, content_type: str | None, mime: str, scope: ScopeCheck | None = None) -> Page:
    """One block a line of text. Status `too_large` with the text of the beginning beyond MAX_PAGES or MAX_CHARS, `broken` with that of
    the pages that can be read where some can't."""
    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == pdfium.FPDF_ERR_PASSWORD:
            return failed_page(body, mime, "pdf", "encrypted", "the PDF is encrypted and needs a password", "pypdfium2")
        return failed_page(body, mime, "pdf", "broken", f"not a readable PDF: {error}", "pypdfium2")
    try:
        metadata = document.get_metadata_dict(skip_empty=True)
        count = len(document)
        read = _read(document)
    finally:
        document.close()
    page = Page(
        mime_detected=mime,
        page_type="pdf",
        extractor="pypdfium2",
        html_bytes=len(body),
        page_count=count,
        title=_clean(metadata.get("Title")),
        author=_clean(metadata.get("Author")),
        description=_clean(metadata.get("Subject")),
        date_published=_date(metadata.get("CreationDate")),
        date_modified=_date(metadata.get("ModDate")),
        language=detected_language(" ".join(read.lines[:200])),
    )
    if read.damaged == count:
        return failed_page(body, mime, "pdf", "broken", f"none of the {count} pages can be read", "pypdfium2")
    page = text_page(page, read.lines, _why_empty(count, read))
    if not page.text:
        return page
    if read.damaged:
        return replace(page, extract_status="broken", extract_error=f"{read.damaged} of {count} pages can't be read")
    if read.pages < count:
        return replace(page, extract_status="too_large", extract_error=f"the text of the first {read.pages:,} of {count:,} pages is kept")
    return page


@dataclass
class _Read:
    """`pages` is how many were read or tried, `damaged` how many of them PDFium could not read, `pictures` how many of the first show
    an image and no text."""

    lines: list[str] = field(default_factory=list)
    pages: int = 0
    damaged: int = 0
    pictures: int = 0


def _read(document: pypdfium2.PdfDocument) -> _Read:
    read = _Read()
    chars = 0
    for number in range(min(len(document), MAX_PAGES)):
        read.pages += 1
        try:
            page = document[number]
            text_layer = page.get_textpage()
            text = text_layer.get_text_bounded()
            text_layer.close()
            if number < _SAMPLED_PAGES and not text.strip() and next(page.get_objects([pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=3), None):
                read.pictures += 1
            page.close()
        except pypdfium2.PdfiumError:
            read.damaged += 1
            continue
        # PDFium marks hyphens that break a word at the end of a line with U+FFFE.
        read.lines.extend(re.sub("[\ufffe\u0002]\r?\n?", "", text).splitlines())
        chars += len(text)
        if chars > MAX_CHARS:
            break
    return read


def _why_empty(count: int, read: _Read) -> str:
    if read.pictures:
        return f"no text: scanned, its {count} page(s) hold images only"
    return f"no text: its {count} page(s) hold none" + (f", {read.damaged} of them can't be read" if read.damaged else "")


def _clean(value: str | None) -> str | None:
    return " ".join((value or "").replace("\x00", "").split())[:500] or None


def _date(value: str | None) -> str | None:
    match = _DATE.match(value or "")
    try:
        return date(int(match[1]), int(match[2]), int(match[3])).isoformat() if match else None
    except ValueError:
        return None
