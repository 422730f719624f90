"""SimHash: 64 bits in which similar texts differ little.

Charikar, "Similarity estimation techniques from rounding algorithms", 2002: each word 3-gram votes with its frequency.
A cheap fingerprint and a measure of how much changed; it does not decide duplicates, since distance <= 3 finds less than
half of the pairs with a Jaccard of .8.
"""

from __future__ import annotations

from trawl_core.dedup.text import SIMHASH_WIDTH, comparison_bytes


def simhash64(text: str) -> int:
    """0 <= value < 2⁶⁴; 0 for a text without tokens."""
    from trawl_core.dedup import kernel

    return int(kernel.majority_bits(kernel.shingle_hashes(comparison_bytes(text), SIMHASH_WIDTH)))


def hamming(a: int, b: int) -> int:
    """Bits in which two SimHashes differ, 0 to 64."""
    return (int(a) ^ int(b)).bit_count()
