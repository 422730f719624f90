"""The references of one document, resolved: what `normalize_url(reference, base)` gives, plain ones in a fraction of its time.

A page has hundreds of references and most are a path of letters and digits, for which resolving is to put two strings
together (WHATWG URL, path state). Whatever needs more goes to ada.
"""

from __future__ import annotations

import re
import string
from functools import lru_cache

from trawl_core.urls.normalize import normalize_url

# A path in which nothing has to be escaped, and a query likewise.
_PLAIN = re.compile(r"((?:\.\./)*)([\w~/-][\w.~/-]*)(?:\?[\w.~/=&+,;:@!$()*-]*)?\Z", re.ASCII)
# What begins so is resolved by the base's folder alone, whatever document lies in it.
_BY_FOLDER = frozenset(string.ascii_letters + string.digits + "/._~-")
_LONGEST_KEPT = 200
_KEPT = 8192
_FOLDERS = 6


class References:
    """Resolves against `base`, an absolute http(s) URL."""

    def __init__(self, base: str) -> None:
        self.base = base
        self._folder = base.partition("?")[0].rpartition("/")[0] + "/" if normalize_url(base) == base else None

    def __call__(self, reference: str) -> str | None:
        if "#" in reference:
            # URLs are kept without fragments.
            reference = reference[: reference.index("#")]
        if self._folder is None or reference[:1] not in _BY_FOLDER or len(reference) > _LONGEST_KEPT:
            return normalize_url(reference, self.base)
        return _in_folder(self._folder, reference)


@lru_cache(maxsize=_KEPT)
def _in_folder(folder: str, reference: str) -> str | None:
    """The pages of a folder have most of their references in common."""
    plain = _PLAIN.match(reference)
    if plain is None:
        return normalize_url(reference, folder)
    ascent, path = plain.groups()
    levels = len(ascent) // 3
    # Empty segments at the start are another host, dot segments lead elsewhere.
    if "//" in path or "/." in path or levels >= _FOLDERS or (levels and path[0] == "/"):
        return normalize_url(reference, folder)
    root, folders = _above(folder)
    return (root if path[0] == "/" else folders[levels]) + reference[len(ascent) :]


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
