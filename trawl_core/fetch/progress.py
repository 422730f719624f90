"""How far a run is, told about once a second."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trawl_core.clock import Clock

if TYPE_CHECKING:
    from trawl_core.fetch.night import Night
    from trawl_core.fetch.session import Session

EVERY_S = 1.0


@dataclass(frozen=True)
class CrawlProgress:
    """Over all domains of the run: URLs asked for, URLs still waiting, requests under way, answers that were errors.

    `per_second` is the mean since the run began, `domains` the number of those that are not done; `delays` the current spacing
    in seconds of origins that are slowed down.
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


class _Teller:
    """Calls `tell_to` at most once a second."""

    def __init__(self, clock: Clock, tell_to: Callable[[CrawlProgress], None] | None) -> None:
        self._clock = clock
        self._tell_to = tell_to
        self._started = clock.monotonic()
        self._next = self._started + EVERY_S

    def _tell(self, reckon: Callable[[float], CrawlProgress]) -> None:
        """`reckon` is given the seconds since the run began, and called only when it is time."""
        now = self._clock.monotonic()
        if self._tell_to is not None and now >= self._next:
            self._next = now + EVERY_S
            self._tell_to(reckon(now - self._started))


class ProgressMeter(_Teller):
    """Reads the progress off the nights of one engine."""

    def __init__(self, clock: Clock, tell_to: Callable[[CrawlProgress], None] | None) -> None:
        super().__init__(clock, tell_to)
        self._done = 0
        self._errors = 0

    def ended(self, session: Session) -> None:
        """A night that is over still counts as done."""
        self._done += session.night.spending.requests
        self._errors += _errors(session.night)

    def tell(self, sessions: Iterable[Session], in_flight: int) -> None:
        self._tell(lambda seconds: self._reckon([session.night for session in sessions], in_flight, seconds))

    def _reckon(self, nights: list[Night], in_flight: int, seconds: float) -> CrawlProgress:
        done = self._done + sum(night.spending.requests for night in nights)
        errors = self._errors + sum(map(_errors, nights))
        delays = {
            origin.key: origin.pace.spacing_s
            for night in nights
            for origin in night.origins.values()
            if origin.pace.spacing_s > night.site.delay_s
        }
        waiting = sum(night.frontier.waiting + night.frontier.delayed for night in nights)
        return CrawlProgress(done, waiting, in_flight, errors, done / seconds, len(nights), delays)


class ProgressSum(_Teller):
    """Adds up what several processes tell of their parts."""

    def __init__(self, clock: Clock, tell_to: Callable[[CrawlProgress], None] | None) -> None:
        super().__init__(clock, tell_to)
        self._last: dict[Hashable, CrawlProgress] = {}
        self._is_news = False

    def take(self, process: Hashable, progress: CrawlProgress) -> None:
        self._last[process] = progress
        self._is_news = True

    def ended(self, process: Hashable) -> None:
        """What it did last counts on, and nothing of it waits."""
        if process in self._last:
            self.take(process, replace(self._last[process], waiting=0, in_flight=0, domains=0, delays={}))

    def tell(self) -> None:
        if self._is_news:
            self._tell(self._reckon)

    def _reckon(self, seconds: float) -> CrawlProgress:
        self._is_news = False
        parts = self._last.values()
        done = sum(part.done for part in parts)
        return CrawlProgress(
            done=done,
            waiting=sum(part.waiting for part in parts),
            in_flight=sum(part.in_flight for part in parts),
            errors=sum(part.errors for part in parts),
            per_second=done / seconds,
            domains=sum(part.domains for part in parts),
            delays={origin: delay for part in parts for origin, delay in part.delays.items()},
        )


def _errors(night: Night) -> int:
    quiet = ("ok", "not_modified", "identical", "robots_denied")
    return sum(count for outcome, count in night.spending.counts.items() if outcome not in quiet)
