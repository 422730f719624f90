"""A site made of words: pages of 30 to 200 kB with about 190 links each, all reached from the first one, gzipped beforehand.

The same seed gives the same bytes, so that every machine crawls the same site.
"""

from __future__ import annotations

import gzip
import math
import random
import shutil
from pathlib import Path

SEED = 20
PAGES, QUICK_PAGES = 2_000, 150
SMALLEST_BYTES, LARGEST_BYTES = 30_000, 200_000
_MEDIAN_BYTES, _SPREAD = 78_000, 0.45
_NAVIGATION, _CHILDREN, _LINKS = 40, 4, 190
_GZIP_LEVEL = 6


def make_site(folder: Path, pages: int) -> Path:
    """`folder/site-<pages>` with `p/<number>.html.gz` and `robots.txt.gz`; made once. The first page is `/p/0.html`."""
    site = folder / f"site-{pages}"
    if site.exists():
        return site
    unfinished = site.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    (unfinished / "p").mkdir(parents=True)
    chance = random.Random(SEED)  # the same bytes everywhere
    words = ["".join(chance.choices("etaoinshrdlucmfwyp", k=chance.randint(2, 11))) for _ in range(4_000)]
    for number in range(pages):
        _write(unfinished / "p" / f"{number}.html.gz", _page(number, pages, words, chance))
    _write(unfinished / "robots.txt.gz", "User-agent: *\nDisallow: /private/\nDisallow: /*?print=\n")
    unfinished.rename(site)
    return site


def _write(path: Path, text: str) -> None:
    path.write_bytes(gzip.compress(text.encode(), _GZIP_LEVEL, mtime=0))


def _page(number: int, pages: int, words: list[str], chance: random.Random) -> str:
    size = min(max(int(chance.lognormvariate(math.log(_MEDIAN_BYTES), _SPREAD)), SMALLEST_BYTES), LARGEST_BYTES)
    children = [child for child in range(number * _CHILDREN + 1, (number + 1) * _CHILDREN + 1) if child < pages]
    targets = [*children, *(chance.randrange(pages) for _ in range(_LINKS - _NAVIGATION - len(children)))]
    items = (
        f'<li class="nav-item"><a class="nav-link" href="/p/{item}.html">{words[item]}</a></li>' for item in range(min(_NAVIGATION, pages))
    )
    head = f'<meta charset="utf-8"><title>{_words(words, chance, 5)}</title><link rel="canonical" href="/p/{number}.html">'
    opening = f"<body><nav><ul>{''.join(items)}</ul></nav>\n<main><h1>{_words(words, chance, 4)}</h1>\n"
    parts = [f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n{opening}']
    length, share = len(parts[0]), max(1, (size - len(parts[0])) // len(targets))
    for place, target in enumerate(targets):
        # Hosts write their links in every form; a fragment names the same page.
        reference = (f"{target}.html", f"/p/{target}.html", f"../p/{target}.html#s{place}")[place % 3]
        link = f'<a href="{reference}" title="{_words(words, chance, 2)}">{_words(words, chance, 3)}</a>'
        heading = f'<h2 id="s{place}">{_words(words, chance, 3)}</h2>\n' if place % 8 == 0 else ""
        parts.append(
            f'{heading}<p class="text">{_words(words, chance, 4)} {link} {_words(words, chance, max(1, (share - 130) // 8))}.</p>\n'
        )
        length += len(parts[-1])
    while length < size:
        parts.append(f"<p>{_words(words, chance, min(60, max(1, (size - length) // 8)))}.</p>\n")
        length += len(parts[-1])
    return "".join([*parts, "</main></body></html>\n"])


def _words(words: list[str], chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(words, k=count))
