"""Families of URLs that never end: calendars, session ids, stacked path segments, queries that grow, facets.

A trap is not forbidden, it is sampled: `TrapCounter` admits the first URLs of a family and holds back the rest, so a
real archive by month is still crawled and an endless calendar costs a bounded number of fetches. Plain numbered pages
(`/product/123`, `/docs/page-7`) are no trap. The site key `traps` sets the samples and overrules the detection.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterable
from datetime import date
from typing import Protocol
from urllib.parse import parse_qsl
from zlib import crc32

from trawl_core.sites import Traps
from trawl_core.urls.facets import FacetCounter
from trawl_core.urls.normalize import split_url

_YEAR = r"(?:19|20|21)\d{2}"
_MONTH_NAMES = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_MONTH = rf"(?:0?[1-9]|1[0-2]|{_MONTH_NAMES})"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_DATE = re.compile(
    rf"(?<!\d)({_YEAR})([-_/.]){_MONTH}(?:\2{_DAY})?(?!\d)|(?<!\d){_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?!\d)", re.IGNORECASE
)
_ENDS_WITH_DATE = re.compile(
    rf"(?:^|[/_.=-])(?:{_YEAR}([-_/.]){_MONTH}(?:\1{_DAY})?|{_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])?|{_YEAR}[-/]?w\d\d?)/?$",
    re.IGNORECASE,
)
_CALENDAR_SEGMENT = re.compile(r"/(?:calendar|kalender|calendrier|agenda|events?|veranstaltungen)(?:/|$)", re.IGNORECASE)
_DATE_KEY = re.compile(
    r"^(?:year|month|day|week|date|yr|mon|datum|jahr|monat|tag|start_?date|end_?date|cal_?date|calendar)$", re.IGNORECASE
)
_DATE_VALUE = re.compile(rf"^(?:{_YEAR}(?:[-_/.]?{_MONTH}(?:[-_/.]?{_DAY})?)?|-?\d{{1,6}}|{_MONTH})$", re.IGNORECASE)
_SESSION_KEY = re.compile(r"^(?:phpsessid|jsessionid|aspsessionid\w*|sessid|cfid|cftoken|zenid|oscsid|xtcsid)$", re.IGNORECASE)
# Names that mean other things too (a station, a conference session) count only with a value that nobody would write by hand.
_MAYBE_SESSION_KEY = re.compile(r"^(?:sid|sess|session|session_?id)$", re.IGNORECASE)
_RANDOM_VALUE = re.compile(r"^(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9_.-]{12,}$|^[0-9A-Fa-f-]{16,}$|^(?=.*\d)(?=.*[a-f])[0-9a-f]{8,}$")
# Servlet path parameters, and the cookieless sessions of ASP.NET.
_PATH_SESSION = re.compile(r";(?:jsessionid|sid|phpsessid)=[^/;?]*|/\(S\([a-z0-9]{20,}\)\)", re.IGNORECASE)
_MAY_BE_DATE = re.compile(r"(?:19|20|21)(?<!\d..)\d\d(?:\d\d){0,2}(?!\d)")
_GROWING_PARAMETERS = 7
_GROWING_REPEATS = 3
_GROWING_CHARACTERS = 500


def pattern_of(url: str) -> str:
    """The URL with every date as `{date}` and every other number as `{n}`: equal for the pages of one template."""
    scheme, _, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}://{authority}{slash}{_numbers_out(path)}"


def _numbers_out(text: str) -> str:
    # Escapes hold digits too, and those are letters of the name.
    return re.sub(r"%[0-9A-Fa-f]{2}|\d+", lambda match: match[0] if match[0][0] == "%" else "{n}", _DATE.sub("{date}", text))


def trap_pattern(url: str) -> str | None:
    """The family of never-ending URLs to which a normalised URL belongs, as a key that begins with its kind; None for most URLs.

    Kinds: `repeated` (a path segment three times), `session` (the URL without its session id), `calendar` (a date ends the
    path, stands behind a calendar segment or in a date parameter), `growing` (7 parameters, one name 3 times, or 500 characters).
    """
    if not _may_be_one(url):
        return None
    parts = split_url(url)
    where = f"{parts.url_protocol}://{parts.url_host_name}" + (f":{parts.url_port}" if parts.url_port else "")
    path, query = parts.url_path, parts.url_query or ""
    segments = [segment for segment in path.split("/") if segment]
    if segments and max(Counter(segments).values()) >= 3:
        return f"repeated {where}/{'/'.join(sorted(set(segments)))}"
    if len(query) > _GROWING_CHARACTERS:
        return f"growing {where}{_numbers_out(path)}"
    parameters = parse_qsl(query, keep_blank_values=True)
    if session := _without_session(path, parameters):
        return f"session {where}{session}"
    if _is_calendar(path, parameters):
        names = "&".join(sorted({name for name, _ in parameters}))
        return f"calendar {where}{_numbers_out(path)}" + (f"?{names}" if names else "")
    if len(parameters) >= _GROWING_PARAMETERS or (parameters and max(Counter(name for name, _ in parameters).values()) >= _GROWING_REPEATS):
        return f"growing {where}{_numbers_out(path)}"
    return None


def _may_be_one(url: str) -> bool:
    """False for most URLs, at a tenth of the price of a look at all rules."""
    if "?" in url or ";" in url or "/(" in url or _MAY_BE_DATE.search(url):
        return True
    segments = url.split("/")
    return len(segments) - len(set(segments)) >= 2


def _without_session(path: str, parameters: list[tuple[str, str]]) -> str | None:
    bare = _PATH_SESSION.sub("", path)
    kept = [(name, value) for name, value in parameters if not _is_session(name, value)]
    if bare == path and len(kept) == len(parameters):
        return None
    return bare + "?" + "&".join(sorted(f"{name}={value}" for name, value in kept))


def _is_session(name: str, value: str) -> bool:
    return bool(_SESSION_KEY.match(name) or (_MAYBE_SESSION_KEY.match(name) and _RANDOM_VALUE.match(value)))


def _is_calendar(path: str, parameters: list[tuple[str, str]]) -> bool:
    if _ENDS_WITH_DATE.search(path) or (_CALENDAR_SEGMENT.search(path) and _DATE.search(path)):
        return True
    return any(_DATE_KEY.match(name) and _DATE_VALUE.match(value) for name, value in parameters)


class Samples(Protocol):
    """Where a TrapCounter keeps what it admitted, so that it need not be told again."""

    def of(self, family: str) -> set[str]:
        """The family's URLs that were added before."""
        ...

    def add(self, family: str, url: str) -> None: ...

    def queries_at(self, path: str) -> Iterable[str]:
        """URLs that entered the crawl with a query behind this URL of a path."""
        ...


class _Nothing:
    def of(self, family: str) -> set[str]:
        return set()

    def add(self, family: str, url: str) -> None:
        """Kept by the counter itself."""

    def queries_at(self, path: str) -> Iterable[str]:
        return ()


class TrapCounter:
    """Counts each family's distinct URLs; safe to call from several threads.

    On `night` one family in `recheck_days` is looked at again: a tenth of its sample is admitted beyond it. None for no such night.
    """

    def __init__(self, rules: Traps | None = None, samples: Samples | None = None, night: date | None = None) -> None:
        rules = rules or Traps()
        samples = samples or _Nothing()
        self._enabled = rules.enabled
        self._allow = tuple(re.compile(pattern) for pattern in rules.allow)
        self._sizes = {
            "growing": rules.sample,
            "calendar": rules.calendar_sample,
            "repeated": rules.repeated_sample,
            "session": rules.session_sample,
        }
        self._samples = samples
        self._night = night
        self._recheck_days = rules.recheck_days
        self._admitted: dict[str, set[str]] = {}
        self._facets = FacetCounter(rules.sample, samples.queries_at)
        self._lock = threading.Lock()

    def is_free(self, url: str) -> bool:
        """True where a person overruled the detection."""
        return not self._enabled or any(pattern.search(url) for pattern in self._allow)

    def count(self, urls: Iterable[str]) -> None:
        """Let URLs of earlier nights be part of their families' samples; the samples' own memory knows those of facets."""
        for url in urls:
            pattern = trap_pattern(url)
            if pattern is not None and not self.is_free(url):
                with self._lock:
                    admitted = self._sample_of(pattern)
                    if len(admitted) < self._size(pattern):
                        self._add(pattern, admitted, url)

    def admit(self, url: str) -> str | None:
        """None when the URL may be fetched, else `trap <pattern>`; asking again about an admitted URL costs nothing."""
        if self.is_free(url):
            return None
        pattern = trap_pattern(url)
        if pattern is None:
            if "?" not in url:
                return None
            with self._lock:
                path = self._facets.admit(url)
            return f"trap facets {path}" if path else None
        with self._lock:
            admitted = self._sample_of(pattern)
            if url in admitted:
                return None
            size = self._size(pattern)
            if len(admitted) >= (size + recheck_size(size) if self._is_rechecked(pattern) else size):
                return f"trap {pattern}"
            self._add(pattern, admitted, url)
            return None

    def _size(self, pattern: str) -> int:
        return self._sizes[pattern.partition(" ")[0]]

    def _sample_of(self, pattern: str) -> set[str]:
        admitted = self._admitted.get(pattern)
        if admitted is None:
            admitted = self._admitted[pattern] = self._samples.of(pattern)
        return admitted

    def _add(self, pattern: str, admitted: set[str], url: str) -> None:
        if url not in admitted:
            admitted.add(url)
            self._samples.add(pattern, url)

    def _is_rechecked(self, pattern: str) -> bool:
        # Spread over the nights, each family by its name: nothing has to be remembered for it.
        return self._night is not None and (self._night.toordinal() + crc32(pattern.encode())) % self._recheck_days == 0


def recheck_size(sample: int) -> int:
    """How many URLs of a family with that sample are fetched to see whether it is still what it was taken for."""
    return max(1, sample // 10)
