"""A small, well-behaved site: everything reachable is archived once, each URL with the way it was found."""

from __future__ import annotations

import gzip

import polars as pl

from trawl_core.warc.payload import decode_content
from trawl_core.warc.reader import payload_of_capture
from trawl_core.warc.verify import verify


def _small_site(serve):
    site = serve()
    site.routes = {
        "/robots.txt": {"body": b"User-agent: *\nDisallow: /private/\nSitemap: /maps.xml\n", "headers": {"Content-Type": "text/plain"}},
        "/": site.page("/a", "b?x=1&y=2#frag", "../c/", "http://example.org/elsewhere", "mailto:someone@example.org", "/private/x"),
        "/a": site.page("/", "/deep/1"),
        "/b?x=1&y=2": b"<p>query",
        "/c/": {"body": gzip.compress(b"<p>zipped <a href='d'>d</a>"), "headers": {"Content-Encoding": "gzip"}},
        "/c/d": b"<meta http-equiv=refresh content='0; url=/refreshed'>",
        "/refreshed": b"<p>refreshed",
        "/deep/1": site.page("/deep/2"),
        "/deep/2": b"<p>the end",
        "/maps.xml": {
            "body": gzip.compress(
                b"<sitemapindex><sitemap><loc>/map1.xml</loc></sitemap><sitemap><loc>/maps.xml</loc></sitemap></sitemapindex>"
            ),
            "headers": {"Content-Type": "application/xml"},
        },
        "/map1.xml": b"<urlset><url><loc> /only-in-map </loc><lastmod>bad</lastmod></url></urlset>",
        "/only-in-map": b"<p>mapped",
        "/feed": {
            "body": b"<rss version='2.0'><channel><title>t</title><item><title>i</title><link>/item</link></item></channel></rss>",
            "headers": {"Content-Type": "application/rss+xml"},
        },
        "/item": b"<p>an item",
    }
    return site


def test_everything_reachable_is_archived_once(serve, run_crawl) -> None:
    site = _small_site(serve)
    run = run_crawl(site, settings={"feeds": [f"{site.root}/feed"]})
    assert run.outcome(site.host).error is None
    pages = run.captures(site.host)
    good = pages.filter(pl.col("outcome") == "ok")
    expected = {"/", "/a", "/b?x=1&y=2", "/c/", "/c/d", "/refreshed", "/deep/1", "/deep/2", "/only-in-map", "/item"}
    assert {url.removeprefix(site.root) for url in good["url"]} == expected
    assert good["url"].is_unique().all()
    assert sorted(site.paths()) == sorted([*expected, "/robots.txt", "/sitemap.xml", "/maps.xml", "/map1.xml", "/feed"])
    depths = {row["url"].removeprefix(site.root): row["depth"] for row in good.iter_rows(named=True)}
    assert (depths["/"], depths["/a"], depths["/deep/1"], depths["/deep/2"]) == (0, 1, 2, 3)
    assert depths["/refreshed"] == depths["/c/d"] + 1
    found_by = dict(zip(pages["capture_id"], pages["url"], strict=True))
    via = {row["url"].removeprefix(site.root): found_by.get(row["via_id"]) for row in good.iter_rows(named=True)}
    assert via["/deep/1"] == f"{site.root}/a"
    assert good.filter(pl.col("is_seed"))["url"].to_list() == [f"{site.root}/"]


def test_no_request_precedes_robots_and_what_it_denies_is_a_row(serve, run_crawl) -> None:
    site = _small_site(serve)
    run = run_crawl(site)
    assert site.paths()[0] == "/robots.txt"
    assert "/private/x" not in site.paths()
    denied = run.captures(site.host).filter(pl.col("outcome") == "robots_denied").row(0, named=True)
    robots = run.captures(site.host, "robots").row(0, named=True)
    assert denied["url"] == f"{site.root}/private/x"
    assert denied["warc_filename"] is None
    assert denied["robots_digest"] == robots["content_digest"]


def test_what_was_held_back_is_counted_with_samples(serve, run_crawl) -> None:
    site = _small_site(serve)
    log = run_crawl(site).table("frontier_log", site.host)
    by_reason = {row["reason"]: row for row in log.iter_rows(named=True)}
    assert by_reason["scope"]["samples"] == ["http://example.org/elsewhere"]
    assert by_reason["robots"]["samples"] == [f"{site.root}/private/x"]
    assert by_reason["scope"]["count"] == 1


def test_every_row_leads_to_its_bytes(serve, run_crawl) -> None:
    site = _small_site(serve)
    run = run_crawl(site)
    assert verify(run.lake) == []
    rows = {row["url"]: row for row in run.captures(site.host).iter_rows(named=True)}
    record = payload_of_capture(run.lake, rows[f"{site.root}/c/"])
    assert decode_content(record.payload, "gzip", 1000) == (b"<p>zipped <a href='d'>d</a>", None)


def test_facts_tell_what_happened(serve, run_crawl) -> None:
    site = _small_site(serve)
    outcome = run_crawl(site).outcome(site.host)
    assert [committed.name.split("/")[0] for committed in outcome.result.committed] == ["captures", "frontier_log"]
    facts = outcome.result.facts
    assert (facts["fetched"], facts["not_modified"], facts["errors"]) == (9, 0, 0)
    assert facts["wire_bytes"] > 0


def test_several_sites_in_one_run(serve, run_crawl) -> None:
    sites = [_small_site(serve) for _ in range(4)]
    run = run_crawl(*sites, threads=3)
    digests = [set(run.captures(site.host).filter(pl.col("outcome") == "ok")["content_digest"]) for site in sites]
    assert len(digests[0]) > 5
    assert all(found == digests[0] for found in digests)
    assert verify(run.lake) == []


def test_the_same_body_is_stored_once(serve, run_crawl) -> None:
    site = serve()
    site.routes = {"/": site.page("/one", "/two"), "/one": b"<p>the very same" * 50, "/two": b"<p>the very same" * 50}
    pages = run_crawl(site).captures(site.host)
    same = pages.filter(pl.col("url").str.contains("one|two")).sort("fetch_time")
    assert same["warc_type"].to_list() == ["response", "revisit"]
    assert same["revisit_profile"].to_list() == [None, "identical-payload-digest"]
    assert same["refers_to_id"][1] == same["capture_id"][0]
