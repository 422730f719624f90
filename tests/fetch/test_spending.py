"""What a night has spent is counted over all its calls, also when the one before was killed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from trawl_core.fetch.ledger import Ledger
from trawl_core.fetch.spending import Spending, begin_anew
from trawl_core.fetch.state import NightState
from trawl_core.sites import Budget

NIGHT = datetime(2026, 11, 30, 2, tzinfo=UTC)


@dataclass
class _Hands:
    seconds: float = 0.0

    def now(self) -> datetime:
        return NIGHT + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def call(tmp_path):
    """Opens the night's Spending anew, as the next call does; what was not committed is lost with the call before."""
    opened: list[NightState] = []

    def make(clock: _Hands, **budget) -> tuple[Spending, Ledger, NightState]:
        if opened:
            opened[-1].close()
        state = NightState(tmp_path / "night.sqlite")
        opened.append(state)
        return Spending(Budget(**budget), state, Ledger(state), clock), Ledger(state), state

    yield make
    opened[-1].close()


def _row(number: int, kind: str = "page", wire_bytes: int = 100, **columns) -> dict:
    row = {"capture_id": f"c{number}", "fetch_time": NIGHT, "url": f"https://a.test/{number}", "kind": kind, "outcome": "ok"}
    return {**row, "fetch_status": 200, "wire_bytes": wire_bytes, **columns}


def test_pages_bytes_renderings_and_minutes_outlast_a_kill(call) -> None:
    clock = _Hands()
    spending, ledger, state = call(clock, pages=4, bytes=1_000, minutes=1)
    for number, kind in enumerate(("robots", "page", "page")):
        spending.started(kind)
        spending.received(100)
        ledger.add(_row(number, kind))
    spending.rendering()
    spending.rendered(350)
    clock.seconds = 20
    spending.save()
    state.commit()
    # This one was under way when the process was killed: it will be asked for again.
    spending.started("page")
    assert (spending.pages, spending.bytes, spending.over()) == (4, 650, "pages 4")

    clock.seconds = 1_000
    spending, ledger, state = call(clock, pages=4, bytes=1_000, minutes=1)
    assert (spending.pages, spending.bytes, spending.seconds_left(), spending.over()) == (3, 650, 40, None)
    assert call(clock, pages=3, bytes=1_000, minutes=1)[0].over() == "pages 3"
    assert call(clock, pages=9, bytes=650, minutes=1)[0].over() == "bytes 650"
    assert call(clock, pages=9, bytes=1_000, minutes=1 / 3)[0].over() == "minutes 0.333333"


def test_requests_in_vain_count_and_denials_do_not(call) -> None:
    clock = _Hands()
    _, ledger, state = call(clock)
    outcomes = ("timeout", "connect_error", "dns_error", "tls_error", "invalid_http", "robots_denied", "out_of_scope", "robots_unavailable")
    for number, outcome in enumerate(outcomes):
        ledger.add(_row(number, outcome=outcome, fetch_status=None, wire_bytes=0))
    state.commit()
    assert call(clock)[0].pages == 5


def test_a_new_pass_begins_with_nothing_spent(call) -> None:
    clock = _Hands()
    spending, ledger, state = call(clock)
    ledger.add(_row(0))
    spending.rendering()
    spending.rendered(10)
    clock.seconds = 30
    spending.save()
    begin_anew(state, ledger)
    state.commit()
    spending, _, _ = call(clock)
    assert (spending.pages, spending.bytes, spending.elapsed_s()) == (0, 0, 0)
