"""From a page's text to its shingles.

A shingle is `width` consecutive tokens joined by one space; a text with fewer tokens is one shingle as a whole, so two
short texts that differ share nothing; a text without tokens has none, so two empty pages are never duplicates.
"""

from __future__ import annotations

import numpy as np

from trawl_core.lake.comparison import tokens

MINHASH_WIDTH = 5
SIMHASH_WIDTH = 3


def shingles(text: str, width: int = MINHASH_WIDTH) -> list[str]:
    """Shingles in order, repeated ones included."""
    words = tokens(text)
    width = min(width, len(words))
    return [" ".join(words[start : start + width]) for start in range(len(words) - width + 1)] if words else []


def comparison_bytes(text: str) -> np.ndarray:
    """uint8 (n,): the tokens joined by one space in UTF-8, in which every shingle is one slice; empty without tokens."""
    return np.frombuffer(" ".join(tokens(text)).encode("utf-8", "replace"), np.uint8)
