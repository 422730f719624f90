"""Whatever was asked for and answered lies in the archive: pages, hops, errors, robots.txt, sitemaps and feeds, each telling how it was found."""

from __future__ import annotations

import pytest

from trawl_core.warc.format import capture_id_of
from trawl_core.warc.http_message import parse_headers
from trawl_core.warc.reader import iter_records

AGENT = "TrawlBot/1.0 (+https://example.org/bot)"
FEED = b'<?xml version="1.0"?><rss version="2.0"><channel><title>n</title><item><link>%s/from-feed</link></item></channel></rss>'
SITEMAP = b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>%s/from-map</loc></url></urlset>'


@pytest.fixture
def archived(serve, run_crawl):
    """(site, the run, records by path and type)."""
    site = serve()
    root = site.root.encode()
    site.routes = {
        "/": site.page("/moved", "/broken", "/missing", "/café"),
        "/moved": {"status": 301, "headers": {"Location": "/here"}, "body": b"moved"},
        "/here": b"<p>here",
        "/broken": {"status": 500, "body": b"<p>broken"},
        "/caf%C3%A9": b"<p>coffee",
        "/from-map": b"<p>mapped",
        "/from-feed": b"<p>fed",
        "/robots.txt": {"body": b"User-agent: *\nDisallow:\nSitemap: %s/map.xml\n" % root, "headers": {"Content-Type": "text/plain"}},
        "/map.xml": {"body": SITEMAP % root, "headers": {"Content-Type": "application/xml"}},
        "/feed.xml": {"body": FEED % root, "headers": {"Content-Type": "application/rss+xml"}},
    }
    run = run_crawl(site, settings={"feeds": [f"{site.root}/feed.xml"], "attempts": 1})
    records = {}
    for name in run.lake.files("warc"):
        for record in iter_records(run.lake, name):
            path = (record.target_uri or "").removeprefix(site.root)
            records.setdefault((path, record.warc_type), []).append(record)
    return site, run, records


PATHS = {
    "/": 200,
    "/moved": 301,
    "/here": 200,
    "/broken": 500,
    "/missing": 404,
    "/caf%C3%A9": 200,
    "/from-map": 200,
    "/from-feed": 200,
    "/robots.txt": 200,
    "/map.xml": 200,
    "/feed.xml": 200,
}


def test_each_answer_is_a_record_with_its_request_and_facts(archived):
    site, _, records = archived
    for path, status in PATHS.items():
        (response,), (request,), (metadata,) = (records[path, kind] for kind in ("response", "request", "metadata"))
        assert response.status == status, path
        assert response.target_uri.isascii()
        assert request.block.startswith(f"GET {path} HTTP/1.1\r\n".encode())
        assert response.field_values("WARC-Concurrent-To") == [request.field("WARC-Record-ID"), metadata.field("WARC-Record-ID")]
        route = site.routes.get(path, site.fallback)
        assert response.payload == (route if isinstance(route, bytes) else route["body"]), path
    asked = {path.partition("?")[0] for path in site.paths()}
    assert asked <= {path for path, kind in records if kind == "response"}


def test_warcinfo_comes_first_and_says_who_crawled_by_which_settings(archived):
    site, run, records = archived
    captures = run.table("captures", site.host)
    names = run.lake.files("warc")
    assert len(records["", "warcinfo"]) == len(names)
    for name in names:
        first = next(iter_records(run.lake, name))
        assert (first.offset, first.warc_type) == (0, "warcinfo")
        fields = dict(parse_headers(b"\n" + first.block))
        assert fields["software"].startswith("trawl/")
        assert fields["http-header-user-agent"] == AGENT
        assert fields["robots"] == "obey"
        assert fields["trawl-config-hash"] == captures["config_hash"].unique().item()
        assert fields["trawl-compression"] == "gzip, isal level 2"


def test_the_metadata_says_how_each_was_found(archived):
    _, _, records = archived

    def facts(path):
        return dict(parse_headers(b"\n" + records[path, "metadata"][0].block))

    def record_id(path):
        return records[path, "response"][0].field("WARC-Record-ID")

    assert facts("/")["kind"] == "page" and facts("/")["depth"] == "0" and "via" not in facts("/")
    assert facts("/moved")["via"] == record_id("/")
    assert facts("/here")["redirect-from"] == record_id("/moved")
    assert facts("/broken")["depth"] == "1"
    assert facts("/from-map")["via"] == record_id("/map.xml")
    assert facts("/from-feed")["via"] == record_id("/feed.xml")
    assert [facts(path)["kind"] for path in ("/robots.txt", "/map.xml", "/feed.xml")] == ["robots", "sitemap", "feed"]
    assert capture_id_of(facts("/missing")["via"])
    assert all(facts(path)["fetchTimeMs"].isdigit() for path in PATHS)


def test_a_site_has_its_archive_packed_as_it_says(serve, run_crawl):
    site = serve({"/": b"<p>here"})
    run = run_crawl(site, settings={"compression": {"library": "zlib-ng", "level": 9}})
    (name,) = run.lake.files("warc")
    warcinfo, *records = iter_records(run.lake, name)
    assert b"trawl-compression: gzip, zlib-ng level 9\r\n" in warcinfo.block
    assert [record.payload for record in records if record.warc_type == "response" and record.status == 200] == [b"<p>here"]
