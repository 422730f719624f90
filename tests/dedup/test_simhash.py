from __future__ import annotations

import hashlib
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from trawl_core.dedup.simhash import hamming, simhash64
from trawl_core.dedup.text import shingles


def by_definition(text: str) -> int:
    votes = [0] * 64
    for shingle, weight in Counter(shingles(text, 3)).items():
        value = int.from_bytes(hashlib.sha1(shingle.encode()).digest()[:8], "big")
        for bit in range(64):
            votes[bit] += weight if value >> bit & 1 else -weight
    return sum(1 << bit for bit in range(64) if votes[bit] > 0)


@given(st.text(alphabet="ab cdé漢字", max_size=120))
def test_equals_its_definition(text):
    assert simhash64(text) == by_definition(text)


def test_a_feature_may_weigh_more_than_a_byte():
    assert simhash64("same " * 1000) == by_definition("same " * 1000)


def test_a_small_edit_moves_few_bits():
    text = " ".join(f"word{place * place % 977}" for place in range(600))
    assert hamming(simhash64(text), simhash64(text.replace("word900", "else"))) <= 6
    assert hamming(simhash64(text), simhash64(" ".join(f"other{place}" for place in range(600)))) > 15


def test_hamming():
    assert hamming(0, 2**64 - 1) == 64
    assert hamming(0b1011, 0b0010) == 2


def test_no_tokens():
    assert simhash64(" … ") == 0
