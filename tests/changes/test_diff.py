from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.changes import diff
from trawl_core.changes.diff import Edit, apply_edits, changed_words, diff_blocks

hashes = st.lists(st.one_of(st.integers(0, 6), st.integers(0, 2**64 - 1)), max_size=30)


@given(hashes, hashes)
def test_applied_to_the_old_blocks_the_edits_give_the_new(old, new):
    assert apply_edits(old, diff_blocks(old, new), new) == new


@given(hashes, hashes)
def test_swapping_the_versions_swaps_the_edits(old, new):
    assert diff_blocks(new, old) == [edit.swapped() for edit in diff_blocks(old, new)]


@given(hashes, hashes)
def test_edits_stand_in_order_apart_and_change_something(old, new):
    edits = diff_blocks(old, new)
    for before, after in pairwise(edits):
        assert before.old_end < after.old_start
        assert before.new_end < after.new_start
    for edit in edits:
        gone, come = edit.old_end - edit.old_start, edit.new_end - edit.new_start
        assert edit.op == ("insert" if not gone else "delete" if not come else "replace")
        assert gone or come
    assert bool(edits) == (old != new)


@given(hashes, hashes)
def test_the_same_holds_between_anchors(old, new):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diff, "MATRIX_LIMIT", 4)
        assert apply_edits(old, diff_blocks(old, new), new) == new
        assert diff_blocks(new, old) == [edit.swapped() for edit in diff_blocks(old, new)]


def test_two_hashes_that_python_hashes_alike_are_two():
    assert diff_blocks([5], [5 + (2**61 - 1)]) == [Edit("replace", 0, 1, 0, 1)]


def test_edits_of_a_small_example():
    assert diff_blocks([1, 2, 3, 4], [1, 3, 5, 4, 6]) == [
        Edit("delete", 1, 2, 1, 1),
        Edit("insert", 3, 3, 2, 3),
        Edit("insert", 4, 4, 4, 5),
    ]


def test_unrelated_pages_of_many_blocks_are_one_replacement():
    old, new = list(range(30_000)), list(range(30_000, 60_000))
    assert diff_blocks(old, new) == [Edit("replace", 0, 30_000, 0, 30_000)]


def test_long_pages_are_cut_at_what_occurs_once():
    old = [place % 100 + 1000 if place % 7 else place + 5000 for place in range(50_000)]
    new = [*old[:25_000], 1, *old[25_002:]]
    edits = diff_blocks(old, new)
    assert apply_edits(old, edits, new) == new
    assert sum(edit.old_end - edit.old_start for edit in edits) <= 20


def test_words_are_shown_by_block():
    removed, added = changed_words(["the price is 310 EUR", "in stock"], ["the price is 283 EUR today", "in stock"])
    assert (removed, added) == (["310"], ["283 today"])


@given(st.lists(st.text("ab c", max_size=8), max_size=4), st.lists(st.text("ab c", max_size=8), max_size=4))
def test_swapping_swaps_words(old, new):
    assert changed_words(new, old) == changed_words(old, new)[::-1]
