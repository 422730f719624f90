"""One WARC file while it is written: exclusive create, appended to as `.open`, sealed by rename.

Local lakes hold the `.open` file where the sealed one will lie; for an object store it is written below the work
folder and published when it is sealed. A file has one writer and is not shared between threads.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from trawl_core.errors import WarcError, explain_os_error
from trawl_core.lake import Lake, Partition
from trawl_core.lake.layout import sync_folder
from trawl_core.warc.format import OPEN_SUFFIX, SUFFIX


def writer_host() -> str:
    """This machine's name as a file name may hold it; `host` when it is unfit."""
    name = socket.gethostname().lower()
    return name if re.fullmatch(r"[a-z0-9][a-z0-9.-]{0,62}", name) else "host"


def sealed_name(open_name: str) -> str:
    return open_name.removesuffix(OPEN_SUFFIX) + SUFFIX


def open_folder(lake: Lake, partition: Partition, work: Path) -> Path:
    """Where the `.open` files of a partition lie on this disk."""
    return lake.local_path(lake.warc_folder(partition)) if lake.is_local else work / lake.warc_folder(partition)


class OpenFile:
    """Appends whole byte strings; `offset` is the end of the last complete one.

    `name` is the sealed name below the lake's root. Raises FileExistsError when it, or its `.open` form, is there.
    """

    def __init__(self, lake: Lake, name: str, folder: Path) -> None:
        self.name = name
        self.offset = 0
        self._lake = lake
        self._path = folder / (name.rsplit("/", 1)[-1].removesuffix(SUFFIX) + OPEN_SUFFIX)
        if lake.exists(name):
            raise FileExistsError(name)
        self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        self._broken = False
        sync_folder(folder)

    def append(self, data: bytes) -> None:
        """Write all of `data` or nothing; raises DiskFullError or its kin, and then the file is as it was."""
        if self._broken:
            raise WarcError(f"writing {self._path}: an earlier write failed and could not be undone. `trawl repair` salvages this file.")
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError as error:
            self._roll_back()
            raise explain_os_error(error, "writing", self._path) from error
        self.offset += len(data)

    def append_all(self, pieces: Iterator[bytes], rest: Iterable[bytes]) -> int:
        """Write `pieces`, each as it comes, then `rest`; all of them or nothing. Returns the bytes of `pieces`."""
        start = self.offset
        pending = next(pieces, b"")
        try:
            for piece in pieces:
                self.append(pending)
                pending = piece
            length = self.offset - start + len(pending)
            self.append(b"".join((pending, *rest)))
        except BaseException:
            self.offset = start
            self._roll_back()
            raise
        return length

    def _roll_back(self) -> None:
        try:
            os.ftruncate(self._fd, self.offset)
            os.lseek(self._fd, self.offset, os.SEEK_SET)
        except OSError:
            self._broken = True  # close() leaves the file `.open`, and repair drops the torn tail

    def sync(self) -> None:
        """Return when everything appended is on the disk."""
        try:
            os.fdatasync(self._fd)
        except OSError as error:
            self._broken = True  # what the kernel dropped is unknown: nothing more may follow it
            raise explain_os_error(error, "writing to the disk", self._path) from error

    def discard(self) -> None:
        """Close and remove the file."""
        os.close(self._fd)
        self._path.unlink()

    def abandon(self) -> None:
        """Close the file as it is, under its `.open` name."""
        os.close(self._fd)

    def seal(self) -> None:
        """Make the file durable and visible under its sealed name; a broken file stays `.open` for repair."""
        try:
            if not self._broken:
                os.fsync(self._fd)
        except OSError as error:
            self._broken = True
            raise explain_os_error(error, "sealing", self._path) from error
        finally:
            os.close(self._fd)
        if not self._broken:
            publish_sealed(self._lake, self._path, self.name)


def publish_sealed(lake: Lake, path: Path, name: str) -> None:
    """Turn the complete, synced `.open` file `path` into `name`; raises WarcError when that name is taken."""
    if lake.exists(name):
        raise WarcError(f"sealing {path}: {name} exists already. Move one of the two away; nothing was overwritten.")
    try:
        if lake.is_local:
            path.rename(lake.local_path(name))
            sync_folder(path.parent)
            return
        with path.open("rb") as file:
            lake.publish(name, lambda target: _copy(file, target))
        path.unlink()
    except OSError as error:
        raise explain_os_error(error, "sealing", path) from error


def _copy(source: BinaryIO, target: BinaryIO) -> None:
    source.seek(0)
    shutil.copyfileobj(source, target, 1 << 20)
