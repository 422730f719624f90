"""The references of one document, resolved: what `normalize_url(reference, base)` gives, plain ones in a fraction of its time.

A page has hundreds of references and most are a path of letters and digits, for which resolving is to put two strings
together (WHATWG URL, path state). Whatever needs more goes to ada.
"""

from __future__ import annotations

import re

from trawl_core.urls.normalize import normalize_url

# A path in which nothing has to be escaped, and a query likewise; the fragment is dropped.
_PLAIN = re.compile(r"((?:\.\./)*)(([\w~/-][\w.~/-]*)(?:\?[\w.~/=&+,;:@!$()*-]*)?)(?:#.*)?\Z", re.ASCII | re.DOTALL)

_FOLDERS = 6


class References:
    """Resolves against `base`, an absolute http(s) URL."""

    def __init__(self, base: str) -> None:
        self.base = base
        self._is_normal = normalize_url(base) == base
        scheme, _, rest = base.partition("://")
        self._root = f"{scheme}://{rest.partition('/')[0]}"
        folder = base.partition("?")[0].rpartition("/")[0] + "/"
        self._folders = [folder]
        while len(self._folders) < _FOLDERS:
            # Above the root is the root.
            folder = folder if folder == f"{self._root}/" else folder[:-1].rpartition("/")[0] + "/"
            self._folders.append(folder)

    def __call__(self, reference: str) -> str | None:
        plain = _PLAIN.match(reference) if self._is_normal else None
        if plain is None:
            return normalize_url(reference, self.base)
        ascent, target, path = plain.groups()
        levels = len(ascent) // 3
        # Empty segments at the start are another host, dot segments lead elsewhere.
        if "//" in path or "/." in path or levels >= _FOLDERS or (levels and path[0] == "/"):
            return normalize_url(reference, self.base)
        return (self._root if path[0] == "/" else self._folders[levels]) + target
