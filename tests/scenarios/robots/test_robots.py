"""robots.txt that can't be had, leads elsewhere or comes late."""

from __future__ import annotations

import gzip
import sqlite3
import time
from itertools import pairwise

import polars as pl
import pytest


def test_an_unreachable_robots_puts_every_url_off(serve, run_crawl) -> None:
    site = serve()
    site.routes = {"/robots.txt": {"status": 503}, "/": site.page("/a")}
    run = run_crawl(site, settings={"attempts": 2})
    assert site.paths() == ["/robots.txt", "/robots.txt"]
    page = run.captures(site.host).row(0, named=True)
    assert (page["url"], page["outcome"], page["warc_filename"]) == (f"{site.root}/", "robots_unavailable", None)
    assert run.captures(site.host, "robots")["fetch_status"].to_list() == [503, 503]
    assert run.table("frontier_log", site.host)["reason"].to_list() == ["robots"]
    assert "answered 503" in str(run.outcome(site.host).error)


def test_the_urls_put_off_are_fetched_by_a_later_call(serve, run_crawl) -> None:
    site = serve()
    site.routes = {"/robots.txt": {"status": 503}, "/": b"<p>home"}
    run_crawl(site, settings={"attempts": 1})
    site.routes["/robots.txt"] = b"User-agent: *\nDisallow:\n"
    run = run_crawl(site, settings={"attempts": 1})
    assert run.outcome(site.host).error is None
    assert run.captures(site.host)["outcome"].to_list() == ["robots_unavailable", "ok"]
    assert run.table("frontier_log", site.host).height == 0


@pytest.mark.parametrize(
    "answer", [{"status": 500}, {"status": 429}, {"close": True}, {"headers": {"Content-Length": "9999"}, "body": b"User"}]
)
def test_no_sound_answer_is_no_permission(serve, run_crawl, answer) -> None:
    site = serve({"/robots.txt": {**answer, "headers": {"Connection": "close", **answer.get("headers", {})}}, "/": b"<p>home"})
    run = run_crawl(site, settings={"attempts": 2})
    assert set(site.paths()) == {"/robots.txt"}
    assert run.captures(site.host)["outcome"].to_list() == ["robots_unavailable"]
    (row,) = run.table("frontier_log", site.host).to_dicts()
    assert (row["reason"], row["samples"]) == ("robots", [f"{site.root}/"])


def test_pages_wait_however_long_the_robots_take(serve, run_crawl) -> None:
    site = serve()
    seeds = [f"/p{n}" for n in range(20)]
    asked_meanwhile = []

    def late(asked):
        time.sleep(0.3)
        asked_meanwhile.append(len(site.asked))
        return b"User-agent: *\nDisallow: /p1\n"

    site.routes = {"/robots.txt": late, **{path: b"<p>%s" % path.encode() for path in seeds}}
    entry = {"domain": site.host, "seeds": [site.root + path for path in seeds]}
    run = run_crawl(entry, settings={"concurrency": 8, "host_concurrency": 8, "sitemaps": "none"})
    assert asked_meanwhile == [1]
    assert run.captures(site.host).filter(pl.col("outcome") == "ok").height == 9


def test_a_robots_that_comes_back_is_obeyed(serve, run_crawl) -> None:
    site = serve()
    tries = iter([{"status": 503}, {"close": True}, b"User-agent: *\nDisallow: /p\n"])
    site.routes = {"/robots.txt": lambda asked: next(tries), "/": site.page("/p", "/q"), "/q": b"<p>q"}
    run = run_crawl(site, settings={"attempts": 4})
    outcomes = {row["url"].removeprefix(site.root): row["outcome"] for row in run.captures(site.host).iter_rows(named=True)}
    assert outcomes == {"/": "ok", "/p": "robots_denied", "/q": "ok"}


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_no_robots_allows_everything(serve, run_crawl, status) -> None:
    site = serve()
    site.routes = {"/robots.txt": {"status": status, "body": b"User-agent: *\nDisallow: /\n"}, "/": b"<p>home"}
    assert run_crawl(site).captures(site.host)["outcome"].to_list() == ["ok"]


def test_redirected_rules_count_for_the_origin_that_was_asked(serve, run_crawl) -> None:
    other = serve({"/rules/robots.txt": b"User-agent: *\nDisallow: /no\n", "/robots.txt": b"User-agent: *\nDisallow: /\n"})
    site = serve()
    site.routes = {"/robots.txt": {"status": 301, "headers": {"Location": f"{other.root}/rules/robots.txt"}}, "/": site.page("/no", "/yes")}
    site.routes["/yes"] = b"<p>yes"
    # Both ports are allowed for both sites; the other site keeps its own, stricter rules.
    run = run_crawl(site, other)
    robots = run.captures(site.host, "robots")
    assert robots["redirect_hop"].to_list() == [0, 1]
    assert robots["redirect_from_id"][1] == robots["capture_id"][0]
    outcomes = {row["url"].removeprefix(site.root): row["outcome"] for row in run.captures(site.host).iter_rows(named=True)}
    assert outcomes == {"/": "ok", "/no": "robots_denied", "/yes": "ok"}
    assert run.captures(other.host)["outcome"].to_list() == ["robots_denied"]


def test_robots_redirects_without_end_allow(serve, run_crawl) -> None:
    site = serve()
    site.routes["/"] = b"<p>home"
    site.fallback = lambda asked: {"status": 302, "headers": {"Location": asked.path + "x"}}
    run = run_crawl(site, settings={"sitemaps": "none"})
    assert run.captures(site.host, "robots").height == 6
    assert run.captures(site.host)["outcome"].to_list() == ["ok"]


def test_robots_that_lead_inside_are_unavailable_and_the_urls_wait(serve, run_crawl) -> None:
    site = serve()
    inside = {"status": 301, "headers": {"Location": "http://169.254.169.254/robots.txt"}}
    site.routes = {"/robots.txt": inside, "/": b"<p>home"}
    run = run_crawl(site)
    assert run.captures(site.host, "robots")["outcome"].to_list() == ["ok", "blocked_address"]
    assert run.captures(site.host)["outcome"].to_list() == ["robots_unavailable"]
    site.routes["/robots.txt"] = b""
    assert run_crawl(site).captures(site.host)["outcome"].to_list() == ["robots_unavailable", "ok"]


def test_only_the_part_of_a_huge_robots_that_counts_is_kept(serve, run_crawl, tmp_path) -> None:
    site = serve()
    rules = b"User-agent: *\nDisallow: /p\n" + b"# much ado\n" * 200_000 + b"Disallow: /\n"
    coded = {"body": gzip.compress(rules), "headers": {"Content-Encoding": "gzip"}}
    site.routes = {"/robots.txt": coded, "/": site.page("/p")}
    run = run_crawl(site)
    assert run.captures(site.host)["outcome"].to_list() == ["ok", "robots_denied"]
    state = sqlite3.connect(next((tmp_path / "work").rglob("*.sqlite")))
    assert state.execute("SELECT length(body) FROM robots").fetchone()[0] < 600 * 1024
    state.close()


def test_robots_rules_outlive_a_restart(serve, run_crawl) -> None:
    site = serve()
    site.routes = {"/robots.txt": b"User-agent: *\nDisallow: /p\n", "/": site.page("/p")}
    run_crawl(site)
    run_crawl(site, refetch=True)
    assert site.paths().count("/robots.txt") == 1
    assert site.paths().count("/") == 2
    assert "/p" not in site.paths()


def test_robots_are_archived(serve, run_crawl) -> None:
    site = serve({"/robots.txt": b"User-agent: *\nDisallow:\n", "/": b"<p>home"})
    robots = run_crawl(site).captures(site.host, "robots").row(0, named=True)
    assert robots["warc_filename"] is not None
    assert robots["outcome"] == "ok"


def _same_rules(serve, number: int):
    """A host, and others that redirect their robots.txt to its own."""
    host = serve({"/robots.txt": b"User-agent: *\nDisallow: /no\n"})
    return host, [serve({"/robots.txt": _to(host, "/robots.txt"), "/": b"<p>home"}) for _ in range(number)]


@pytest.mark.parametrize("is_crawled", [True, False])
def test_a_redirected_robots_is_asked_for_at_the_pace_of_its_own_origin(serve, run_crawl, quick_clock, is_crawled) -> None:
    host, others = _same_rules(serve, 4)
    host.routes["/"] = host.page("/a", "/b")
    host.routes.update({"/a": b"<p>a", "/b": b"<p>b"})
    # One domain with four origins, and the host by itself: both are the same run's, so one pace holds for both.
    entry = {"domain": others[0].host, "seeds": [f"{other.root}/" for other in others], "origins": [other.root for other in others]}
    sites = [entry, host] if is_crawled else [entry]
    run = run_crawl(*sites, settings={"delay_s": 3, "sitemaps": "none", "network": _loopback(host, *others)}, clock=quick_clock)
    assert run.captures(others[0].host)["outcome"].to_list() == ["ok"] * 4
    captures = pl.concat([run.table("captures", partition.domain) for partition in run.outcomes])
    sent = captures.filter(pl.col("url").str.starts_with(f"{host.root}/"))["fetch_time"].sort().to_list()
    assert len(sent) == len(host.asked) == (8 if is_crawled else 4)
    assert min((later - earlier).total_seconds() for earlier, later in pairwise(sent)) > 3 - 0.001


def test_a_redirected_robots_counts_against_the_budget_of_the_address_that_it_leads_to(serve, run_crawl) -> None:
    host, others = _same_rules(serve, 6)
    at_once, most = [], []

    def robots(asked):
        at_once.append(asked)
        most.append(len(at_once))
        time.sleep(0.05)
        at_once.pop()
        return b"User-agent: *\nDisallow: /no\n"

    host.routes["/robots.txt"] = robots
    entry = {"domain": others[0].host, "seeds": [f"{other.root}/" for other in others], "origins": [other.root for other in others]}
    run = run_crawl(entry, settings={"host_concurrency": 1, "concurrency": 8, "sitemaps": "none", "network": _loopback(host, *others)})
    assert run.captures(others[0].host)["outcome"].to_list() == ["ok"] * 6
    assert (max(most), len(most)) == (1, 6)


def test_where_a_redirected_robots_lies_may_ask_to_be_left_alone(serve, run_crawl) -> None:
    host, others = _same_rules(serve, 2)
    host.routes["/robots.txt"] = {"status": 429, "headers": {"Retry-After": "9999"}}
    entry = {"domain": others[0].host, "seeds": [f"{other.root}/" for other in others], "origins": [other.root for other in others]}
    settings = {"sitemaps": "none", "network": _loopback(host, *others)}
    run = run_crawl(entry, settings=settings)
    assert run.captures(others[0].host)["outcome"].to_list() == ["robots_unavailable"] * 2
    # The other one is not asked for it after that.
    assert len(host.asked) == 1
    host.routes["/robots.txt"] = b"User-agent: *\nDisallow:\n"
    assert sorted(run_crawl(entry, settings=settings).captures(others[0].host)["outcome"]) == ["ok"] * 2 + ["robots_unavailable"] * 2


def test_a_redirect_chain_over_three_origins_and_back(serve, run_crawl) -> None:
    first, second, third = serve(), serve(), serve()
    first.routes = {"/robots.txt": _to(second, "/robots.txt"), "/": first.page("/no", "/yes"), "/yes": b"<p>yes"}
    second.routes["/robots.txt"] = _to(third, "/deep/robots.txt")
    third.routes["/deep/robots.txt"] = _to(first, "/rules.txt")
    first.routes["/rules.txt"] = b"User-agent: *\nDisallow: /no\n"
    run = run_crawl(first, settings={"sitemaps": "none", "network": _loopback(first, second, third)})
    assert run.captures(first.host, "robots")["redirect_hop"].to_list() == [0, 1, 2, 3]
    assert run.captures(first.host)["outcome"].to_list() == ["ok", "robots_denied", "ok"]
    assert [site.paths() for site in (second, third)] == [["/robots.txt"], ["/deep/robots.txt"]]


def _to(site, path: str) -> dict:
    return {"status": 301, "headers": {"Location": site.root + path}}


def _loopback(*sites) -> dict:
    return {"allow_networks": ["127.0.0.0/8"], "allow_ports": [site.port for site in sites]}
