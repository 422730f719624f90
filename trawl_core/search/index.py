"""The `faiss_index` asset: the corpus as of a date, ready to be searched.

    index/crawl_date=…/vectors-<domain>-<hash>.faiss    one shard per domain
    index/crawl_date=…/keywords-<hash>.sqlite           pages, chunks and FTS5 of all domains
    index/crawl_date=…/manifest.json                    names both, with digests; published last

File names carry the start of their content's sha256, so no file is ever written over one that a reader has open.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from trawl_core.errors import SearchError
from trawl_core.lake import tables
from trawl_core.lake.corpus import corpus_asof
from trawl_core.lake.layout import Lake, Partition
from trawl_core.lake.schemas import EMBEDDING_DIM
from trawl_core.lake.tables import Committed, StageResult
from trawl_core.search.embed import MODEL_ID
from trawl_core.search.keywords import KeywordWriter, write_keywords
from trawl_core.search.manifest import IndexFile, Manifest, manifest_name
from trawl_core.search.shards import build_shard
from trawl_core.search.vectors import embedding_matrix

_HASH_DIGITS = 16
_COLUMNS = (
    "crawl_date",
    "chunk_id",
    "url",
    "capture_id",
    "title",
    "position",
    "start_char",
    "end_char",
    "heading",
    "text",
    "embedding",
    "model_id",
)


def build_index(lake: Lake, crawl_date: date) -> StageResult:
    """Publish the index as of `crawl_date`: for each URL the chunks of its newest good capture.

    Raises SearchError for chunks of another model, a repeated chunk_id or a vector that is not finite, DiskFullError
    and its kin from the lake; the index published before is then as it was. Chunks that were never materialized are
    missing from the index; the fact `partitions_without_chunks` names their partitions.
    """
    with (
        lake.lock(f"index-{crawl_date}", f"building the index of {crawl_date}"),
        tempfile.TemporaryDirectory(prefix="trawl-index-") as room,
    ):
        build = _Build(lake, crawl_date)
        keyword_path = Path(room, "keywords.sqlite")
        writer = write_keywords(keyword_path, build.fill)
        manifest = Manifest(
            crawl_date=crawl_date,
            model_id=MODEL_ID,
            dim=EMBEDDING_DIM,
            chunks=writer.rows,
            pages=writer.pages,
            vectors=build.shards,
            keywords=_publish_file(lake, crawl_date, keyword_path, writer.rows),
            sources=build.sources,
        )
        content = manifest.to_json()
        lake.publish(manifest_name(crawl_date), lambda file: file.write(content))
        _remove_others(lake, manifest)
    files = [manifest.keywords, *manifest.vectors.values()]
    return StageResult(
        (Committed(manifest_name(crawl_date), manifest.chunks, len(content) + sum(file.bytes for file in files)),),
        {
            "chunks": manifest.chunks,
            "pages": manifest.pages,
            "domains": len(manifest.vectors),
            "corpus_pages": build.corpus_pages,
            "partitions_without_chunks": build.without_chunks,
            "model_id": MODEL_ID,
        },
    )


@dataclass
class _Build:
    """One pass over the domains: publishes each one's shard and hands its rows to the keyword writer."""

    lake: Lake
    crawl_date: date
    shards: dict[str, IndexFile] = field(default_factory=dict)
    sources: dict[str, tuple[date, ...]] = field(default_factory=dict)
    without_chunks: list[str] = field(default_factory=list)
    corpus_pages: int = 0

    def fill(self, writer: KeywordWriter) -> None:
        clusters = _clusters(self.lake, self.crawl_date)
        corpus = corpus_asof(self.lake, self.crawl_date)
        self.corpus_pages = corpus.height
        for domain in corpus.get_column("domain").unique().sort().to_list():
            rows = self._chunks_of(domain, corpus.filter(pl.col("domain") == domain))
            if not rows.num_rows:
                continue
            ids = rows.column("chunk_id").to_numpy()
            shard = build_shard(ids, embedding_matrix(rows.column("embedding")), f"{domain} as of {self.crawl_date}")
            self.shards[domain] = _publish_bytes(self.lake, self.crawl_date, domain, shard, len(ids))
            writer.add_domain(domain, _rows(rows.drop_columns(["embedding", "model_id"])), clusters)

    def _chunks_of(self, domain: str, corpus: pl.DataFrame) -> pa.Table:
        """Chunks of the corpus' captures, sorted by URL and position."""
        parts, days = [], []
        for (day,), captures in sorted(corpus.group_by("crawl_date")):
            partition = Partition(day, domain)
            if not tables.has(self.lake, "chunks", partition):
                self.without_chunks.append(f"{day}|{domain}")
                continue
            rows = tables.read(self.lake, "chunks", partition, _COLUMNS)
            rows = rows.filter(pc.is_in(rows.column("capture_id"), captures.get_column("capture_id").to_arrow().cast(pa.string())))
            if others := set(pc.unique(rows.column("model_id")).to_pylist()) - {MODEL_ID}:
                models = ", ".join(map(str, sorted(others)))
                raise SearchError(
                    f"indexing {domain} as of {self.crawl_date}: the chunks of {day} were embedded with {models}, "
                    f"this version of Trawl uses {MODEL_ID}. Materialize chunks again for {day}."
                )
            if rows.num_rows:
                parts.append(rows)
                days.append(day)
        if not parts:
            return tables.empty("chunks").select(list(_COLUMNS))
        self.sources[domain] = tuple(days)
        return pa.concat_tables(parts).sort_by([("url", "ascending"), ("position", "ascending")])


def _clusters(lake: Lake, crawl_date: date) -> dict[str, str]:
    """URL → representative URL; empty where that date's duplicates were not materialized."""
    members = tables.read(lake, "duplicates", Partition(crawl_date), ["url", "representative_url"])
    return dict(zip(members.column("url").to_pylist(), members.column("representative_url").to_pylist(), strict=True))


def _rows(rows: pa.Table) -> Iterator[dict]:
    for batch in rows.to_batches(max_chunksize=2000):
        yield from batch.to_pylist()


def _publish_bytes(lake: Lake, crawl_date: date, domain: str, content: bytes, rows: int) -> IndexFile:
    digest = hashlib.sha256(content).hexdigest()
    label = domain.replace(":", "%3A")
    name = f"{Lake.index_folder(crawl_date)}/vectors-{label}-{digest[:_HASH_DIGITS]}.faiss"
    lake.publish(name, lambda file: file.write(content))
    return IndexFile(name, rows, len(content), digest)


def _publish_file(lake: Lake, crawl_date: date, path: Path, rows: int) -> IndexFile:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        size = file.tell()
        name = f"{Lake.index_folder(crawl_date)}/keywords-{digest[:_HASH_DIGITS]}.sqlite"
        file.seek(0)
        lake.publish(name, lambda target: shutil.copyfileobj(file, target, 2**20))
    return IndexFile(name, rows, size, digest)


def _remove_others(lake: Lake, manifest: Manifest) -> None:
    """Files of earlier builds, and what a killed build left. A reader that has one open keeps it."""
    keep = {*manifest.names(), manifest_name(manifest.crawl_date)}
    for name in lake.files(Lake.index_folder(manifest.crawl_date)):
        if name not in keep:
            lake.delete(name)
