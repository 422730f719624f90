"""Which URL of a domain comes first. Higher is sooner; the bands never overlap.

5000          sitemaps and feeds: they name what is new
3000          what a page shows, right after the page: a budget that ends the night leaves no page without its pictures but the last
1000–2000     the plan, in its order
0–900         found tonight: near the seeds first, raised by the site's `priorities` and `keywords`
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from trawl_core.sites import Site

LISTS = 5000.0
MEDIA = 3000.0
PLANNED_FROM, PLANNED_SPAN = 1000.0, 1000.0
SEED = PLANNED_FROM + PLANNED_SPAN
FOUND_MOST = 900.0
# A keyword of weight 1 outweighs any depth; in the title of the page that shows the link it is worth half.
_BY_DEPTH = 100.0
_BY_KEYWORD, _BY_CONTEXT = 100.0, 50.0


def planned_priority(rank: int, rows: int) -> float:
    """Priority of the plan's row `rank` (1 first) out of `rows`."""
    return PLANNED_FROM + PLANNED_SPAN * (1 - (rank - 1) / max(rows, 1))


class FoundPriority:
    """Priority of a URL found tonight: its depth, times the site's editorial patterns, plus its keywords where they stand."""

    def __init__(self, site: Site) -> None:
        self._patterns = [(re.compile(priority.pattern), priority.weight) for priority in site.priorities]
        self._keywords = [(word.casefold(), weight) for word, weight in site.keywords.items()]

    def __call__(self, url: str, text: str, depth: int, context: str = "") -> float:
        """`text` is the link's own, `context` the title of the page that shows it."""
        value = _BY_DEPTH / (1 + depth)
        for pattern, weight in self._patterns:
            if pattern.search(url):
                value *= weight
        if self._keywords:
            own, around = f"{unquote(url)} {text}".casefold(), context.casefold()
            for word, weight in self._keywords:
                value += weight * (_BY_KEYWORD if word in own else _BY_CONTEXT if word in around else 0.0)
        return min(max(value, 0.0), FOUND_MOST)
