from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.urls.mazes import ECHO_BYTES, MazeWatch, maze_family, page_signatures

HOST = "http://shop.test"


@pytest.mark.parametrize(
    ("url", "family"),
    [
        ("/", "/"),
        ("/about", "/"),
        ("/a/b/c", "/a/"),
        ("/a/", "/a/"),
        ("/list?page=3&sort=up", "/list?page&sort"),
    ],
)
def test_the_place_of_a_url(url: str, family: str) -> None:
    assert maze_family(HOST + url) == HOST + family


def _equal(first: tuple[bytes, str], second: tuple[bytes, str]) -> bool:
    return bool(page_signatures(first[0], HOST + first[1]) & page_signatures(second[0], HOST + second[1]))


def test_pages_that_only_echo_their_url_are_equal() -> None:
    first = b"<h1>Nothing about Red Shoes</h1><a href=red/>on</a>", "/x/red-shoes/"
    assert _equal(first, (b"<h1>Nothing about Blue Hats</h1><a href=red/>on</a>", "/x/blue/hats/"))
    assert not _equal(first, (b"<h1>Nothing about Blue Hats: 7</h1><a href=red/>on</a>", "/x/blue-hats/"))
    assert not _equal((b"<p>product 12, 40 EUR", "/p/12"), (b"<p>product 13, 41 EUR", "/p/13"))
    same = b"<p>sorry <a href=/red/>red</a>"
    assert _equal((same, "/red/"), (same, "/blue/"))
    large = b"x" * ECHO_BYTES
    assert not _equal((large + b"red", "/red"), (large + b"blue", "/blue"))


def test_only_an_unbroken_run_makes_a_maze_and_another_page_ends_it() -> None:
    same, other = frozenset(["same"]), frozenset(["other"])
    watch = MazeWatch(3)
    for number in range(10):
        watch.saw(f"{HOST}/x/{number}", same if number % 3 else other)
    assert watch.holds(f"{HOST}/x/next") is None
    for number in range(3):
        watch.saw(f"{HOST}/x/more/{number}", same | {f"{number}"})
    assert watch.holds(f"{HOST}/x/next") == f"{HOST}/x/"
    assert watch.holds(f"{HOST}/y/next") is None
    watch.saw(f"{HOST}/x/left", other)
    assert watch.holds(f"{HOST}/x/next") is None


@given(st.binary(max_size=100), st.text(max_size=20))
def test_any_page_has_signatures(document: bytes, tail: str) -> None:
    assert 1 <= len(page_signatures(document, f"{HOST}/{tail}")) <= 2
