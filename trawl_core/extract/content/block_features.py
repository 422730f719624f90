"""What a model sees of each block: its own text, where it stands, and what stands around it.

Counting is done on all text at once, as arrays of code points: a page has hundreds of blocks.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache

import numpy as np

from trawl_core.extract.blocks import Split

TAGS = tuple(
    [
        "p",
        "li",
        "td",
        "tr",
        "div",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "dt",
        "dd",
        "pre",
        "blockquote",
        "article",
        "section",
        "figcaption",
        "body",
        "label",
        "button",
        "th",
        "span",
        "a",
        "main",
        "summary",
        "time",
        "address",
    ]
)
_TAG_NUMBERS = {tag: number for number, tag in enumerate(TAGS)}

OWN = [
    "log_chars",
    "log_words",
    "link_share",
    "pieces_per_word",
    "beside_names",
    "content_names",
    "lists",
    "forms",
    "tag",
    "depth",
    "beside",
    "main",
    "article",
    "level",
    "position",
    "chars_before",
    "after_h1",
    "has_h1",
    "in_main",
    "punctuation",
    "ends_a_sentence",
    "short_words",
    "digits",
    "capitals",
    "repeats",
    "chars_per_word",
    "bars",
    "blocks",
    "log_page_chars",
    "like_it",
    "words_like_it",
    "links_like_it",
]
_OF_NEIGHBOURS = ["log_chars", "link_share", "beside_names", "main", "beside", "punctuation", "short_words"]
_WINDOWS = ["chars_3", "chars_8", "link_share_3", "link_share_8"]
NAMES = (*OWN, *(f"{name}{step:+d}" for step in (-1, 1, -2, 2) for name in _OF_NEIGHBOURS), *_WINDOWS)

_FAR_FROM_H1 = -999.0
_OTHER_LETTER = 0x3000  # from here on nearly everything is a letter without case
_UPPER, _DIGIT, _WORD, _STOP, _PUNCTUATION = 1, 2, 4, 8, 16


def block_features(split: Split) -> np.ndarray:
    """(blocks, len(NAMES)) float32; no rows for a page without blocks."""
    blocks, around = split.blocks, split.surroundings
    count = len(blocks)
    if not count:
        return np.zeros((0, len(NAMES)), np.float32)
    own = np.empty((count, len(OWN)), np.float64)
    text = _TextCounts([block.text for block in blocks])
    numbers = np.array([(*row[:7], _TAG_NUMBERS.get(row.tag, -1), *row[8:]) for row in around], np.float64)
    chars, link_chars, pieces, beside_names, content_names, lists, forms, tag, depth, beside, main, article = numbers.T
    levels = np.array([block.level for block in blocks], np.float64)
    hashes = np.array([block.hash for block in blocks], np.uint64)
    words = np.maximum(text.words, 1)
    own[:, 0] = np.log1p(text.chars)
    own[:, 1] = np.log1p(text.words)
    own[:, 2] = link_share = link_chars / np.maximum(chars, 1)
    own[:, 3] = pieces / words
    own[:, 4] = np.minimum(beside_names, 4)
    own[:, 5] = np.minimum(content_names, 4)
    own[:, 6] = np.minimum(lists, 3)
    own[:, 7] = np.minimum(forms, 1)
    own[:, 8], own[:, 9] = tag, depth
    own[:, 10], own[:, 11], own[:, 12] = beside > 0, main > 0, article > 0
    own[:, 13] = levels
    own[:, 14] = np.arange(count) / count
    total = max(float(chars.sum()), 1.0)
    own[:, 15] = (np.cumsum(chars) - chars) / total
    first_h1 = int(np.argmax(levels == 1)) if (levels == 1).any() else None
    own[:, 16] = _FAR_FROM_H1 if first_h1 is None else np.arange(count) - first_h1
    own[:, 17] = first_h1 is not None
    own[:, 18] = [block.in_main for block in blocks]
    own[:, 19] = text.punctuation / words
    own[:, 20] = text.ends_a_sentence
    own[:, 21] = text.short_words / words
    own[:, 22] = text.digits / text.chars
    own[:, 23] = text.capitals / text.chars
    own[:, 24] = np.minimum(_group_sizes(hashes)[1], 5)
    own[:, 25] = text.chars / words
    own[:, 26] = [block.text.count("|") for block in blocks]
    own[:, 27] = count
    own[:, 28] = np.log1p(total)
    group, sizes = _group_sizes(tag * 1000 + depth)
    own[:, 29] = np.log1p(sizes)
    own[:, 30] = np.bincount(group, chars)[group] / total
    own[:, 31] = np.bincount(group, link_share)[group] / sizes
    return np.hstack([own, *_neighbours(own), _windows(text.chars, link_chars)]).astype(np.float32)


def blended_features(features: np.ndarray, split: Split, texts: Sequence[str]) -> np.ndarray:
    """(blocks, len(NAMES) + 3 × len(texts)) float32: `features`, and how much of each block, of the one before and of the one behind it
    each text of a reader holds (0 to 1, -1 beyond the ends)."""
    if not split.blocks:
        return np.hstack([features, np.zeros((0, 3 * len(texts)))]).astype(np.float32)
    words = _Words([block.text for block in split.blocks])
    kept = np.stack([words.kept_by(text) for text in texts], axis=1)
    before, after = np.full_like(kept, -1.0), np.full_like(kept, -1.0)
    before[1:], after[:-1] = kept[:-1], kept[1:]
    return np.hstack([features, kept, before, after]).astype(np.float32)


class _Words:
    """The words of blocks as numbers, so that three in a row are one number too."""

    def __init__(self, blocks: list[str]) -> None:
        self._blocks = [block.lower() for block in blocks]
        words = " ".join(self._blocks).split()
        self._numbers = dict(zip(dict.fromkeys(words), itertools.count(1), strict=False))
        self._sizes = np.array([len(block.split()) for block in self._blocks])
        self._trigrams = self._trigrams_of(list(map(self._numbers.__getitem__, words)))

    def kept_by(self, text: str) -> np.ndarray:
        """(blocks,): the share of each block's word trigrams that a text holds; of shorter blocks whether it has them as a line."""
        lowered = text.lower()
        found = set(self._trigrams_of(list(map(self._numbers.get, lowered.split(), itertools.repeat(0)))))
        hits = np.concatenate([[0], np.cumsum(np.fromiter(map(found.__contains__, self._trigrams), bool, len(self._trigrams)))])
        ends = np.cumsum(self._sizes)
        starts = ends - self._sizes
        last = len(hits) - 1
        own = np.maximum(self._sizes - 2, 1)
        shares = (hits[np.minimum(starts + own, last)] - hits[np.minimum(starts, last)]) / own
        lines = {" ".join(line.split()) for line in lowered.splitlines()}
        for at in np.flatnonzero(self._sizes < 3).tolist():
            shares[at] = " ".join(self._blocks[at].split()) in lines
        return shares

    def _trigrams_of(self, numbers: list[int]) -> list[int]:
        """One number for each three words in a row; 0 stands for all words that no block has."""
        base = len(self._numbers) + 1
        at = np.array(numbers, np.int64)
        return ((at[:-2] * base + at[1:-1]) * base + at[2:]).tolist()


def _group_sizes(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each key the number of its group, and how many there are of it."""
    _, group, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    return group, sizes[group]


def _neighbours(own: np.ndarray) -> list[np.ndarray]:
    seen = own[:, [OWN.index(name) for name in _OF_NEIGHBOURS]]
    shifted = []
    for step in (-1, 1, -2, 2):
        moved = np.full_like(seen, -1.0)
        if step < 0:
            moved[-step:] = seen[:step]
        else:
            moved[:-step] = seen[step:]
        shifted.append(moved)
    return shifted


def _windows(chars: np.ndarray, link_chars: np.ndarray) -> np.ndarray:
    columns = []
    for reach in (3, 8):
        near = np.maximum(_sums_around(chars, reach), 1)
        columns.append((np.log1p(near), _sums_around(link_chars, reach) / near))
    return np.stack([columns[0][0], columns[1][0], columns[0][1], columns[1][1]], axis=1)


def _sums_around(values: np.ndarray, reach: int) -> np.ndarray:
    sums = np.concatenate([[0.0], np.cumsum(values)])
    at = np.arange(len(values))
    return sums[np.minimum(len(values), at + reach + 1)] - sums[np.maximum(0, at - reach)]


class _TextCounts:
    """Counts per text: characters, words, digits, capitals, punctuation, words of up to three letters; and how it ends."""

    def __init__(self, texts: list[str]) -> None:
        codes = np.frombuffer("\n".join([*texts, ""]).encode("utf-32-le", "replace"), np.uint32)
        kinds = _kinds()[np.minimum(codes, _OTHER_LETTER)]
        ends = np.flatnonzero(codes == 10)
        starts = np.concatenate([[0], ends[:-1] + 1])
        self.chars = (ends - starts).astype(np.float64)
        is_word = (kinds & _WORD) > 0
        begins = is_word & ~np.concatenate([[False], is_word[:-1]])
        word_starts = np.flatnonzero(begins)
        word_ends = np.flatnonzero(is_word & ~np.concatenate([is_word[1:], [False]])) + 1
        is_short = np.zeros(len(codes), bool)
        is_short[word_starts[word_ends - word_starts <= 3]] = True
        before_space = np.concatenate([kinds[1:] & (_WORD | _STOP | _PUNCTUATION) == 0, [True]])
        is_punctuation = ((kinds & _PUNCTUATION) > 0) | (((kinds & _STOP) > 0) & before_space)
        self.words, self.digits, self.capitals, self.punctuation, self.short_words = (
            np.add.reduceat(flags, starts, dtype=np.float64)
            for flags in (begins, (kinds & _DIGIT) > 0, (kinds & _UPPER) > 0, is_punctuation, is_short)
        )
        self.ends_a_sentence = np.array([text[-1:] in '.!?…。:;"”)' for text in texts])


@cache
def _kinds() -> np.ndarray:
    """What each code point is, up to those that stand for all beyond."""
    kinds = np.zeros(_OTHER_LETTER + 1, np.uint8)
    for code in range(_OTHER_LETTER):
        letter = chr(code)
        kinds[code] = _UPPER * letter.isupper() | _DIGIT * letter.isdigit() | _WORD * (letter.isalnum() or letter == "_")
    kinds[_OTHER_LETTER] = _WORD
    for letter in ".!?…":
        kinds[ord(letter)] |= _STOP
    for letter in ",;:":
        kinds[ord(letter)] |= _PUNCTUATION
    return kinds
