"""Differences between two sequences: of block hashes, and of words inside changed blocks.

`diff_blocks(old, new)` gives the edits in order; applied to the old sequence they give the new one, and
`diff_blocks(new, old)` is the same edits swapped. The longest common subsequence comes from rapidfuzz (Hyyrö's bit-parallel
Indel); sequences too long for its matrix are first cut at items that occur once on either side, as patience diff does.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rapidfuzz.distance import Indel

# rapidfuzz keeps one bit per pair of items: 50 MB at this many.
MATRIX_LIMIT = 20_000 * 20_000

Op = Literal["replace", "insert", "delete"]
_SWAPPED: dict[Op, Op] = {"replace": "replace", "insert": "delete", "delete": "insert"}


@dataclass(frozen=True)
class Edit:
    """old[old_start:old_end] becomes new[new_start:new_end]; one of them may be empty, not both."""

    op: Op
    old_start: int
    old_end: int
    new_start: int
    new_end: int

    def swapped(self) -> Edit:
        return Edit(_SWAPPED[self.op], self.new_start, self.new_end, self.old_start, self.old_end)


def diff_blocks(old: Sequence[Any], new: Sequence[Any]) -> list[Edit]:
    """Edits in ascending order, never adjacent; items must be hashable and comparable (hashes or words)."""
    one, other = list(old), list(new)
    # Of several longest common subsequences either direction must find the same: always look from the lesser side.
    if other < one:
        return [edit.swapped() for edit in _edits(other, one)]
    return _edits(one, other)


def apply_edits(old: Sequence[Any], edits: Sequence[Edit], new: Sequence[Any]) -> list[Any]:
    """The new sequence, made of the old one and of new[new_start:new_end] for each edit alone."""
    result: list[Any] = []
    at = 0
    for edit in edits:
        result += old[at : edit.old_start]
        result += new[edit.new_start : edit.new_end]
        at = edit.old_end
    return result + list(old[at:])


def changed_words(old: Sequence[str], new: Sequence[str]) -> tuple[list[str], list[str]]:
    """Words only in the old and only in the new blocks: a line for each block that has some, words joined by a space."""
    removed_words, removed_from = _words(old)
    added_words, added_from = _words(new)
    removed: dict[int, list[str]] = {}
    added: dict[int, list[str]] = {}
    for edit in diff_blocks(removed_words, added_words):
        for place in range(edit.old_start, edit.old_end):
            removed.setdefault(removed_from[place], []).append(removed_words[place])
        for place in range(edit.new_start, edit.new_end):
            added.setdefault(added_from[place], []).append(added_words[place])
    return [" ".join(words) for words in removed.values()], [" ".join(words) for words in added.values()]


def _words(blocks: Sequence[str]) -> tuple[list[str], list[int]]:
    """All words in order, and for each the number of its block."""
    words, places = [], []
    for place, block in enumerate(blocks):
        found = block.split()
        words += found
        places += [place] * len(found)
    return words, places


def _edits(old: list[Any], new: list[Any]) -> list[Edit]:
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    # Small numbers stand for the items: rapidfuzz compares hashes, and two items must not share one.
    number: dict[Any, int] = {}
    one = [number.setdefault(item, len(number)) for item in old[head : len(old) - tail]]
    other = [number.setdefault(item, len(number)) for item in new[head : len(new) - tail]]
    edits: list[Edit] = []
    for old_start, old_end, new_start, new_end in _differences(one, other):
        previous = edits[-1] if edits else None
        if previous and previous.old_end == old_start + head and previous.new_end == new_start + head:
            edits.pop()
            old_start, new_start = previous.old_start - head, previous.new_start - head  # noqa: PLW2901
        op: Op = "insert" if old_start == old_end else "delete" if new_start == new_end else "replace"
        edits.append(Edit(op, old_start + head, old_end + head, new_start + head, new_end + head))
    return edits


def _differences(old: list[int], new: list[int]) -> Iterator[tuple[int, int, int, int]]:
    """Differing spans in order; neighbours may touch."""
    if not old or not new:
        if old or new:
            yield 0, len(old), 0, len(new)
    elif len(old) * len(new) <= MATRIX_LIMIT:
        for step in Indel.opcodes(old, new):
            if step.tag != "equal":
                yield step.src_start, step.src_end, step.dest_start, step.dest_end
    else:
        yield from _between_anchors(old, new)


def _between_anchors(old: list[int], new: list[int]) -> Iterator[tuple[int, int, int, int]]:
    anchors = _anchors(old, new)
    if not anchors:
        yield 0, len(old), 0, len(new)
        return
    i = j = 0
    for old_at, new_at in [*anchors, (len(old), len(new))]:
        for a, b, c, d in _differences(old[i:old_at], new[j:new_at]):
            yield a + i, b + i, c + j, d + j
        i, j = old_at + 1, new_at + 1


def _anchors(old: list[int], new: list[int]) -> list[tuple[int, int]]:
    """The longest ascending run of items that occur once on either side, as pairs of places (patience sorting)."""
    old_counts, new_counts = Counter(old), Counter(new)
    places = {item: place for place, item in enumerate(new) if new_counts[item] == 1 and old_counts[item] == 1}
    pairs = [(place, places[item]) for place, item in enumerate(old) if item in places]
    tops: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, (_, new_place) in enumerate(pairs):
        pile = bisect_left(tops, new_place)
        before.append(ends[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(new_place)
            ends.append(number)
        else:
            tops[pile], ends[pile] = new_place, number
    run = []
    number = ends[-1] if ends else -1
    while number >= 0:
        run.append(pairs[number])
        number = before[number]
    return run[::-1]
