"""Author and date as pages show them."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from trawl_core.extract.blocks import page_blocks, split_tree
from trawl_core.extract.bylines import byline_author, date_in, shown_date


def shown(html):
    tree, blocks = LexborHTMLParser(html), page_blocks(html)
    return byline_author(tree, blocks), shown_date(tree, blocks)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Updated March 3rd, 2024 at noon", "2024-03-03"),
        ("3 September 2023", "2023-09-03"),
        ("2023/9/3", "2023-09-03"),
        ("2023-13-31 or later", None),
        ("31 February 2023", None),
        ("Version 2.0.41 of 2025", None),
        ("Marching 12, 2024", "2024-03-12"),
        ("", None),
    ],
)
def test_a_date_needs_day_month_and_year(text, found):
    assert date_in(text) == found


@pytest.mark.parametrize(
    ("html", "author", "day"),
    [
        ('<h1>On tea</h1><p>By <a href="/author/ann">Ann Lee</a></p><p>May 4, 2021</p><p>Text.</p>', "Ann Lee", "2021-05-04"),
        ("<h1>On tea</h1><p>Written by Ann Lee on May 4, 2021</p>", "Ann Lee", "2021-05-04"),
        ('<h1>On tea</h1><div class="byline">Ann Lee | Tea editor</div>', "Ann Lee", None),
        ('<h1>On tea</h1><time datetime="2020-02-29T10:00Z">long ago</time>', None, "2020-02-29"),
        ("<p>4 May 2021</p><h1>On tea</h1>", None, "2021-05-04"),
    ],
)
def test_bylines(html, author, day):
    assert shown(html) == (author, day)


@pytest.mark.parametrize(
    "html",
    [
        '<h1>On tea</h1><a href="/author/">All authors</a>',
        '<h1>On tea</h1><span class="author">The Author</span>',
        f'<h1>On tea</h1><div class="byline">{"Word " * 30}</div>',
        "<p>No heading, 4 May 2021</p>",
        "",
    ],
)
def test_what_only_looks_like_one_is_none(html):
    assert shown(html) == (None, None)


def test_a_line_that_says_when_beats_dates_cited_in_the_text():
    html = "<article><h1>Ruling</h1><p>As held on 12.03.2009 and on 05.06.2010, the court said so.</p><footer>Published: 14.09.2021</footer></article>"
    tree = LexborHTMLParser(html)
    assert shown_date(tree, split_tree(tree).blocks) == "2021-09-14"


def test_numbers_with_dots_are_no_date():
    for text in ("version 10.04.2021.3", "1.13.2021", "99.12.2021"):
        assert date_in(text) is None
