"""Proof that each published index is whole: its manifest reads, and every file has the digest that it names."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from datetime import date

from trawl_core.errors import LakeError, SearchError
from trawl_core.lake.layout import Lake
from trawl_core.search.manifest import index_dates, manifest_name, read_manifest


def index_problems(lake: Lake, dates: Collection[date] | None = None) -> Iterator[tuple[str, str]]:
    """`(file, what is wrong)` for the indexes of `dates` (None: all)."""
    for day in index_dates(lake):
        if dates is not None and day not in dates:
            continue
        try:
            manifest = read_manifest(lake, day)
        except (SearchError, LakeError) as error:
            yield manifest_name(day), str(error)
            continue
        for file in (manifest.keywords, *manifest.vectors.values()):
            try:
                with lake.open(file.name) as content:
                    digest = hashlib.file_digest(content, "sha256").hexdigest()
            except LakeError as error:
                yield file.name, str(error)
                continue
            if digest != file.sha256:
                yield file.name, f"its sha256 is not the manifest's; materialize faiss_index again for {day}"
