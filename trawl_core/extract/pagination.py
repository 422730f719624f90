"""The next page of a list, as the pagination of a selector schema finds it on one page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from selectolax.lexbor import LexborHTMLParser

from trawl_core.extract.guards import defuse
from trawl_core.extract.selectors import next_page
from trawl_core.extract.structured import document_base
from trawl_core.extract.typed_values import Mismatch
from trawl_core.sites import ExtractionSchema


def paginating(schemas: Sequence[ExtractionSchema], url: str) -> list[ExtractionSchema]:
    """The schemas with a pagination whose pattern is found in `url`."""
    return [schema for schema in schemas if schema.pagination is not None and _pattern(schema.pattern).search(url)]


def next_pages(html_text: str, url: str, schemas: Sequence[ExtractionSchema]) -> Iterator[tuple[str, int]]:
    """URLs of the pages that follow and the most pages that their list may have; one that leads to the page itself is none.

    A selector that this page makes fail leads nowhere; `structured_data` tells what is wrong with schemas.
    """
    tree = LexborHTMLParser(defuse(html_text)[0])
    base = document_base(tree, url)
    for schema in schemas:
        try:
            target = next_page(tree, base, schema)
        except Mismatch:
            continue
        if target is not None and target != url and schema.pagination is not None:
            yield target, schema.pagination.max_pages


@lru_cache(maxsize=1000)
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
