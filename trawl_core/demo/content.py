"""What a demo site says on one night: `SiteContent` maps a path to an `Answer`; the server only carries it.

A path is what stands in the request line: path and query, no fragment.
"""

from __future__ import annotations

import gzip
import hashlib
import html
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import cached_property
from typing import Literal

HTML = "text/html; charset=utf-8"
FIRST_EDITION = datetime(2025, 3, 3, 6, 30, tzinfo=UTC)
"""Last-Modified of what night 0 serves; in the past, so that no moved clock comes before it."""
SECOND_EDITION = datetime(2025, 9, 15, 6, 30, tzinfo=UTC)
"""Last-Modified of what night 1 changed."""

_NOT_SHOWN = re.compile(r"<head>.*?</head>|<script.*?</script>|<style.*?</style>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_TITLE = re.compile(r"<title>(.*?)</title>")
_JSON_LD = re.compile(r'<script type="application/ld\+json">(.*?)</script>', re.DOTALL)

Validators = Literal["both", "etag", "last_modified", "none"]


@dataclass(frozen=True)
class Answer:
    """One HTTP answer before it is framed: `body` without any coding.

    `gzip` and `chunked` say how the server sends it; `validators` which of ETag and Last-Modified it offers, and so
    whether it can answer 304. `stamp` is what the template writes on every page of the site that night.
    """

    status: int = 200
    content_type: str = HTML
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    gzip: bool = False
    chunked: bool = False
    validators: Validators = "both"
    modified: datetime = FIRST_EDITION
    stamp: str = ""

    @cached_property
    def etag(self) -> str | None:
        """Strong validator from the content; another one for the gzip form, as RFC 9110 8.8.3.3 asks."""
        if self.status != 200 or self.validators in ("last_modified", "none"):
            return None
        digest = hashlib.sha256(self.body).hexdigest()[:20]
        return f'"{digest}{"-gzip" if self.gzip else ""}"'

    @property
    def last_modified(self) -> str | None:
        if self.status != 200 or self.validators in ("etag", "none"):
            return None
        return format_datetime(self.modified, usegmt=True)

    @property
    def has_validator(self) -> bool:
        return bool(self.etag or self.last_modified)

    @cached_property
    def visible_text(self) -> str:
        """What a reader sees of an HTML page but for the stamp, and without the title; the raw body of anything else."""
        text = self.body.decode("utf-8", "replace")
        if not self.content_type.startswith("text/html"):
            return text
        shown = _TAG.sub(" ", _NOT_SHOWN.sub("", text))
        return " ".join(html.unescape(shown).replace(self.stamp, "").split())

    @cached_property
    def structured(self) -> tuple[str, ...]:
        """The JSON-LD blocks of an HTML page as written."""
        return tuple(_JSON_LD.findall(self.body.decode("utf-8", "replace")))

    @cached_property
    def title(self) -> str | None:
        found = _TITLE.search(self.body.decode("utf-8", "replace"))
        return html.unescape(found[1]) if found else None

    @cached_property
    def encoded(self) -> bytes:
        """The payload: the body in its content coding, the same bytes at each call."""
        return gzip.compress(self.body, 6, mtime=0) if self.gzip else self.body


def redirect(location: str, status: int = 301) -> Answer:
    note = f"<!doctype html><title>Moved</title><p>This page is at <a href='{location}'>{location}</a>.</p>"
    return Answer(status, HTML, note.encode(), (("Location", location),), validators="none")


@dataclass(frozen=True)
class SiteContent:
    """`answers` by path; `endless` answers paths of which there is no end; `busy_first` answers the first request of a path."""

    name: str
    night: int
    answers: Mapping[str, Answer]
    endless: Callable[[str], Answer | None] = field(default=lambda path: None)
    busy_first: Mapping[str, Answer] = field(default_factory=dict)

    def respond(self, path: str, times_asked: int = 1) -> Answer:
        """The answer to the `times_asked`-th request of `path` in the life of the server; a 404 page for an unknown one."""
        if times_asked == 1 and path in self.busy_first:
            return self.busy_first[path]
        found = self.answers.get(path) or self.endless(path)
        return found or missing_page(404, "Nothing is here.")


def missing_page(status: int, words: str) -> Answer:
    head = f"<!doctype html><html lang='en'><head><title>{status}</title></head>"
    page = f"{head}<body><main><h1>{status}</h1><p>{words}</p></main></body></html>"
    return Answer(status, HTML, page.encode(), validators="none")
