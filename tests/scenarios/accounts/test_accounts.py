"""Each URL that a site names is fetched, or counted in frontier_log under exactly one reason."""

from __future__ import annotations

import socket
import threading

import polars as pl
import pytest

from trawl_core.lake.schemas import LOG_REASONS

NOT_ASKED = ("robots_denied", "robots_unavailable", "out_of_scope", "blocked_address")
# Asked for, and to be asked again: they are counted with what is left, not with what was fetched.
ASKED_AND_LEFT = ("attempts", "budget")
PAGES = [f"/p{n:02}" for n in range(12)]
MONTHS = [f"/calendar/2026/{month:02}" for month in range(1, 13)]
SETTINGS = {"traps": {"sample": 4, "calendar_sample": 3}, "follow_nofollow": False}


class _Names:
    """inside.test lies in a network that no crawl may reach; everything else is an address."""

    def resolve(self, host: str, port: int) -> list[tuple[int, str]]:
        return [(int(socket.AF_INET), "10.1.2.3" if host == "inside.test" else host)]


@pytest.fixture
def site(serve):
    """Names one URL of each kind that is held back, and pages; `site.named` is all of them."""
    site = serve({"/robots.txt": b"User-agent: *\nDisallow: /private\n"})
    lost = ["/lost/", *(f"/lost/{n}/" for n in range(8))]
    others = ["https://elsewhere.example.org/", f"http://inside.test:{site.port}/", "/private", "/d1", "/js"]
    site.routes["/"] = site.page(*others, *PAGES, *MONTHS, "/lost/") + b'<a rel=nofollow href="/unfollowed">x</a>'
    site.routes.update({path: b"<p>the page %s" % path.encode() for path in [*PAGES, *MONTHS]})
    site.routes.update({f"/d{n}": site.page(f"/d{n + 1}") for n in range(1, 9)})
    site.routes["/js"] = b'<script>window.location = "/moved";</script>'
    onward = "".join(f'<a href="/lost/{n}/">on</a>' for n in range(8)).encode()
    site.fallback = lambda asked: b"<h1>Sorry</h1>" + onward if asked.path.startswith("/lost/") else {"status": 404}
    paths = ["/", *others, *PAGES, *MONTHS, *lost, "/d2", "/d3", "/unfollowed", "/moved", "/sitemap.xml"]
    site.named = {path if "://" in path else site.root + path for path in paths}
    return site


def _crawl(run_crawl, site, night: int = 0, **changes):
    settings = {**SETTINGS, **changes.pop("settings", {})}
    settings["budget"] = {"depth": 2, **settings.get("budget", {})}
    entry = {"domain": site.host, "seeds": [f"{site.root}/"], "origins": [f"http://inside.test:{site.port}"]}
    return run_crawl(entry, settings=settings, resolver=_Names(), night=night, **changes)


def _account(run, site) -> dict[str, int]:
    """How many URLs were not fetched, by reason; every URL that the site names is among them or was fetched, and none is twice."""
    log = run.table("frontier_log", site.host).to_dicts()
    assert len({(row["reason"], row["detail"]) for row in log}) == len(log)
    assert {row["reason"] for row in log} <= set(LOG_REASONS)
    assert all(len(row["samples"]) == min(10, row["count"]) for row in log)
    samples = [url for row in log if row["reason"] != "browser" for url in row["samples"]]
    assert len(samples) == len(set(samples))
    captures = run.table("captures", site.host)
    asked = set(captures.filter((pl.col("kind") != "robots") & pl.col("outcome").is_in(NOT_ASKED).not_())["url"])
    left = {url for row in log if row["reason"] in ASKED_AND_LEFT for url in row["samples"]}
    fetched = asked - left
    assert fetched.isdisjoint(samples)
    counts = {reason: sum(row["count"] for row in log if row["reason"] == reason) for reason in {row["reason"] for row in log}}
    named = site.named
    assert set(samples) | asked <= named
    assert len(fetched) + sum(count for reason, count in counts.items() if reason != "browser") == len(named)
    return counts


def test_each_kind_of_hold_back(site, run_crawl) -> None:
    counts = _account(_crawl(run_crawl, site), site)
    # The maze's four pages are its sample.
    assert counts == {"depth": 1, "javascript_redirect": 1, "network": 1, "nofollow": 1, "robots": 1, "scope": 1, "trap": 9 + 5}


def test_the_same_after_a_call_that_goes_on(site, run_crawl) -> None:
    _crawl(run_crawl, site, settings={"budget": {"pages": 9}})
    counts = _account(_crawl(run_crawl, site), site)
    assert (counts["trap"], "budget" in counts) == (14, False)


def test_what_is_not_due(site, run_crawl, remember) -> None:
    _crawl(run_crawl, site)
    remember(site, night=1, due=["/"])
    site.routes["/"] = site.page(*PAGES, "/new", "/private")
    site.routes["/new"] = b"<p>new"
    # Of the equal pages of the maze the history of this test has the first.
    fetched = [*PAGES, *MONTHS[:3], "/d1", "/d2", "/js", "/lost/"]
    site.named = {site.root + path for path in ["/", "/new", "/private", "/sitemap.xml", *fetched]}
    counts = _account(_crawl(run_crawl, site, night=1), site)
    assert counts == {"not_due": len(fetched), "robots": 1, "trap": 0}


@pytest.mark.parametrize("pages", [1, 2, 7, 20])
def test_a_budget(site, run_crawl, pages) -> None:
    run = _crawl(run_crawl, site, settings={"budget": {"pages": pages}})
    site.named = _seen(run, site)
    assert _account(run, site)["budget"] >= 1


def test_a_full_frontier(site, run_crawl) -> None:
    run = _crawl(run_crawl, site, settings={"budget": {"frontier": 8}})
    site.named = _seen(run, site)
    assert _account(run, site)["evicted"] >= 1


def test_a_stop(site, run_crawl) -> None:
    stop = threading.Event()
    site.on_request = lambda number: stop.set() if number == 6 else None
    run = _crawl(run_crawl, site, stop=stop)
    site.named = _seen(run, site)
    assert _account(run, site)["budget"] >= 1


def test_a_server_that_wants_to_be_left_alone(site, run_crawl) -> None:
    site.routes[PAGES[3]] = {"status": 429, "headers": {"Retry-After": "9999"}}
    run = _crawl(run_crawl, site)
    site.named = _seen(run, site)
    counts = _account(run, site)
    assert (counts["attempts"], counts["put_off"] >= 1) == (1, True)


def test_an_unreachable_robots(site, run_crawl) -> None:
    site.routes["/robots.txt"] = {"status": 503}
    run = _crawl(run_crawl, site, settings={"attempts": 1})
    site.named = {f"{site.root}/"}
    assert _account(run, site) == {"robots": 1}


def _seen(run, site) -> set[str]:
    """What of the named URLs the crawl can know: those on the pages that it fetched."""
    pages = {url.removeprefix(site.root) for url in run.captures(site.host).filter(pl.col("fetch_status") == 200)["url"]}
    lost = {url for url in site.named if "/lost/" in url}
    known = {f"{site.root}/", f"{site.root}/sitemap.xml"}
    if "/" in pages:
        hidden = {f"{site.root}/d2", f"{site.root}/d3", f"{site.root}/moved"}
        known |= site.named - hidden - lost | {f"{site.root}/lost/"}
    for page, target in (("/d1", "/d2"), ("/d2", "/d3"), ("/js", "/moved")):
        if page in pages:
            known.add(site.root + target)
    return known | lost if any(page.startswith("/lost/") for page in pages) else known
