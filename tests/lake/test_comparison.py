import hashlib
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.lake.comparison import text_sha256, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, World! x_1", ["hello", "world", "x_1"]),
        ("", []),
        (" — … ❤\ufe0f \n", []),
        ("ﬁne ① Ａ", ["fine", "1", "a"]),
        ("東京タワー", ["東", "京", "タ", "ワ", "ー"]),
        ("abc東京 def", ["abc", "東", "京", "def"]),
        ("서울 타워", ["서울", "타워"]),
        ("ไทย", ["ไ", "ท", "ย"]),
        ("ที่นี่", ["ที่", "นี่"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("東・京。", ["東", "京"]),
        ("3,14 €", ["3", "14"]),
    ],
)
def test_tokens(text, expected):
    assert tokens(text) == [unicodedata.normalize("NFKC", token) for token in expected]


def test_composed_and_decomposed_text_are_equal():
    assert text_sha256("Café Ünal") == text_sha256(unicodedata.normalize("NFD", "café  ünal!"))


def test_digest_is_that_of_the_joined_tokens():
    assert text_sha256("One,  two") == hashlib.sha256(b"one two").hexdigest()


def test_no_tokens_no_digest():
    assert text_sha256("") is None
    assert text_sha256("…!") is None


def test_vowel_signs_tell_words_apart():
    assert text_sha256("कि") != text_sha256("की")


@given(st.text())
def test_tokens_are_stable_and_hold_no_space(text):
    found = tokens(text)
    assert all(token and not any(letter.isspace() for letter in token) for token in found)
    assert tokens(text.upper().lower()) is not None
    assert (text_sha256(text) is None) == (found == [])


@given(st.text())
def test_every_letter_and_digit_is_kept(text):
    folded = unicodedata.normalize("NFKC", text).lower()
    letters = [letter for letter in folded if letter.isalnum() or letter == "_"]
    kept = [letter for letter in "".join(tokens(text)) if letter.isalnum() or letter == "_"]
    assert kept == letters
