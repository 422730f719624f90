"""The part of a chunk that is shown."""

from hypothesis import given
from hypothesis import strategies as st

from trawl_core.search.snippet import snippet

TEXT = "Filler words stand here without any meaning. " * 20 + "The dead letter queue keeps what failed. " + "More filler follows. " * 20


def test_short_text_is_shown_whole_on_one_line():
    assert snippet("One\n two.", "anything") == "One two."


def test_window_holds_the_words_of_the_query():
    shown = snippet(TEXT, "dead letter queues")
    assert "dead letter queue" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")


def test_without_a_match_the_beginning_is_shown():
    assert snippet(TEXT, "zebra").startswith("Filler words stand")


@given(st.text(max_size=600), st.text(max_size=40), st.integers(20, 300))
def test_never_longer_than_asked_and_always_part_of_the_text(text, query, max_chars):
    shown = snippet(text, query, max_chars)
    assert len(shown) <= max_chars
    line = " ".join(text.split())
    if len(line) <= max_chars:
        assert shown == line
    else:
        assert shown.removeprefix("…").removesuffix("…") in line
