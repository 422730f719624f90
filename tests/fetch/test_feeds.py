from itertools import pairwise

import feedparser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.fetch.feeds import SLICE_BYTES, WHOLE_BYTES, feed_slices

ITEM = b"<item><title>%d</title><link>https://example.org/%d</link><description>" + b"z" * 900 + b"</description></item>"
ENTRY = b"<entry><title>%d</title><link href='https://example.org/%d'/><summary>" + b"z" * 900 + b"</summary></entry>"
FEEDS = {
    "rss": (b"<?xml version='1.0'?><rss version='2.0'><channel><title>t</title><image/>", ITEM, b"</channel></rss>"),
    "atom": (b"<feed xmlns='http://www.w3.org/2005/Atom'><title>t</title>", ENTRY, b"</feed>"),
    "rdf": (
        b"<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'><channel>t</channel>",
        ITEM,
        b"</rdf:RDF>",
    ),
    "cut": (b"<rss><channel>", ITEM, b"<item><title>cut"),
}


def links(document: bytes) -> list[str]:
    return [entry.get("link") for entry in feedparser.parse(document).entries if entry.get("link")]


@pytest.mark.parametrize("kind", FEEDS)
def test_a_long_feed_has_all_its_items_in_order_whatever_its_pieces(kind: str) -> None:
    head, item, end = FEEDS[kind]
    feed = head + b"\n".join(item % (number, number) for number in range(600)) + end
    for size in (5000, len(feed)):
        slices = list(feed_slices([feed[start : start + size] for start in range(0, len(feed), size)]))
        assert len(slices) > 4
        assert max(map(len, slices)) < SLICE_BYTES + 5000
        found = [link for part in slices for link in links(part)]
        assert found == [f"https://example.org/{number}" for number in range(600)]
    assert not any(feedparser.parse(part).bozo for part in slices[:-1])


def test_a_short_feed_comes_as_it_is() -> None:
    assert list(feed_slices([b"<rss>", b"<item>", b"</rss>"])) == [b"<rss><item></rss>"]
    assert list(feed_slices([])) == [b""]


def test_what_has_no_items_is_only_begun() -> None:
    assert list(feed_slices([b"<rss>" + b"z" * WHOLE_BYTES * 2])) == [b"<rss>" + b"z" * (WHOLE_BYTES - 5)]


def test_an_endless_item_is_left_out_and_costs_no_other() -> None:
    head, item, end = FEEDS["rss"]
    feed = head + b"".join(item % (n, n) for n in range(300)) + b"<item>" + b"x" * (3 << 20) + b"</item>" + item % (300, 300) + end
    slices = list(feed_slices([feed[start : start + 65536] for start in range(0, len(feed), 65536)]))
    assert max(map(len, slices)) < 2 << 20
    assert [link for part in slices for link in links(part)] == [f"https://example.org/{number}" for number in range(301)]


@given(
    st.lists(st.sampled_from([b"<item>", b"<entry ", b"</item>", b"<", b">", b"x" * 70_000, b"</rss>"]), max_size=12),
    st.lists(st.integers(0, 300_000), max_size=3),
)
def test_any_bytes_are_cut_without_an_error(tokens: list[bytes], cuts: list[int]) -> None:
    feed = b"<rss>" + b"".join(tokens)
    places = [0, *sorted(cuts), len(feed)]
    assert list(feed_slices([feed[start:end] for start, end in pairwise(places)]))
