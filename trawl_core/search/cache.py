"""Embeddings by the digest of their text, kept in one SQLite file below work/.

Two processes may use it at once: entries are only ever added, and equal keys hold equal vectors. It is a cache: it may
be deleted at any time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from trawl_core.errors import SearchError, explain_os_error
from trawl_core.search.sqlite_fault import explain_sqlite_error

FILE_NAME = "embeddings.sqlite"
_WAIT_S = 60
_KEYS_A_QUERY = 500


class EmbeddingCache:
    """Vectors of one model: sha256 hex of the embedded text → float16 vector of `dim` numbers."""

    def __init__(self, connection: sqlite3.Connection, model_id: str, dim: int) -> None:
        self._connection = connection
        self._model_id = model_id
        self._dim = dim

    def known(self, digests: Iterable[str]) -> set[str]:
        """Those of `digests` that have a vector."""
        return {digest for digest, _ in self._rows(digests)}

    def get(self, digests: Iterable[str]) -> dict[str, np.ndarray]:
        """Vectors by digest, float16 of shape (dim,); digests without one are absent."""
        return {digest: np.frombuffer(vector, dtype=np.float16) for digest, vector in self._rows(digests)}

    def put(self, vectors: Mapping[str, np.ndarray]) -> None:
        """Keep vectors (stored as float16); those that are known stay as they are."""
        rows = []
        for digest, vector in vectors.items():
            with np.errstate(over="ignore"):
                half = np.asarray(vector, dtype="<f2")
            if half.shape != (self._dim,) or not np.isfinite(half).all():
                raise SearchError(f"caching the embedding {digest[:12]}…: it is not a vector of {self._dim} finite numbers.")
            rows.append((digest, self._model_id, half.tobytes()))
        with self._connection:
            self._connection.executemany("INSERT OR IGNORE INTO embedding VALUES (?, ?, ?)", rows)

    def imported(self) -> set[str]:
        """Names of the lake's `chunks` files whose vectors are all in here."""
        rows = self._connection.execute("SELECT name FROM imported WHERE model_id = ?", (self._model_id,)).fetchall()
        return {name for (name,) in rows}

    def mark_imported(self, name: str) -> None:
        with self._connection:
            self._connection.execute("INSERT OR IGNORE INTO imported VALUES (?, ?)", (name, self._model_id))

    def _rows(self, digests: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        keys = sorted(set(digests))
        for start in range(0, len(keys), _KEYS_A_QUERY):
            part = keys[start : start + _KEYS_A_QUERY]
            marks = ",".join("?" * len(part))
            yield from self._connection.execute(
                f"SELECT chunk_sha256, vector FROM embedding WHERE model_id = ? AND length(vector) = ? AND chunk_sha256 IN ({marks})",
                (self._model_id, 2 * self._dim, *part),
            ).fetchall()


@contextmanager
def open_cache(work: Path, model_id: str, dim: int) -> Iterator[EmbeddingCache]:
    """The cache below `work`, made when missing.

    Raises SearchError for a damaged file, DiskFullError or ReadOnlyHomeError where it can't be written.
    """
    path = work / FILE_NAME
    try:
        work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise explain_os_error(error, "making the folder of the embedding cache", work) from error
    try:
        with closing(sqlite3.connect(path, timeout=_WAIT_S)) as connection:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS embedding "
                "(chunk_sha256 TEXT, model_id TEXT, vector BLOB, PRIMARY KEY (chunk_sha256, model_id)) WITHOUT ROWID"
            )
            connection.execute("CREATE TABLE IF NOT EXISTS imported (name TEXT, model_id TEXT, PRIMARY KEY (name, model_id)) WITHOUT ROWID")
            yield EmbeddingCache(connection, model_id, dim)
    except sqlite3.DatabaseError as error:
        remedy = "Delete the file: it is only a cache and is filled again from the lake."
        raise explain_sqlite_error(error, "using the embedding cache", path, remedy) from error
