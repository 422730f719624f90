"""The one place that reads the system time.

`TRAWL_NOW=2026-11-29T02:00:00Z` moves the clock: it stands at that moment when the process starts and runs on
from there, so durations stay real. WARC files written under a moved clock say so in their warcinfo.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Protocol

from trawl_core.errors import ConfigError

ENV = "TRAWL_NOW"


class Clock(Protocol):
    """What stages need of time: `now()` is aware UTC, `monotonic()` is seconds for durations, `moved` is recorded."""

    moved: bool

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...


@dataclass(frozen=True)
class SystemClock:
    """Real time, shifted by `offset`."""

    offset: timedelta = timedelta(0)

    @property
    def moved(self) -> bool:
        return bool(self.offset)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.offset

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def clock_from_env(environ: Mapping[str, str] = os.environ) -> SystemClock:
    """The process's clock; raises ConfigError when TRAWL_NOW is not an ISO 8601 moment."""
    text = environ.get(ENV)
    if not text:
        return SystemClock()
    try:
        start = datetime.fromisoformat(text)
    except ValueError:
        raise ConfigError(f"{ENV}={text!r} is not a moment; write it like {ENV}=2026-11-29T02:00:00Z.") from None
    if start.tzinfo is None:
        start = start.replace(tzinfo=UTC)
    return SystemClock(start.astimezone(UTC) - datetime.now(UTC))


def crawl_date(clock: Clock) -> date:
    """Today's crawl date: the UTC day."""
    return clock.now().date()
