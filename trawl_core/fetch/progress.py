"""How far a run is, told about once a second."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trawl_core.clock import Clock

if TYPE_CHECKING:
    from trawl_core.fetch.session import Session

EVERY_S = 1.0


@dataclass(frozen=True)
class CrawlProgress:
    """Over all domains of the run: URLs asked for, URLs still waiting, requests under way, answers that were errors.

    `per_second` is the mean since the run began; `delays` the current spacing in seconds of origins that are slowed down.
    """

    done: int
    waiting: int
    in_flight: int
    errors: int
    per_second: float
    domains: int
    delays: dict[str, float]

    def __str__(self) -> str:
        slow = "".join(f", {origin} every {delay:.1f} s" for origin, delay in sorted(self.delays.items())[:3])
        return (
            f"{self.done:,} fetched, {self.waiting:,} waiting, {self.in_flight} under way, {self.errors:,} errors, "
            f"{self.per_second:.1f}/s, {self.domains} domains{slow}"
        )


class ProgressMeter:
    """Calls `tell_to` with a CrawlProgress at most once a second."""

    def __init__(self, clock: Clock, tell_to: Callable[[CrawlProgress], None] | None) -> None:
        self._clock = clock
        self._tell_to = tell_to
        self._started = clock.monotonic()
        self._next = self._started + EVERY_S

    def tell(self, sessions: Iterable[Session], in_flight: int) -> None:
        now = self._clock.monotonic()
        if self._tell_to is None or now < self._next:
            return
        self._next = now + EVERY_S
        nights = [session.night for session in sessions]
        done = sum(night.spending.requests for night in nights)
        quiet = ("ok", "not_modified", "identical", "robots_denied")
        errors = sum(count for night in nights for outcome, count in night.spending.counts.items() if outcome not in quiet)
        delays = {
            origin.key: origin.pace.spacing_s
            for night in nights
            for origin in night.origins.values()
            if origin.pace.spacing_s > night.site.delay_s
        }
        waiting = sum(night.frontier.waiting + night.frontier.delayed for night in nights)
        self._tell_to(CrawlProgress(done, waiting, in_flight, errors, done / (now - self._started), len(nights), delays))
