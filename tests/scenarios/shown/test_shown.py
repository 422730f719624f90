"""Pages with pictures and style sheets, crawled for their text alone and for a replay."""

from __future__ import annotations

import polars as pl

from trawl_core.warc.reader import payload_of_capture
from trawl_core.warc.verify import verify

PNG = {"body": b"\x89PNG\r\n\x1a\n" + bytes(50), "headers": {"Content-Type": "image/png"}}
CSS = {"body": b"p{color:red}", "headers": {"Content-Type": "text/css"}}
FETCH = {"media": "fetch", "sitemaps": "none"}


def _site(serve):
    site = serve()
    site.routes = {
        "/": b'<title>t</title><link rel=stylesheet href=/s.css><img src=/logo.png srcset="/logo2.png 2x"><a href=/a>a</a><a href=/b>b</a>',
        "/a": b'<p>a<img src=/logo.png><img src=/a.png><img src=/gone.png><img src="http://127.0.0.2:9/far.png">',
        "/b": b"<p>b<img src=/b.png><img src=/hidden/b.png>",
        "/s.css": CSS,
        "/robots.txt": b"User-agent: *\nDisallow: /hidden/\n",
        **{path: PNG for path in ("/logo.png", "/logo2.png", "/a.png", "/b.png")},
    }
    return site


def test_a_text_crawl_asks_for_no_picture(serve, run_crawl) -> None:
    site = _site(serve)
    run_crawl(site, settings={"sitemaps": "none"})
    assert sorted(site.paths()) == ["/", "/a", "/b", "/robots.txt"]


def test_what_a_page_shows_is_archived_after_it(serve, run_crawl) -> None:
    site = _site(serve)
    run = run_crawl(site, settings=FETCH | {"budget": {"depth": 1}})
    paths = site.paths()
    assert paths[1:5] == ["/", "/s.css", "/logo.png", "/logo2.png"]
    assert sorted(paths) == ["/", "/a", "/a.png", "/b", "/b.png", "/gone.png", "/logo.png", "/logo2.png", "/robots.txt", "/s.css"]
    media = {row["url"].removeprefix(site.root): row for row in run.captures(site.host, "media").iter_rows(named=True)}
    assert {path: row["outcome"] for path, row in media.items()} == {
        "/s.css": "ok",
        "/logo.png": "ok",
        "/logo2.png": "ok",
        "/a.png": "ok",
        "/b.png": "ok",
        "/gone.png": "http_error",
        "/hidden/b.png": "robots_denied",
    }
    pages = {row["capture_id"]: row["url"] for row in run.captures(site.host).iter_rows(named=True)}
    assert pages[media["/a.png"]["via_id"]] == f"{site.root}/a"
    assert payload_of_capture(run.lake, media["/s.css"]).payload == CSS["body"]
    assert run.outcome(site.host).result.facts["fetched"] == 3
    log = {row["reason"]: row["samples"] for row in run.table("frontier_log", site.host).iter_rows(named=True)}
    assert log["scope"] == ["http://127.0.0.2:9/far.png"]
    assert verify(run.lake) == []


def test_the_last_page_of_the_budget_has_its_pictures(serve, run_crawl) -> None:
    site = _site(serve)
    run = run_crawl(site, settings=FETCH | {"budget": {"pages": 2}, "concurrency": 4, "host_concurrency": 4})
    assert [url.removeprefix(site.root) for url in run.captures(site.host).sort("fetch_time")["url"]] == ["/", "/a"]
    assert "/a.png" in site.paths()
    assert "/b.png" not in site.paths()
    log = {row["reason"]: row for row in run.table("frontier_log", site.host).iter_rows(named=True)}
    assert (log["budget"]["detail"], log["budget"]["samples"]) == ("pages 2", [f"{site.root}/b"])


def test_pictures_that_have_to_be_asked_for_again_come_behind_the_budget_of_pages(serve, run_crawl, quick_clock) -> None:
    site = serve()
    answers = [{"body": b"", "status": 503}, PNG]
    site.routes = {
        "/robots.txt": f"Sitemap: {site.root}/map.xml".encode(),
        "/map.xml": {"body": b"", "status": 503},
        "/": site.page(*[f"/p{n}" for n in range(20)]) + b"<img src=/once-more.png>",
        "/once-more.png": lambda asked: answers.pop(0),
        **{f"/p{n}": b"<p>page" for n in range(20)},
    }
    run = run_crawl(site, settings={"media": "fetch", "budget": {"pages": 5}}, clock=quick_clock)
    assert run.captures(site.host).height == 5
    assert run.captures(site.host, "media").sort("fetch_time")["fetch_status"].to_list() == [503, 200]
    log = {row["reason"]: row["detail"] for row in run.table("frontier_log", site.host).iter_rows(named=True)}
    assert log["budget"] == "pages 5"


def test_the_budget_of_bytes_ends_pictures_too(serve, run_crawl) -> None:
    site = serve()
    site.routes["/"] = b"".join(b"<img src=/%d.png>" % n for n in range(30))
    site.fallback = {"body": bytes(2_000), "headers": {"Content-Type": "image/png"}}
    run = run_crawl(site, settings=FETCH | {"budget": {"bytes": 20_000}})
    assert 5 <= run.captures(site.host, "media").height <= 10
    assert run.table("frontier_log", site.host)["detail"].to_list() == ["bytes 20000"]


def test_another_night_asks_only_for_pictures_that_it_has_not(serve, run_crawl, remember) -> None:
    site = _site(serve)
    run_crawl(site, settings=FETCH)
    remember(site, night=1, due=["/", "/a"])
    site.routes["/a"] = b"<p>new<img src=/logo.png><img src=/a.png><img src=/new.png>"
    site.routes["/new.png"] = PNG
    site.asked.clear()
    run = run_crawl(site, night=1, settings=FETCH)
    assert sorted(site.paths()) == ["/", "/a", "/new.png", "/robots.txt"]
    assert run.captures(site.host, "media")["outcome"].to_list() == ["ok"]
    site.asked.clear()
    run_crawl(site, night=1, settings=FETCH, refetch=True)
    assert {"/logo.png", "/a.png", "/new.png"} <= set(site.paths())


def test_pictures_are_asked_for_again_once_they_are_old(serve, run_crawl, remember) -> None:
    site = _site(serve)
    run_crawl(site, settings=FETCH)
    remember(site, night=3, due=["/"])
    site.asked.clear()
    run_crawl(site, night=3, settings=FETCH | {"recrawl": {"max_age_days": 3}})
    assert "/logo.png" in site.paths()


def test_a_page_that_seemed_to_be_a_picture_is_fetched_as_a_page_once_a_link_leads_to_it(serve, run_crawl) -> None:
    site = serve()
    site.routes = {"/": b"<img src=/x><a href=/y>y</a>", "/y": b"<p>y<a href=/x>x</a>", "/x": site.page("/z"), "/z": b"<p>z"}
    run = run_crawl(site, settings=FETCH)
    assert sorted(url.removeprefix(site.root) for url in run.captures(site.host)["url"]) == ["/", "/x", "/y", "/z"]
    assert [url.removeprefix(site.root) for url in run.captures(site.host, "media")["url"]] == ["/x"]


def test_redirected_pictures_stay_pictures(serve, run_crawl) -> None:
    site = serve()
    site.routes = {"/": b"<img src=/old.png>", "/old.png": {"status": 302, "headers": {"Location": "/new.png"}}, "/new.png": PNG}
    run = run_crawl(site, settings=FETCH | {"include": ["/$"]})
    media = run.captures(site.host, "media").sort("fetch_time")
    assert [url.removeprefix(site.root) for url in media["url"]] == ["/old.png", "/new.png"]
    assert run.captures(site.host).filter(pl.col("outcome") != "ok").is_empty()


def test_a_later_call_that_skips_media_leaves_those_that_wait(serve, run_crawl) -> None:
    site = _site(serve)
    budget = {"budget": {"bytes": 300}}
    run_crawl(site, settings=FETCH | budget)
    assert "/a.png" not in site.paths()
    run = run_crawl(site, settings={"sitemaps": "none"})
    assert not {"/logo2.png", "/a.png", "/b.png"} & set(site.paths())
    assert set(run.table("frontier_log", site.host)["detail"]) >= {"media skip"}
