"""Moments and days as ISO 8601, from the forms that pages use and that have one meaning."""

from __future__ import annotations

import re
from datetime import date, datetime
from email.utils import parsedate_to_datetime

_NAMES = "january february march april may june july august september october november december"
_MONTHS = _NAMES.split()
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if len(name) > 3 else name for name in _MONTHS)
_ORDER = re.compile(
    rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\.?\s+(?P<month>{_MONTH}|sept)\.?,?\s+(?P<y>\d{{4}})"
    rf"|(?P<month2>{_MONTH}|sept)\.?\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y2>\d{{4}})"
    r"|(?P<y3>\d{4})[/.](?P<m3>\d{1,2})[/.](?P<d3>\d{1,2})"
    r"|(?P<d4>\d{1,2})\.(?P<m4>\d{1,2})\.(?P<y4>\d{4})"
    # Which is the month shows only where the other is no month's number.
    r"|(?P<d5>1[3-9]|2\d|3[01])/(?P<m5>\d{1,2})/(?P<y5>\d{4})|(?P<m6>\d{1,2})/(?P<d6>1[3-9]|2\d|3[01])/(?P<y6>\d{4})",
    re.IGNORECASE,
)
_TIME_AFTER = re.compile(r",?\s*(?:T|at)?\s*(\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?)\s*(Z|UTC|GMT|[+-]\d\d:?\d\d)?", re.IGNORECASE)
_REDUCED = re.compile(r"\d{4}(?:-(?:0[1-9]|1[0-2]))?")
_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ]+(\d{1,2}:\d\d(?::\d\d)?)(?:[.,](\d{1,9}))?\s*(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?(?:\[[\w/+-]+\])?", re.IGNORECASE
)
_LONGEST = 64


def iso_8601(text: str) -> str | None:
    """`2024-05-06`, `2024-05-06T10:00:00+02:00` (with the zone only where one was given), or the `2024-05` or `2024` that
    was given; None for what is no date, or two at once (`05/06/2024`)."""
    text = " ".join(text.split())
    if not text or len(text) > _LONGEST:
        return None
    if _REDUCED.fullmatch(text):
        return text
    return _from_iso(text) or _from_words(text) or _from_mail(text)


def _from_iso(text: str) -> str | None:
    if match := _ISO.fullmatch(text):
        day, clock, fraction, zone = match.groups()
        return _moment(day, clock, zone, f".{fraction[:6]:<06}".replace(" ", "0") if fraction and int(fraction) else "")
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text).isoformat()
    except ValueError:
        return None


def _from_words(text: str) -> str | None:
    match = _ORDER.match(text)
    if match is None:
        return None
    named = {name.rstrip("23456"): value for name, value in match.groupdict().items() if value is not None}
    month = int(named["m"]) if "m" in named else _month_number(named["month"])
    try:
        day = date(int(named["y"]), month, int(named["d"])).isoformat()
    except ValueError:
        return None
    rest = text[match.end() :]
    if not rest:
        return day
    clock = _TIME_AFTER.fullmatch(rest)
    return _moment(day, clock[1], clock[2], "") if clock else None


def _month_number(name: str) -> int:
    return next(number for number, month in enumerate(_MONTHS, 1) if month.startswith(name.lower()[:3]))


def _moment(day: str, clock: str, zone: str | None, fraction: str) -> str | None:
    parts = [f"{int(part):02}" for part in clock.partition(".")[0].split(":")]
    zone = "+00:00" if zone and zone.upper() in ("Z", "UTC", "GMT") else zone or ""
    digits = zone[1:].replace(":", "").ljust(4, "0") if zone else ""
    try:
        moment = datetime.fromisoformat(
            f"{day}T{':'.join([*parts, '00'][:3])}{fraction}{zone[:1]}{digits[:2]}{':' if digits else ''}{digits[2:]}"
        )
    except ValueError:
        return None
    return moment.isoformat()


def _from_mail(text: str) -> str | None:
    """`Mon, 06 May 2024 10:00:00 +0200` (RFC 5322)."""
    if ":" not in text:
        return None
    try:
        return parsedate_to_datetime(text).isoformat()
    except (ValueError, TypeError, IndexError):
        return None
