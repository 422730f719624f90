from hypothesis import given
from hypothesis import strategies as st

from trawl_core.fetch.pieces import pieces

TOKENS = ["<p>", "text ", "<a href='/x'>x</a>", "<script>", "</script>", "<!--", "-->", "<STYLE>", "</style>", "<", ">"]


@given(st.lists(st.sampled_from(TOKENS)).map("".join), st.integers(1, 40))
def test_nothing_is_lost_and_nothing_doubled(text: str, size: int) -> None:
    parts = list(pieces(text, size))
    assert "".join(parts) == text
    assert all(parts) or not text


@given(st.integers(12, 60))
def test_tags_stay_whole(size: int) -> None:
    text = "".join(f"<a n={n}>" for n in range(100))
    parts = list(pieces(text, size))
    assert all(part.startswith("<a") and part.endswith(">") and len(part) <= size for part in parts)


def test_scripts_and_comments_stay_whole() -> None:
    script, comment = "<script>" + "'<a href=x>';" * 9 + "</script>", "<!-- " + "<a href=y> " * 9 + "-->"
    for size in range(10, 200):
        for raw in (script, comment):
            parts = list(pieces(f"<p>before</p>{raw}<p>after</p>", size))
            # The closing tag may stand alone, what it closes may not begin in the middle.
            assert not any(part.startswith("<a") for part in parts)


def test_a_short_text_is_one_piece() -> None:
    assert list(pieces("<p>one")) == ["<p>one"]
    assert list(pieces("")) == [""]
