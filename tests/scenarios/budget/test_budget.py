"""Stop rules: a site larger than its budgets."""

from __future__ import annotations

import threading

import pytest


def _large(serve, pages: int = 60):
    site = serve()
    site.routes = {"/": site.page(*[f"/p{n:03}" for n in range(pages)])}
    site.fallback = lambda asked: b"<p>page %s " % asked.path.encode() + b"x" * 2000 if asked.path.startswith("/p") else {"status": 404}
    return site


def _log(run, site) -> dict[str, dict]:
    return {row["reason"]: row for row in run.table("frontier_log", site.host).iter_rows(named=True)}


def test_pages(serve, run_crawl) -> None:
    site = _large(serve)
    run = run_crawl(site, settings={"budget": {"pages": 11}, "concurrency": 4, "host_concurrency": 4})
    assert run.captures(site.host).height == 11
    log = _log(run, site)
    assert (log["budget"]["detail"], log["budget"]["count"]) == ("pages 11", 50)
    assert len(log["budget"]["samples"]) == 10
    assert run.outcome(site.host).error is None


def test_bytes(serve, run_crawl) -> None:
    site = _large(serve)
    run = run_crawl(site, settings={"budget": {"bytes": 20_000}})
    assert 5 <= run.captures(site.host).height <= 12
    assert _log(run, site)["budget"]["detail"] == "bytes 20000"


def test_minutes_also_while_the_origin_has_to_be_waited_for(serve, run_crawl, quick_clock) -> None:
    site = _large(serve)
    site.routes["/robots.txt"] = b"User-agent: *\nCrawl-delay: 50\n"
    run = run_crawl(site, settings={"budget": {"minutes": 2}, "sitemaps": "none"}, clock=quick_clock)
    assert _log(run, site)["budget"]["detail"] == "minutes 2"
    assert [path for path in site.paths() if path != "/robots.txt"] == ["/", "/p000"]
    assert run.outcome(site.host).result.facts["seconds"] < 2 * 60 + 10


def test_depth(serve, run_crawl) -> None:
    site = serve()
    site.routes = {"/": site.page("/p1"), "/p1": site.page("/p2"), "/p2": site.page("/p3"), "/p3": b"<p>too deep"}
    run = run_crawl(site, settings={"budget": {"depth": 2}})
    assert "/p3" not in site.paths()
    assert _log(run, site)["depth"]["samples"] == [f"{site.root}/p3"]


def test_depth_counts_refreshes_too(serve, run_crawl) -> None:
    site = serve({"/robots.txt": b"", "/sitemap.xml": {"status": 404}})
    site.fallback = lambda asked: f"<meta http-equiv=refresh content='0; url=/n{len(site.asked)}'>".encode()
    run = run_crawl(site, settings={"budget": {"depth": 3, "pages": 50}})
    assert run.captures(site.host)["depth"].to_list() == [0, 1, 2, 3]
    assert _log(run, site)["depth"]["count"] == 1


def test_frontier_cap_evicts_the_least_and_tells(serve, run_crawl) -> None:
    site = _large(serve)
    settings = {"budget": {"frontier": 20}, "priorities": [{"pattern": "/p05", "weight": 5.0}]}
    run = run_crawl(site, settings=settings)
    fetched = set(site.paths())
    assert {f"/p05{n}" for n in range(10)} <= fetched
    evicted = _log(run, site)["evicted"]
    assert evicted["count"] + len([path for path in fetched if path.startswith("/p")]) == 60


def test_a_second_call_does_not_begin_the_budget_anew(serve, run_crawl) -> None:
    site = _large(serve)
    run_crawl(site, settings={"budget": {"pages": 11}})
    run = run_crawl(site, settings={"budget": {"pages": 20}})
    assert run.captures(site.host).height == 20


@pytest.mark.parametrize("after", [1, 10])
def test_a_stop_finishes_what_is_open_and_commits(serve, run_crawl, after) -> None:
    site = _large(serve)
    stop = threading.Event()
    site.on_request = lambda number: stop.set() if number == after else None
    run = run_crawl(site, stop=stop)
    assert run.outcome(site.host).result.facts["stopped"]
    seen = len(site.asked)
    assert seen < 20
    assert run.table("captures", site.host).height == seen
    rest = run_crawl(site)
    assert rest.captures(site.host)["url"].n_unique() == 61
    assert len(site.paths()) == len(set(site.paths()))
