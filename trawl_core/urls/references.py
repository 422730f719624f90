"""The references of one document, resolved: what `normalize_url(reference, base)` gives, plain ones in a fraction of its time.

A page has hundreds of references and most are a path of letters and digits, for which resolving is to put two strings
together (WHATWG URL, path state). Whatever needs more goes to ada.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from functools import lru_cache

from trawl_core.urls.normalize import normalize_url

# A path in which nothing has to be escaped, and a query likewise; the fragment is dropped.
_PLAIN = re.compile(r"((?:\.\./)*)(([\w~/-][\w.~/-]*)(?:\?[\w.~/=&+,;:@!$()*-]*)?)(?:#.*)?\Z", re.ASCII | re.DOTALL)
# What begins so is resolved by the base's folder alone, whatever document lies in it.
_BY_FOLDER = frozenset(string.ascii_letters + string.digits + "/._~-")
_FOLDERS = 6
_LONGEST_KEPT = 200
_MOST_KEPT = 20_000


class References:
    """Resolves against `base`, an absolute http(s) URL; `folder` is the URL of the folder in which it lies."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.folder = base.partition("?")[0].rpartition("/")[0] + "/"
        self._is_normal = normalize_url(base) == base

    def __call__(self, reference: str) -> str | None:
        plain = _PLAIN.match(reference) if self._is_normal else None
        if plain is None:
            return normalize_url(reference, self.base)
        ascent, target, path = plain.groups()
        levels = len(ascent) // 3
        # Empty segments at the start are another host, dot segments lead elsewhere.
        if "//" in path or "/." in path or levels >= _FOLDERS or (levels and path[0] == "/"):
            return normalize_url(reference, self.base)
        root, folders = _above(self.folder)
        return (root if path[0] == "/" else folders[levels]) + target


@lru_cache(maxsize=1024)
def _above(folder: str) -> tuple[str, list[str]]:
    """The origin of a folder, and the folder itself with those above it."""
    scheme, _, rest = folder.partition("://")
    root = f"{scheme}://{rest.partition('/')[0]}"
    folders = [folder]
    while len(folders) < _FOLDERS:
        # Above the root is the root.
        folder = folder if folder == f"{root}/" else folder[:-1].rpartition("/")[0] + "/"
        folders.append(folder)
    return root, folders


class KnownLinks:
    """Tells links that lead to known URLs by their references, so that most links of a page cost one look-up.

    `is_known` is asked about normalised URLs; what it said yes to once stays known. Any thread may use it.
    """

    def __init__(self, is_known: Callable[[str], bool]) -> None:
        self._is_known = is_known
        self._kept: dict[str, set[str]] = {}
        self._count = 0

    def settled(self, folder: str) -> tuple[set[str], set[str]]:
        """References, without fragment, that lead from a page in that folder to known URLs as far as `leads_to` was asked:
        those that do from any page of the origin, which begin with a slash, and the others."""
        return self._at(_above(folder)[0]), self._at(folder)

    def leads_to(self, url: str, reference: str, folder: str) -> bool:
        """Whether the reference leads to a known URL, when `url` is what it stands for."""
        if not self._is_known(url):
            return False
        if reference[:1] in _BY_FOLDER and len(reference) <= _LONGEST_KEPT:
            self._make_room()
            self._at(_above(folder)[0] if reference[0] == "/" else folder).add(reference)
        return True

    def _at(self, place: str) -> set[str]:
        kept = self._kept.get(place)
        if kept is None:
            # A site may have as many folders as pages.
            self._make_room()
            kept = self._kept.setdefault(place, set())
        return kept

    def _make_room(self) -> None:
        self._count += 1
        if self._count > _MOST_KEPT:
            self._kept, self._count = {}, 1
