"""What a night looks like on a terminal: one live line while it crawls, one line for each asset that is built."""

from __future__ import annotations

import sys
from contextlib import redirect_stderr
from types import TracebackType
from typing import Any, TextIO

from rich.console import Console

from trawl_assets import progress
from trawl_core.fetch.crawl import CrawlProgress

_UNWRITTEN_EVENT = "Exception while writing logger call to event log"


class _WithoutEventNotes:
    """A stream without Dagster's notes of events that it could not store, statement and values included.

    Where that ends the run the error follows, and the command tells it in a sentence.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return len(text) if text.startswith(_UNWRITTEN_EVENT) else self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class NightView:
    """A context manager that listens to this process's progress and prints it to standard error."""

    def __init__(self) -> None:
        self._redirection = redirect_stderr(_WithoutEventNotes(sys.stderr))
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._status = self._console.status("starting …") if sys.stderr.isatty() else None

    def __enter__(self) -> NightView:
        progress.listen(self)
        self._redirection.__enter__()
        if self._status:
            self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        progress.listen(progress.Silence())
        if self._status:
            self._status.stop()
        self._redirection.__exit__(kind, error, trace)

    def crawling(self, now: CrawlProgress) -> None:
        if self._status:
            self._status.update(str(now))

    def built(self, asset: str, keys: int, rows: int, seconds: float) -> None:
        self._console.print(f"  {asset:<16} {rows:>8,} rows  {seconds:6.1f} s" + (f"  {keys} partitions" if keys > 1 else ""))
        if self._status:
            self._status.update("working …")
