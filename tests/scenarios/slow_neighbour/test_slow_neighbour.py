"""Several origins in one run: a slow one keeps nobody waiting, and one address has one budget."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from itertools import pairwise

import polars as pl
import pytest

from trawl_core.fetch import run


class Names:
    """A resolver with one address for every name."""

    def __init__(self, address: str) -> None:
        self.address = address

    def resolve(self, host: str, port: int) -> list[tuple[int, str]]:
        return [(int(socket.AF_INET), self.address)]


def _names(site, count: int) -> list[dict]:
    return [{"domain": f"n{n}.example.test", "seeds": [f"http://n{n}.example.test:{site.port}/"], "concurrency": 4} for n in range(count)]


def test_a_slow_origin_keeps_nobody_waiting(serve, run_crawl) -> None:
    slow, fast = serve(), [serve() for _ in range(7)]
    all_fetched, lock = threading.Event(), threading.Lock()
    unfinished, came_in_time = len(fast), []

    def on_request(number: int) -> None:
        nonlocal unfinished
        if number == 9:  # robots.txt, a sitemap, seven pages
            with lock:
                unfinished -= 1
            if not unfinished:
                all_fetched.set()

    for site in fast:
        site.routes = {"/": site.page(*[f"/p{n}" for n in range(6)]), **{f"/p{n}": b"<p>%d" % n for n in range(6)}}
        site.on_request = on_request

    def late(asked):
        came_in_time.append(all_fetched.wait(timeout=20))
        return b"<p>at last"

    # It does not answer before the others have all that they want: they share the one other thread.
    slow.routes["/"] = late
    run = run_crawl(slow, *fast, threads=2, settings={"concurrency": 4, "host_concurrency": 4})
    assert came_in_time == [True]
    assert run.captures(slow.host)["outcome"].to_list() == ["ok"]
    assert [run.captures(site.host).height for site in fast] == [7] * 7


def test_a_state_that_takes_long_to_open_keeps_nobody_waiting(serve, run_crawl, monkeypatch) -> None:
    slow, fast = serve({"/": b"<p>a page"}), serve()
    fast.routes = {"/": fast.page("/a", "/b"), "/a": b"<p>a", "/b": b"<p>b"}
    all_fetched, came_in_time, open_session = threading.Event(), [], run.open_session

    def on_request(number: int) -> None:
        if number == 5:  # robots.txt, a sitemap, three pages
            all_fetched.set()

    def open_late(job, **arguments):
        if job.site.domain == slow.host:
            came_in_time.append(all_fetched.wait(timeout=20))
        return open_session(job, **arguments)

    fast.on_request = on_request
    monkeypatch.setattr(run, "open_session", open_late)
    both = run_crawl(fast, slow)
    assert came_in_time == [True]
    assert (both.captures(fast.host).height, both.captures(slow.host).height) == (3, 1)


def test_no_origin_is_asked_again_before_its_delay(serve, run_crawl, quick_clock) -> None:
    delays_s = {}
    seen = {}
    entries = []
    for number in range(8):
        site = serve()
        site.routes = {"/": site.page("/a", "/b", "/c"), "/a": b"<p>a", "/b": b"<p>b", "/c": b"<p>c"}
        stamps = seen[site.host] = []
        site.on_request = lambda number, stamps=stamps: stamps.append(quick_clock.monotonic())
        delays_s[site.host] = 10.0 + 2 * number
        # What it may have under way at once makes no difference to its spacing.
        entries.append({"domain": site.host, "seeds": [f"{site.root}/"], "delay_s": delays_s[site.host], "concurrency": 1 + number % 3})
    run = run_crawl(*entries, clock=quick_clock)
    for host, delay_s in delays_s.items():
        assert len(seen[host]) == 6
        # The server's clock is read a moment after the request went out; the rows hold the moment itself.
        assert min(_gaps(seen[host])) > 0.9 * delay_s
        sent = run.table("captures", host)["fetch_time"].sort()
        assert min(_gaps([moment.timestamp() for moment in sent])) > delay_s - 0.001


def _gaps(moments: list[float]) -> list[float]:
    return [later - earlier for earlier, later in pairwise(moments)]


@pytest.mark.parametrize("limit", [1, 2])
def test_names_of_one_address_share_its_budget(serve, run_crawl, limit) -> None:
    site = serve()
    lock, meeting = threading.Lock(), threading.Barrier(2)
    under_way, most, met = 0, 0, []

    def page(asked):
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        if limit == 2 and asked.path == "/":
            met.append(meeting.wait(timeout=10))
        with lock:
            under_way -= 1
        return site.page("/a", "/b")

    site.fallback = page
    run = run_crawl(*_names(site, 2), settings={"host_concurrency": limit}, resolver=Names(site.host))
    assert most == limit
    assert len(met) == (2 if limit == 2 else 0)
    for name in ("n0.example.test", "n1.example.test"):
        assert set(run.captures(name).filter(pl.col("outcome") == "ok")["url_path"]) == {"/", "/a", "/b"}


class OneDead(Names):
    """The first name has a dead address before the common one."""

    def resolve(self, host: str, port: int) -> list[tuple[int, str]]:
        dead = [(int(socket.AF_INET), "127.0.0.250")] if host.startswith("n0.") else []
        return [*dead, *super().resolve(host, port)]


def test_the_address_that_was_connected_to_has_the_budget(serve, run_crawl) -> None:
    site = serve()
    meeting = threading.Barrier(2)
    met = []

    def page(asked):
        # What robots.txt is asked for tells which address it is.
        if asked.path == "/":
            with suppress(threading.BrokenBarrierError):
                met.append(meeting.wait(timeout=0.3))
        return b"<p>a page"

    site.fallback = page
    run = run_crawl(*_names(site, 2), settings={"host_concurrency": 1, "sitemaps": "none"}, resolver=OneDead(site.host))
    assert [set(run.captures(f"n{n}.example.test")["ip_address"]) for n in (0, 1)] == [{site.host}] * 2
    assert met == []


def test_a_name_that_leads_into_a_private_network_is_refused(serve, run_crawl) -> None:
    site = serve({"/": b"<p>secret"})
    entry = {**_names(site, 1)[0], "delay_s": 1, "network": {"allow_networks": []}}
    run = run_crawl(entry, resolver=Names(site.host))
    assert run.captures("n0.example.test")["outcome"].to_list() == ["blocked_address"]
    assert site.asked == []
