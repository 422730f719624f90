"""Web pages of 1 to 200 kB for the benches of the archive: HTML around the words of the demo sites' English, as often as those use them.

The same seed gives the same bytes, so that every machine writes the same archive.
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

    def page(self, size: int) -> str:
        """A page of `size` bytes, a paragraph more or less."""
        title = self._sentence(6)
        menu = "".join(
            f'<li class="menu-item"><a href="{self._path()}">{self._sentence(2)}</a></li>\n' for _ in range(min(40, size // 400))
        )
        parts = [
            f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
            f'<link rel="stylesheet" href="/static/site.css?v={self._chance.getrandbits(32):08x}">\n</head>\n<body>\n'
            f'<nav class="menu"><ul>\n{menu}</ul></nav>\n<main>\n<h1>{title}</h1>\n'
        ]
        length = len(parts[0])
        while length < size:
            parts.append(self._block())
            length += len(parts[-1])
        return "".join([*parts, "</main>\n</body>\n</html>\n"])

    def _block(self) -> str:
        """What comes next in an article: mostly a paragraph, sometimes a heading, a list or a table."""
        kind = self._chance.random()
        if kind < 0.12:
            words = self._sentence(4)
            return f'<h2 id="{words.lower().replace(" ", "-")}">{words}</h2>\n'
        if kind < 0.2:
            return f"<ul>\n{''.join(f'<li>{self._sentence(9)}</li>' + chr(10) for _ in range(5))}</ul>\n"
        if kind < 0.26:
            row = "<tr>{}</tr>\n"
            cells = (f"<td>{self._sentence(2)}</td><td>{self._chance.randrange(10**5)}</td>" for _ in range(6))
            return f"<table>\n{''.join(row.format(cell) for cell in cells)}</table>\n"
        link = f'<a href="{self._path()}">{self._sentence(3)}</a>'
        return f"<p>{self._sentence(24)}. {self._sentence(11)} {link} {self._sentence(self._chance.randint(4, 30))}.</p>\n"

    def _sentence(self, words: int) -> str:
        return " ".join(self._chance.choices(self._words, cum_weights=self._weights, k=words)).capitalize()

    def _path(self) -> str:
        return "/" + "/".join(self._sentence(1).strip(",;").lower() for _ in range(3)) + f"-{self._chance.randrange(10**4)}.html"
