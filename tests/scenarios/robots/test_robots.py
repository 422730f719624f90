"""robots.txt that can't be had, leads elsewhere or comes late."""

from __future__ import annotations

import gzip
import sqlite3

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
