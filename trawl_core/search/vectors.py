"""Where the vector of a text comes from: the cache below work/, else chunks that the lake holds, else the model."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import pyarrow as pa

from trawl_core.errors import LakeError
from trawl_core.lake import tables
from trawl_core.lake.layout import Lake, Partition
from trawl_core.lake.schemas import EMBEDDING_DIM
from trawl_core.search.cache import EmbeddingCache
from trawl_core.search.embed import MODEL_ID, load_model

T = TypeVar("T")
_TEXTS_A_SAVE = 128


@dataclass
class VectorSource:
    """Vectors for one domain's texts. The sets count distinct texts by where their vector came from."""

    cache: EmbeddingCache
    lake: Lake
    domain: str
    threads: int
    from_cache: set[str] = field(default_factory=set)
    from_lake: set[str] = field(default_factory=set)
    embedded: set[str] = field(default_factory=set)

    def prepare(self, texts: Mapping[str, str]) -> None:
        """Give every digest of `texts` (sha256 → text) a vector in the cache.

        The model's vectors are saved every 128 texts: a killed run goes on from there.
        """
        seen = self.from_cache | self.from_lake | self.embedded
        wanted = set(texts) - seen
        known = self.cache.known(wanted)
        self.from_cache |= known
        missing = wanted - known
        if missing and self._import_partitions():
            found = self.cache.known(missing)
            self.from_lake |= found
            missing -= found
        for digests in batches(sorted(missing), _TEXTS_A_SAVE):
            vectors = load_model(MODEL_ID, self.threads).embed([texts[digest] for digest in digests])
            self.cache.put(dict(zip(digests, vectors, strict=True)))
        self.embedded |= missing

    def _import_partitions(self) -> bool:
        """Copy the vectors of the domain's chunks, of any date, into the cache; each partition once in the cache's life.

        A partition that can't be read gives none: its texts are embedded again, and building it anew mends it.
        """
        names = {
            self.lake.table_name("chunks", Partition(day, self.domain)): day for day in tables.dates_of(self.lake, "chunks", self.domain)
        }
        new = set(names) - self.cache.imported()
        for name in sorted(new):
            try:
                rows = tables.read(self.lake, "chunks", Partition(names[name], self.domain), ["chunk_sha256", "embedding", "model_id"])
            except LakeError:
                continue
            vectors = embedding_matrix(rows.column("embedding"))
            keys = zip(rows.column("chunk_sha256").to_pylist(), rows.column("model_id").to_pylist(), strict=True)
            self.cache.put({digest: vectors[at] for at, (digest, model_id) in enumerate(keys) if model_id == MODEL_ID})
            self.cache.mark_imported(name)
        return bool(new)


def embedding_matrix(column: pa.ChunkedArray) -> np.ndarray:
    """(n, 384) float16 of a `chunks.embedding` column."""
    values = [part.flatten().to_numpy(zero_copy_only=False) for part in column.chunks]
    return np.concatenate(values).reshape(-1, EMBEDDING_DIM) if values else np.empty((0, EMBEDDING_DIM), dtype=np.float16)


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """`items` in lists of `size`, the last one shorter."""
    iterator = iter(items)
    while batch := list(itertools.islice(iterator, size)):
        yield batch
