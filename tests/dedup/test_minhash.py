"""The oracle is datasketch itself, on the same shingles."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from datasketch import MinHash
from hypothesis import given
from hypothesis import strategies as st

import trawl_core
from trawl_core.dedup.minhash import minhash_signatures
from trawl_core.dedup.text import shingles


def oracle(text: str) -> np.ndarray:
    sketch = MinHash(num_perm=128)
    for shingle in shingles(text):
        sketch.update(shingle.encode())
    return sketch.hashvalues


def corpus(count: int) -> list[str]:
    chance = random.Random(7)
    letters = "abcdefghijklmnopqrstuvwxyzäöüßéñçøåžčłαβγδжщюя012345"
    words = ["".join(chance.choices(letters, k=chance.randint(1, 14))) for _ in range(400)]
    texts = [" ".join(chance.choices(words, k=chance.randint(0, 120))) for _ in range(count)]
    return [
        *texts,
        "",
        "…",
        "one two",
        "漢字とかな交じりの文章です",
        "ภาษาไทยไม่มีช่องว่าง",
        "हिन्दी के शब्द और मात्राएँ यहाँ",
        "x" * 700,
        "A\u0301 \ufb01 Ⅷ ½",
    ]


def test_signatures_equal_datasketch():
    texts = corpus(100)
    assert [row.tolist() for row in minhash_signatures(texts)] == [oracle(text).tolist() for text in texts]


@given(st.text(max_size=200))
def test_any_text_equals_datasketch(text):
    assert minhash_signatures([text])[0].tolist() == oracle(text).tolist()


@pytest.mark.parametrize("length", [1, 54, 55, 56, 57, 63, 64, 65, 119, 120, 128, 1000])
def test_sha1_blocks_at_their_edges(length):
    assert minhash_signatures(["a" * length])[0].tolist() == oracle("a" * length).tolist()


def test_shape_and_type():
    signatures = minhash_signatures(["a", "b"])
    assert (signatures.shape, signatures.dtype) == ((2, 128), np.uint32)
    assert minhash_signatures([]).shape == (0, 128)


def test_no_tokens_no_signature():
    assert (minhash_signatures(["", " — "]) == 2**32 - 1).all()


def test_short_texts_that_differ_share_nothing():
    cat, dog, again = minhash_signatures(["a cat", "a dog", "A  cat!"])
    assert (cat == again).all()
    assert (cat == dog).mean() < 0.1


def test_works_where_no_cache_folder_can_be_written():
    environ = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    environ |= {"HOME": "/dev/null", "PYTHONPATH": str(Path(trawl_core.__file__).parents[1])}
    program = "from trawl_core.dedup.simhash import simhash64; print(simhash64('one two three'))"
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], env=environ, capture_output=True, text=True, check=False)
    from trawl_core.dedup.simhash import simhash64

    assert (done.stdout.strip(), done.stderr) == (str(simhash64("one two three")), "")
