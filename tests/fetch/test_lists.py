from __future__ import annotations

from datetime import UTC, datetime

import pytest

from trawl_core.fetch.discovery import Found
from trawl_core.fetch.lists import with_next_pages
from trawl_core.sites import Site
from trawl_core.warc.exchange import Exchange

LIST = "https://docs.example.org/list"
PAGE = b"<a href='?page=2' class=next>on</a>"


def exchange(body: bytes = PAGE, status: int = 200, mime: str = "text/html", url: str = LIST) -> Exchange:
    return Exchange(
        url=url,
        started_at=datetime(2026, 11, 30, tzinfo=UTC),
        request_bytes=b"",
        response_bytes=b"",
        head_length=0,
        payload=body,
        status=status,
        reason="",
        headers=(("Content-Type", mime),),
        outcome="ok",
    )


def site(follow_next: str = "a.next") -> Site:
    schema = {
        "pattern": "/list",
        "page_type": "list",
        "selectors": {"name": "h1"},
        "pagination": {"follow_next": follow_next, "max_pages": 7},
    }
    return Site(domain="docs.example.org", seeds=(LIST,), extraction=[schema])


NEXT = Found(f"{LIST}?page=2", most_pages=7, after=LIST)
OTHERS = (Found(f"{LIST}?page=2", text="on"), Found("https://docs.example.org/other"))


@pytest.mark.parametrize("selector", ["a.next", "a.next::attr(href)", "//a[@class='next']", "//a/@href", "a.none, a.next"])
def test_the_next_page_stands_before_the_rest_and_once(selector) -> None:
    assert with_next_pages(OTHERS, exchange(), "page", site(selector)) == (NEXT, OTHERS[1])


@pytest.mark.parametrize(
    "other",
    [
        exchange(status=404),
        exchange(b"%PDF-1.4 <a class=next href=/list2>", mime="application/pdf"),
        exchange(url="https://docs.example.org/elsewhere"),
        exchange(b""),
        exchange(b"<a class=next href='/list'>itself</a>"),
        exchange(b"<a class=next href='mailto:x@y.test'>mail</a>"),
        exchange(b"<p>the last page"),
    ],
    ids=range(7),
)
def test_where_no_page_follows(other) -> None:
    assert with_next_pages(OTHERS, other, "page", site()) == OTHERS


def test_only_pages_of_lists_that_are_to_be_followed() -> None:
    assert with_next_pages(OTHERS, exchange(), "sitemap", site()) == OTHERS
    assert with_next_pages(OTHERS, exchange(), "page", Site(domain="docs.example.org", seeds=(LIST,))) == OTHERS


def test_what_a_browser_made_of_a_page_is_read_instead() -> None:
    shell = exchange(b"<div id=root></div>")
    assert with_next_pages((), shell, "page", site()) == ()
    assert with_next_pages((), shell, "page", site(), PAGE) == (NEXT,)
