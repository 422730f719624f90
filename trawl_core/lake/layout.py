"""Where things lie in the lake, on a local disk or an object store.

    <root>/warc/crawl_date=2026-11-30/domain=docs.example.org/trawl-….warc.gz
    <root>/<table>/crawl_date=2026-11-30/domain=docs.example.org/part.parquet
    <root>/<date table>/crawl_date=2026-11-30/part.parquet
    <root>/index/crawl_date=2026-11-30/…
    <root>/locks/<name>.lock                                      (local lakes)

All stages go through `Lake`: names below the root are POSIX paths without a leading slash. A file is published
whole or not at all: beside and renamed on a disk, one PUT on an object store.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import BinaryIO

import filelock
import pyarrow as pa
from pyarrow import fs as pafs

from trawl_core.errors import LakeError, LockedError, explain_os_error
from trawl_core.lake.beside import beside, is_beside

_PARTITION = re.compile(r"crawl_date=(\d{4}-\d\d-\d\d)(?:/domain=([^/]+))?(?:/|$)")


@dataclass(frozen=True, order=True)
class Partition:
    """A crawl date × domain; `domain` is None for a date table."""

    crawl_date: date
    domain: str | None = None

    @property
    def folder(self) -> str:
        tail = "" if self.domain is None else f"/domain={_quote(self.domain)}"
        return f"crawl_date={self.crawl_date.isoformat()}{tail}"


def _quote(domain: str) -> str:
    return domain.replace(":", "%3A")  # IPv6 literals; the hive convention is percent-encoding


def _unquote(domain: str) -> str:
    return domain.replace("%3A", ":")


class Lake:
    """A lake at `root`: an absolute path, or a URL of an object store that pyarrow knows (s3://bucket/prefix)."""

    def __init__(self, root: str | Path) -> None:
        text = str(root)
        self._given = text
        try:
            if "://" in text:
                self.fs, self.root = pafs.FileSystem.from_uri(text)
            else:
                self.fs, self.root = pafs.LocalFileSystem(), str(Path(text).expanduser().resolve())
        except (pa.ArrowInvalid, OSError) as error:
            raise LakeError(f"opening the lake at {text}: {error}. TRAWL_LAKE is a folder or a URL like s3://bucket/prefix.") from error

    def __reduce__(self) -> tuple[type[Lake], tuple[str]]:
        return type(self), (self.location,)

    @property
    def is_local(self) -> bool:
        return isinstance(self.fs, pafs.LocalFileSystem)

    @property
    def location(self) -> str:
        """What opens this lake again in another process: its URL as given, with options such as `endpoint_override`."""
        return self.root if self.is_local else self._given

    @property
    def url(self) -> str:
        """The lake's name in messages: without options, which may hold credentials."""
        return self.root if self.is_local else f"{self.fs.type_name}://{self.root}"

    # names -------------------------------------------------------------------------------------------------

    @staticmethod
    def table_name(table: str, partition: Partition) -> str:
        return f"{table}/{partition.folder}/part.parquet"

    @staticmethod
    def warc_folder(partition: Partition) -> str:
        return f"warc/{partition.folder}"

    @staticmethod
    def index_folder(crawl_date: date) -> str:
        return f"index/{Partition(crawl_date).folder}"

    def path(self, name: str) -> str:
        """Full path of `name` as the filesystem (and DuckDB) takes it."""
        return f"{self.root}/{name}"

    def local_path(self, name: str) -> Path:
        """A local lake's path of `name`; raises LakeError on an object store."""
        if not self.is_local:
            raise LakeError(f"{self.url} is an object store: {name} has no path on this disk.")
        return Path(self.root, name)

    # looking -----------------------------------------------------------------------------------------------

    def exists(self, name: str) -> bool:
        return self.fs.get_file_info(self.path(name)).type == pafs.FileType.File

    def size(self, name: str) -> int | None:
        """Bytes of a file, None when there is none."""
        info = self.fs.get_file_info(self.path(name))
        return info.size if info.type == pafs.FileType.File else None

    def files(self, folder: str, suffix: str = "") -> list[str]:
        """Names of all published files below `folder` that end in `suffix`, sorted; empty when the folder does not exist."""
        selector = pafs.FileSelector(self.path(folder), allow_not_found=True, recursive=True)
        names = (info.path[len(self.root) :].lstrip("/") for info in self.fs.get_file_info(selector) if info.type == pafs.FileType.File)
        return sorted(name for name in names if name.endswith(suffix) and not is_beside(name))

    def partitions(self, table: str) -> list[Partition]:
        """Partitions of `table` (or `warc`, `index`) that hold a file, sorted by date, then domain."""
        found = set()
        for name in self.files(table):
            if match := _PARTITION.search(name):
                found.add(Partition(date.fromisoformat(match[1]), _unquote(match[2]) if match[2] else None))
        return sorted(found, key=lambda partition: (partition.crawl_date, partition.domain or ""))

    def partitions_of_domain(self, table: str, domain: str) -> list[Partition]:
        """`partitions` of one domain, sorted by date: looks at one folder a date, however many domains lie beside it."""
        selector = pafs.FileSelector(self.path(table), allow_not_found=True)
        days = (_PARTITION.match(info.base_name) for info in self.fs.get_file_info(selector) if info.type == pafs.FileType.Directory)
        partitions = sorted(Partition(date.fromisoformat(day[1]), domain) for day in days if day)
        found = self.fs.get_file_info([self.path(self.table_name(table, partition)) for partition in partitions])
        return [partition for partition, info in zip(partitions, found, strict=True) if info.type == pafs.FileType.File]

    # reading and writing -----------------------------------------------------------------------------------

    def read_range(self, name: str, offset: int, length: int) -> bytes:
        """`length` bytes at `offset` with one range read; raises LakeError when they are not there."""
        try:
            with self.fs.open_input_file(self.path(name)) as file:
                data = file.read_at(length, offset)
        except OSError as error:
            raise LakeError(f"reading {length} bytes at {offset} of {name}: {error}.") from error
        if len(data) != length:
            raise LakeError(f"reading {name}: wanted {length} bytes at {offset}, the file ends after {len(data)} of them.")
        return data

    def open(self, name: str) -> pa.NativeFile:
        """A seekable binary file for reading; raises LakeError when it is missing."""
        try:
            return self.fs.open_input_file(self.path(name))
        except OSError as error:
            raise LakeError(f"opening {name}: {error}.") from error

    def publish(self, name: str, write: Callable[[BinaryIO], object]) -> int:
        """Call `write(file)` and make the result visible as `name` in one step; returns its bytes.

        A reader sees the old file or the new one. Raises DiskFullError, ReadOnlyHomeError or LakeError, and then
        the old file is as it was.
        """
        target = self.path(name)
        try:
            if not self.is_local:
                with self.fs.open_output_stream(target, compression=None) as stream:  # by name it would compress .gz again
                    write(stream)
                    return stream.tell()
            return _publish_local(Path(target), write)
        except OSError as error:
            raise explain_os_error(error, "writing", target) from error

    def delete(self, name: str) -> None:
        """Remove a file; no error when it is not there."""
        if self.exists(name):
            self.fs.delete_file(self.path(name))

    @contextmanager
    def lock(self, name: str, doing: str) -> Iterator[None]:
        """Hold the OS lock `name` without waiting; raises LockedError when another process holds it.

        The lock dies with its process. On an object store it lies in the temporary folder of this machine.
        """
        folder = Path(self.root, "locks") if self.is_local else Path("/tmp/trawl-locks")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = filelock.FileLock(folder / f"{_quote(name)}.lock", blocking=False, thread_local=False)
            lock.acquire()
        except filelock.Timeout:
            raise LockedError(f"{doing}: another run is at it now. Wait for it to end (`trawl status` shows it), then try again.") from None
        except OSError as error:
            raise explain_os_error(error, "locking in", folder) from error
        try:
            yield
        finally:
            lock.release()


def _publish_local(target: Path, write: Callable[[BinaryIO], object]) -> int:
    make_folder(target.parent)
    unfinished = beside(target)
    try:
        with unfinished.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
            size = file.tell()
        os.replace(unfinished, target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)
    return size


def make_folder(folder: Path) -> None:
    """Like mkdir -p, with each new entry made durable."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Make renames in `folder` durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
