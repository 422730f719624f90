"""Facets: filters over one path whose every combination is a URL of its own, so that a few dozen values give millions.

Told apart from pages that a query names (`?id=…`, `?f=3&t=1234&start=20`) by their values: facets keep combining the same few.
A URL that brings a value never seen at its path is always admitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

# Fewer varying parameters make a grid, which ends.
_LEAST_VARYING = 3
# URLs for each value of the parameter that has most of them, from which on they are combinations.
_LEAST_RATIO = 8


@dataclass(slots=True)
class _Path:
    """What was admitted at one path; values are kept as hashes."""

    urls: set[int] = field(default_factory=set)
    values: dict[str, set[int]] = field(default_factory=dict)


class FacetCounter:
    """`sample` URLs of a path are admitted before its combinations are held back.

    `known` gives the URLs with a query that were admitted at a path before; it is asked once for each path.
    """

    def __init__(self, sample: int, known: Callable[[str], Iterable[str]] = lambda path: ()) -> None:
        self._sample = sample
        self._known = known
        self._paths: dict[str, _Path] = {}

    def admit(self, url: str) -> str | None:
        """None when the URL may be fetched, else the URL of its path without query."""
        base, _, query = url.partition("?")
        parameters = parse_qsl(query, keep_blank_values=True)
        if len(parameters) < 2:
            # One filter alone is no combination, and its value is known from then on.
            if parameters and (path := self._paths.get(base)) is not None:
                self._learn(path, parameters)
            return None
        path = self._paths.get(base) or self._open(base)
        if hash(url) in path.urls:
            return None
        if len(path.urls) >= self._sample and not self._brings_a_value(path, parameters) and self._combines(path):
            return base
        path.urls.add(hash(url))
        self._learn(path, parameters)
        return None

    def _open(self, base: str) -> _Path:
        path = self._paths[base] = _Path()
        for url in self._known(base):
            parameters = parse_qsl(url.partition("?")[2], keep_blank_values=True)
            if len(parameters) >= 2:
                path.urls.add(hash(url))
            self._learn(path, parameters)
        return path

    @staticmethod
    def _learn(path: _Path, parameters: list[tuple[str, str]]) -> None:
        for name, value in parameters:
            path.values.setdefault(name, set()).add(hash(value))

    @staticmethod
    def _brings_a_value(path: _Path, parameters: list[tuple[str, str]]) -> bool:
        return any(hash(value) not in path.values.get(name, ()) for name, value in parameters)

    @staticmethod
    def _combines(path: _Path) -> bool:
        varying = [len(values) for values in path.values.values() if len(values) > 1]
        return len(varying) >= _LEAST_VARYING and max(varying) * _LEAST_RATIO <= len(path.urls)
