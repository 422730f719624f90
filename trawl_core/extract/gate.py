"""Which pages need not be read again: those that show the lines that their previous capture showed.

Between two releases of a site hardly a body stays the same byte for byte, since templates print versions and dates on every
page. So the visible lines (blocks) are compared instead, less those that the site's template gives. A line is left out of the
comparison where

* it is common: at least LEAST_SHARE of the URLs of its night show it, and at least LEAST_PAGES;
* it belongs to the template and not to this page: it stands beside the main content by the markup, or no page of the other night
  shows it (a version in the header is new on all pages at once; "sold out", which other products say on both nights, is not);
* it is no line of the text that was read, nor was put between two lines of it.

A page whose other lines are the same, in the same order, has the same main content: its text is carried over. A page with other lines
is read; where most lines are the same and the extractor that was the best before is a cheap one, that one reads it again without
asking all the others.

**Rows are the same whatever was built before.** Let `c` be a capture of date D and `p` the row of the newest earlier date, at most
LOOK_BACK_DAYS ago, that has rows of the same URL. Everything that decides about `c` is a function of: the blocks of all captures of D,
which come of their bodies; `page_blocks` of p's date; the row p; the settings; and whether `c` is in D's sample, a function of D and
the URL. What an earlier build of D left is never asked: rows are kept only where this decision, made anew, gives the same row. So
`pages(D)` is a function of the archive of D and of `pages` and `page_blocks` of earlier dates. The stage builds earlier dates that are
missing first, and they in turn are such functions; by induction over the dates `pages(D)` is a function of the archive up to D
and the settings. Deleting an earlier date, or all of them, and building in any order changes nothing. A row made by another version
or profile is no `p` at all: after an upgrade, dates are to be built again from the oldest on, as Dagster's backfill does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from trawl_core.extract.blocks import Block, block_hash, normalize_space
from trawl_core.extract.content.choice import MARKUP, RESILIPARSE

if TYPE_CHECKING:
    import polars as pl  # each worker process imports this module, and none of them needs polars

LEAST_SHARE = 0.3
LEAST_PAGES = 5
LOOK_BACK_DAYS = 60
LEAST_ALIKE = 0.7
CHEAP_READINGS = frozenset([MARKUP, RESILIPARSE])


@dataclass(frozen=True)
class Lines:
    """A page's blocks in order: (n,) uint64 hashes, and (n,) bool whether the markup calls each main content."""

    hashes: np.ndarray
    in_main: np.ndarray

    @staticmethod
    def of(blocks: Iterable[Block]) -> Lines:
        pairs = [(block.hash, block.in_main) for block in blocks]
        return Lines(np.array([one for one, _ in pairs], np.uint64), np.array([one for _, one in pairs], bool))

    @staticmethod
    def of_rows(rows: Iterable[Mapping[str, Any]]) -> Lines:
        """Of rows of `page_blocks`."""
        pairs = [(row["hash"], row["in_main"]) for row in rows]
        return Lines(np.array([one for one, _ in pairs], np.uint64), np.array([one for _, one in pairs], bool))


@dataclass(frozen=True)
class LineCounts:
    """Of one night: how many URLs show each line. `hashes` ascend; `pages` is the number of URLs with any line."""

    hashes: np.ndarray
    counts: np.ndarray
    pages: int

    def of(self, hashes: np.ndarray) -> np.ndarray:
        """(n,) number of URLs that show each of these lines."""
        if not len(self.hashes):
            return np.zeros(len(hashes), np.int64)
        places = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        return np.where(self.hashes[places] == hashes, self.counts[places], 0)

    def common(self, hashes: np.ndarray) -> np.ndarray:
        """(n,) bool."""
        return self.of(hashes) >= max(LEAST_PAGES, LEAST_SHARE * self.pages)


def count_lines(shown: pl.DataFrame) -> LineCounts:
    """`shown` has the columns `url` and `hash`, in any order and any number of times."""
    counted = shown.unique().group_by("hash").len().sort("hash")
    return LineCounts(counted["hash"].to_numpy(), counted["len"].to_numpy().astype(np.int64), shown["url"].n_unique())


@dataclass(frozen=True)
class Before:
    """The previous capture of a page: its lines, and what was read of it.

    `may_go`: (n,) bool, the lines without which the page may still be the same, by what is known of that night alone. `in_text`:
    sorted hashes of the lines of its text.
    """

    lines: Lines
    may_go: np.ndarray
    in_text: np.ndarray
    extractor: str
    predicted_type: str


def text_lines(text: str) -> np.ndarray:
    """Sorted hashes of the lines of a text, comparable to those of blocks."""
    return np.unique(np.array([block_hash(normalize_space(line)) for line in text.splitlines()], np.uint64))


def surely_changed(before: Before, now: Lines) -> bool:
    """True when a line is gone that no template can have taken: then nothing else needs to be known of tonight."""
    return bool(np.any(~before.may_go & ~np.isin(before.lines.hashes, now.hashes)))


def same_lines(before: Before, now: Lines, earlier: LineCounts, tonight: LineCounts) -> bool:
    """Whether both captures of a page show the same lines, template apart; `earlier` counts the night of `before`."""
    old = before.lines
    if np.array_equal(old.hashes, now.hashes):
        return True
    left_out_then = before.may_go & (~old.in_main | (tonight.of(old.hashes) == 0))
    in_text = np.isin(now.hashes, before.in_text)
    left_out_now = tonight.common(now.hashes) & ~in_text & (~now.in_main | (earlier.of(now.hashes) == 0))
    kept = now.hashes[~left_out_now]
    if not len(kept) or not np.array_equal(old.hashes[~left_out_then], kept):
        return False
    added = left_out_now & ~np.isin(now.hashes, old.hashes)
    return not _between(added, ~left_out_now, in_text)


def _between(added: np.ndarray, kept: np.ndarray, in_text: np.ndarray) -> bool:
    """Whether one of the lines `added` has lines of the text as its neighbours among those `kept`, on both sides."""
    places = np.flatnonzero(kept)
    following = np.searchsorted(places, np.flatnonzero(added))
    following = following[(following > 0) & (following < len(places))]
    return bool(np.any(in_text[places[following - 1]] & in_text[places[following]]))


def reads_as_before(before: Before, now: Lines) -> bool:
    """Whether the extractor that was the best for the previous capture may read this one unasked: see the module's docstring."""
    if before.extractor not in CHEAP_READINGS:
        return False
    old, old_counts = np.unique(before.lines.hashes, return_counts=True)
    new, new_counts = np.unique(now.hashes, return_counts=True)
    _, first, second = np.intersect1d(old, new, assume_unique=True, return_indices=True)
    shared = np.minimum(old_counts[first], new_counts[second]).sum()
    return bool(shared >= LEAST_ALIKE * max(1, len(before.lines.hashes), len(now.hashes)))


def is_sampled(day: date, url: str, share: float) -> bool:
    """Whether a page is read on that day though its lines are the same; of many URLs about `share` are."""
    digest = hashlib.sha256(f"{day.isoformat()} {url}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64
