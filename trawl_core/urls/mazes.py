"""Mazes: a server that answers any path below some place with one and the same page, whose links lead deeper into it.

Told by the answers, not by the URLs: only an unbroken run of equal pages makes a maze, and one different page ends it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import unquote

from trawl_core.urls.normalize import split_url

# How `frontier_log.detail` begins where a maze held URLs back.
MAZE = "maze "
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
class Run:
    """`signatures` are those that every page of the run has; none yet where only its length is known, from an earlier night.

    `since` is when it became a maze, None while it never was one; it is looked at again while `length` is below the sample.
    """

    signatures: frozenset[str]
    length: int = 1
    since: datetime | None = None


class MazeWatch:
    """Runs of equal answers by family; `sample` of them make a maze. `runs` is what was seen before."""

    def __init__(self, sample: int, runs: Mapping[str, Run] | None = None) -> None:
        self._sample = sample
        self._runs = dict(runs or {})

    def saw(self, url: str, signatures: frozenset[str], now: datetime) -> tuple[str, Run, bool]:
        """A good page with links was fetched. Returns its family, the family's run, and whether this page ended a maze."""
        family = maze_family(url)
        run = self._runs.get(family)
        if run is not None and not run.signatures:
            # The first page since an earlier night has none to be compared with.
            run.signatures = signatures
            return family, run, False
        if run is None or not (common := run.signatures & signatures):
            ended = run is not None and self._stands(run)
            run = self._runs[family] = Run(signatures)
            return family, run, ended
        run.signatures = common
        run.length += 1
        if run.length >= self._sample and (run.since is None or run.length == self._sample):
            run.since = now
        return family, run, False

    def _stands(self, run: Run) -> bool:
        return run.since is not None and run.length >= self._sample

    def holds(self, url: str) -> str | None:
        """The family of a URL that leads into a maze as far as is known now; None for others."""
        if not self._runs:
            return None
        family = maze_family(url)
        run = self._runs.get(family)
        return family if run is not None and self._stands(run) else None

    def known(self) -> dict[str, datetime]:
        """The mazes that nothing spoke against, also those that are looked at again, and since when."""
        return {family: run.since for family, run in self._runs.items() if run.since is not None}


def mazes_in_log(rows: Iterable[Mapping[str, Any]]) -> dict[str, datetime]:
    """The mazes that a night's `frontier_log` names, and since when they are known."""
    return {
        row["detail"].removeprefix(MAZE): row["first_seen"]
        for row in rows
        if row["reason"] == "trap" and row["detail"].startswith(MAZE) and row["first_seen"] is not None
    }
