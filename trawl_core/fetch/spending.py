"""The stop rules of one site's night: pages, bytes and minutes, counted over all calls of the same pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from trawl_core.clock import Clock
from trawl_core.fetch.ledger import Ledger
from trawl_core.fetch.state import NightState
from trawl_core.sites import Budget

_ELAPSED, _RENDERINGS, _RENDERING_BYTES = "elapsed_s", "renderings", "rendering_bytes"


def begin_anew(state: NightState, ledger: Ledger) -> None:
    """What was spent so far counts no more: a new pass of the same night."""
    pages, received = ledger.spent()
    state.set_number("pages_before", pages)
    state.set_number("bytes_before", received)
    for spent in (_ELAPSED, _RENDERINGS, _RENDERING_BYTES):
        state.set_number(spent, 0)


class Spending:
    """`over()` names the exhausted budget as `frontier_log.detail` has it; `counts` are this call's outcomes of pages."""

    def __init__(self, budget: Budget, state: NightState, ledger: Ledger, clock: Clock) -> None:
        pages, received = ledger.spent()
        self.budget = budget
        # A rendering is a visit of the page, and of what its scripts ask for no capture tells.
        self._renderings = int(state.number(_RENDERINGS))
        self._rendering_bytes = int(state.number(_RENDERING_BYTES))
        self.pages = pages - int(state.number("pages_before")) + self._renderings
        self.bytes = received - int(state.number("bytes_before")) + self._rendering_bytes
        self.counts: Counter[str] = Counter()
        self.requests = 0
        self.wire_bytes = 0
        self.answers = 0
        self.last_error: str | None = None
        self._clock = clock
        self._state = state
        self._elapsed_before = state.number(_ELAPSED)
        self._started = clock.monotonic()

    def elapsed_s(self) -> float:
        return self._elapsed_before + self._clock.monotonic() - self._started

    def seconds_left(self) -> float:
        return self.budget.minutes * 60 - self.elapsed_s()

    def over(self, kind: str = "page") -> str | None:
        """The budget of pages ends no media: the last pages get theirs."""
        if kind != "media" and self.pages >= self.budget.pages:
            return f"pages {self.budget.pages}"
        if self.bytes >= self.budget.bytes:
            return f"bytes {self.budget.bytes}"
        if self.seconds_left() <= 0:
            return f"minutes {self.budget.minutes:g}"
        return None

    def started(self, kind: str) -> None:
        """A request is on its way; pages count when they start, so that a budget is never overrun."""
        self.requests += 1
        self.pages += kind == "page"

    def rendering(self) -> None:
        """The browser visits a page, which counts as one more."""
        self._renderings += 1
        self.started("page")

    def rendered(self, wire_bytes: int) -> None:
        self._rendering_bytes += wire_bytes
        self.received(wire_bytes)

    def save(self) -> None:
        """Keep what the captures don't tell for a later call of this night."""
        self._state.set_number(_ELAPSED, self.elapsed_s())
        self._state.set_number(_RENDERINGS, self._renderings)
        self._state.set_number(_RENDERING_BYTES, self._rendering_bytes)

    def received(self, wire_bytes: int) -> None:
        self.bytes += wire_bytes
        self.wire_bytes += wire_bytes

    def count(self, row: Mapping[str, Any]) -> None:
        """Note the row of a request for a URL."""
        self.answers += row["fetch_status"] is not None
        if row["error"] and row["fetch_status"] is None:
            self.last_error = f"{row['url']}: {row['error']}"
        if row["kind"] == "page":
            self.counts["identical" if row["revisit_profile"] == "identical-payload-digest" else row["outcome"]] += 1
