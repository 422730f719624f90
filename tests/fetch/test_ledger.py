"""What was held back is counted, whatever its number."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from trawl_core.fetch.frontier import Frontier, NewUrl
from trawl_core.fetch.ledger import Ledger
from trawl_core.fetch.state import NightState

NOW = datetime(2026, 11, 30, 2, tzinfo=UTC)
HOME = "https://docs.example.org:443"


@pytest.fixture
def state():
    opened = NightState(Path(":memory:"))
    yield opened
    opened.close()


def _url(number: int) -> str:
    return f"https://docs.example.org/{number:02}"


def test_beyond_the_cap_urls_are_counted_without_their_names(state, monkeypatch) -> None:
    monkeypatch.setattr("trawl_core.fetch.ledger.HELD_CAP", 20)
    ledger = Ledger(state)
    for number in [*range(30), *range(5)]:
        ledger.hold(_url(number), "depth", "depth 8", NOW + timedelta(seconds=number))
    named, beyond = ledger.held()
    assert (named["count"], named["detail"], len(named["samples"])) == (20, "depth 8", 10)
    assert (beyond["count"], beyond["samples"], beyond["first_seen"]) == (10, [], NOW + timedelta(seconds=20))
    again = Ledger(state)
    again.hold(_url(3), "depth", "depth 8", NOW)
    again.hold(_url(40), "depth", "depth 8", NOW)
    assert [row["count"] for row in again.held()] == [20, 11]


@pytest.mark.parametrize("fate", ["waiting", "done", "left", "held"])
def test_one_that_entered_after_all_is_the_frontiers_to_tell(state, fate) -> None:
    ledger, frontier = Ledger(state), Frontier(state, 10)
    for number in range(2):
        ledger.hold(_url(number), "depth", "depth 8", NOW)
    frontier.add(NewUrl(_url(0), HOME))
    if fate != "waiting":
        (lease,) = frontier.lease(HOME, 1, 0.0)
        {"done": frontier.finish, "left": frontier.leave, "held": frontier.hold}[fate](lease, "ok")
    (row,) = ledger.held()
    assert (row["count"], row["samples"]) == (1, [_url(1)])


def test_a_denied_one_stays_with_the_ledger(state) -> None:
    ledger, frontier = Ledger(state), Frontier(state, 10)
    frontier.add(NewUrl(_url(0), HOME))
    (lease,) = frontier.lease(HOME, 1, 0.0)
    ledger.hold(_url(0), "robots", "robots.txt", NOW)
    frontier.finish(lease, "robots_denied")
    assert [(row["reason"], row["count"]) for row in ledger.held()] == [("robots", 1)]


def test_a_page_that_was_not_rendered_is_told_until_it_is(state) -> None:
    ledger, frontier = Ledger(state), Frontier(state, 10)
    frontier.add(NewUrl(_url(0), HOME))
    (lease,) = frontier.lease(HOME, 1, 0.0)
    frontier.finish(lease, "ok")
    ledger.rendered(_url(0), "rendering failed: net::ERR at https://docs.example.org/00", NOW)
    assert [(row["reason"], row["detail"], row["samples"]) for row in ledger.held()] == [("browser", "rendering failed", [_url(0)])]
    ledger.rendered(_url(0), None, NOW)
    assert ledger.held() == []
