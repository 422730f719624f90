from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.urls.mazes import ECHO_BYTES, MazeWatch, Run, maze_family, mazes_in_log, page_signatures

HOST = "http://shop.test"
NOW, EARLIER = datetime(2026, 11, 30, tzinfo=UTC), datetime(2026, 10, 1, tzinfo=UTC)


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
        watch.saw(f"{HOST}/x/{number}", same if number % 3 else other, NOW)
    assert watch.holds(f"{HOST}/x/next") is None
    for number in range(3):
        assert watch.saw(f"{HOST}/x/more/{number}", same | {f"{number}"}, NOW)[2] is False
    assert watch.holds(f"{HOST}/x/next") == f"{HOST}/x/"
    assert watch.holds(f"{HOST}/y/next") is None
    assert watch.known() == {f"{HOST}/x/": NOW}
    assert watch.saw(f"{HOST}/x/left", other, NOW)[2] is True
    assert watch.holds(f"{HOST}/x/next") is None
    assert watch.known() == {}


def test_a_maze_of_an_earlier_night_stands_until_two_of_its_pages_differ() -> None:
    watch = MazeWatch(5, {f"{HOST}/x/": Run(frozenset(), 5, EARLIER)})
    assert watch.holds(f"{HOST}/x/next") == f"{HOST}/x/"
    assert watch.saw(f"{HOST}/x/a", frozenset(["one"]), NOW)[2] is False
    assert watch.holds(f"{HOST}/x/next") == f"{HOST}/x/"
    assert watch.saw(f"{HOST}/x/b", frozenset(["two"]), NOW)[2] is True
    assert watch.holds(f"{HOST}/x/next") is None


def test_one_that_is_looked_at_again_holds_nothing_until_it_is_renewed() -> None:
    watch = MazeWatch(5, {f"{HOST}/x/": Run(frozenset(), 3, EARLIER)})
    for number in range(3):
        assert watch.holds(f"{HOST}/x/next") is None
        assert watch.known() == {f"{HOST}/x/": EARLIER}
        watch.saw(f"{HOST}/x/{number}", frozenset(["same"]), NOW)
    assert watch.holds(f"{HOST}/x/next") == f"{HOST}/x/"
    assert watch.known() == {f"{HOST}/x/": NOW}


def test_mazes_are_read_from_a_log() -> None:
    rows = [
        {"reason": "trap", "detail": "maze http://a.test/x/", "first_seen": NOW},
        {"reason": "trap", "detail": "calendar http://a.test/x/{date}", "first_seen": NOW},
        {"reason": "scope", "detail": "maze http://a.test/y/", "first_seen": NOW},
        {"reason": "trap", "detail": "maze http://a.test/z/", "first_seen": None},
    ]
    assert mazes_in_log(rows) == {"http://a.test/x/": NOW}


@given(st.binary(max_size=100), st.text(max_size=20))
def test_any_page_has_signatures(document: bytes, tail: str) -> None:
    assert 1 <= len(page_signatures(document, f"{HOST}/{tail}")) <= 2
