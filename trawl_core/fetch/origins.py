"""Origins take turns: which one may be asked next, over all domains of a run.

An origin stands in the queue by the moment at which it may be asked again, so that a busy or slow one never keeps
another from its turn. One that can't start now for want of a free slot at its address or domain is parked until one
frees.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict, deque
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from trawl_core.fetch.address_slots import POLL_S, AddressSlots
from trawl_core.fetch.frontier import Leased
from trawl_core.fetch.politeness import OriginPace
from trawl_core.fetch.robots_cache import Robots
from trawl_core.sites import Site

if TYPE_CHECKING:
    from trawl_core.fetch.night import Night
    from trawl_core.fetch.work import Result


@dataclass(eq=False)
class RobotsVisit:
    """Where the asking for robots.txt stands: the next URL, how many redirects led there, tries that failed."""

    url: str
    hop: int = 0
    from_id: str | None = None
    failures: int = 0


@dataclass(eq=False)
class Origin:
    """`key` is scheme://host:port. `address` is the one that its budget is kept by: the one connected to last, before
    that the first answer of the look-up, None before it.

    `robots` is None until it is known; `closed` is the outcome that its URLs get once it was given up for tonight,
    and `closed_because` the reason for a person. `to_render` holds fetched pages that wait for the browser.
    """

    key: str
    night: Night
    pace: OriginPace
    visit: RobotsVisit
    address: str | None = None
    robots: Robots | None = None
    closed: str | None = None
    closed_because: str | None = None
    leases: deque[Leased] = field(default_factory=deque)
    to_render: deque[Result] = field(default_factory=deque)
    last_turn: int = -1
    queued: bool = False
    busy_asking: bool = False

    @property
    def given_up(self) -> bool:
        """Nothing more is asked of it tonight, by this site or by any."""
        return self.closed is not None or self.pace.shut_because is not None


class Turns:
    """The queue. `share` bounds the requests under way for one domain while others have work too, `addresses` those at one address."""

    def __init__(self, share: int, addresses: AddressSlots) -> None:
        self.share = share
        self.addresses = addresses
        # At one moment the one whose last turn is longest ago comes first.
        self._heap: list[tuple[float, int, int, Origin]] = []
        self._order = count()
        self._parked: dict[Any, list[Origin]] = defaultdict(list)
        self._paces: dict[str, OriginPace] = {}

    def pace(self, key: str, site: Site) -> OriginPace:
        """The clockwork of an origin, one for all sites of the run that ask it; the strictest of their settings hold."""
        pace = self._paces.get(key)
        if pace is None:
            pace = self._paces[key] = OriginPace.of(site)
        else:
            pace.tighten(site)
        return pace

    def enter(self, origin: Origin, not_before: float = -math.inf) -> None:
        """Let an origin stand in the queue; no effect when it stands there."""
        if not origin.queued:
            origin.queued = True
            # One that was given up is asked nothing more: its URLs are put off at once.
            at = -math.inf if origin.given_up else max(origin.pace.next_at, not_before)
            heapq.heappush(self._heap, (at, origin.last_turn, next(self._order), origin))

    def next_at(self) -> float | None:
        """Monotonic moment at which the next one may be asked; None when nobody stands in the queue."""
        return self._heap[0][0] if self._heap else None

    def take(self, now: float) -> Origin | None:
        """The next origin that may be asked now; it leaves the queue."""
        self.addresses.settle()
        while self._heap and self._heap[0][0] <= now:
            origin = heapq.heappop(self._heap)[-1]
            origin.queued = False
            if origin.given_up or origin.night.is_closing:
                return origin
            if origin.pace.in_flight >= origin.pace.concurrency:
                self._parked[origin.key].append(origin)
            elif now < origin.pace.next_at:
                self.enter(origin)
            elif origin.night.in_flight >= self.share:
                self._parked[origin.night].append(origin)
            elif origin.address is not None and not self.addresses.may_start(origin.address, origin.night.site.host_concurrency):
                if self.addresses.ours(origin.address) < origin.night.site.host_concurrency:
                    # Another process has the slots, and tells nobody when it is done.
                    self.enter(origin, now + POLL_S)
                else:
                    self._parked[origin.address].append(origin)
            else:
                origin.last_turn = next(self._order)
                return origin
        return None

    def wake(self, origin: Origin, address: str | None = None) -> None:
        """A request of this origin ended: it and whoever waited for its slot may stand in the queue again.

        `address` is the one that the request counted against, None for a look-up.
        """
        self.enter(origin)
        for place in dict.fromkeys((origin.key, origin.night, origin.address, address)):
            for waiting in self._parked.pop(place, ()):
                self.enter(waiting)
