from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.dedup.bands import BANDS, FULL_BUCKET, ROWS, agreement, band_hashes, candidate_pairs


def test_one_hash_per_band_that_depends_on_its_rows_alone():
    chance = np.random.default_rng(3)
    one = chance.integers(0, 2**32, (1, 128), dtype=np.uint32)
    other = one.copy()
    other[0, 7] ^= 1  # band 1
    hashes = band_hashes(np.vstack([one, other]))
    assert (hashes.shape, hashes.dtype) == ((2, BANDS), np.uint64)
    assert np.flatnonzero(hashes[0] != hashes[1]).tolist() == [7 // ROWS]


def test_the_same_rows_in_another_band_give_another_hash():
    assert len(set(band_hashes(np.zeros((1, 128), np.uint32))[0].tolist())) == BANDS


@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), max_size=12))
def test_candidates_are_the_pairs_that_share_a_band(rows):
    bands = np.array([[value * 10 + band for band, value in enumerate(row)] for row in rows], np.uint64).reshape(-1, 3)
    expected = [[i, j] for i in range(len(rows)) for j in range(i + 1, len(rows)) if (bands[i] == bands[j]).any()]
    assert candidate_pairs(bands).tolist() == expected


def test_a_large_bucket_is_a_star():
    bands = np.zeros((FULL_BUCKET + 5, 1), np.uint64)
    assert candidate_pairs(bands).tolist() == [[0, j] for j in range(1, FULL_BUCKET + 5)]


def test_agreement_in_chunks():
    signatures = np.array([[1, 2], [1, 3], [4, 5]], np.uint32)
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    assert agreement(signatures, pairs, chunk=2).tolist() == [0.5, 0.0, 0.0]
