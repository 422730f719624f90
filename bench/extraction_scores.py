"""How near an extracted text comes to the true one, by the measures of the two benchmarks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

_WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def word_f1(text: str, truth: str) -> float:
    """F1 over the multisets of words (WCXB); 1 when both are empty."""
    found, wanted = Counter(words_of(text)), Counter(words_of(truth))
    if not found and not wanted:
        return 1.0
    return 2 * (found & wanted).total() / (found.total() + wanted.total())


def shingle_counts(text: str, truth: str) -> tuple[float, float, float]:
    """Shares of a page's 4-grams of words that are right, too much and missed (they add up to 1)."""
    found, wanted = _shingles(text), _shingles(truth)
    right = (found & wanted).total()
    every = found.total() + wanted.total() - right
    if not every:
        return 1.0, 0.0, 0.0
    return right / every, (found.total() - right) / every, (wanted.total() - right) / every


def article_f1(counts: Iterable[tuple[float, float, float]]) -> float:
    """F1 of summed counts, the measure of the article extraction benchmark."""
    right, too_much, missed = (sum(column) for column in zip(*counts, strict=True))
    return 2 * right / (2 * right + too_much + missed)


def _shingles(text: str, size: int = 4) -> Counter[tuple[str, ...]]:
    words = words_of(text)
    if not words:
        return Counter()
    return Counter(tuple(words[at : at + size]) for at in range(max(1, len(words) - size + 1)))
