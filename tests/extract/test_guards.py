"""Whether a tag could be too long is told without cutting the document up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trawl_core.extract.guards import has_longer_piece


@given(st.text("a>", max_size=40), st.integers(1, 8))
def test_a_longer_piece_is_found_wherever_it_stands(text, limit):
    assert has_longer_piece(text, limit) == any(len(piece) > limit for piece in text.split(">"))
