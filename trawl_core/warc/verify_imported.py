"""Files that others wrote, and a person imported: they must be what they were then. What was wrong with them is known, and no problem."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from trawl_core.errors import LakeError
from trawl_core.lake import Lake, Partition
from trawl_core.warc.imported import FOLDER, MANIFEST, ImportedFile, read_manifest
from trawl_core.warc.scan import Scan, Stretch


@dataclass(frozen=True)
class _Imported:
    """A folder below warc/imported: its file, None when it holds none, and `fault` where its manifest can't be used."""

    folder: str
    name: str | None
    manifest: ImportedFile | None
    fault: str | None = None


def imported_in(lake: Lake, partitions: Collection[Partition]) -> Iterator[_Imported]:
    """Imports that brought captures to these partitions, and those of which nothing is known."""
    asked = {(partition.crawl_date.isoformat(), partition.domain) for partition in partitions}
    by_folder: dict[str, list[str]] = {}
    for name in lake.files(FOLDER):
        by_folder.setdefault(name.rpartition("/")[0], []).append(name)
    for folder, names in sorted(by_folder.items()):
        file = next((name for name in names if not name.endswith(f"/{MANIFEST}")), None)
        try:
            manifest = read_manifest(lake, folder)
        except LakeError as error:
            yield _Imported(folder, file, None, str(error))
            continue
        if manifest is None:
            yield _Imported(folder, file, None, "its import was not completed: import the file again, or delete the folder")
        elif asked.intersection(manifest.partitions):
            yield _Imported(folder, manifest.name, manifest)


def imported_sizes(lake: Lake, imported: Iterable[_Imported]) -> list[tuple[str, int]]:
    return [(one.name, lake.size(one.name) or 0) for one in imported if one.manifest and one.name]


def imported_stretches(lake: Lake, imported: Iterable[_Imported]) -> Iterator[Stretch]:
    for one in imported:
        if one.manifest and one.name and (size := lake.size(one.name)) is not None:
            yield Stretch(one.name, 0, size, one.name, one.manifest.stored_sha256)


def imported_faults(lake: Lake, one: _Imported, scans_of: Callable[[str], Iterator[tuple[Stretch, Scan]]]) -> Iterator[tuple[str, str]]:
    """(file, what is wrong). `scans_of` gives what was found in its stretch."""
    if one.fault:
        yield one.name or one.folder, one.fault
    elif one.name and not lake.exists(one.name):
        yield one.name, "the imported file is gone, and captures lead into it"
    elif one.name:
        for _, found in scans_of(one.name):
            yield from ((one.name, fault) for _, fault in found.faults)
            if found.died:
                yield one.name, found.died


def known_faults(lake: Lake, partitions: Collection[Partition]) -> Iterator[tuple[str, str]]:
    """(file, how many faults its import told): what a verification mentions without being about it."""
    for one in imported_in(lake, partitions):
        if one.manifest and one.manifest.faults:
            count = len(one.manifest.faults)
            told = f"{count} fault{'' if count == 1 else 's'} known since {one.manifest.source.rpartition('/')[2]} was imported"
            yield one.name or one.folder, f"{told}; {one.folder}/{MANIFEST} lists them"
