"""The language of a page: what it declares, else what its text looks like. BCP 47 primary subtags."""

from __future__ import annotations

import re

from resiliparse.parse.lang import detect_fast
from selectolax.lexbor import LexborHTMLParser

_PRIMARY = re.compile(r"\s*([a-zA-Z]{2,3})(?:[-_]|\s*(?:,|\Z))")
_SAMPLE_CHARS = 4000
_MIN_LETTERS = 60
# The out-of-place rank of resiliparse's profiles; it warns of ranks above 1,200.
_MAX_RANK = 1000
# Ranks closer than this are a tie: the language that more pages are written in wins.
_TIE = 1.02
_COMMON = (
    "en",
    "es",
    "de",
    "ru",
    "fr",
    "it",
    "pt",
    "pl",
    "nl",
    "tr",
    "cs",
    "sv",
    "uk",
    "ro",
    "hu",
    "da",
    "fi",
    "no",
    "bg",
    "sk",
    "hr",
    "sr",
)
# Scripts that leave one likely language; the profiles of resiliparse hold alphabetic ones. First match with a share wins.
_SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff]"), 0.05),
    ("ko", re.compile(r"[\uac00-\ud7a3]"), 0.2),
    ("zh", re.compile(r"[\u4e00-\u9fff]"), 0.3),
    ("th", re.compile(r"[\u0e00-\u0e7f]"), 0.3),
    ("lo", re.compile(r"[\u0e80-\u0eff]"), 0.3),
    ("km", re.compile(r"[\u1780-\u17ff]"), 0.3),
    ("my", re.compile(r"[\u1000-\u109f]"), 0.3),
    ("ka", re.compile(r"[\u10a0-\u10ff]"), 0.3),
    ("hy", re.compile(r"[\u0530-\u058f]"), 0.3),
    ("el", re.compile(r"[\u0370-\u03ff]"), 0.3),
    ("he", re.compile(r"[\u0590-\u05ff]"), 0.3),
)


def declared_language(tree: LexborHTMLParser) -> str | None:
    """Language of the root element, of `content-language` or of `og:locale`; None when none is one."""
    root = tree.root
    candidates = [root.attributes.get("lang") or root.attributes.get("xml:lang")] if root is not None else []
    for selector in ('meta[http-equiv="content-language" i]', 'meta[property="og:locale"]'):
        node = tree.css_first(selector)
        candidates.append(node.attributes.get("content") if node is not None else None)
    return next((tag for tag in map(primary_subtag, candidates) if tag), None)


def primary_subtag(tag: str | None) -> str | None:
    match = _PRIMARY.match(tag or "")
    return match[1].lower() if match else None


def detected_language(text: str) -> str | None:
    """Language of a text, None when it is too short or like no known one."""
    sample = text[:_SAMPLE_CHARS]
    letters = sum(map(str.isalpha, sample))
    if not letters:
        return None
    for language, script, share in _SCRIPTS:
        if len(script.findall(sample)) >= max(5, share * letters):
            return language
    if letters < _MIN_LETTERS:
        return None
    ranked = detect_fast(sample, _MAX_RANK, 8)
    near = [language for language, rank in ranked if rank <= ranked[0][1] * _TIE]
    return next((language for language in _COMMON if language in near), near[0] if near else None)
