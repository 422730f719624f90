"""The `chunks` asset: tonight's pages as section chunks with embeddings.

Only chunks whose text was never embedded cost anything: vectors come from the cache below work/, else from the chunks
that the lake already holds for the domain, else from the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from trawl_core.lake import tables
from trawl_core.lake.earlier import build_after_earlier
from trawl_core.lake.layout import Lake, Partition
from trawl_core.lake.schemas import EMBEDDING_DIM
from trawl_core.lake.tables import StageResult
from trawl_core.search.cache import EmbeddingCache, open_cache
from trawl_core.search.chunk import Chunk, chunk_id, split_page
from trawl_core.search.embed import MODEL_ID
from trawl_core.search.vectors import VectorSource, batches

MAX_CHUNKS_PER_PAGE = 5000
_ERROR_PAGE = "error"
_CHUNKS_A_BATCH = 2000
_PAGE_COLUMNS = ("url", "capture_id", "body_capture_id", "fetch_time", "fetch_status", "title", "page_type", "text", "headings")


def embed_chunks(lake: Lake, partition: Partition, *, work: Path, threads: int = 2) -> StageResult:
    """Commit `chunks` of one crawl date × domain.

    Pages of status 200 or 304 that have text are cut; a page with more than `MAX_CHUNKS_PER_PAGE` chunks keeps the
    first ones and is counted in the fact `pages_cut`. Vectors are saved to the cache as they are made, so a killed run
    goes on where it was. Earlier dates of the domain whose pages were never cut come first. Raises SearchError for a missing
    model or a damaged cache.
    """
    return build_after_earlier(lake, "chunks", "pages", partition, lambda one: _embed_partition(lake, one, work, threads))


def _embed_partition(lake: Lake, partition: Partition, work: Path, threads: int) -> StageResult:
    pages = _pages_with_text(lake, partition)
    extracted_at = _extraction_times(lake, partition, pages)
    pages_cut: set[str] = set()
    with open_cache(work, MODEL_ID, EMBEDDING_DIM) as cache:
        source = VectorSource(cache, lake, str(partition.domain), threads)
        for batch in batches(_chunks_of(pages, pages_cut), _CHUNKS_A_BATCH):
            source.prepare({chunk.sha256: chunk.embedded_text for _, chunk in batch})
        # Cutting is far cheaper than keeping every chunk: the second pass streams rows with all vectors at hand.
        rows = (_as_batch(batch, cache, partition, extracted_at) for batch in batches(_chunks_of(pages, pages_cut), _CHUNKS_A_BATCH))
        committed = tables.commit_stream(lake, "chunks", partition, rows)
        cache.mark_imported(committed.name)
    return StageResult(
        (committed,),
        {
            "chunks": committed.rows,
            "pages": pages.height,
            "pages_cut": len(pages_cut),
            "embedded": len(source.embedded),
            "from_cache": len(source.from_cache),
            "from_lake": len(source.from_lake),
            "model_id": MODEL_ID,
        },
    )


def _pages_with_text(lake: Lake, partition: Partition) -> pl.DataFrame:
    pages = pl.from_arrow(tables.read(lake, "pages", partition, _PAGE_COLUMNS))
    good = pages.filter(
        pl.col("fetch_status").is_in([200, 304])
        & pl.col("page_type").ne_missing(_ERROR_PAGE)
        & (pl.col("text").str.strip_chars().str.len_chars() > 0)
    )
    return good.sort("url", "capture_id")


def _extraction_times(lake: Lake, partition: Partition, pages: pl.DataFrame) -> dict[str, datetime | None]:
    """fetch_time of the body behind each page, by capture_id; None where a revisit does not tell it."""
    captures = tables.read(lake, "captures", partition, ["capture_id", "refers_to_date"])
    referred = dict(zip(captures.column("capture_id").to_pylist(), captures.column("refers_to_date").to_pylist(), strict=True))
    return {
        capture_id: fetch_time if body_capture_id in (None, capture_id) else referred.get(capture_id)
        for capture_id, body_capture_id, fetch_time in pages.select("capture_id", "body_capture_id", "fetch_time").iter_rows()
    }


def _chunks_of(pages: pl.DataFrame, pages_cut: set[str]) -> Iterator[tuple[Mapping[str, Any], Chunk]]:
    """(page, chunk) in the order of the table; `pages_cut` receives the capture_id of pages with too many chunks."""
    for page in pages.iter_rows(named=True, buffer_size=64):
        chunks = split_page(page["text"], page["headings"], page["title"])
        if len(chunks) > MAX_CHUNKS_PER_PAGE:
            pages_cut.add(page["capture_id"])
        for chunk in chunks[:MAX_CHUNKS_PER_PAGE]:
            yield page, chunk


def _as_batch(
    batch: Sequence[tuple[Mapping[str, Any], Chunk]],
    cache: EmbeddingCache,
    partition: Partition,
    extracted_at: Mapping[str, datetime | None],
) -> pa.RecordBatch:
    digests = [chunk.sha256 for _, chunk in batch]
    vectors = cache.get(digests)
    schema = tables.spec_of("chunks").schema
    embeddings = np.stack([vectors[digest] for digest in digests])
    columns: dict[str, Any] = {
        "crawl_date": [partition.crawl_date] * len(batch),
        "domain": [partition.domain] * len(batch),
        "chunk_id": [chunk_id(page["url"], digest, chunk.occurrence) for (page, chunk), digest in zip(batch, digests, strict=True)],
        "url": [page["url"] for page, _ in batch],
        "capture_id": [page["capture_id"] for page, _ in batch],
        "title": [page["title"] for page, _ in batch],
        "fetch_time": [page["fetch_time"] for page, _ in batch],
        "extracted_at": [extracted_at[page["capture_id"]] for page, _ in batch],
        "position": [chunk.position for _, chunk in batch],
        "start_char": [chunk.start for _, chunk in batch],
        "end_char": [chunk.end for _, chunk in batch],
        "heading": [chunk.heading for _, chunk in batch],
        "text": [chunk.text for _, chunk in batch],
        "chunk_sha256": digests,
        "model_id": [MODEL_ID] * len(batch),
    }
    arrays = [
        pa.FixedSizeListArray.from_arrays(pa.array(embeddings.ravel(), pa.float16()), EMBEDDING_DIM)
        if column.name == "embedding"
        else pa.array(columns[column.name], column.type)
        for column in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
