"""JSON and JSON Lines: the text of string leaves, each with its path, and the links among them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from trawl_core.extract.charset import charset_parameter, decode
from trawl_core.extract.json_pointer import pointed_at
from trawl_core.extract.language import detected_language
from trawl_core.extract.page import Outlink, Page, ScopeCheck, failed_page, text_page
from trawl_core.urls.normalize import normalize_url

MAX_BYTES = 20_000_000
MAX_LEAVES = 100_000
_TITLE_KEYS = ("title", "name", "headline")
# Values of these that begin with a slash or a dot are references too.
_LINK_KEYS = frozenset(["href", "url", "uri", "link", "links", "self", "next", "prev", "previous", "first", "last", "related", "canonical"])


def extract_json(
    body: bytes, url: str, content_type: str | None, mime: str, scope: ScopeCheck | None = None, *, pointers: Sequence[str] = ()
) -> Page:
    """One block a leaf: `path.to[0].leaf: text`. Numbers, booleans and null are no text.

    With `pointers` (see json_pointer) only what they lead to is text, where one of them leads anywhere; links are those of the
    whole document. Of JSON Lines the lines that can be read are kept, and status `broken` says that others can't.
    """
    if len(body) > MAX_BYTES:
        return failed_page(body, mime, "json", "too_large", f"JSON of {len(body):,} bytes; the limit is {MAX_BYTES:,}", "json")
    decoded = decode(body, charset_parameter(content_type), markup=False)
    try:
        value, bad_lines = _parse(decoded.text)
    except (ValueError, RecursionError) as error:
        return failed_page(body, mime, "json", "broken", f"not JSON: {error or 'nested too deeply'}", "json")
    chosen = [pair for pointer in pointers for pair in pointed_at(value, pointer)]
    everywhere = list(islice(_leaves("", value), MAX_LEAVES + 1))
    leaves = [leaf for path, part in chosen for leaf in islice(_leaves(path, part), MAX_LEAVES + 1)] if chosen else everywhere
    page = Page(
        mime_detected=mime,
        page_type="json",
        extractor="json",
        html_bytes=len(body),
        charset=decoded.charset,
        charset_source=decoded.source,
        title=_title(value),
        language=detected_language(" ".join(text for _, text in leaves[:200])),
        outlinks=_outlinks(everywhere[:MAX_LEAVES], url, scope),
    )
    lines = [f"{path}: {text}" if path else text for path, text in leaves[:MAX_LEAVES]]
    page = text_page(page, lines, "no text: the document holds no string")
    if page.text and len(leaves) > MAX_LEAVES:
        return replace(page, extract_status="too_large", extract_error=f"more than {MAX_LEAVES:,} strings: the text of the first is kept")
    if page.text and bad_lines:
        return replace(
            page, extract_status="broken", extract_error=f"{len(bad_lines)} of the lines are not JSON, the first is line {bad_lines[0]}"
        )
    return page


def _parse(text: str) -> tuple[Any, list[int]]:
    """The value, or the list of values of JSON Lines with the numbers of the lines that are none (from 1)."""
    try:
        return json.loads(text), []
    except ValueError:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip(" \t\r\x1e")]
        if len(lines) < 2:
            raise
        values, bad = [], []
        for number, line in lines:
            try:
                values.append(json.loads(line.strip(" \t\r\x1e")))
            except (ValueError, RecursionError):
                bad.append(number)
        # A document that is cut or mistyped has lines that are values by chance, such as `},`'s neighbours.
        if len(bad) * 2 > len(lines) or not any(isinstance(value, (dict, list)) for value in values):
            raise
        return values, bad


def _leaves(path: str, root: Any) -> Iterator[tuple[str, str]]:
    """(path, text) of the string leaves in document order, without recursion."""
    stack: list[tuple[str, Any]] = [(path, root)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, str):
            if value.strip():
                yield path, value
        elif isinstance(value, dict):
            stack.extend((f"{path}.{key}" if path else str(key), child) for key, child in reversed(value.items()))
        elif isinstance(value, list):
            stack.extend((f"{path}[{index}]", value[index]) for index in range(len(value) - 1, -1, -1))


def _title(value: Any) -> str | None:
    if isinstance(value, dict):
        for key in _TITLE_KEYS:
            if isinstance(value.get(key), str) and value[key].strip():
                return " ".join(value[key].split())[:500]
    return None


def _outlinks(leaves: Sequence[tuple[str, str]], base: str, scope: ScopeCheck | None) -> tuple[Outlink, ...]:
    urls = dict.fromkeys(url for path, text in leaves if (url := _link(path, text, base)))
    return tuple(Outlink(url, "", "", None if scope is None else scope(url) is None) for url in urls)


def _link(path: str, text: str, base: str) -> str | None:
    if text.startswith(("http://", "https://")) and " " not in text:
        return normalize_url(text)
    if text.startswith(("/", "./", "../")) and " " not in text:
        key = path.rpartition(".")[2].partition("[")[0].lower().lstrip("@_$")
        return normalize_url(text, base) if key in _LINK_KEYS or key.endswith(("url", "href")) else None
    return None
