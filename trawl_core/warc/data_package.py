"""The ZIP of a WACZ: files written one after the other, and the manifest that names each with its size and digest."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from types import TracebackType
from typing import Any, BinaryIO, Self

from trawl_core import __version__

WACZ_VERSION = "1.1.1"
_ZIP64_FROM = 1 << 31


class DataPackage:
    """Written to `file` front to back; `now` is the time of every entry. Leaving it ends the ZIP."""

    def __init__(self, file: BinaryIO, now: datetime) -> None:
        self._zip = zipfile.ZipFile(file, "w")
        self._now = now
        self._resources: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._zip.close()

    @contextmanager
    def entry(self, path: str, size: int | None = None, compression: int = zipfile.ZIP_STORED) -> Iterator[Callable[[bytes], None]]:
        """Gives what writes one file of the package, one at a time; `size` None where nobody knows it beforehand."""
        digest, written = hashlib.sha256(), 0
        is_large = size is None or size >= _ZIP64_FROM
        with self._zip.open(self._info(path, compression), "w", force_zip64=is_large) as file:

            def write(data: bytes) -> None:
                nonlocal written
                file.write(data)
                digest.update(data)
                written += len(data)

            yield write
        name = re.sub(r"[^-a-z0-9._/]", "-", path.rpartition("/")[2].lower())
        self._resources.append({"name": name, "path": path, "hash": f"sha256:{digest.hexdigest()}", "bytes": written})

    def text(self, path: str, lines: Iterable[str]) -> None:
        """One file of lines, which bring their line breaks."""
        with self.entry(path, compression=zipfile.ZIP_DEFLATED) as write:
            for line in lines:
                write(line.encode())

    def describe(self, **facts: str) -> None:
        """The manifest and its digest, the last files of the package; `facts` are further fields of the manifest."""
        package = {
            "profile": "data-package",
            "wacz_version": WACZ_VERSION,
            "software": f"trawl/{__version__}",
            "created": self._now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            **facts,
            "resources": self._resources,
        }
        described = (json.dumps(package, indent=2, ensure_ascii=False) + "\n").encode()
        digest = {"path": "datapackage.json", "hash": sha256(described)}
        self._zip.writestr(self._info("datapackage.json", zipfile.ZIP_DEFLATED), described)
        self._zip.writestr(self._info("datapackage-digest.json", zipfile.ZIP_DEFLATED), json.dumps(digest, indent=2) + "\n")

    def _info(self, path: str, compression: int) -> zipfile.ZipInfo:
        info = zipfile.ZipInfo(path, self._now.timetuple()[:6])
        info.compress_type = compression
        info.external_attr = 0o644 << 16
        return info


def sha256(data: bytes | bytearray) -> str:
    """As the manifest and indexes write it."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
