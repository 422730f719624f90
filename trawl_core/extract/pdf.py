"""PDF through PDFium: text in reading order, title, author. Encrypted, broken and scanned documents are named as such."""

from __future__ import annotations

import re

import pypdfium2
import pypdfium2.raw as pdfium

from trawl_core.extract.language import detected_language
from trawl_core.extract.page import Page, ScopeCheck, failed_page, text_page

MAX_PAGES = 5000
MAX_CHARS = 20_000_000
_DATE = re.compile(r"D:(\d{4})(\d\d)(\d\d)")


def extract_pdf(body: bytes, url: str, content_type: str | None, mime: str, scope: ScopeCheck | None = None) -> Page:
    """One block a line of text."""
    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == pdfium.FPDF_ERR_PASSWORD:
            return failed_page(body, mime, "pdf", "encrypted", "the PDF is encrypted and needs a password", "pypdfium2")
        return failed_page(body, mime, "pdf", "broken", f"not a readable PDF: {error}", "pypdfium2")
    try:
        metadata = document.get_metadata_dict(skip_empty=True)
        count = len(document)
        lines, damaged = _lines(document)
    finally:
        document.close()
    page = Page(
        mime_detected=mime,
        page_type="pdf",
        extractor="pypdfium2",
        html_bytes=len(body),
        title=_clean(metadata.get("Title")),
        author=_clean(metadata.get("Author")),
        date_published=_date(metadata.get("CreationDate")),
        date_modified=_date(metadata.get("ModDate")),
        language=detected_language(" ".join(lines[:200])),
    )
    if damaged == count:
        return failed_page(body, mime, "pdf", "broken", f"none of the {count} pages can be read", "pypdfium2")
    return text_page(page, lines, f"no text: {count} page(s) hold only images or nothing")


def _lines(document: pypdfium2.PdfDocument) -> tuple[list[str], int]:
    """Lines of the first MAX_PAGES pages, and how many of those pages PDFium could not read."""
    lines: list[str] = []
    chars = damaged = 0
    for number in range(min(len(document), MAX_PAGES)):
        try:
            page = document[number]
            text_layer = page.get_textpage()
            text = text_layer.get_text_bounded()
            text_layer.close()
            page.close()
        except pypdfium2.PdfiumError:
            damaged += 1
            continue
        # PDFium marks hyphens that break a word at the end of a line with U+FFFE.
        lines.extend(re.sub("[\ufffe\u0002]\r?\n?", "", text).splitlines())
        chars += len(text)
        if chars > MAX_CHARS:
            break
    return lines, damaged


def _clean(value: str | None) -> str | None:
    return " ".join((value or "").replace("\x00", "").split())[:500] or None


def _date(value: str | None) -> str | None:
    match = _DATE.match(value or "")
    return f"{match[1]}-{match[2]}-{match[3]}" if match and "01" <= match[2] <= "12" and "01" <= match[3] <= "31" else None
