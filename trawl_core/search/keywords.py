"""The keyword half of the index: one SQLite file with pages, chunks and their FTS5 index.

    page(page_id, url, domain, title, capture_id, crawl_date, cluster, first_row, last_row)
    chunk(row, chunk_id, page_id, position, start_char, end_char, heading, text)
    domain(domain, first_row, last_row)
    words: FTS5 over heading, title and text, porter-stemmed, its rowid is chunk.row

Rows are ordered by domain, URL and position, so a domain and a page are each a range of rows: a filter by domain is
part of the match, never applied after it. Han and Kana characters are words of their own, as those scripts put no
space between words.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from trawl_core.search.sqlite_fault import explain_sqlite_error

BM25 = "-bm25(words, 2.0, 2.0, 1.0)"  # weights of heading, title, text
MAX_QUERY_WORDS = 64
# English words that say nothing about a page: a query's other words decide, these count only when there are no others.
_FUNCTION_WORDS = """
a about an and any are as at be but by can do does for from had has have how i if in into is it its me my not of on or our so than that
the their them then there these they this to was we were what when where which who why will with you your
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
_KEYS_A_QUERY = 10_000
_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(r"([\u3005\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003134f])")
_LAYOUT = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE page (
  page_id INTEGER PRIMARY KEY, url TEXT, domain TEXT, title TEXT, capture_id TEXT, crawl_date TEXT, cluster TEXT,
  first_row INTEGER, last_row INTEGER
);
CREATE TABLE chunk (
  row INTEGER PRIMARY KEY, chunk_id INTEGER, page_id INTEGER, position INTEGER, start_char INTEGER, end_char INTEGER,
  heading TEXT, text TEXT
);
CREATE TABLE domain (domain TEXT PRIMARY KEY, first_row INTEGER, last_row INTEGER) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(heading, title, text, content='', tokenize='porter unicode61 remove_diacritics 2');
"""
_FINISH = """
CREATE INDEX chunk_by_id ON chunk (chunk_id);
CREATE INDEX page_by_url ON page (url);
CREATE INDEX page_by_cluster ON page (cluster) WHERE cluster IS NOT NULL;
INSERT INTO words (words) VALUES ('optimize');
"""


class KeywordWriter:
    """Writes a new file; `add_domain` is called once a domain, in ascending order."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.rows = 0
        self.pages = 0

    def add_domain(self, domain: str, chunks: Iterable[Mapping[str, Any]], clusters: Mapping[str, str]) -> None:
        """Chunks (mappings by column of the `chunks` table) sorted by url and position; `clusters` maps a URL to its representative."""
        first = self.rows + 1
        url: str | None = None
        for chunk in chunks:
            if chunk["url"] != url:
                url = chunk["url"]
                self.pages += 1
                self._connection.execute(
                    "INSERT INTO page VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        self.pages,
                        url,
                        domain,
                        chunk["title"],
                        chunk["capture_id"],
                        chunk["crawl_date"].isoformat(),
                        clusters.get(chunk["url"]),
                        self.rows + 1,
                        self.rows,
                    ),
                )
            self.rows += 1
            place = (self.rows, chunk["chunk_id"], self.pages, chunk["position"], chunk["start_char"], chunk["end_char"])
            self._connection.execute("INSERT INTO chunk VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*place, chunk["heading"], chunk["text"]))
            self._connection.execute(
                "INSERT INTO words (rowid, heading, title, text) VALUES (?, ?, ?, ?)",
                (self.rows, spaced(chunk["heading"] or ""), spaced(chunk["title"] or ""), spaced(chunk["text"])),
            )
            self._connection.execute("UPDATE page SET last_row = ? WHERE page_id = ?", (self.rows, self.pages))
        self._connection.execute("INSERT INTO domain VALUES (?, ?, ?)", (domain, first, self.rows))


def write_keywords(path: Path, fill: Callable[[KeywordWriter], object]) -> KeywordWriter:
    """Make the file at `path`: `fill(writer)` adds the domains.

    Raises DiskFullError or its kin, SearchError for any other fault of SQLite.
    """
    try:
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(_LAYOUT)
            writer = KeywordWriter(connection)
            with connection:
                fill(writer)
            connection.executescript(_FINISH)
            return writer
    except sqlite3.DatabaseError as error:
        remedy = "The index published before was not changed. TMPDIR moves the folder of unfinished files; materialize faiss_index again."
        raise explain_sqlite_error(error, "writing the keyword index", path, remedy) from error


def match_expression(query: str) -> str | None:
    """An FTS5 expression for whatever a person typed: any of its words, none of FTS5's operators. None without a word."""
    typed = list(dict.fromkeys(word.lower() for word in _WORD.findall(query)))
    words = ([word for word in typed if word not in FUNCTION_WORDS] or typed)[:MAX_QUERY_WORDS]
    return " OR ".join(f'"{spaced(word).strip()}"' for word in words) or None


def spaced(text: str) -> str:
    """`text` with a space on either side of each Han and Kana character."""
    return _UNSPACED.sub(r" \1 ", text)


def best_rows(connection: sqlite3.Connection, expression: str, rows: tuple[int, int], limit: int) -> dict[int, float]:
    """BM25 of the best `limit` chunk rows inside the range `rows` (inclusive), best first; greater is better."""
    found = connection.execute(
        f"SELECT rowid, {BM25} AS score FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ? ORDER BY score DESC, rowid LIMIT ?",
        (expression, *rows, limit),
    )
    return dict(found.fetchall())


def scores_of_rows(connection: sqlite3.Connection, expression: str, rows: Iterable[int]) -> dict[int, float]:
    """BM25 of those of `rows` that match; greater is better."""
    wanted, scores = sorted(rows), {}
    for start in range(0, len(wanted), _KEYS_A_QUERY):
        part = wanted[start : start + _KEYS_A_QUERY]
        marks = ",".join("?" * len(part))
        found = connection.execute(f"SELECT rowid, {BM25} FROM words WHERE words MATCH ? AND rowid IN ({marks})", (expression, *part))
        scores.update(found.fetchall())
    return scores
