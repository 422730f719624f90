"""Mazes: a server that answers any path below some place with one and the same page, whose links lead deeper into it.

Told by the answers, not by the URLs: only an unbroken run of equal pages makes a maze, and one different page ends it.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from urllib.parse import unquote

from trawl_core.urls.normalize import split_url

ECHO_BYTES = 8 * 1024
_WORD = re.compile(r"[^\W_]{2,}")
_RELATIVE_OR_WORD = re.compile(r"""(\bhref\s*=\s*["']?(?![/"']|https?:)[^"'\s>]*|[^\W_]{2,})""")

_SEPARATORS = re.compile(r"[\s/_.+-]+")


def maze_family(url: str) -> str:
    """The place to which a URL belongs: its first folder, or its path and parameter names when it has a query."""
    parts = split_url(url)
    where = f"{parts.url_protocol}://{parts.url_host_name}" + (f":{parts.url_port}" if parts.url_port else "")
    if parts.url_query:
        names = sorted({pair.partition("=")[0] for pair in parts.url_query.split("&")})
        return f"{where}{parts.url_path}?{'&'.join(names)}"
    folder, slash, _ = parts.url_path[1:].partition("/")
    return f"{where}/{folder}{slash}" if slash else f"{where}/"


def page_signatures(document: bytes, url: str) -> frozenset[str]:
    """Of the document as it is and, up to ECHO_BYTES, without the words of its own URL; relative references are kept as they are."""
    exact = hashlib.sha1(document, usedforsecurity=False).hexdigest()
    if len(document) > ECHO_BYTES:
        return frozenset([exact])
    own = {word.casefold() for word in _WORD.findall(unquote(url))}
    parts = _RELATIVE_OR_WORD.split(document.decode("utf-8", "replace").casefold())
    # A longer path leaves more of its separators behind.
    without_echo = _SEPARATORS.sub(" ", "".join(part for part in parts if part not in own))
    return frozenset([exact, hashlib.sha1(without_echo.encode(), usedforsecurity=False).hexdigest()])


@dataclass(slots=True)
class _Run:
    """`signatures` are those that every page of the run has."""

    signatures: frozenset[str]
    length: int = 1


class MazeWatch:
    """Runs of equal answers by family; `sample` of them make a maze."""

    def __init__(self, sample: int) -> None:
        self._sample = sample
        self._runs: dict[str, _Run] = {}

    def saw(self, url: str, signatures: frozenset[str]) -> None:
        """A good page with links was fetched."""
        family = maze_family(url)
        run = self._runs.get(family)
        if run is not None and (common := run.signatures & signatures):
            run.signatures = common
            run.length += 1
        else:
            self._runs[family] = _Run(signatures)

    def holds(self, url: str) -> str | None:
        """The family of a URL that leads into a maze as far as is known now; None for others."""
        family = maze_family(url)
        run = self._runs.get(family)
        return family if run is not None and run.length >= self._sample else None
