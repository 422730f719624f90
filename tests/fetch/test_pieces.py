import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from trawl_core.fetch.pieces import pieces

TOKENS = ["<p>", "text ", "<a href='/x'>x</a>", "<script>", "</script>", "<!--", "-->", "<STYLE>", "</style>", "<", ">"]


RAW = re.compile(r"<(script|style)>.*?(?:</\1>|\Z)|<!--.*?(?:-->|\Z)", re.IGNORECASE | re.DOTALL)


@given(st.lists(st.sampled_from(TOKENS)).map("".join), st.integers(1, 40), st.integers(0, 20), st.lists(st.integers(0, 200), max_size=5))
def test_nothing_but_long_scripts_and_comments_is_lost_and_nothing_doubled(text: str, size: int, more: int, cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(text)]
    parts = list(pieces([text[start:end] for start, end in pairwise(places)], size, size + more))
    assert all(parts) or parts == [""]
    assert parts
    rest = iter(text)
    assert all(char in rest for char in "".join(parts))
    if all(len(raw[0]) < size for raw in RAW.finditer(text)):
        assert "".join(parts) == text
    if len(text) <= size + more:
        assert parts == [text]


@given(st.integers(12, 60))
def test_tags_stay_whole(size: int) -> None:
    text = "".join(f"<a n={n}>" for n in range(100))
    parts = list(pieces([text], size, size))
    assert all(part.startswith("<a") and part.endswith(">") and len(part) <= size for part in parts)


def test_scripts_and_comments_stay_whole() -> None:
    script, comment = "<script>" + "'<a href=x>';" * 9 + "</script>", "<!-- " + "<a href=y> " * 9 + "-->"
    for size in range(10, 200):
        for raw in (script, comment):
            parts = list(pieces([f"<p>before</p>{raw}<p>after</p>"], size, size))
            # The closing tag may stand alone, what it closes may not begin in the middle.
            assert not any(part.startswith("<a") for part in parts)
            assert "<p>after" in "".join(parts)


def test_what_is_left_out_ends_where_it_ends() -> None:
    text = "<p>a</p><script><!--" + "x" * 500 + "</script><a href=/b>b</a>-->" + "y" * 100
    assert "<a href=/b>b</a>" in "".join(pieces([text[n : n + 7] for n in range(0, len(text), 7)], 50, 60))


def test_a_short_text_is_one_piece() -> None:
    assert list(pieces(["<p>one"])) == ["<p>one"]
    assert list(pieces([""])) == [""]
