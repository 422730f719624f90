"""Answering a query from an index: keywords, vectors, or both.

`keyword` scores are BM25, `semantic` scores are cosines. `hybrid` takes the best candidates of both, gives each
candidate both scores, scales each kind to 0…1 over the candidates and averages them. A filter by domain is applied
before the best are chosen, in both halves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal, get_args

import numpy as np

from trawl_core.errors import UsageError
from trawl_core.home import Home
from trawl_core.lake.layout import Lake
from trawl_core.search.embed import load_model
from trawl_core.search.keywords import best_rows, match_expression, scores_of_rows
from trawl_core.search.opened import OpenIndex, open_index
from trawl_core.search.snippet import snippet

Mode = Literal["hybrid", "semantic", "keyword"]
_LEAST_CANDIDATES = 100
_CANDIDATES_A_HIT = 10
_MORE = 4
_SEMANTIC_SHARE = 0.5


@dataclass(frozen=True)
class Hit:
    """A page and its best chunk: `text` is pages.text[start_char:end_char] of `capture_id`, `snippet` the part to show.

    `also_at` are other URLs of the same duplicate cluster, sorted. `score` compares hits of one answer only.
    """

    url: str
    title: str | None
    heading: str
    snippet: str
    text: str
    score: float
    domain: str
    crawl_date: date
    capture_id: str
    chunk_id: int
    start_char: int
    end_char: int
    also_at: tuple[str, ...] = ()


def search(
    query: str, k: int = 10, mode: Mode = "hybrid", domain: str | None = None, as_of: date | str | None = None, *, lake: Lake | None = None
) -> list[Hit]:
    """The `k` best pages, best first; one hit a page, and one for all members of a duplicate cluster.

    `as_of` chooses the newest index of that date (ISO 8601 when a string) or before. `lake` None is the lake of the
    environment. An empty query and a domain that the index does not have give no hits. Raises UsageError for a wrong
    argument, SearchError for a missing or damaged index.
    """
    if mode not in get_args(Mode):
        raise UsageError(f"searching: {mode!r} is not a mode; use {', '.join(get_args(Mode))}.")
    if k < 1:
        raise UsageError(f"searching: {k} hits were asked for; ask for 1 or more.")
    index = open_index(lake or Lake(Home.from_env().lake_url), _as_date(as_of))
    query = query.encode("utf-8", "replace").decode().strip()
    if not query:
        return []
    with index.lock:
        return _Search(index, query, mode, domain).hits(k)


def _as_date(value: date | str | None) -> date | None:
    if isinstance(value, datetime):
        return (value if value.tzinfo is None else value.astimezone(UTC)).date()
    if value is None or isinstance(value, date):
        return value
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise UsageError(f"searching: {value!r} is not a date; write it like 2026-11-30.") from None


class _Search:
    """One query against one index; `rows` are chunk rows, the keys of the keyword file."""

    def __init__(self, index: OpenIndex, query: str, mode: Mode, domain: str | None) -> None:
        self._index = index
        self._query = query
        self._expression = match_expression(query) if mode != "semantic" else None
        self._vector = load_model(index.manifest.model_id).embed([query])[0] if mode != "keyword" else None
        self._mode = mode
        found = index.keywords.execute(
            "SELECT domain, first_row, last_row FROM domain WHERE ?1 IS NULL OR domain = ?1 ORDER BY domain", (domain,)
        )
        self._ranges = {name: (first, last) for name, first, last in found}
        self._scope = (min((r[0] for r in self._ranges.values()), default=1), max((r[1] for r in self._ranges.values()), default=0))

    def hits(self, k: int) -> list[Hit]:
        in_scope = self._scope[1] - self._scope[0] + 1
        depth = max(_LEAST_CANDIDATES, _CANDIDATES_A_HIT * k)
        while True:
            scores = self._scores(depth)
            hits = self._collapse(scores, k)
            if len(hits) >= k or depth >= in_scope:
                return hits
            depth *= _MORE

    def _scores(self, depth: int) -> dict[int, float]:
        """Score by chunk row over the best `depth` of each half."""
        if self._mode == "keyword":
            return self._keyword_best(depth)
        if self._mode == "semantic":
            return self._semantic_best(depth)
        words, meaning = self._keyword_best(depth), self._semantic_best(depth)
        rows = sorted(words.keys() | meaning.keys())
        if self._expression:
            words |= scores_of_rows(self._index.keywords, self._expression, meaning.keys() - words.keys())
        meaning |= self._cosines(words.keys() - meaning.keys())
        keyword_part = _min_max([words.get(row, 0.0) for row in rows])
        semantic_part = _min_max([meaning[row] for row in rows])
        return dict(zip(rows, (_SEMANTIC_SHARE * semantic_part + (1 - _SEMANTIC_SHARE) * keyword_part).tolist(), strict=True))

    def _keyword_best(self, depth: int) -> dict[int, float]:
        return best_rows(self._index.keywords, self._expression, self._scope, depth) if self._expression else {}

    def _semantic_best(self, depth: int) -> dict[int, float]:
        found = [(score, chunk, domain) for domain in self._ranges for chunk, score in self._index.shard(domain).best(self._vector, depth)]
        best = sorted(found, key=lambda entry: (-entry[0], entry[1]))[:depth]
        rows = self._rows_of({chunk for _, chunk, _ in best})
        return {rows[domain, chunk]: score for score, chunk, domain in best}

    def _rows_of(self, chunk_ids: set[int]) -> dict[tuple[str, int], int]:
        found = _select(
            self._index,
            "SELECT page.domain, chunk.chunk_id, chunk.row FROM chunk JOIN page USING (page_id) WHERE chunk.chunk_id IN ({})",
            sorted(chunk_ids),
        )
        return {(row["domain"], row["chunk_id"]): row["row"] for row in found}

    def _cosines(self, rows: set[int]) -> dict[int, float]:
        found = _select(
            self._index,
            "SELECT page.domain, chunk.chunk_id, chunk.row FROM chunk JOIN page USING (page_id) WHERE chunk.row IN ({})",
            sorted(rows),
        )
        return {row["row"]: self._index.shard(row["domain"]).cosine(self._vector, row["chunk_id"]) for row in found}

    def _collapse(self, scores: Mapping[int, float], k: int) -> list[Hit]:
        """The best chunk of each page or cluster, best first; ties by URL and position."""
        candidates = {
            row["row"]: row
            for row in _select(
                self._index,
                "SELECT chunk.*, page.url, page.domain, page.title, page.capture_id, page.crawl_date, page.cluster "
                "FROM chunk JOIN page USING (page_id) WHERE chunk.row IN ({})",
                sorted(scores),
            )
        }
        ranked = sorted(scores, key=lambda row: (-scores[row], candidates[row]["url"], row))
        best: dict[str, int] = {}
        of_page: dict[str, int] = {}
        for row in ranked:
            chunk = candidates[row]
            best.setdefault(chunk["cluster"] or chunk["url"], row)
            of_page.setdefault(chunk["url"], row)
        hits = []
        for cluster, row in list(best.items())[:k]:
            chunk = candidates[row]
            if chunk["url"] != cluster:
                chunk = self._same_at(cluster, chunk["text"]) or candidates.get(of_page.get(cluster, row), chunk)
            hits.append(self._hit(chunk, scores[row]))
        return hits

    def _same_at(self, representative_url: str, text: str) -> dict[str, Any] | None:
        """The chunk with that text on the representative's page, None when it has none or lies outside the domain asked for."""
        cursor = self._index.keywords.execute(
            "SELECT chunk.*, page.url, page.domain, page.title, page.capture_id, page.crawl_date, page.cluster FROM page "
            "JOIN chunk ON chunk.row BETWEEN page.first_row AND page.last_row "
            "WHERE page.url = ? AND chunk.text = ? AND chunk.row BETWEEN ? AND ? ORDER BY chunk.row LIMIT 1",
            (representative_url, text, *self._scope),
        )
        return next(iter(_as_dicts(cursor)), None)

    def _hit(self, chunk: Mapping[str, Any], score: float) -> Hit:
        also_at = self._index.keywords.execute(
            "SELECT DISTINCT url FROM page WHERE cluster = ? AND url != ? ORDER BY url", (chunk["cluster"], chunk["url"])
        )
        return Hit(
            url=chunk["url"],
            title=chunk["title"],
            heading=chunk["heading"] or "",
            snippet=snippet(chunk["text"], self._query),
            text=chunk["text"],
            score=round(score, 6),
            domain=chunk["domain"],
            crawl_date=date.fromisoformat(chunk["crawl_date"]),
            capture_id=chunk["capture_id"],
            chunk_id=chunk["chunk_id"],
            start_char=chunk["start_char"],
            end_char=chunk["end_char"],
            also_at=tuple(url for (url,) in also_at),
        )


_KEYS_A_QUERY = 10_000


def _select(index: OpenIndex, sql: str, keys: list[int]) -> list[dict[str, Any]]:
    """Rows of `sql`, whose `{}` becomes the list of `keys`."""
    found: list[dict[str, Any]] = []
    for start in range(0, len(keys), _KEYS_A_QUERY):
        part = keys[start : start + _KEYS_A_QUERY]
        found += _as_dicts(index.keywords.execute(sql.format(",".join("?" * len(part))), part))
    return found


def _as_dicts(cursor: Any) -> list[dict[str, Any]]:
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def _min_max(values: list[float]) -> np.ndarray:
    """Scaled to 0…1; all 1 when they are equal and positive, all 0 when they are equal and not."""
    scores = np.array(values)
    if not len(scores):
        return scores
    low, high = scores.min(), scores.max()
    if high == low:
        return np.full(len(scores), 1.0 if high > 0 else 0.0)
    return (scores - low) / (high - low)
