"""JSON and JSON Lines: the text of string leaves, each with its path, and the links among them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from trawl_core.extract.charset import charset_parameter, decode
from trawl_core.extract.language import detected_language
from trawl_core.extract.page import Outlink, Page, ScopeCheck, failed_page, text_page
from trawl_core.urls.normalize import normalize_url

MAX_BYTES = 20_000_000
MAX_LEAVES = 100_000
_TITLE_KEYS = ("title", "name", "headline")


def extract_json(body: bytes, url: str, content_type: str | None, mime: str, scope: ScopeCheck | None = None) -> Page:
    """One block a leaf: `path.to[0].leaf: text`. Numbers, booleans and null are no text."""
    if len(body) > MAX_BYTES:
        return failed_page(body, mime, "json", "too_large", f"JSON of {len(body)} bytes; the limit is {MAX_BYTES}", "json")
    decoded = decode(body, charset_parameter(content_type), markup=False)
    try:
        value = _parse(decoded.text)
    except (ValueError, RecursionError) as error:
        return failed_page(body, mime, "json", "broken", f"not JSON: {error or 'nested too deeply'}", "json")
    leaves = [leaf for leaf, _ in zip(_leaves(value), range(MAX_LEAVES), strict=False)]
    page = Page(
        mime_detected=mime,
        page_type="json",
        extractor="json",
        html_bytes=len(body),
        charset=decoded.charset,
        charset_source=decoded.source,
        title=_title(value),
        language=detected_language(" ".join(text for _, text in leaves[:200])),
        outlinks=_outlinks([text for _, text in leaves], scope),
    )
    lines = [f"{path}: {text}" if path else text for path, text in leaves]
    return text_page(page, lines, "no text: the document holds no string")


def _parse(text: str) -> Any:
    """The value, or the list of values of JSON Lines."""
    try:
        return json.loads(text)
    except ValueError:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2:
            raise
        return [json.loads(line) for line in lines]


def _leaves(root: Any) -> Iterator[tuple[str, str]]:
    """(path, text) of the string leaves in document order, without recursion."""
    stack: list[tuple[str, Any]] = [("", root)]
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


def _outlinks(texts: list[str], scope: ScopeCheck | None) -> tuple[Outlink, ...]:
    urls = dict.fromkeys(url for text in texts if text.startswith(("http://", "https://")) and (url := normalize_url(text)))
    return tuple(Outlink(url, "", "", None if scope is None else scope(url) is None) for url in urls)
