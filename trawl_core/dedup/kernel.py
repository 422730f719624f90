"""Compiled loops over shingles: SHA-1 of each, the minima of the permutations, the SimHash votes, set intersection.

Import this module only where the loops run: numba compiles on first use and keeps the machine code in the user's cache
folder (or NUMBA_CACHE_DIR), never beside the source; where no such folder can be written it compiles once a process.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import config as numba_config


def _cache_folder() -> str | None:
    """Where machine code is kept; None when no folder of this user can be written."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        folder = Path(chosen)
    else:
        try:
            folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "trawl" / "numba"
        except RuntimeError:  # no home folder for this user
            return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return str(folder) if os.access(folder, os.W_OK | os.X_OK) else None


_FOLDER = _cache_folder()


def _compiled(loop: Callable[..., Any]) -> Callable[..., Any]:
    """`loop` through numba.njit; the folder is chosen while decorating, other users of numba keep their setting."""
    before = numba_config.CACHE_DIR
    numba_config.CACHE_DIR = _FOLDER or before
    try:
        return numba.njit(cache=_FOLDER is not None, nogil=True)(loop)
    finally:
        numba_config.CACHE_DIR = before


@_compiled
def _rotate(value: np.uint32, bits: int) -> np.uint32:
    return np.uint32((value << np.uint32(bits)) | (value >> np.uint32(32 - bits)))


@_compiled
def _sha1_64(data: np.ndarray, start: int, end: int, words: np.ndarray) -> np.uint64:
    """First 8 bytes, big-endian, of the SHA-1 (FIPS 180-4) of data[start:end]; `words` is scratch, uint32 (80,)."""
    length = end - start
    h0, h1, h2 = np.uint32(0x67452301), np.uint32(0xEFCDAB89), np.uint32(0x98BADCFE)
    h3, h4 = np.uint32(0x10325476), np.uint32(0xC3D2E1F0)
    for block in range((length + 8) // 64 + 1):
        for place in range(16):
            word = np.uint32(0)
            for byte in range(4):
                at = block * 64 + place * 4 + byte
                value = np.uint32(data[start + at]) if at < length else np.uint32(0x80 if at == length else 0)
                word = np.uint32((word << np.uint32(8)) | value)
            words[place] = word
        if block == (length + 8) // 64:
            words[14] = np.uint32((length * 8) >> 32)
            words[15] = np.uint32((length * 8) & 0xFFFFFFFF)
        for place in range(16, 80):
            words[place] = _rotate(words[place - 3] ^ words[place - 8] ^ words[place - 14] ^ words[place - 16], 1)
        a, b, c, d, e = h0, h1, h2, h3, h4
        for place in range(80):
            if place < 20:
                f, k = (b & c) | (~b & d), np.uint32(0x5A827999)
            elif place < 40:
                f, k = b ^ c ^ d, np.uint32(0x6ED9EBA1)
            elif place < 60:
                f, k = (b & c) | (b & d) | (c & d), np.uint32(0x8F1BBCDC)
            else:
                f, k = b ^ c ^ d, np.uint32(0xCA62C1D6)
            turned = np.uint32(_rotate(a, 5) + np.uint32(f) + e + k + words[place])
            a, b, c, d, e = turned, a, _rotate(b, 30), c, d
        h0, h1, h2 = np.uint32(h0 + a), np.uint32(h1 + b), np.uint32(h2 + c)
        h3, h4 = np.uint32(h3 + d), np.uint32(h4 + e)
    return (np.uint64(h0) << np.uint64(32)) | np.uint64(h1)


@_compiled
def shingle_hashes(data: np.ndarray, width: int) -> np.ndarray:
    """uint64 (n,): the hash of each shingle of `width` tokens in order; `data` is text.comparison_bytes."""
    if len(data) == 0:
        return np.empty(0, np.uint64)
    count = 1
    for byte in data:
        count += byte == 32
    starts = np.empty(count + 1, np.int64)
    starts[0] = 0
    token = 1
    for at in range(len(data)):
        if data[at] == 32:
            starts[token] = at + 1
            token += 1
    starts[count] = len(data) + 1
    width = min(width, count)
    words = np.empty(80, np.uint32)
    hashes = np.empty(count - width + 1, np.uint64)
    for first in range(count - width + 1):
        hashes[first] = _sha1_64(data, starts[first], starts[first + width] - 1, words)
    return hashes


@_compiled
def minima(hashes: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """uint32 (len(a),): for each permutation the least a·h + b mod 2³² over the shingles, all ones without shingles.

    h is datasketch's input hash: the first four bytes of the SHA-1, little-endian, through MurmurHash3's finalizer.
    """
    least = np.full(len(a), 0xFFFFFFFF, np.uint32)
    for wide in hashes:
        h = np.uint32(wide >> np.uint64(32))
        h = np.uint32(
            (h >> np.uint32(24))
            | ((h >> np.uint32(8)) & np.uint32(0xFF00))
            | ((h & np.uint32(0xFF00)) << np.uint32(8))
            | (h << np.uint32(24))
        )
        h = np.uint32((h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B))
        h = np.uint32((h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35))
        h = np.uint32(h ^ (h >> np.uint32(16)))
        for k in range(len(a)):
            value = np.uint32(a[k] * h + b[k])
            least[k] = min(least[k], value)
    return least


@_compiled
def majority_bits(hashes: np.ndarray) -> np.uint64:
    """The 64 bits that more than half of the hashes have set; a shingle votes as often as it occurs."""
    votes = np.zeros(64, np.int64)
    for value in hashes:
        for bit in range(64):
            votes[bit] += 1 if (value >> np.uint64(bit)) & np.uint64(1) else -1
    result = np.uint64(0)
    for bit in range(64):
        if votes[bit] > 0:
            result |= np.uint64(1) << np.uint64(bit)
    return result


@_compiled
def common_count(left: np.ndarray, right: np.ndarray) -> int:
    """Values in both of two ascending arrays of distinct uint64."""
    i = j = common = 0
    while i < len(left) and j < len(right):
        if left[i] == right[j]:
            common += 1
            i += 1
            j += 1
        elif left[i] < right[j]:
            i += 1
        else:
            j += 1
    return common
