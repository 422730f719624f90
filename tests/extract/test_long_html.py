"""HTML that is too long for a tree: without what nobody sees it is a page as any other, or its lines are read as they pass by."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trawl_core.extract import long_html
from trawl_core.extract.long_html import extract_long_html, is_long_html

URL = "https://docs.example.org/dir/log"
PAGE = (
    "<!doctype html><html lang=en><head><title>Tide log | Harbour</title><meta name=author content='Ann Bee'><base href='/logs/'>"
    "<style>p {color: red}</style><script>var a = '<p>no';</script></head><body><h1>Tide &amp; log</h1><!-- no -->"
    "<p>It rose\nfor <b>two</b> hours; <a href='next'>go on</a>.</p><table><tr><td>12:00</td><td>3.5 m</td></tr><tr><th>x<th>y</table>"
    "<textarea>no</textarea><embed src=x><h2>Later</h2>It fell.<br>&#8226;<p>R&eacute;sum&eacute; 1 &lt; 2</body></html>"
)
LINES = ["Tide & log", "It rose for two hours; go on.", "12:00 | 3.5 m", "x | y", "Later", "It fell.", "Résumé 1 < 2"]


@pytest.fixture
def streamed(monkeypatch):
    """Every document is read as a stream."""
    monkeypatch.setattr(long_html, "MAX_BYTES", 10)


def long_page(source, content_type="text/html; charset=utf-8", scope=None):
    return extract_long_html(source.encode(), URL, content_type, mime="text/html", scope=scope)


def test_lines_cells_headings_and_links_of_a_stream(streamed):
    page = long_page(PAGE, scope=lambda url: None)
    assert (page.text.split("\n"), page.extract_status, page.extractor) == (LINES, "ok", "stream")
    assert [block.text for block in page.blocks] == LINES
    assert [(heading.level, heading.text) for heading in page.headings] == [(1, "Tide & log"), (2, "Later")]
    assert [(link.url, link.text, link.in_scope) for link in page.outlinks] == [("https://docs.example.org/logs/next", "go on", True)]
    assert (page.author, page.language, page.html_bytes) == ("Ann Bee", "en", len(PAGE.encode()))
    assert page.title == "Tide & log" or page.title.startswith("Tide log")


@settings(deadline=None)
@given(piece_chars=st.integers(60, 400))
def test_where_a_document_is_cut_makes_no_difference(piece_chars):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_html, "_PIECE_CHARS", piece_chars)
        source = long_html._UNSEEN.sub("", PAGE).replace("<textarea>no</textarea>", "")
        blocks, read = long_html._blocks(source.partition("</head>")[2])
    assert [block.text for block in blocks] == LINES
    assert read == len(source.partition("</head>")[2])


@pytest.mark.parametrize(("name", "limit", "kept"), [("MAX_BLOCKS", 2, LINES[:2]), ("MAX_TEXT_CHARS", 20, [LINES[0], "It rose fo"])])
def test_what_is_beyond_the_limits_is_said(streamed, monkeypatch, name, limit, kept):
    monkeypatch.setattr(long_html, name, limit)
    monkeypatch.setattr(long_html, "_PIECE_CHARS", 60)
    page = long_page(PAGE)
    assert (page.text.split("\n"), page.extract_status) == (kept, "too_large")
    assert "is kept" in page.extract_error


def test_a_line_longer_than_the_limit_is_cut(streamed, monkeypatch):
    monkeypatch.setattr(long_html, "MAX_TEXT_CHARS", 1000)
    monkeypatch.setattr(long_html, "_PIECE_CHARS", 300)
    page = long_page("<p>" + "a" * 5000)
    assert (page.text, page.extract_status) == ("a" * 1000, "too_large")


def test_tags_alone_are_no_text(streamed):
    page = long_page("<div></div>" * 100)
    assert (page.text, page.extract_status) == ("", "empty")
    assert "1,100 bytes" in page.extract_error


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>" + "a < b; " * 200 + "</script>",
        "<STYLE type='x'>" + "p {} " * 200 + "</style >",
        "<!-- " + "<p>no " * 200 + " -->",
        "<img src='data:image/png;base64," + "iVBORw0KGgo" * 200 + "'>",
    ],
)
def test_a_page_that_is_long_by_what_nobody_sees_is_read_as_any_other(monkeypatch, hidden):
    monkeypatch.setattr(long_html, "MAX_BYTES", 1000)
    page = f"<html><head><title>Гавань</title></head><body>{hidden}<h1>Гавань</h1><p>Паром идёт к морю.</p></body></html>".encode("cp1251")
    found = extract_long_html(page, URL, "text/html; charset=windows-1251", mime="text/html")
    assert found.text.endswith("Паром идёт к морю.") and found.title == "Гавань"
    assert (found.charset, found.charset_source, found.html_bytes) == ("windows-1251", "header", len(page))
    assert found.extractor != "stream" and found.headings[0].text == "Гавань"


def test_what_is_never_closed_hides_the_rest():
    assert long_html._UNSEEN.sub("", "<p>a<script>b<p>c") == "<p>a"
    assert long_html._UNSEEN.sub("", "<p>a<!-- b") == "<p>a"
    assert (
        long_html._UNSEEN.sub("", "<script type=application/ld+json>{}</script><scripted>")
        == "<script type=application/ld+json>{}</script><scripted>"
    )


def test_long_is_many_bytes_or_many_tags():
    assert not is_long_html(b"<p>x" * 10_000)
    assert is_long_html(b"<p>x" * 130_000)
    assert is_long_html(b"x" * 10_000_001)
