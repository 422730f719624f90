"""Where other people's WARC files lie in the lake, and what an import found in each.

    <root>/warc/imported/<first 16 hex digits of its sha256>/<name>         the file, or what it was rewritten to
    <root>/warc/imported/<first 16 hex digits of its sha256>/import.json    written last: the import is complete

One file may hold many domains and dates, so it lies beside the partitions; the rows of `captures` lead into it. Its records
are read leniently (loose.py), and are what the import reported them to be.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from trawl_core.errors import LakeError
from trawl_core.lake import Lake, Partition, tables

FOLDER = "warc/imported"
MANIFEST = "import.json"


@dataclass(frozen=True)
class ImportedFile:
    """One imported file. `name` is what captures.warc_filename says; None when no record of it got a row.

    `form` is `as it is`, or `rewritten`: one gzip member a record, the bytes of each record kept. `sha256` is that of the file that was
    given, `stored_sha256` that of `name`. `crawl_date` is what every record was filed under, None for its own day; `only` the domains
    asked for, None for all. `faults` are (offset in the file that was given, what is wrong there), the first of `fault_count`.
    """

    source: str
    sha256: str
    bytes: int
    name: str | None
    form: str
    stored_sha256: str | None
    imported_at: str
    crawl_date: str | None
    only: tuple[str, ...] | None
    records: Mapping[str, int]
    passed_over: Mapping[str, int]
    partitions: tuple[tuple[str, str], ...]
    faults: tuple[tuple[int, str], ...] = ()
    fault_count: int = 0


def is_imported(name: str | None) -> bool:
    """Whether a file of the lake was written by others."""
    return name is not None and name.startswith(f"{FOLDER}/")


def folder_of(sha256: str) -> str:
    return f"{FOLDER}/{sha256[:16]}"


def read_manifest(lake: Lake, folder: str) -> ImportedFile | None:
    """What was imported into `folder`; None when no import was completed there. Raises LakeError for a damaged manifest."""
    name = f"{folder}/{MANIFEST}"
    size = lake.size(name)
    if size is None:
        return None
    try:
        values = json.loads(lake.read_range(name, 0, size))
        values["only"] = None if values["only"] is None else tuple(values["only"])
        values["partitions"] = tuple((day, domain) for day, domain in values["partitions"])
        values["faults"] = tuple((offset, fault) for offset, fault in values["faults"])
        return ImportedFile(**values)
    except (ValueError, TypeError, KeyError) as error:
        raise LakeError(f"reading {name}: it is no import's manifest ({error}). Delete it and import the file again.") from None


def write_manifest(lake: Lake, imported: ImportedFile) -> None:
    text = json.dumps(asdict(imported), indent=1, ensure_ascii=False)
    lake.publish(f"{folder_of(imported.sha256)}/{MANIFEST}", lambda file: file.write(text.encode()))


def imported_files(lake: Lake) -> Iterator[ImportedFile]:
    """Every completed import, in the order of its folder."""
    for name in lake.files(FOLDER, MANIFEST):
        if found := read_manifest(lake, name.rpartition("/")[0]):
            yield found


def imported_partitions(lake: Lake) -> set[Partition]:
    """Partitions that imports brought captures to."""
    return {Partition(date.fromisoformat(day), domain) for one in imported_files(lake) for day, domain in one.partitions}


def archived_files(lake: Lake, partition: Partition) -> list[str]:
    """WARC files that hold a night: those of its own folder, and those that its imported captures lead into."""
    own = lake.files(lake.warc_folder(partition), ".warc.gz")
    if not lake.exists(lake.table_name("captures", partition)):
        return own
    names: set[Any] = set(tables.read(lake, "captures", partition, ["warc_filename"]).column("warc_filename").to_pylist())
    return own + sorted(name for name in names if is_imported(name))
