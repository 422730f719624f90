"""A server that is busy: 429 and 503, with and without Retry-After."""

from __future__ import annotations

import polars as pl
import pytest


def _busy_once(retry_after: str | None, status: int = 503):
    first = iter([True])

    def answer(asked):
        if next(first, False):
            return {"status": status, "headers": {"Retry-After": retry_after} if retry_after else {}}
        return b"<p>well again"

    return answer


@pytest.mark.parametrize("retry_after", ["0", "0.1", "-1", "soon", "Wed, 21 Oct 2015 07:28:00 GMT", None])
def test_it_is_asked_again(serve, run_crawl, retry_after) -> None:
    site = serve()
    site.routes = {"/": site.page("/busy"), "/busy": _busy_once(retry_after)}
    busy = run_crawl(site).captures(site.host).filter(pl.col("url").str.ends_with("/busy"))
    assert busy["fetch_status"].to_list() == [503, 200]
    assert busy["attempt"].to_list() == [1, 2]
    assert busy["retry_after"].to_list() == [retry_after, None]


def test_a_long_pause_puts_the_rest_off_and_the_run_ends(serve, run_crawl) -> None:
    site = serve()
    site.routes = {"/": site.page("/busy", "/later"), "/busy": _busy_once("9999999999", 429), "/later": b"<p>later"}
    run = run_crawl(site)
    assert run.outcome(site.host).error is None
    assert "/later" not in site.paths()
    log = {row["reason"]: row["samples"] for row in run.table("frontier_log", site.host).to_dicts()}
    assert log == {"attempts": [f"{site.root}/busy"], "put_off": [f"{site.root}/later"]}
    again = run_crawl(site)
    good = again.captures(site.host).filter(pl.col("outcome") == "ok")
    assert {url.removeprefix(site.root) for url in good["url"]} == {"/", "/busy", "/later"}


@pytest.mark.parametrize("status", [429, 503])
def test_nothing_is_asked_of_the_origin_before_the_pause_is_over(serve, run_crawl, quick_clock, status) -> None:
    site = serve()
    busy = _busy_once("60", status)
    site.routes = {"/": site.page("/busy", "/a", "/b"), "/busy": busy, "/a": b"<p>a", "/b": b"<p>b"}
    run = run_crawl(site, settings={"concurrency": 2, "host_concurrency": 2, "sitemaps": "none"}, clock=quick_clock)
    captures = run.captures(site.host).sort("fetch_time")
    assert captures.filter(pl.col("outcome") == "ok").height == 4
    told = captures.filter(pl.col("fetch_status") == status)["fetch_time"][0]
    # One that was under way when the server told is no answer to it.
    later = [(moment - told).total_seconds() for moment in captures["fetch_time"] if moment > told]
    assert sorted(gap >= 60 for gap in later)[1:] == [True] * (len(later) - 1)
    assert later[-1] >= 60


def test_attempts_have_a_budget(serve, run_crawl) -> None:
    site = serve()
    site.routes = {"/": site.page("/broken"), "/broken": {"status": 500}}
    broken = run_crawl(site, settings={"attempts": 2}).captures(site.host).filter(pl.col("url").str.ends_with("/broken"))
    assert broken["outcome"].to_list() == ["http_error", "http_error"]


def test_a_cut_body_is_kept_and_asked_for_again(serve, run_crawl) -> None:
    site = serve()
    answers = iter([{"headers": {"Content-Length": "1000", "Connection": "close"}, "body": b"<p>half"}, b"<p>whole"])
    site.routes = {"/": site.page("/cut"), "/cut": lambda asked: next(answers)}
    cut = run_crawl(site).captures(site.host).filter(pl.col("url").str.ends_with("/cut"))
    assert cut["outcome"].to_list() == ["truncated", "ok"]
    assert cut["content_truncated"].to_list()[1] is None
    assert cut["warc_filename"].is_not_null().all()


def test_others_go_on_meanwhile(serve, run_crawl) -> None:
    slow, fast = serve(), serve()
    fast_done_when_slow_came_back = []

    def well(asked):
        fast_done_when_slow_came_back.append(len(fast.asked))
        return b"<p>well"

    busy = _busy_once("1")
    slow.routes = {"/": lambda asked: busy(asked) if slow.paths().count("/") == 1 else well(asked)}
    fast.routes = {"/": fast.page(*[f"/p{n}" for n in range(30)]), **{f"/p{n}": b"<p>%d" % n for n in range(30)}}
    run_crawl(slow, fast)
    assert fast_done_when_slow_came_back[0] >= 31
