"""Live progress: Dagster log lines for the UI, and whatever a command-line process listens with."""

from __future__ import annotations

from typing import Protocol

import dagster as dg

from trawl_core.clock import Clock
from trawl_core.fetch.crawl import CrawlProgress

EVERY_S = 10.0


class Listener(Protocol):
    """Told of progress inside this process."""

    def crawling(self, progress: CrawlProgress) -> None: ...

    def built(self, asset: str, keys: int, rows: int, seconds: float) -> None: ...


class Silence:
    def crawling(self, progress: CrawlProgress) -> None:
        return None

    def built(self, asset: str, keys: int, rows: int, seconds: float) -> None:
        return None


_listener: Listener = Silence()


def listen(listener: Listener) -> None:
    """Tell `listener` of everything that happens in this process from now on."""
    global _listener  # noqa: PLW0603 - one terminal a process
    _listener = listener


def built(asset: str, keys: int, rows: int, seconds: float) -> None:
    _listener.built(asset, keys, rows, seconds)


class ProgressLog:
    """Called with each CrawlProgress; writes a log line when the last one is ten seconds old."""

    def __init__(self, log: dg.DagsterLogManager, clock: Clock) -> None:
        self._log, self._clock = log, clock
        self._last = clock.monotonic()

    def __call__(self, progress: CrawlProgress) -> None:
        _listener.crawling(progress)
        now = self._clock.monotonic()
        if now - self._last >= EVERY_S:
            self._last = now
            self._log.info(str(progress))
