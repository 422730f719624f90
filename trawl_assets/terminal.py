"""What a night looks like on a terminal: one live line while it crawls, one line for each asset that is built."""

from __future__ import annotations

import sys
from types import TracebackType

from rich.console import Console

from trawl_assets import progress
from trawl_core.fetch.crawl import CrawlProgress


class NightView:
    """A context manager that listens to this process's progress and prints it to standard error."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._status = self._console.status("starting …") if sys.stderr.isatty() else None

    def __enter__(self) -> NightView:
        progress.listen(self)
        if self._status:
            self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        progress.listen(progress.Silence())
        if self._status:
            self._status.stop()

    def crawling(self, now: CrawlProgress) -> None:
        if self._status:
            self._status.update(str(now))

    def built(self, asset: str, keys: int, rows: int, seconds: float) -> None:
        self._console.print(f"  {asset:<16} {rows:>8,} rows  {seconds:6.1f} s" + (f"  {keys} partitions" if keys > 1 else ""))
        if self._status:
            self._status.update("working …")
