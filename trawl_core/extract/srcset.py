"""The URLs of a `srcset` attribute, parsed as browsers do (HTML standard, "parse a srcset attribute")."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SPACE = r" \t\n\f\r"
_URL = re.compile(rf"[{_SPACE},]*+([^{_SPACE}]++)")
# Up to a comma that stands in no parentheses.
_DESCRIPTORS = re.compile(r"(?:[^(,]++|\([^)]*+(?:\)|\Z))*+,?")
_TOKEN = re.compile(rf"[^{_SPACE},]+")
_DESCRIPTOR = re.compile(r"(?P<whole>[0-9]+)(?P<of>[wh])|(?P<density>-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)x")


def srcset_urls(value: str) -> Iterator[str]:
    """References of the candidates in their order, as they are written; a candidate whose descriptors are wrong is none."""
    position = 0
    while (found := _URL.match(value, position)) is not None:
        url, position, descriptors = found[1], found.end(), ""
        if url.endswith(","):
            url = url.rstrip(",")
        elif (rest := _DESCRIPTORS.match(value, position)) is not None:
            descriptors, position = rest[0], rest.end()
        if _are_right(descriptors):
            yield url


def _are_right(descriptors: str) -> bool:
    seen: set[str] = set()
    for token in _TOKEN.findall(descriptors):
        descriptor = _DESCRIPTOR.fullmatch(token)
        if descriptor is None:
            return False
        kind = descriptor["of"] or "x"
        is_too_small = float(descriptor["density"]) < 0 if kind == "x" else not descriptor["whole"].strip("0")
        # A height goes only with a width, a density with nothing else.
        if is_too_small or kind in seen or (seen and "x" in {kind, *seen}):
            return False
        seen.add(kind)
    return "h" not in seen or "w" in seen
