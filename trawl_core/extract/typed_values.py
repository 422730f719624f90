"""The types that a field of a selector schema can have."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

from trawl_core.extract.blocks import normalize_space
from trawl_core.extract.mapping.dates import iso_8601
from trawl_core.extract.mapping.money import decimal_text
from trawl_core.urls.normalize import normalize_url

_NUMBER = re.compile(r"-?\d[\d.,'’\u00a0\u202f ]*")
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_YES = frozenset(["", "true", "yes", "on", "1", "y"])
_NO = frozenset(["false", "no", "off", "0", "n"])


class Mismatch(Exception):
    """A selector that can't be evaluated, or a value that is not of its type; the message is the problem."""


def typed_value(text: str, kind: str, url: str) -> Any:
    """`text` as a value of that type of sites.yaml, in JSON's terms. Raises Mismatch; `url` resolves references."""
    return _TYPES[kind](text, url)


def parse_number(text: str) -> float | int:
    """The first number in a text, with the decimal and grouping signs of either habit: `1,299.00`, `1.299,00 €`, `12`.

    A single sign followed by exactly three digits groups (`1,299` is 1299). Raises Mismatch when there is no number.
    """
    value = float(_digits(text))
    return int(value) if value.is_integer() else value


def _digits(text: str) -> str:
    match = _NUMBER.search(text[:10_000])
    if match is None:
        raise Mismatch(f"{text[:80]!r} holds no number")
    found = match[0].rstrip(".,")
    if len(found) > 100:
        raise Mismatch(f"{text[:80]!r} holds no number that could be meant")
    return decimal_text(found, point_may_group=True)


def _integer(text: str, _url: str) -> int:
    value = Decimal(_digits(text))
    if value != value.to_integral_value():
        raise Mismatch(f"{text[:80]!r} is no whole number")
    return int(value)


def _bool(text: str, _url: str) -> bool:
    word = normalize_space(text).lower()
    if word not in _YES | _NO:
        raise Mismatch(f"{text[:80]!r} is neither true nor false (yes, on, 1; no, off, 0)")
    return word in _YES


def _date(text: str, _url: str) -> str:
    match = _ISO_DATE.search(text)
    if match:
        try:
            return date.fromisoformat(match[0]).isoformat()
        except ValueError:
            raise Mismatch(f"{text[:80]!r} is no ISO 8601 date") from None
    found = iso_8601(text)
    if found is None or len(found) < 10:
        raise Mismatch(f"{text[:80]!r} is no ISO 8601 date, nor one of another form that has one meaning")
    return found[:10]


def _datetime(text: str, _url: str) -> str:
    found = iso_8601(text)
    if found is None or len(found) < 10:
        raise Mismatch(f"{text[:80]!r} is no date with a time")
    return found


def _url(text: str, url: str) -> str:
    if (target := normalize_url(text.strip(), url)) is None:
        raise Mismatch(f"{text[:80]!r} is no URL")
    return target


def _str(text: str, _: str) -> str:
    return normalize_space(text)


_TYPES: dict[str, Callable[[str, str], Any]] = {
    "str": _str,
    "text": _str,
    "html": lambda text, _: text,
    "int": _integer,
    "float": lambda text, _: float(_digits(text)),
    "number": lambda text, _: parse_number(text),
    "decimal": lambda text, _: _digits(text),
    "bool": _bool,
    "date": _date,
    "datetime": _datetime,
    "url": _url,
}
