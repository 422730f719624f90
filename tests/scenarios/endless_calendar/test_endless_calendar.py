"""A calendar in which every month links to the next."""

from __future__ import annotations

import polars as pl


def _next_month(asked) -> dict | bytes:
    if not asked.path.startswith("/calendar/"):
        return {"status": 404}
    year, month = (int(part) for part in asked.path.split("/")[2:4])
    year, month = (year, month + 1) if month < 12 else (year + 1, 1)
    return f'<p>month <a href="/calendar/{year}/{month:02}">next</a>'.encode()


def test_it_stops_after_a_sample_and_is_told(serve, run_crawl) -> None:
    site = serve()
    site.routes["/"] = site.page("/calendar/2026/01", "/post/1")
    site.routes["/post/1"] = b"<p>a post"
    site.fallback = _next_month
    run = run_crawl(site, settings={"budget": {"depth": 10_000, "pages": 1_000}})
    months = [path for path in site.paths() if path.startswith("/calendar/")]
    assert 12 <= len(months) <= 100
    log = run.table("frontier_log", site.host).filter(pl.col("reason") == "trap").row(0, named=True)
    assert "calendar" in log["detail"]
    assert log["samples"][0].startswith(f"{site.root}/calendar/")
    assert log["count"] >= 1
    assert "/post/1" in site.paths()


def test_the_next_call_does_not_open_it_again(serve, run_crawl) -> None:
    site = serve()
    site.routes["/"] = site.page("/calendar/2026/01")
    site.fallback = _next_month
    settings = {"budget": {"depth": 10_000, "pages": 1_000}}
    run_crawl(site, settings=settings)
    before = len(site.asked)
    run_crawl(site, settings=settings)
    assert len(site.asked) == before
