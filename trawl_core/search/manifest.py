"""manifest.json: which files make up the index of a date, with their digests.

It is published last and names every other file, so a reader sees the old index or the new one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date

from trawl_core.errors import SearchError
from trawl_core.lake.layout import Lake

FORMAT = 1
FILE_NAME = "manifest.json"


@dataclass(frozen=True)
class IndexFile:
    """`name` is below the lake's root; it carries the start of `sha256` and is never written twice with other bytes."""

    name: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """`vectors` has a FAISS shard per domain, `keywords` is the SQLite file of all; `sources` are the dates of each domain's chunks."""

    crawl_date: date
    model_id: str
    dim: int
    chunks: int
    pages: int
    vectors: Mapping[str, IndexFile]
    keywords: IndexFile
    sources: Mapping[str, tuple[date, ...]]

    def names(self) -> set[str]:
        """Names of all files of this index but the manifest."""
        return {self.keywords.name, *(shard.name for shard in self.vectors.values())}

    def to_json(self) -> bytes:
        return (json.dumps({"format": FORMAT, **asdict(self)}, indent=1, sort_keys=True, default=str) + "\n").encode()


def manifest_name(crawl_date: date) -> str:
    return f"{Lake.index_folder(crawl_date)}/{FILE_NAME}"


def index_dates(lake: Lake) -> list[date]:
    """Dates that have a published index, ascending."""
    return sorted(partition.crawl_date for partition in lake.partitions("index") if lake.exists(manifest_name(partition.crawl_date)))


def read_manifest(lake: Lake, crawl_date: date) -> Manifest:
    """The manifest of that date's index; raises SearchError when it is damaged or of a newer format, LakeError when it is missing."""
    name = manifest_name(crawl_date)
    with lake.open(name) as file:
        content = file.read()
    try:
        fields = json.loads(content)
        if (found := fields.pop("format")) != FORMAT:
            raise SearchError(
                f"opening the index {lake.path(name)}: its format is {found}, this version of Trawl reads {FORMAT}. {again(crawl_date)}"
            )
        return Manifest(
            crawl_date=date.fromisoformat(fields.pop("crawl_date")),
            vectors={domain: IndexFile(**shard) for domain, shard in fields.pop("vectors").items()},
            keywords=IndexFile(**fields.pop("keywords")),
            sources={domain: tuple(map(date.fromisoformat, days)) for domain, days in fields.pop("sources").items()},
            **fields,
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SearchError(f"opening the index {lake.path(name)}: it is damaged ({error}). {again(crawl_date)}") from error


def again(crawl_date: date) -> str:
    """What to do about a damaged index."""
    return f"Materialize faiss_index again for {crawl_date}."
