"""Which URL of a domain comes first. Higher is sooner; the bands never overlap.

5000          sitemaps and feeds: they name what is new
1000–2000     the plan, in its order
0–900         found tonight: near the seeds first, raised by the site's `priorities` and `keywords`
"""

from __future__ import annotations

import re

from trawl_core.sites import Site

LISTS = 5000.0
PLANNED_FROM, PLANNED_SPAN = 1000.0, 1000.0
SEED = PLANNED_FROM + PLANNED_SPAN
FOUND_MOST = 900.0


def planned_priority(rank: int, rows: int) -> float:
    """Priority of the plan's row `rank` (1 first) out of `rows`."""
    return PLANNED_FROM + PLANNED_SPAN * (1 - (rank - 1) / max(rows, 1))


class FoundPriority:
    """Priority of a URL found tonight, from its depth, the site's editorial patterns and its keywords in URL and link text."""

    def __init__(self, site: Site) -> None:
        self._patterns = [(re.compile(priority.pattern), priority.weight) for priority in site.priorities]
        self._keywords = [(word.casefold(), weight) for word, weight in site.keywords.items()]

    def __call__(self, url: str, text: str, depth: int) -> float:
        value = 100.0 / (1 + depth)
        for pattern, weight in self._patterns:
            if pattern.search(url):
                value *= weight
        if self._keywords:
            context = f"{url} {text}".casefold()
            value += sum(weight for word, weight in self._keywords if word in context) * 10.0
        return min(max(value, 0.0), FOUND_MOST)
