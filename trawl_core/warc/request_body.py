"""What a POST or PUT carried, as a query: indexes append it to the URL, so that each body has a key of its own.

The rules are the IIPC's for requests other than GET (warc-specifications, guidelines/cdx-non-get-requests) as
cdxj-indexer applies them; of AMF it makes a tree, here it is taken as binary.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from email.message import Message
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any
from urllib.parse import unquote_plus, urlencode

MAX_QUERY_CHARACTERS = 4096


def appended(url: str, method: str, query: str) -> str:
    """The URL that stands for a request of `method` with that query."""
    tail = f"__wb_method={method}" + (f"&{query}" if query else "")
    return f"{url}{'&' if '?' in url else '?'}{tail}"


def body_query(content_type: str | None, body: bytes) -> str:
    """`body` as a query of at most 4,096 characters, empty when it holds nothing that can be one."""
    kind = content_type or ""
    if kind.startswith("application/x-www-form-urlencoded"):
        query = _form(body)
    elif kind.startswith("multipart/"):
        query = _multipart(kind, body)
    elif kind.startswith("application/json"):
        query = _json(body) or ""
    elif kind.startswith("text/plain"):
        found = _json(body)
        query = _binary(body) if found is None else found
    else:
        query = _binary(body)
    return query[:MAX_QUERY_CHARACTERS]


def _binary(body: bytes) -> str:
    return f"__wb_post_data={base64.b64encode(body).decode()}"


def _form(body: bytes) -> str:
    try:
        return unquote_plus(body.decode())
    except UnicodeDecodeError:
        return _binary(body)


def _multipart(content_type: str, body: bytes) -> str:
    if "boundary=" not in content_type:
        return _binary(body)
    parsed = BytesParser(policy=HTTP).parsebytes(b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body)
    parts = parsed.get_payload()
    if not isinstance(parts, list):
        return _binary(body)
    return urlencode([(_part_name(part), part.get_payload(decode=True) or b"") for part in parts], True)


def _part_name(part: Message) -> str:
    return str(part.get_param("name", "", header="content-disposition"))


def _json(body: bytes) -> str | None:
    """The leaves of a document, or of one document a line, by name; None when it is no JSON."""
    leaves: dict[str, str] = {}
    seen: Counter[str] = Counter()

    def walk(value: Any, name: str) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(inner, key)
        elif isinstance(value, list):
            for inner in value:
                walk(inner, name)
        elif name:
            seen[name] += 1
            leaves[name if seen[name] == 1 else f"{name}.{seen[name]}_"] = str(value)

    try:
        for document in _documents(body):
            walk(document, "")
    except (ValueError, RecursionError):
        return None
    return urlencode(leaves)


def _documents(body: bytes) -> list[Any]:
    try:
        return [json.loads(body)]
    except ValueError:
        if b"\n" not in body:
            raise
        return [json.loads(line) for line in body.split(b"\n")]
