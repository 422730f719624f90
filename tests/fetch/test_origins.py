"""Whose turn it is, over several sites of one run."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

import pytest

from trawl_core.clock import SystemClock
from trawl_core.fetch.address_slots import AddressSlots
from trawl_core.fetch.origins import Origin, RobotsVisit, Turns
from trawl_core.sites import Site

KEY = "http://cdn.example.test:80"


def _site(name: str, **settings) -> Site:
    return Site(domain=name, seeds=(f"http://{name}/",), **settings)


@dataclass(eq=False)
class _Night:
    site: Site
    in_flight: int = 0
    is_closing: bool = False


def _origin(turns: Turns, site: Site, key: str = KEY) -> Origin:
    origin = Origin(key, _Night(site), turns.pace(key, site), RobotsVisit(f"{key}/robots.txt"))
    turns.enter(origin)
    return origin


def _ask(turns: Turns, now: float) -> Origin | None:
    origin = turns.take(now)
    if origin is not None:
        origin.pace.started(now)
        turns.enter(origin)
    return origin


def _answer(turns: Turns, origin: Origin, now: float, **arguments) -> None:
    origin.pace.finished(now, 200, "ok", **arguments)
    turns.wake(origin)


@pytest.fixture
def turns(tmp_path):
    with closing(AddressSlots(tmp_path, 2, SystemClock())) as addresses:
        yield Turns(16, addresses)


def test_sites_that_share_an_origin_share_its_spacing(turns) -> None:
    first, second = _origin(turns, _site("a.test", delay_s=1)), _origin(turns, _site("b.test", delay_s=2))
    assert _ask(turns, 0.0) is first
    assert _ask(turns, 0.5) is None
    _answer(turns, first, 0.6)
    assert _ask(turns, 1.5) is None
    assert _ask(turns, 2.0) is second
    _answer(turns, second, 2.1)
    assert _ask(turns, 3.9) is None
    assert _ask(turns, 4.0) is first


def test_a_site_waits_while_another_has_the_only_slot(turns) -> None:
    first, second = _origin(turns, _site("a.test", concurrency=4)), _origin(turns, _site("b.test", concurrency=1))
    assert _ask(turns, 0.0) is first
    assert _ask(turns, 100.0) is None
    _answer(turns, first, 101.0)
    taken = [_ask(turns, 101.0), _ask(turns, 101.0)]
    assert taken in ([first, None], [second, None])


def test_other_origins_go_on(turns) -> None:
    first, other = _origin(turns, _site("a.test")), _origin(turns, _site("a.test"), "http://other.example.test:80")
    assert _ask(turns, 0.0) is first
    assert _ask(turns, 0.0) is other


def test_an_origin_that_is_shut_is_given_up_by_every_site_at_once(turns) -> None:
    first, second = _origin(turns, _site("a.test")), _origin(turns, _site("b.test"))
    assert _ask(turns, 0.0) is first
    first.pace.shut_because = "asked to be left alone"
    _answer(turns, first, 0.5, pause_s=3600.0)
    taken = {turns.take(1.0), turns.take(1.0)}
    assert taken == {first, second}
    late = _origin(turns, _site("c.test"))
    assert turns.take(1.0) is late
