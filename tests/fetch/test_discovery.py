from __future__ import annotations

import gzip
from datetime import UTC, datetime

from trawl_core.fetch.discovery import discover
from trawl_core.fetch.pieces import PIECE_CHARS
from trawl_core.sites import Site
from trawl_core.urls.references import KnownLinks
from trawl_core.warc.exchange import Exchange

SITE = Site(domain="docs.example.org", seeds=("https://docs.example.org/",))


def _exchange(body: bytes, *headers: tuple[str, str], status: int = 200, url: str = "https://docs.example.org/d/") -> Exchange:
    return Exchange(
        url=url,
        started_at=datetime(2026, 11, 30, tzinfo=UTC),
        request_bytes=b"",
        response_bytes=b"",
        head_length=0,
        payload=body,
        status=status,
        reason="",
        headers=headers,
        outcome="ok",
    )


HTML = ("Content-Type", "text/html")


def _urls(exchange: Exchange, kind: str = "page") -> list[str]:
    return [found.url for found in discover(exchange, kind, SITE)]


def test_links_of_a_page() -> None:
    page = b"<base href=/x/><a href=one>One</a><a rel=nofollow href=two>t</a><link rel=next href=/three>"
    found = discover(_exchange(page, HTML), "page", SITE)
    assert [(link.url, link.text, link.nofollow) for link in found] == [
        ("https://docs.example.org/x/one", "One", False),
        ("https://docs.example.org/x/two", "t", True),
        ("https://docs.example.org/three", "", False),
    ]


def test_every_element_that_leads_to_a_page() -> None:
    page = b"""<head><link rel=next href=/next><link rel=prev href=/prev><link rel=canonical href=/canonical>
    <link rel=alternate hreflang=de href=/de><link rel=alternate type=application/rss+xml href=/feed></head>
    <map><area href=/area></map><iframe src=/iframe></iframe><a href=" \n /blank \n ">b</a><a href=../../../up>u</a>"""
    named = {"/next", "/prev", "/canonical", "/de", "/feed", "/area", "/iframe", "/blank", "/up"}
    assert {url.removeprefix("https://docs.example.org") for url in _urls(_exchange(page, HTML))} == named


def test_a_quick_refresh_leads_on() -> None:
    quick = b"<meta http-equiv=refresh content='4; url=/moved'>"
    slow = b"<meta http-equiv=refresh content='5; url=/moved'>"
    assert _urls(_exchange(quick, HTML)) == ["https://docs.example.org/moved"]
    assert _urls(_exchange(slow, HTML)) == []


def test_content_coding_is_removed_first() -> None:
    page = gzip.compress(b"<a href=/zipped>z</a>")
    assert _urls(_exchange(page, HTML, ("Content-Encoding", "gzip"))) == ["https://docs.example.org/zipped"]


def test_only_good_answers_lead_on() -> None:
    assert _urls(_exchange(b"<a href=/x>x</a>", HTML, status=404)) == []
    assert _urls(_exchange(b"", HTML)) == []
    assert _urls(_exchange(b"\x89PNG\r\n\x1a\n<a href=/x>", ("Content-Type", "image/png"))) == []


def test_a_sitemap_names_pages_and_sitemaps() -> None:
    found = discover(_exchange(b"<sitemapindex><sitemap><loc>/s.xml</loc></sitemap></sitemapindex>"), "sitemap", SITE)
    assert [(entry.url, entry.kind, entry.from_page) for entry in found] == [("https://docs.example.org/s.xml", "sitemap", False)]


RSS = b"<rss version='2.0'><channel><title>t</title><item><title>First</title><link>/one</link></item><item><title>No link</title></item></channel></rss>"
ATOM = b"<feed xmlns='http://www.w3.org/2005/Atom'><entry><title>x</title><link rel='alternate' href='two'/><link rel='edit' href='/edit'/></entry></feed>"
RDF = (
    b"<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'>"
    b"<item rdf:about='https://docs.example.org/three'><title>x</title><link>https://docs.example.org/three</link></item></rdf:RDF>"
)


def test_feeds_name_their_items() -> None:
    assert _urls(_exchange(RSS), "feed") == ["https://docs.example.org/one"]
    assert _urls(_exchange(ATOM), "feed") == ["https://docs.example.org/d/two"]
    assert _urls(_exchange(RDF), "feed") == ["https://docs.example.org/three"]


def test_a_feed_found_as_a_page_is_read_as_a_feed() -> None:
    assert _urls(_exchange(RSS, ("Content-Type", "text/xml"))) == ["https://docs.example.org/one"]


def test_what_only_claims_to_be_a_feed_names_nothing() -> None:
    assert _urls(_exchange(b"not a feed"), "feed") == []


def test_a_stray_null_byte_hides_no_link() -> None:
    assert _urls(_exchange(b"<html><body>\x00<a href=/after>a</a>", HTML)) == ["https://docs.example.org/after"]


def test_a_refresh_inside_noscript_is_not_followed() -> None:
    refresh = b"<meta http-equiv=refresh content='0; url=moved'>"
    assert _urls(_exchange(b"<head><noscript>" + refresh + b"</noscript></head><p>x", HTML)) == []
    assert _urls(_exchange(b"<noscript>" + refresh + b"</noscript><p>x", HTML)) == []
    assert _urls(_exchange(b"<head><base href=/b/>" + refresh, HTML)) == ["https://docs.example.org/b/moved"]


def test_the_target_of_a_script_is_flagged() -> None:
    page = b"<head><base href=/b/><script>location.replace('there')</script></head>"
    (found,) = discover(_exchange(page, HTML), "page", SITE)
    assert (found.url, found.kind, found.context) == ("https://docs.example.org/b/there", "script_redirect", "https://docs.example.org/d/")


def test_links_know_the_title_around_them() -> None:
    (found,) = discover(_exchange(b"<title>Ferries\n of the lake</title><a href=/x>x</a><svg><title>no</title></svg>", HTML), "page", SITE)
    assert found.context == "Ferries of the lake"


def test_all_links_of_a_long_page_are_found_once_and_by_its_base() -> None:
    page = b"<title>T</title><base href=/b/>" + b"".join(b"<p>%s<a href=%d>n</a><a href=0>again</a>" % (b"x" * 400, n) for n in range(3000))
    assert len(page) > 4 * PIECE_CHARS
    found = discover(_exchange(page, HTML), "page", SITE)
    assert [link.url for link in found] == [f"https://docs.example.org/b/{n}" for n in range(3000)]
    assert {link.context for link in found} == {"T"}


def test_of_known_links_only_the_first_is_told() -> None:
    page = b"".join(b"<a href=/%d>%d</a>" % (number, number) for number in range(6))
    exchange = _exchange(page, HTML)
    found = discover(exchange, "page", SITE, KnownLinks(lambda url: not url.endswith("/4")))
    assert [(link.url, link.text) for link in found] == [("https://docs.example.org/0", "0"), ("https://docs.example.org/4", "4")]


def test_a_long_json_document_is_told_by_its_beginning() -> None:
    body = b'[{"a": "' + b"x" * 200_000 + b'"}]'
    for headers in ((), (("Content-Encoding", "gzip"),)):
        exchange = _exchange(gzip.compress(body) if headers else body, ("Content-Type", "application/json"), *headers)
        assert exchange.mime == "application/json"


def test_what_a_page_shows_is_told_behind_its_links_where_the_site_wants_it() -> None:
    page = b"<img src=/i srcset='/i2 2x'><a href=/p><img src=/t></a><img src=/p>"
    wants = SITE.model_copy(update={"media": "fetch"})
    told = [(found.kind, found.url.removeprefix("https://docs.example.org")) for found in discover(_exchange(page, HTML), "page", wants)]
    assert told == [("page", "/p"), ("media", "/i"), ("media", "/i2"), ("media", "/t"), ("media", "/p")]
    assert _urls(_exchange(page, HTML)) == ["https://docs.example.org/p"]
    assert discover(_exchange(page, HTML), "media", wants) == ()


def test_what_a_long_page_shows_is_read_piece_by_piece_with_its_links() -> None:
    parts = [f"<p>{'x' * 2000}<a href=/p{n}>p</a><img src=/i{n}>" for n in range(2 * PIECE_CHARS // 2000)]
    found = discover(_exchange("".join(parts).encode(), HTML), "page", SITE.model_copy(update={"media": "fetch"}))
    for kind, letter in (("page", "p"), ("media", "i")):
        told = [link.url for link in found if link.kind == kind]
        assert told == [f"https://docs.example.org/{letter}{n}" for n in range(len(parts))]
