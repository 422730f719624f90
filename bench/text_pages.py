"""Web pages of 1 to 200 kB for the benches of the archive: the markup of a web application around the words of the demo sites' English.

Words come as often as those sites use them, and each page keeps to a subject, so that gzip makes of them what it makes of
pages found in the wild: a quarter to a fifth. The same seed gives the same bytes, so that every machine writes the same archive.
"""

from __future__ import annotations

import math
import random
import re
import shutil
from collections import Counter
from itertools import accumulate
from pathlib import Path

TEXT = Path(__file__).parents[1] / "trawl_core" / "demo" / "text"
SEED = 4
SMALLEST_BYTES, LARGEST_BYTES = 1_000, 200_000
# The middle page of the web is of this size, and one in twenty is larger than 150 kB.
_MEDIAN_BYTES, _SPREAD = 30_000, 1.0
_SUBJECT_WORDS = 120


def make_pages(folder: Path, pages: int) -> Path:
    """`folder/pages-<pages>` with `<number>.html`; made once."""
    made = folder / f"pages-{pages}"
    if made.exists():
        return made
    unfinished = made.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    chance = random.Random(SEED)  # the same bytes everywhere
    writer = _Writer(chance)
    for number in range(pages):
        size = min(max(int(chance.lognormvariate(math.log(_MEDIAN_BYTES), _SPREAD)), SMALLEST_BYTES), LARGEST_BYTES)
        (unfinished / f"{number:05d}.html").write_text(writer.page(size), encoding="utf-8")
    unfinished.rename(made)
    return made


class _Writer:
    def __init__(self, chance: random.Random) -> None:
        text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(TEXT.glob("*.txt")))
        counts = Counter(re.findall(r"[A-Za-z][A-Za-z'-]+[,;]?", text))
        self._words = sorted(counts)
        self._weights = list(accumulate(counts[word] for word in self._words))
        self._chance = chance
        self._subject: list[str] = []

    def page(self, size: int) -> str:
        """A page of `size` bytes, a paragraph more or less."""
        self._subject = self._chance.choices(self._words, cum_weights=self._weights, k=_SUBJECT_WORDS)
        title = self._sentence(6)
        parts = [
            f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
            f'<link rel="stylesheet" href="/static/site.css?v={self._chance.getrandbits(32):08x}">\n</head>\n<body>\n'
            f'<nav class="menu menu--side" aria-label="Sections"><ul class="menu__list">\n{self._menu(min(60, size // 400))}</ul></nav>\n'
            f'<main class="article">\n<h1 class="article__title">{title}</h1>\n'
        ]
        length = len(parts[0])
        while length < size:
            parts.append(self._block())
            length += len(parts[-1])
        return "".join([*parts, "</main>\n</body>\n</html>\n"])

    def _menu(self, entries: int) -> str:
        return "".join(
            f'<li class="menu__item"><a class="menu__link" href="{self._path()}">'
            f'<span class="menu__label">{self._sentence(2)}</span></a></li>\n'
            for _ in range(entries)
        )

    def _block(self) -> str:
        """What comes next in an article: mostly a paragraph, sometimes a heading, a list of cards or a table."""
        kind = self._chance.random()
        if kind < 0.12:
            words = self._sentence(4)
            name = words.lower().replace(" ", "-")
            return (
                f'<h2 class="article__heading" id="{name}">{words}<a class="article__anchor" href="#{name}" title="Link to this heading">'
                "¶</a></h2>\n"
            )
        if kind < 0.3:
            return f'<div class="cards">\n{"".join(self._card() for _ in range(4))}</div>\n'
        if kind < 0.38:
            cells = (
                f'<tr class="table__row"><td class="table__cell">{self._sentence(2)}</td>'
                f'<td class="table__cell table__cell--number">{self._chance.randrange(10**5)}</td></tr>\n'
                for _ in range(6)
            )
            return f'<table class="table">\n{"".join(cells)}</table>\n'
        link = f'<a class="link" href="{self._path()}">{self._sentence(3)}</a>'
        text = f"{self._sentence(24)}. {self._sentence(11)} {link} {self._sentence(self._chance.randint(4, 30))}."
        return f'<p class="article__text">{text}</p>\n'

    def _card(self) -> str:
        path = self._path()
        return (
            f'<div class="card card--compact"><a class="card__link" href="{path}"><img class="card__image" loading="lazy" width="320" '
            f'height="180" src="/static/images{path.removesuffix(".html")}.webp" alt="{self._sentence(3)}"></a>'
            f'<div class="card__body"><h3 class="card__title">{self._sentence(4)}</h3>'
            f'<p class="card__text">{self._sentence(9)}.</p></div></div>\n'
        )

    def _sentence(self, words: int) -> str:
        """Half of the words are the page's own."""
        common = iter(self._chance.choices(self._words, cum_weights=self._weights, k=words))
        own = iter(self._chance.choices(self._subject, k=words))
        return " ".join(next(own if self._chance.random() < 0.5 else common) for _ in range(words)).capitalize()

    def _path(self) -> str:
        return "/" + "/".join(self._sentence(1).strip(",;").lower() for _ in range(3)) + f"-{self._chance.randrange(10**4)}.html"
