"""Signs that a text was read by the wrong encoding: what no language writes, and what an encoding by its neighbour looks like."""

from __future__ import annotations

import codecs
import re

from trawl_core.extract.encodings import is_multibyte

_LATIN = {f"windows-{number}" for number in (1250, 1252, 1254, 1257, 1258)} | {"macintosh"}
_LATIN |= {f"iso-8859-{number}" for number in (2, 3, 4, 10, 13, 14, 15, 16)}
_CYRILLIC = {"windows-1251", "koi8-r", "koi8-u", "ibm866", "iso-8859-5", "x-mac-cyrillic"}

_LEAST = 12
"""Signs fewer than this prove nothing."""
_SAMPLE_CHARS = 20_000
_TWICE = re.compile(rb"\xc3[\x82-\xb4](?:\xc2[\x80-\xbf]|\xe2\x80|\xe2\x82\xac|\xc5|\xc6|\xcb)")
_SEQUENCE = re.compile(rb"[\xc2-\xf4][\x80-\xbf]+")
_HIGH_RUN = re.compile(r"[^\x00-\x7f\xa0]{3,}")
_HIGH = re.compile(r"[^\x00-\x7f\xa0]")
_AMONG_ASCII = re.compile(r"(?:(?<=[A-Za-z])[^\W\d_a-zA-Z](?![^\W\d_a-zA-Z])|(?<![^\W\d_a-zA-Z])[^\W\d_a-zA-Z](?=[A-Za-z]))")
_LETTER = re.compile(r"[^\W\d_a-zA-Z]")
_CYRILLIC_SMALL = re.compile(r"[а-яё]")
_CYRILLIC_CAPITAL = re.compile(r"[А-ЯЁ]")
_HALF_WIDTH = re.compile(r"[\uff61-\uff9f]")


def undo_twice_encoded(body: bytes) -> str | None:
    """The text of UTF-8 that was read as windows-1252 (or ISO-8859-1) and encoded as UTF-8 once more; None when `body` is no such thing.

    Every character beyond ASCII must be part of it: a page that shows such a thing as an example has others too.
    """
    if not _TWICE.search(body):
        return None
    try:
        once = body.decode("utf-8").encode("cp1252", "trawl-c1-back")
        text = once.decode("utf-8")
    except UnicodeError:
        return None
    return text if len(_SEQUENCE.findall(once)) >= 3 else None


def is_latin(name: str) -> bool:
    return name in _LATIN


def looks_garbled(text: str, name: str) -> bool:
    """Whether `text`, decoded by the encoding `name`, is written as hardly any language is: a reason to look for another one.

    Latin languages set few letters beyond ASCII side by side; others mix few of theirs with ASCII letters; Cyrillic is small
    letters for the most part, which KOI8-R and windows-1251 read as each other's capitals; Japanese uses few half-width signs.
    """
    first = _HIGH.search(text)
    if first is None:
        return False
    text = text[first.start() : first.start() + _SAMPLE_CHARS]
    if is_multibyte(name):
        half = len(_HALF_WIDTH.findall(text)) if name == "shift_jis" else 0
        return half >= _LEAST and half * 4 > len(_HIGH.findall(text))
    if name in _LATIN:
        together = sum(map(len, _HIGH_RUN.findall(text)))
        return together >= _LEAST and together * 2 > len(_HIGH.findall(text))
    mixed = len(_AMONG_ASCII.findall(text))
    if mixed >= _LEAST and mixed * 2 > len(_LETTER.findall(text)):
        return True
    capitals = len(_CYRILLIC_CAPITAL.findall(text)) if name in _CYRILLIC else 0
    return capitals >= _LEAST and capitals > len(_CYRILLIC_SMALL.findall(text))


def _c1_back(error: UnicodeError) -> tuple[bytes, int]:
    if not isinstance(error, UnicodeEncodeError) or any(not 0x80 <= ord(letter) < 0xA0 for letter in error.object[error.start : error.end]):
        raise error
    return error.object[error.start : error.end].encode("latin-1"), error.end


codecs.register_error("trawl-c1-back", _c1_back)
