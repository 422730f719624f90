"""MinHash signatures, bit for bit those of datasketch's `affine32` scheme.

The permutations are taken from datasketch itself (seed 1, 128 of them), the hash is its default (SHA-1, 32 bits); only
the loop over the shingles is our own. Broder, "On the resemblance and containment of documents", 1997.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from trawl_core.dedup.text import MINHASH_WIDTH, comparison_bytes

PERMUTATIONS = 128
SEED = 1


@cache
def permutations() -> tuple[np.ndarray, np.ndarray]:
    """The odd factors and the summands, uint32 (128,) each."""
    from datasketch import MinHash

    factors, summands = MinHash(num_perm=PERMUTATIONS, seed=SEED, scheme="affine32").permutations
    return np.ascontiguousarray(factors), np.ascontiguousarray(summands)


def signature_of(hashes: np.ndarray) -> np.ndarray:
    """uint32 (128,): the signature of shingle hashes as kernel.shingle_hashes gives them."""
    from trawl_core.dedup import kernel

    return kernel.minima(hashes, *permutations())


def minhash_signatures(texts: Sequence[str]) -> np.ndarray:
    """uint32 (n, 128), one row a text; a text without tokens has a row of 2³²-1, as an empty datasketch MinHash has.

    Two such rows look equal and mean nothing: leave texts without tokens out of any comparison.
    """
    from trawl_core.dedup import kernel

    signatures = np.empty((len(texts), PERMUTATIONS), np.uint32)
    for row, text in enumerate(texts):
        signatures[row] = signature_of(kernel.shingle_hashes(comparison_bytes(text), MINHASH_WIDTH))
    return signatures
