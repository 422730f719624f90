from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from datetime import date

import feedparser
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from trawl_core.changes.report import render_changes
from trawl_core.changes.wording import MAX_LINES
from trawl_core.errors import UsageError
from trawl_core.lake import Partition, tables

DAY = date(2026, 11, 30)
ATOM = "{http://www.w3.org/2005/Atom}"
EVIL = "<script>alert(1)</script>"


def stored(*rows, day=DAY, domain="a.test"):
    """Rows as they are read back from the lake."""
    return tables.from_rows("changes", [{"severity": "minor", "kinds": [], **row} for row in rows], Partition(day, domain)).to_pylist()


def content(path="/", **columns):
    row = {
        "url": f"https://a.test{path}",
        "event": "content",
        "removed_text": "310",
        "added_text": "283",
        "words_added": 1,
        "words_removed": 1,
    }
    return {**row, "title": "Lamp", **columns}


ROWS = stored(
    content("/lamp"),
    {
        "url": "https://a.test/chair",
        "event": "structured",
        "fields": [{"path": "Product.price", "old": "5", "new": None}],
    },
    {"url": "https://a.test/old", "event": "moved", "final_url": "https://a.test/new", "prev_status": 200, "status": 301},
    {"url": "https://a.test/lost", "event": "gone", "prev_status": 200, "status": 404},
    *({"url": f"https://a.test/t{place}", "event": "template"} for place in range(212)),
    {"url": "https://a.test/fresh", "event": "new"},
)


def test_text_reads_from_the_important_to_the_rest():
    assert render_changes(ROWS, "text") == "\n".join(
        [
            "a.test, 2026-11-30",
            "  https://a.test/lamp",
            "    content: 1 word added, 1 removed",
            "      - 310",
            "      + 283",
            "  https://a.test/chair",
            "    structured: 1 field",
            "      - Product.price: 5",
            "  https://a.test/old",
            "    moved to https://a.test/new",
            "  https://a.test/lost",
            "    gone (200 → 404)",
            "  template change on 212 pages: https://a.test/t0, https://a.test/t1, https://a.test/t10, …",
            "  new: 1 page: https://a.test/fresh",
        ]
    )


@pytest.mark.parametrize("form", ["text", "md", "html", "atom", "json"])
def test_the_order_of_rows_makes_no_difference(form):
    assert render_changes(ROWS[::-1], form) == render_changes(ROWS, form)


@pytest.mark.parametrize("form", ["text", "md", "html"])
def test_no_rows_say_so(form):
    assert "No changes." in render_changes([], form)


def test_an_unknown_format_is_named():
    with pytest.raises(UsageError, match=r"'pdf'.*text, md, html, atom, json"):
        render_changes(ROWS, "pdf")


def test_json_gives_the_rows():
    rows = json.loads(render_changes(ROWS, "json"))
    assert len(rows) == len(ROWS)
    assert rows[0]["crawl_date"] == "2026-11-30"
    assert rows[0]["added_text"] == "283"


def test_html_marks_what_was_added_and_removed():
    page = LexborHTMLParser(render_changes(ROWS, "html"))
    assert [node.text() for node in page.css("del")] == ["310", "Product.price: 5"]
    assert [node.text() for node in page.css("ins")] == ["283"]
    assert page.css_first("article a").attributes["href"] == "https://a.test/lamp"


@given(st.text(max_size=40))
def test_a_page_can_put_nothing_into_a_report(text):
    url = f"javascript:{text}"
    rows = stored(content(url=url, title=text + EVIL, added_text=EVIL + text, removed_text=f"</del>{EVIL}", final_url=text))
    rows[0]["fields"] = [{"path": EVIL, "old": '"><img src=x onerror=1>', "new": text}]
    page = LexborHTMLParser(render_changes(rows, "html"))
    assert page.css("script, img, a[href^='javascript']") == []
    entry = ET.fromstring(render_changes(rows, "atom")).find(f"{ATOM}entry")
    assert LexborHTMLParser(entry.findtext(f"{ATOM}content")).css("script, img") == []
    assert not re.search(r"(?<!\\)<script", render_changes(rows, "md"))


def test_control_characters_do_not_reach_a_terminal():
    assert "\x1b" not in render_changes(stored(content(added_text="\x1b[2Jhidden", final_url="\x1b")), "text")


def test_long_changes_are_cut_with_a_word_about_it():
    shown = render_changes(stored(content(removed_text="", added_text="\n".join(f"line {place}" for place in range(50)))), "text")
    assert (shown.count("+ line"), f"… {50 - MAX_LINES} more lines" in shown) == (MAX_LINES, True)
    assert "cut for size" in render_changes(stored(content(truncated=True)), "text")


def test_atom_is_a_feed_that_readers_take():
    feed = feedparser.parse(render_changes(ROWS, "atom"))
    assert (feed.bozo, feed.version) == (False, "atom10")
    assert feed.feed.id.startswith("urn:uuid:")
    assert feed.feed.updated == "2026-11-30T00:00:00Z"
    assert len(feed.entries) == 6
    assert len({entry.id for entry in feed.entries}) == 6
    for entry in feed.entries:
        assert entry.title
        assert entry.updated
        assert entry.link
    assert "<ins>283</ins>" in feed.entries[0].content[0].value
    assert "template change on 212 pages" in [entry.title for entry in feed.entries][-1]


def test_ids_are_stable_and_tell_nights_and_urls_apart():
    def ids(rows):
        return [entry.id for entry in feedparser.parse(render_changes(rows, "atom")).entries]

    one = stored(content("/a", added_text="x"))
    assert ids(one) == ids(stored(content("/a", added_text="y")))
    assert len({*ids(one), *ids(stored(content("/b"))), *ids(stored(content("/a"), day=date(2026, 12, 1)))}) == 3


def test_a_feed_without_entries_is_valid():
    feed = ET.fromstring(render_changes([], "atom"))
    assert feed.findtext(f"{ATOM}updated") == "1970-01-01T00:00:00Z"
