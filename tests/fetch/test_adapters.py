"""Kept connections: lent to one exchange at a time, bounded in number."""

from __future__ import annotations

import ssl

import pytest

from trawl_core.fetch.adapters import Adapters
from trawl_core.fetch.connection import WireAdapter
from trawl_core.fetch.guard import SystemResolver
from trawl_core.sites import NetworkAccess, Site


def _site(name: str, **settings) -> Site:
    return Site(domain=name, seeds=(f"http://{name}/",), **settings)


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[WireAdapter]:
    """The adapters closed so far."""
    closed: list[WireAdapter] = []

    def close(adapter: WireAdapter) -> None:
        closed.append(adapter)

    monkeypatch.setattr(WireAdapter, "close", close)
    return closed


def _adapters(most_idle: int) -> Adapters:
    return Adapters(SystemResolver(), ssl.create_default_context(), most_idle)


def test_one_that_waits_is_lent_again_to_its_site_only() -> None:
    adapters, site = _adapters(4), _site("a.test")
    first = adapters.take(site)
    assert adapters.take(site) is not first
    adapters.give_back(site, first)
    assert adapters.take(_site("b.test")) is not first
    assert adapters.take(_site("a.test", network=NetworkAccess(allow_ports=(8080,)))) is not first
    assert adapters.take(site) is first


def test_beyond_the_bound_the_site_asked_longest_ago_loses_one(closed) -> None:
    adapters, sites = _adapters(2), [_site(f"{name}.test") for name in "abc"]
    lent = [adapters.take(site) for site in sites]
    for site, adapter in zip(sites, lent, strict=True):
        adapters.give_back(site, adapter)
    assert closed == [lent[0]]
    adapters.give_back(sites[1], adapters.take(sites[1]))
    adapters.give_back(sites[0], adapters.take(sites[0]))
    assert closed == [lent[0], lent[2]]


def test_what_is_lent_at_the_end_closes_when_it_comes_back(closed) -> None:
    adapters, site = _adapters(2), _site("a.test")
    waiting, lent = adapters.take(site), adapters.take(site)
    adapters.give_back(site, waiting)
    adapters.close()
    assert closed == [waiting]
    adapters.give_back(site, lent)
    assert closed == [waiting, lent]
