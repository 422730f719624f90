"""The text for comparison: what two pages must share to count as having the same text.

NFKC, lower case, word tokens joined by one space; a character of a script that is written without spaces (Han, kana,
Thai, Lao, Khmer, Myanmar) is a token of its own. Combining marks stay with the letter before them: without them words of
Indic scripts and of Thai that differ would compare as equal. Digests of pages, shingles and clusters all stand on this.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence

_UNSPACED = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303c\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U0001b000-\U0001b16f\U00020000-\U000323af"
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f"
)
_LAST_MARK = 0x1E94A


def _marks() -> str:
    """Combining marks as the inside of a character class, without variation selectors, which only choose a glyph."""
    ranges: list[list[int]] = []
    for code in range(0x300, _LAST_MARK + 1):
        if unicodedata.category(chr(code))[0] == "M" and not (0xFE00 <= code <= 0xFE0F or 0x180B <= code <= 0x180F):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


_MARKS = _marks()
_WORD = rf"[^\W{_UNSPACED}]+(?:[{_MARKS}]+[^\W{_UNSPACED}]*)*"
_ASCII_TOKEN = re.compile(r"\w+", re.ASCII)
_TOKEN = re.compile(rf"{_WORD}|(?!\W)[{_UNSPACED}][{_MARKS}]*")


def tokens(text: str) -> list[str]:
    """Tokens of `text` in order; empty when it holds no letter, digit or underscore."""
    if text.isascii():
        return _ASCII_TOKEN.findall(text.lower())
    return _TOKEN.findall(unicodedata.normalize("NFKC", text).lower())


def text_sha256(text: str) -> str | None:
    """sha256 hex of the tokens joined by one space; None when there are none: two empty pages are not equal pages."""
    return tokens_sha256(tokens(text))


def tokens_sha256(found: Sequence[str]) -> str | None:
    """`text_sha256` of a text whose tokens are at hand."""
    return hashlib.sha256(" ".join(found).encode("utf-8", "replace")).hexdigest() if found else None
