"""An index opened for searching: verified once per process and file, shards mapped when first asked."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import tempfile
import threading
import weakref
from collections import OrderedDict
from datetime import date
from pathlib import Path
from urllib.parse import quote

from trawl_core.errors import LakeError, SearchError
from trawl_core.lake.layout import Lake
from trawl_core.search.manifest import IndexFile, Manifest, again, index_dates, read_manifest
from trawl_core.search.shards import Shard

_KEPT_OPEN = 4
_opened: OrderedDict[tuple[str, date, str], OpenIndex] = OrderedDict()
_opening = threading.Lock()


class OpenIndex:
    """The index of one date. `keywords` is a read-only SQLite connection; hold `lock` while using it or a shard."""

    def __init__(self, lake: Lake, manifest: Manifest) -> None:
        self.manifest = manifest
        self.lock = threading.RLock()
        self._lake = lake
        self._shards: dict[str, Shard] = {}
        self._copies: tempfile.TemporaryDirectory | None = None if lake.is_local else tempfile.TemporaryDirectory(prefix="trawl-search-")
        if self._copies is not None:
            weakref.finalize(self, self._copies.cleanup)
        path = self._verified(manifest.keywords)
        self.keywords = sqlite3.connect(f"file:{quote(str(path))}?mode=ro&immutable=1", uri=True, check_same_thread=False)
        weakref.finalize(self, self.keywords.close)

    def shard(self, domain: str) -> Shard:
        """Raises SearchError when its file is missing or damaged."""
        if domain not in self._shards:
            self._shards[domain] = Shard.at(self._verified(self.manifest.vectors[domain]))
        return self._shards[domain]

    def _verified(self, file: IndexFile) -> Path:
        """A path on this disk with the file's content, after its digest was compared."""
        if self._copies is None:
            path = self._lake.local_path(file.name)
        else:
            path = Path(self._copies.name, Path(file.name).name)
            with self._lake.open(file.name) as source, path.open("wb") as target:
                shutil.copyfileobj(source, target, 2**20)
        try:
            with path.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
        except OSError as error:
            raise SearchError(
                f"opening the index {path}: it can't be read ({error.strerror or error}). {again(self.manifest.crawl_date)}"
            ) from error
        if digest != file.sha256:
            raise SearchError(f"opening the index {path}: the file is damaged. {again(self.manifest.crawl_date)}")
        return path


def open_index(lake: Lake, as_of: date | None = None) -> OpenIndex:
    """The newest index of `as_of` or before (None: of all), kept open in this process until it is built anew.

    Raises SearchError when there is none, and when the manifest or the keyword file is damaged.
    """
    dates = [day for day in index_dates(lake) if as_of is None or day <= as_of]
    if not dates:
        when = f" of {as_of} or before" if as_of else ""
        raise SearchError(
            f"searching {lake.url}: there is no index{when}. Run a crawl (`trawl crawl`), or materialize chunks and faiss_index."
        )
    with _opening:
        manifest = read_manifest(lake, dates[-1])
        try:
            return _open(lake, manifest)
        except SearchError:
            # A build that ended just now has removed the files that this manifest named.
            if (newer := read_manifest(lake, dates[-1])) == manifest:
                raise
            return _open(lake, newer)


def _open(lake: Lake, manifest: Manifest) -> OpenIndex:
    key = (lake.url, manifest.crawl_date, hashlib.sha256(manifest.to_json()).hexdigest())
    if key not in _opened:
        try:
            _opened[key] = OpenIndex(lake, manifest)
        except LakeError as error:
            raise SearchError(f"opening the index of {manifest.crawl_date}: {error} {again(manifest.crawl_date)}") from error
        while len(_opened) > _KEPT_OPEN:
            _opened.popitem(last=False)
    _opened.move_to_end(key)
    return _opened[key]
