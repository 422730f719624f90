"""HTML of a URL that was read before: compared first, and read only as far as it must be (see trawl_core.extract.gate)."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from trawl_core.extract.content.choice import MARKUP, Content, Profile, text_of
from trawl_core.extract.content.readers import resiliparse_text
from trawl_core.extract.gate import Before, Lines, reads_as_before, surely_changed
from trawl_core.extract.html import HtmlDocument, page_of, parse_html, read_html
from trawl_core.extract.page import Page

State = Literal["read", "read_as_before", "same", "open"]
"""`read`: by the best extractor; `read_as_before`: by the one that was the best for the previous capture; `same`: the page lacks the
text, which is that of the previous capture; `open`: it lacks the text, and whether the lines are the same depends on those of other
pages of tonight."""


def reread_html(
    body: bytes, url: str, content_type: str | None, before: Before, *, decided: bool | None = None, profile: Profile = "quality"
) -> tuple[Page, State]:
    """The page in an HTML body. `decided` says whether its lines are the same as before; None when that is to be found out.

    Everything but the text, its extractor and the type of the page is always of this body.
    """
    document = parse_html(body, url, content_type)
    if document.defused is None:
        if decided is None:
            now = Lines.of(document.split.blocks)
            state: State = "same" if np.array_equal(before.lines.hashes, now.hashes) else "open"
            if not surely_changed(before, now):
                return _outline(document, before), state
        elif decided:
            return _outline(document, before), "same"
        if reads_as_before(before, Lines.of(document.split.blocks)) and (text := _text(document, before.extractor)):
            page = _page(document, before, text)
            if page.text:
                return page, "read_as_before"
    return read_html(document, profile=profile), "read"


def _outline(document: HtmlDocument, before: Before) -> Page:
    return replace(_page(document, before, ""), extract_status="ok", extract_error=None)


def _page(document: HtmlDocument, before: Before, text: str) -> Page:
    return page_of(document, Content(text, before.extractor, before.predicted_type))


def _text(document: HtmlDocument, extractor: str) -> str:
    """What one of CHEAP_READINGS gives."""
    if extractor != MARKUP:
        return resiliparse_text(document.source)
    blocks = document.split.blocks
    in_main = np.array([block.in_main for block in blocks], bool)
    return text_of(document.split, in_main if in_main.any() else ~in_main)
