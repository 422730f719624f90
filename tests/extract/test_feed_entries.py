"""Entries of feeds: what they hold, in the stage's terms, and what is wrong with them."""

from __future__ import annotations

import json

import pytest

from trawl_core.extract import feed_entries as module
from trawl_core.extract.structured import body_items

URL = "https://docs.example.org/feed"
RSS = b"""<?xml version="1.0"?><rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>News</title>
<item><title>Ferry &amp;amp; fog</title><link>/late</link><guid>tag:1</guid><pubDate>Mon, 06 May 2024 12:00:00 +0200</pubDate>
<author>ann@example.org (Ann Bee)</author><category>sea</category><category>sea</category>
<description>&lt;p&gt;Late.&lt;/p&gt;</description><content:encoded>&lt;p&gt;It was &lt;b&gt;fog&lt;/b&gt;.&lt;/p&gt;&lt;p&gt;Again.&lt;/p&gt;</content:encoded>
<enclosure url="/a.mp3" type="audio/mpeg" length="123"/></item>
<item><pubDate>some day</pubDate></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>A</title><entry><title type="html">&lt;i&gt;Tide&lt;/i&gt;</title><id>urn:x</id>
<link href="https://docs.example.org/tide"/><updated>2024-05-06T10:00:00Z</updated><author><name>Ann</name></author><author><name>Bo</name></author>
<summary>Größe</summary></entry></feed>"""


def entries(body, content_type=None):
    items = body_items(body, URL, content_type)
    assert [item.position for item in items] == list(range(len(items)))
    return items


def test_an_rss_item_is_an_entry_with_its_fields() -> None:
    first, second = entries(RSS)
    assert (first.syntax, first.type, first.valid) == ("feed", "Entry", True)
    assert first.fields == {
        "id": "tag:1",
        "link": "https://docs.example.org/late",
        "title": "Ferry & fog",
        "summary": "Late.",
        "content": "It was fog.\nAgain.",
        "authors": ["Ann Bee"],
        "categories": ["sea"],
        "published": "2024-05-06T10:00:00Z",
        "enclosures": [{"url": "https://docs.example.org/a.mp3", "type": "audio/mpeg", "bytes": 123}],
    }
    assert not second.valid
    assert [problem.split(":")[0] for problem in second.problems] == ["published is no date", "the entry has neither title nor link"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_an_atom_entry_whatever_its_encoding(encoding) -> None:
    declaration = f'<?xml version="1.0" encoding="{encoding}"?>'
    (entry,) = entries((declaration + ATOM).encode(encoding), "application/atom+xml")
    assert entry.fields == {
        "id": "urn:x",
        "link": "https://docs.example.org/tide",
        "title": "Tide",
        "summary": "Größe",
        "authors": ["Ann", "Bo"],
        "updated": "2024-05-06T10:00:00Z",
    }
    assert json.loads(entry.columns()["fields"]) == entry.fields


def test_what_is_too_much_is_said(monkeypatch) -> None:
    monkeypatch.setattr(module, "MAX_ENTRIES", 1)
    assert entries(RSS)[1].problems == ("1 more entries of this feed were left out",)
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    (refused,) = entries(RSS)
    assert refused.fields is None and "the limit is 10" in refused.problems[0]


def test_xml_and_html_that_are_no_feeds_have_no_entries() -> None:
    assert entries(b"<?xml version='1.0'?><menu><dish>Soup</dish></menu>", "application/xml") == []
    assert entries(b"<!doctype html><p>about <rss> and <feed>", "text/html") == []
