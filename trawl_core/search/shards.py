"""The vector half of the index: one FAISS shard per domain, `IDMap2,SQfp16` under inner product of unit vectors.

A shard is written once and read only: never added to, reset or removed from. Damage inside a shard goes unnoticed by
FAISS, so callers compare its sha256 first.
"""

from __future__ import annotations

from pathlib import Path

import faiss
import numpy as np

from trawl_core.errors import SearchError

_FACTORY = "IDMap2,SQfp16"

# OpenMP's threads don't survive a fork and gain nothing at the size of a shard; parallel work is whole processes.
faiss.omp_set_num_threads(1)


def build_shard(ids: np.ndarray, vectors: np.ndarray, of_what: str) -> bytes:
    """A serialised shard of `vectors` (n, dim) float16 or float32 under `ids` (n,) int64.

    Raises SearchError for a repeated id and for a vector that is not finite: FAISS would take both.
    """
    if len(np.unique(ids)) != len(ids):
        raise SearchError(f"indexing {of_what}: a chunk_id stands there twice. Materialize chunks again for this domain.")
    if not np.isfinite(vectors).all():
        raise SearchError(f"indexing {of_what}: an embedding is not a number. Materialize chunks again for this domain.")
    index = faiss.index_factory(vectors.shape[1], _FACTORY, faiss.METRIC_INNER_PRODUCT)
    index.add_with_ids(np.ascontiguousarray(vectors, dtype=np.float32), np.ascontiguousarray(ids, dtype=np.int64))
    return faiss.serialize_index(index).tobytes()


class Shard:
    """A shard opened for reading."""

    def __init__(self, index: faiss.Index) -> None:
        self._index = index

    @classmethod
    def at(cls, path: Path) -> Shard:
        """Mapped, not read into memory: safe because a shard's file is never written again."""
        return cls(faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC))

    def best(self, vector: np.ndarray, limit: int) -> list[tuple[int, float]]:
        """(chunk_id, cosine) of the `limit` nearest, best first; fewer when the shard holds fewer."""
        scores, ids = self._index.search(vector[np.newaxis], min(limit, self._index.ntotal))
        return [(int(chunk), float(score)) for chunk, score in zip(ids[0], scores[0], strict=True) if chunk >= 0]

    def cosine(self, vector: np.ndarray, chunk_id: int) -> float:
        """Cosine of one chunk of this shard."""
        return float(self._index.reconstruct(chunk_id) @ vector)
