from __future__ import annotations

import gzip
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain, count, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.extract.sitemaps import parse_lastmod, parse_sitemap, read_sitemap
from trawl_core.warc.content_coding import Decoded

AT = "https://docs.example.org/sitemap.xml"
LIMIT = 1_000_000

URLSET = b"""<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">
  <url><loc>https://docs.example.org/a</loc><lastmod>2026-11-01</lastmod></url>
  <url><loc>https://docs.example.org/b?x=1&amp;y=2</loc><lastmod>2026-11-02T03:04:05+02:00</lastmod></url>
  <url><loc>https://docs.example.org/news</loc><news:news><news:title>t</news:title></news:news></url>
</urlset>"""


def _urls(document: bytes) -> list[str]:
    return [entry.url for entry in parse_sitemap(document, AT, LIMIT)]


def test_urlset() -> None:
    first, second, third = parse_sitemap(URLSET, AT, LIMIT)
    assert (first.url, first.last_modified, first.is_sitemap) == ("https://docs.example.org/a", datetime(2026, 11, 1, tzinfo=UTC), False)
    assert second.url == "https://docs.example.org/b?x=1&y=2"
    assert second.last_modified == datetime(2026, 11, 2, 1, 4, 5, tzinfo=UTC)
    assert (third.url, third.last_modified) == ("https://docs.example.org/news", None)


def test_index_entries_are_sitemaps() -> None:
    index = b"<sitemapindex><sitemap><loc>/one.xml</loc></sitemap><sitemap><loc>sitemap.xml</loc></sitemap></sitemapindex>"
    assert [(entry.url, entry.is_sitemap) for entry in parse_sitemap(index, AT, LIMIT)] == [
        ("https://docs.example.org/one.xml", True),
        (AT, True),
    ]


@pytest.mark.parametrize("layers", [0, 1, 2])
def test_gzip_is_told_by_content(layers) -> None:
    document = URLSET
    for _ in range(layers):
        document = gzip.compress(document)
    assert len(_urls(document)) == 3


def test_a_text_sitemap_gzipped_too() -> None:
    text = b"\xef\xbb\xbfhttps://docs.example.org/a\r\n\r\n not a url\nhttps://docs.example.org/b \n"
    assert _urls(text) == _urls(gzip.compress(text)) == ["https://docs.example.org/a", "https://docs.example.org/b"]


def test_broken_parts_do_not_cost_the_others() -> None:
    broken = b"""<urlset>
      <url><lastmod>2026-01-01</lastmod></url>
      <url><loc>
         https://docs.example.org/spaces  </loc></url>
      <url><loc>https://docs.example.org/badmod</loc><lastmod>yesterday</lastmod></url>
      <url><loc>mailto:someone@example.org</loc></url>
      <url><loc>https://docs.example.org/amp?a=1&b=2</loc></url>
      <url><loc>https://docs.example.org/spaces</loc></url>
    </urlset>"""
    entries = parse_sitemap(broken, AT, LIMIT)
    assert [entry.url for entry in entries][:2] == ["https://docs.example.org/spaces", "https://docs.example.org/badmod"]
    assert len(entries) == 3
    assert all(entry.last_modified is None for entry in entries)


def test_a_cut_document_gives_what_came_before() -> None:
    assert _urls(URLSET[: URLSET.index(b"/b?x")]) == ["https://docs.example.org/a"]


def test_entities_are_not_expanded() -> None:
    bomb = b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]><urlset><url><loc>https://docs.example.org/&e;</loc></url></urlset>'
    assert all(url == "https://docs.example.org/" for url in _urls(bomb))


def test_what_is_no_sitemap_is_empty() -> None:
    assert _urls(b"<html><body><p>404</p></body></html>") == []
    assert _urls(b"") == []


@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_an_error(document) -> None:
    parse_sitemap(document, AT, LIMIT)


@given(st.binary(max_size=80))
def test_damage_anywhere_is_no_error(noise) -> None:
    middle = len(URLSET) // 2
    parse_sitemap(URLSET[:middle] + noise + URLSET[middle:], AT, LIMIT)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-11", datetime(2026, 11, 1, tzinfo=UTC)),
        ("2026-11-30T02:00:00Z", datetime(2026, 11, 30, 2, tzinfo=UTC)),
        ("2026-11-30T02:00", datetime(2026, 11, 30, 2, tzinfo=UTC)),
        ("2026-13-01", None),
        ("0000", None),
        ("", None),
        (None, None),
    ],
)
def test_lastmod(text, moment) -> None:
    assert parse_lastmod(text) == moment


def _endless(head: bytes, unit: bytes) -> Iterator[bytes]:
    yield head
    while True:
        yield unit * (2**18 // len(unit) + 1)


@pytest.mark.parametrize(
    ("head", "unit"),
    [
        (b"<urlset>", b" "),
        (b"<urlset>", b"<url>"),
        (b"<urlset>", b"<p>0</p>"),
        (b"<urlset>", b"<url><loc>/again</loc></url>"),
        (b"<urlset a='", b"x"),
        (b"<urlset><!--", b"- "),
        (b"<urlset><url><loc>", b"x"),
        (b"<!DOCTYPE urlset [", b"<!ENTITY e 'x'>"),
        (b"<urlset><![CDATA[", b"x"),
        (b"https://docs.example.org/", b"x"),
    ],
)
def test_what_goes_on_for_ever_is_left_or_bounded_by_the_cap(head, unit) -> None:
    for entry in read_sitemap(Decoded(_endless(head, unit), None, 64 << 20), AT, LIMIT):
        assert entry.url == "https://docs.example.org/again"


def test_names_without_end_are_left() -> None:
    document = (b"".join(b"<n%d/>" % number for number in range(start, start + 10_000)) for start in count(step=10_000))
    assert list(read_sitemap(chain([b"<urlset>"], document), AT, LIMIT)) == []


def test_entities_do_not_grow() -> None:
    levels = b"".join(b"<!ENTITY e%d '%s'>" % (level, b"&e%d;" % (level - 1) * 10) for level in range(1, 12))
    bomb = b"<!DOCTYPE x [<!ENTITY e0 'zzzzzzzzzz'>" + levels + b"]><urlset><url><loc>https://docs.example.org/&e11;</loc></url></urlset>"
    assert all(len(url) < 3000 for url in _urls(bomb))


@given(st.lists(st.integers(0, 500), max_size=4))
def test_pieces_make_no_difference(cuts) -> None:
    text = b"https://docs.example.org/a\r\nhttps://docs.example.org/\xc3\xa9\n"
    for document in (URLSET, gzip.compress(URLSET), text):
        places = [0, *sorted(cuts), len(document)]
        parts = [document[start:end] for start, end in pairwise(places)]
        assert list(read_sitemap(parts, AT, LIMIT)) == parse_sitemap(document, AT, LIMIT)
