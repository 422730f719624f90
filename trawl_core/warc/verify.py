"""`trawl verify`: the archive proved against itself, the captures, and the tables that lead back to it.

Each WARC file is read once, in stretches by as many processes as there are cores; revisit targets and page bodies in it need
no second read. Problems are found, never repaired.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import chain, groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trawl_core.errors import LakeError, WarcError
from trawl_core.lake import Lake, Partition, tables
from trawl_core.warc import format as warc
from trawl_core.warc.imported import FOLDER, is_imported
from trawl_core.warc.known import KnownRecords, Place, place_of
from trawl_core.warc.scan import Pairs, Scan, Seen, Stretch, scan_record
from trawl_core.warc.stretches import Scans, stretches_of
from trawl_core.warc.verify_imported import imported_faults, imported_in, imported_sizes, imported_stretches
from trawl_core.warc.verify_pages import OF_PAGES, verify_pages

STRETCH_BYTES = 32 << 20
_WORTH_PROCESSES_BYTES = 48 << 20
# Columns of captures that lead to a record beside the capture's own, and that record's type.
_BESIDE = {"request": "request", "metadata": "metadata", "rendered": "conversion"}
_CAPTURES = [
    "capture_id", "warc_type", "url", "fetch_time", "fetch_status", "content_digest", "content_truncated",
    "warc_filename", "warc_record_offset", "warc_record_length", "request_offset", "request_length", "metadata_offset",
    "metadata_length", "payload_sha256", "block_digest", "revisit_profile", "refers_to_id", "refers_to_warc_filename",
    "refers_to_warc_offset", "refers_to_warc_length", "rendered_offset", "rendered_length",
]  # fmt: skip
_REVISITS = [
    "capture_id", "warc_type", "warc_filename", "warc_record_offset", "warc_record_length", "content_digest", "refers_to_id",
    "refers_to_warc_filename", "refers_to_warc_offset", "refers_to_warc_length",
]  # fmt: skip
_BATCH_ROWS = 5_000


@dataclass(frozen=True)
class Problem:
    """One fault: `where` names the file and byte, or the table and row; `what` is wrong there."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def verify(
    lake: Lake,
    dates: Collection[date] | None = None,
    domains: Collection[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    *,
    readers: int | None = None,
    stretch_bytes: int = STRETCH_BYTES,
    whole_imports: bool = True,
) -> list[Problem]:
    """Every problem of the partitions of `dates` × `domains` (None: all), in the order of domain, date and place.

    `progress(done, total)` is called with the bytes of WARC read so far. `readers` are processes; None means one a core where there is
    enough to read, else this one. Memory: a few records and a stretch's findings a process, one night's captures as Arrow, and a few words
    per capture of one domain. Without `whole_imports` an imported file, which may hold many other nights, is not read but for the records
    that these captures lead to.
    """
    partitions = sorted(
        {
            partition
            for table in ("warc", "captures", "pages", *OF_PAGES)
            for partition in lake.partitions(table)
            if partition.domain is not None
            and (dates is None or partition.crawl_date in dates)
            and (domains is None or partition.domain in domains)
        },
        key=lambda partition: (partition.domain, partition.crawl_date),
    )
    files = {partition: [(name, lake.size(name) or 0) for name in lake.files(lake.warc_folder(partition))] for partition in partitions}
    imported = list(imported_in(lake, partitions)) if whole_imports else []
    to_read = [*chain.from_iterable(files.values()), *imported_sizes(lake, imported)]
    total = sum(size for name, size in to_read if not name.endswith(warc.OPEN_SUFFIX))
    if readers is None:
        readers = len(os.sched_getaffinity(0)) if lake.is_local and total > _WORTH_PROCESSES_BYTES else 1
    if progress:
        progress(0, total)
    has_imports = bool(lake.files(FOLDER))
    ours = (
        stretch
        for partition, entries in files.items()
        for stretch in stretches_of(lake, partition, entries, stretch_bytes, with_imported=has_imports)
    )
    stretches = chain(ours, imported_stretches(lake, imported))
    scans = Scans(lake, stretches, readers, lambda done: progress(done, total) if progress else None)
    problems: list[Problem] = []
    known = KnownRecords(lake)
    try:
        for number, partition in enumerate(partitions):
            if number and partition.domain != partitions[number - 1].domain:
                known = KnownRecords(lake)
            problems += _verify_partition(lake, partition, [name for name, _ in files[partition]], scans.of(partition), known)
        for one in imported:
            problems += (Problem(where, what) for where, what in imported_faults(lake, one, scans.of))
    finally:
        scans.close()
    return problems


def _verify_partition(
    lake: Lake, partition: Partition, names: list[str], scans: Iterator[tuple[Stretch, Scan]], known: KnownRecords
) -> Iterator[Problem]:
    try:
        captures = tables.read(lake, "captures", partition, _CAPTURES)
    except LakeError as error:
        yield Problem(lake.table_name("captures", partition), str(error))
        captures = None
    for name in names:
        if name.endswith(warc.OPEN_SUFFIX):
            yield Problem(name, "it is not sealed: a crawl is writing it now, or died; `trawl repair` finishes what a dead one left")
    compared = np.zeros(captures.num_rows if captures is not None else 0, dtype=bool)
    for name, stretches in groupby(scans, key=lambda found: found[0].name):
        rows, pairs = _RowsOfFile(captures, name), Pairs()
        for stretch, found in stretches:
            yield from _verify_stretch(lake, partition, stretch, found, rows, known)
            for (own, other), (offset, kind) in found.pairs.items():
                pairs.meet(own, other, offset, kind)
        yield from (Problem(f"{name} at byte {offset}", fault) for offset, fault in pairs.faults())
        compared[rows.compared] = True
    if captures is None:
        return
    yield from _verify_captures(lake, partition, captures, compared, known)
    for where, what in verify_pages(lake, partition, captures, known):
        yield Problem(where, what)


class _RowsOfFile:
    """The rows of `captures` (None: they can't be read) that lead into a file, by place; `compared` are those that were taken."""

    def __init__(self, captures: pa.Table | None, name: str) -> None:
        self.are_known = captures is not None
        self.compared: list[int] = []
        if captures is None:
            return
        indices = np.flatnonzero(pc.fill_null(pc.equal(captures["warc_filename"], name), False).to_numpy())
        offsets = pc.fill_null(captures["warc_record_offset"], -1).to_numpy()[indices]
        order = np.argsort(offsets, kind="stable")
        self._indices, self._offsets, self._captures = indices[order], offsets[order], captures

    def of(self, stretch: Stretch) -> dict[tuple[int, int], tuple[int, dict[str, Any]]]:
        """(offset, length) → (row number, row)."""
        if not self.are_known:
            return {}
        first, last = np.searchsorted(self._offsets, [stretch.start, stretch.end])
        chosen = self._indices[first:last]
        rows = self._captures.take(pa.array(chosen)).to_pylist()
        return {(row["warc_record_offset"], row["warc_record_length"]): (int(index), row) for index, row in zip(chosen, rows, strict=True)}


def _verify_stretch(
    lake: Lake, partition: Partition, stretch: Stretch, found: Scan, rows: _RowsOfFile, known: KnownRecords
) -> Iterator[Problem]:
    name = stretch.name
    if found.died is not None:
        known.leave_out(name, stretch.start, stretch.end)
        yield Problem(name, f"{found.died}: nothing in them was checked. Where memory is short, run it again alone")
        return
    yield from (Problem(f"{name} at byte {offset}", fault) for offset, fault in found.faults)
    of_place = rows.of(stretch)
    beside = set(found.beside)
    for seen in found.records:
        known.add(name, seen)
        number, row = of_place.get((seen.offset, seen.length), (None, None))
        if (seen.warc_type == "conversion" and row is None) or not rows.are_known:
            continue
        if row is None:
            yield Problem(f"{name} at byte {seen.offset}", f"the {seen.warc_type} of {seen.target_uri} has no row in captures")
            continue
        rows.compared.append(number)
        yield from _compare(row, name, seen)
        yield from _verify_beside(lake, partition, row, beside)


def _compare(row: Mapping[str, Any], name: str, seen: Seen) -> Iterator[Problem]:
    """Where captures and the record differ."""
    for column, stated, found in _of_imported(row, seen) if is_imported(name) else _of_ours(row, seen):
        if stated != found:
            yield Problem(f"{name} at byte {seen.offset}", f"captures.{column} of {row['capture_id']} is {stated}, the record has {found}")


def _of_imported(row: Mapping[str, Any], seen: Seen) -> list[tuple[str, Any, Any]]:
    """What an import computed; what it read out of odd spellings is its own."""
    pairs = [("warc_type", row["warc_type"], seen.warc_type), ("block_digest", row["block_digest"], seen.block_sha1)]
    if seen.warc_type != "revisit":
        pairs += [("payload_sha256", row["payload_sha256"], seen.sha256), ("content_digest", row["content_digest"], seen.sha1)]
    return pairs


def _of_ours(row: Mapping[str, Any], seen: Seen) -> list[tuple[str, Any, Any]]:
    pairs = [
        ("capture_id", row["capture_id"], seen.capture_id),
        ("warc_type", row["warc_type"], seen.warc_type),
        ("url", warc.target_uri(row["url"]), seen.target_uri),
        ("fetch_time", row["fetch_time"], seen.date),
        ("block_digest", row["block_digest"], seen.block_sha1),
    ]
    if seen.has_block:
        pairs.append(("fetch_status", row["fetch_status"], seen.status))
    if seen.warc_type == "response":
        pairs.append(("content_truncated", row["content_truncated"], seen.truncated))
        pairs.append(("payload_sha256", row["payload_sha256"], seen.sha256))
        pairs.append(("content_digest", row["content_digest"], seen.sha1))
    else:
        pairs.append(("revisit_profile", row["revisit_profile"], seen.profile or ""))
        pairs.append(("refers_to_id", row["refers_to_id"], seen.refers_to_id))
    return pairs


def _verify_beside(lake: Lake, partition: Partition, row: Mapping[str, Any], beside: set[tuple[int, int, str]]) -> Iterator[Problem]:
    """The request, metadata and conversion of a row; `beside` are those that were met near its record."""
    for column, kind in _BESIDE.items():
        offset, length = row[f"{column}_offset"], row[f"{column}_length"]
        if offset is None or (offset, length, kind) in beside:
            continue
        where = _named(partition, row)
        try:
            found = scan_record(lake, row["warc_filename"], offset, length)
        except WarcError as error:
            yield Problem(where, f"its {kind} record can't be read: {error}")
            continue
        is_kind = next((entry[2] for entry in found.beside), None) or found.records[0].warc_type
        if is_kind != kind:
            yield Problem(where, f"its {kind} record is a {is_kind}")
        yield from (Problem(f"{row['warc_filename']} at byte {offset}", fault) for offset, fault in found.faults)


def _named(partition: Partition, row: Mapping[str, Any]) -> str:
    return f"captures {partition.crawl_date} {partition.domain} {row['capture_id']}"


def _verify_captures(lake: Lake, partition: Partition, captures: pa.Table, compared: np.ndarray, known: KnownRecords) -> Iterator[Problem]:
    # Records first: what a revisit refers to is then known, or reported as unreadable once, by its own row.
    with_file = pc.is_valid(captures["warc_filename"]).to_numpy()
    for row in _rows(captures.take(pa.array(np.flatnonzero(with_file & ~compared)))):
        yield from _verify_by_range(lake, partition, row, known)
    for value in pc.value_counts(captures["capture_id"]).to_pylist() if captures.num_rows else ():
        if value["counts"] > 1:
            yield Problem(_named(partition, {"capture_id": value["values"]}), "the capture_id stands twice")
    for row in _rows(captures.select(_REVISITS)):
        if (row["warc_filename"] is None) != (row["warc_type"] is None):
            what = f"warc_type is {row['warc_type']}, warc_filename is {row['warc_filename']}: one needs the other"
            yield Problem(_named(partition, row), what)
        if row["warc_filename"] is not None and row["warc_type"] == "revisit":
            yield from (Problem(_named(partition, row), what) for what in _revisit_faults(row, known))


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in table.to_batches(max_chunksize=_BATCH_ROWS):
        yield from batch.to_pylist()


def _verify_by_range(lake: Lake, partition: Partition, row: Mapping[str, Any], known: KnownRecords) -> Iterator[Problem]:
    """A row whose record was not met in a stream: it lies in another file, or no member has its place."""
    place: Place = place_of(row, "warc_filename", "warc_record")
    if known.is_left_out(place):
        return
    try:
        found = scan_record(lake, *place)
    except WarcError as error:
        known.add_unreadable(place)
        yield Problem(_named(partition, row), f"its record can't be read: {error}")
        return
    name = place[0]
    yield from (Problem(f"{name} at byte {offset}", fault) for offset, fault in found.faults)
    for seen in found.records:
        known.add(name, seen)
        yield from _compare(row, name, seen)
    for _, _, kind in found.beside:
        if kind != row["warc_type"]:  # an imported conversion is a capture of its own
            yield Problem(_named(partition, row), f"its record is a {kind}")
    yield from _verify_beside(lake, partition, row, set())


def _revisit_faults(row: Mapping[str, Any], known: KnownRecords) -> Iterator[str]:
    place = place_of(row, "refers_to_warc_filename", "refers_to_warc")
    by_others = is_imported(row["warc_filename"])
    if None in place:
        if by_others:
            return  # what it refers to was not in the files that were imported, which the import told
        yield "the revisit does not say where its payload lies"
        return
    try:
        target = known.look_up(place)
    except WarcError as error:
        yield f"the record it refers to can't be read: {error}"
        return
    if target is None:
        return  # reported with the target itself
    if target.warc_type != "response" and not (by_others and target.warc_type == "resource"):
        yield f"it refers to a {target.warc_type}, which holds no payload"
    if by_others:
        return
    if target.capture_id != row["refers_to_id"]:
        yield f"it refers to {row['refers_to_id']}, the record there is {target.capture_id}"
    if target.sha1 != row["content_digest"]:
        yield f"its payload digest is {row['content_digest']}, that of the record it refers to {target.sha1}"
