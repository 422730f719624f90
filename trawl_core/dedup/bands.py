"""Locality-sensitive hashing: signatures that agree in one whole band are candidates.

b = 20 bands of r = 5 rows find a pair of Jaccard s with probability 1 - (1 - s^r)^b: .9996 at .8, .47 at .5. The numbers are
stated, not derived from a threshold: optimisers balance errors and miss most pairs at the threshold itself.
Leskovec, Rajaraman, Ullman, "Mining of Massive Datasets", section 3.4.
"""

from __future__ import annotations

import numpy as np
import polars as pl

BANDS = 20
ROWS = 5
# In a bucket of more documents than this only pairs with the first one are candidates: a template of thousands of pages
# would give millions of pairs, and its pages meet in other bands as well.
FULL_BUCKET = 100

_STEP = np.uint64(0x9E3779B97F4A7C15)


def _mix(values: np.ndarray) -> np.ndarray:
    """The finalizer of splitmix64 (Steele, Lea, Flood 2014) on uint64, element by element."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def band_hashes(signatures: np.ndarray) -> np.ndarray:
    """uint64 (n, 20) of uint32 (n, 128); the band's number is part of its hash, so one column can hold all bands."""
    rows = signatures[:, : BANDS * ROWS].reshape(len(signatures), BANDS, ROWS).astype(np.uint64)
    state = np.broadcast_to(_mix(np.arange(1, BANDS + 1, dtype=np.uint64) * _STEP), rows.shape[:2])
    for row in range(ROWS):
        state = _mix((state ^ rows[:, :, row]) + _STEP)
    return state


def candidate_pairs(bands: np.ndarray) -> np.ndarray:
    """int64 (m, 2): pairs (i, j), i < j, of the rows of `bands` that share a band; each once, ascending."""
    documents = pl.DataFrame({"band": bands.reshape(-1), "document": np.repeat(np.arange(len(bands)), bands.shape[1])})
    shared = documents.with_columns(size=pl.len().over("band"), first=pl.col("document").min().over("band")).filter(pl.col("size") > 1)
    small = shared.filter(pl.col("size") <= FULL_BUCKET).select("band", "document")
    pairs = small.join(small, on="band").filter(pl.col("document") < pl.col("document_right")).select(i="document", j="document_right")
    star = shared.filter((pl.col("size") > FULL_BUCKET) & (pl.col("document") != pl.col("first"))).select(i="first", j="document")
    return pl.concat([pairs, star]).unique().sort("i", "j").to_numpy().reshape(-1, 2)


def agreement(signatures: np.ndarray, pairs: np.ndarray, chunk: int = 100_000) -> np.ndarray:
    """float64 (m,): share of equal values in the two signatures of each pair, the estimate of their Jaccard."""
    shares = np.empty(len(pairs))
    for start in range(0, len(pairs), chunk):
        part = pairs[start : start + chunk]
        shares[start : start + chunk] = (signatures[part[:, 0]] == signatures[part[:, 1]]).mean(axis=1)
    return shares
