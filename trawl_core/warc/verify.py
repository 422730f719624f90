"""`trawl verify`: the archive proved against itself, the captures, and the tables that lead back to it.

Each WARC file is streamed once; revisit targets and page bodies in it need no second read. Problems are found, never
repaired.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from trawl_core.errors import LakeError, WarcError
from trawl_core.lake import Lake, Partition, tables
from trawl_core.warc import format as warc
from trawl_core.warc.integrity import faults_of, payload_sha1
from trawl_core.warc.members import MemberFault, read_members
from trawl_core.warc.reader import read_payload
from trawl_core.warc.record import Record, RecordFault, explain, parse_record

_WITHOUT_ROW = ("warcinfo", "request", "metadata", "continuation", "conversion")
# Columns of captures that lead to a record beside the capture's own, and that record's type.
_BESIDE = {"request": "request", "metadata": "metadata", "rendered": "conversion"}
_OF_PAGES = ("page_blocks", "structured_data", "fingerprints", "chunks")
_CAPTURES = [
    "capture_id", "warc_type", "url", "fetch_time", "fetch_status", "content_digest", "content_truncated",
    "warc_filename", "warc_record_offset", "warc_record_length", "request_offset", "request_length", "metadata_offset",
    "metadata_length", "payload_sha256", "block_digest", "revisit_profile", "refers_to_id", "refers_to_warc_filename",
    "refers_to_warc_offset", "refers_to_warc_length", "rendered_offset", "rendered_length",
]  # fmt: skip
_PAGES = ["capture_id", "body_capture_id", "warc_filename", "warc_record_offset", "warc_record_length"]

Place = tuple[str, int, int]


@dataclass(frozen=True)
class Problem:
    """One fault: `where` names the file and byte, or the table and row; `what` is wrong there."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(frozen=True)
class _Seen:
    """What is remembered of a record that holds or confirms a body. `sha256` is that of a response's payload, None for others.

    A conversion has the `capture_id` of the capture that was rendered.
    """

    capture_id: str | None
    warc_type: str
    sha1: str | None
    sha256: str | None


@dataclass
class _Domain:
    """Records and companions of one domain met so far, by place; earlier dates come first."""

    records: dict[Place, _Seen | None] = field(default_factory=dict)
    companions: dict[Place, str] = field(default_factory=dict)


def verify(
    lake: Lake,
    dates: Collection[date] | None = None,
    domains: Collection[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Problem]:
    """Every problem of the partitions of `dates` × `domains` (None: all), in the order of domain, date and place.

    `progress(done, total)` is called for each partition. Memory: one record and a few words per capture of one domain.
    """
    partitions = sorted(
        {
            partition
            for table in ("warc", "captures", "pages", *_OF_PAGES)
            for partition in lake.partitions(table)
            if partition.domain is not None
            and (dates is None or partition.crawl_date in dates)
            and (domains is None or partition.domain in domains)
        },
        key=lambda partition: (partition.domain, partition.crawl_date),
    )
    problems: list[Problem] = []
    current: str | None = None
    met = _Domain()
    for done, partition in enumerate(partitions):
        if progress:
            progress(done, len(partitions))
        if partition.domain != current:
            current, met = partition.domain, _Domain()
        problems += _verify_partition(lake, partition, met)
    if progress:
        progress(len(partitions), len(partitions))
    return problems


def _verify_partition(lake: Lake, partition: Partition, met: _Domain) -> Iterator[Problem]:
    met.companions.clear()
    try:
        rows = tables.read(lake, "captures", partition, _CAPTURES).to_pylist()
    except LakeError as error:
        yield Problem(lake.table_name("captures", partition), str(error))
        return
    by_place = {_place(row, "warc_filename", "warc_record"): row for row in rows if row["warc_filename"] is not None}
    for name in lake.files(lake.warc_folder(partition)):
        if name.endswith(warc.OPEN_SUFFIX):
            yield Problem(name, "it is not sealed: a crawl is writing it now, or died; `trawl repair` finishes what a dead one left")
        else:
            yield from _verify_file(lake, name, by_place, met)
    yield from _verify_captures(lake, partition, rows, met)
    yield from _verify_pages(lake, partition, {row["capture_id"]: row["payload_sha256"] for row in rows}, met)


def _verify_file(lake: Lake, name: str, by_place: Mapping[Place, Mapping[str, Any]], met: _Domain) -> Iterator[Problem]:
    first = True
    try:
        with lake.open(name) as file:
            for member in read_members(file):
                where = f"{name} at byte {member.offset}"
                try:
                    record = parse_record(member.data, name, member.offset, member.length)
                except RecordFault as error:
                    yield Problem(where, str(error))
                    continue
                if first and record.warc_type != "warcinfo":
                    yield Problem(where, f"the file begins with a {record.warc_type}, not with warcinfo")
                first = False
                yield from _verify_record(record, where, by_place, met)
    except MemberFault as error:
        yield Problem(f"{name} at byte {error.offset}", error.fault)
    except (LakeError, OSError) as error:
        yield Problem(name, str(error))


def _verify_record(record: Record, where: str, by_place: Mapping[Place, Mapping[str, Any]], met: _Domain) -> Iterator[Problem]:
    yield from (Problem(where, fault) for fault in faults_of(record))
    place = (record.filename, record.offset, record.length)
    if record.warc_type in _WITHOUT_ROW:
        met.companions[place] = record.warc_type
        if record.warc_type == "conversion":
            met.records[place] = _remember(record)
        return
    seen = met.records[place] = _remember(record)
    row = by_place.get(place)
    if row is None:
        yield Problem(where, f"the {record.warc_type} of {record.target_uri} has no row in captures")
        return
    for column, stated, found in _compare(row, record, seen):
        yield Problem(where, f"captures.{column} of {row['capture_id']} is {stated}, the record has {found}")


def _compare(row: Mapping[str, Any], record: Record, seen: _Seen) -> Iterator[tuple[str, Any, Any]]:
    """(column, what captures says, what the record says) where the two differ."""
    pairs = [
        ("capture_id", row["capture_id"], seen.capture_id),
        ("warc_type", row["warc_type"], record.warc_type),
        ("url", warc.target_uri(row["url"]), record.target_uri),
        ("fetch_time", row["fetch_time"], record.date),
        ("content_truncated", row["content_truncated"], record.truncated),
        ("block_digest", row["block_digest"], warc.sha1_base32(record.block)),
    ]
    if record.block:
        pairs.append(("fetch_status", row["fetch_status"], record.status))
    if record.warc_type == "response":
        pairs.append(("payload_sha256", row["payload_sha256"], seen.sha256))
        pairs.append(("content_digest", row["content_digest"], seen.sha1))
    else:
        pairs.append(("revisit_profile", row["revisit_profile"], (record.field("WARC-Profile") or "").rsplit("/", 1)[-1]))
        pairs.append(("refers_to_id", row["refers_to_id"], warc.capture_id_of(record.field("WARC-Refers-To"))))
        pairs = [pair for pair in pairs if pair[0] != "content_truncated"]
    return (pair for pair in pairs if pair[1] != pair[2])


def _verify_captures(lake: Lake, partition: Partition, rows: list[dict[str, Any]], met: _Domain) -> Iterator[Problem]:
    # Records first: what a revisit refers to is then known, or reported as unreadable once, by its own row.
    for name, row in _named(partition, rows):
        if row["warc_filename"] is not None and (place := _place(row, "warc_filename", "warc_record")) not in met.records:
            # Behind a damaged member the stream could not go on, while a range read still can.
            yield from _verify_by_range(lake, place, name, row, met)
    seen_ids: set[str] = set()
    for name, row in _named(partition, rows):
        if row["capture_id"] in seen_ids:
            yield Problem(name, "the capture_id stands twice")
        seen_ids.add(row["capture_id"])
        if (row["warc_filename"] is None) != (row["warc_type"] is None):
            yield Problem(name, f"warc_type is {row['warc_type']}, warc_filename is {row['warc_filename']}: one needs the other")
        if row["warc_filename"] is None:
            continue
        is_readable = met.records.get(_place(row, "warc_filename", "warc_record")) is not None
        for column, kind in _BESIDE.items():
            companion = (row["warc_filename"], row[f"{column}_offset"], row[f"{column}_length"])
            if is_readable and companion[1] is not None and met.companions.get(companion) != kind:
                yield from _verify_companion(lake, companion, kind, name)
        if row["warc_type"] == "revisit":
            yield from _verify_revisit(lake, row, name, met)


def _named(partition: Partition, rows: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((f"captures {partition.crawl_date} {partition.domain} {row['capture_id']}", row) for row in rows)


def _verify_by_range(lake: Lake, place: Place, where: str, row: Mapping[str, Any], met: _Domain) -> Iterator[Problem]:
    try:
        record = read_payload(lake, *place)
    except WarcError as error:
        met.records[place] = None
        yield Problem(where, f"its record can't be read: {error}")
        return
    yield from _verify_record(record, f"{record.filename} at byte {record.offset}", {place: row}, met)


def _verify_companion(lake: Lake, place: Place, kind: str, where: str) -> Iterator[Problem]:
    try:
        record = read_payload(lake, *place)
    except WarcError as error:
        yield Problem(where, f"its {kind} record can't be read: {error}")
        return
    if record.warc_type != kind:
        yield Problem(where, f"its {kind} record is a {record.warc_type}")
    yield from (Problem(f"{record.filename} at byte {record.offset}", fault) for fault in faults_of(record))


def _verify_revisit(lake: Lake, row: Mapping[str, Any], where: str, met: _Domain) -> Iterator[Problem]:
    place = _place(row, "refers_to_warc_filename", "refers_to_warc")
    if None in place:
        yield Problem(where, "the revisit does not say where its payload lies")
        return
    try:
        target = _look_up(lake, place, met)
    except WarcError as error:
        yield Problem(where, f"the record it refers to can't be read: {error}")
        return
    if target is None:
        return  # reported with the target itself
    if target.warc_type != "response":
        yield Problem(where, f"it refers to a {target.warc_type}, which holds no payload")
    if target.capture_id != row["refers_to_id"]:
        yield Problem(where, f"it refers to {row['refers_to_id']}, the record there is {target.capture_id}")
    if target.sha1 != row["content_digest"]:
        yield Problem(where, f"its payload digest is {row['content_digest']}, that of the record it refers to {target.sha1}")


def _verify_pages(lake: Lake, partition: Partition, sha256_of: Mapping[str, str | None], met: _Domain) -> Iterator[Problem]:
    """`sha256_of` maps the partition's capture ids to captures.payload_sha256."""
    try:
        pages = tables.read(lake, "pages", partition, _PAGES).to_pylist()
    except LakeError as error:
        yield Problem(lake.table_name("pages", partition), str(error))
        return
    for page in pages:
        where = f"pages {partition.crawl_date} {partition.domain} {page['capture_id']}"
        if page["capture_id"] not in sha256_of:
            yield Problem(where, "its capture_id is not in captures")
        place = _place(page, "warc_filename", "warc_record")
        if None in place:
            yield Problem(where, "it does not lead to a record")
            continue
        try:
            body = _look_up(lake, place, met)
        except WarcError as error:
            yield Problem(where, f"the record with its body can't be read: {error}")
            continue
        if body is None:
            continue
        if body.capture_id != page["body_capture_id"] or body.warc_type not in ("response", "conversion"):
            yield Problem(where, f"its body is that of {page['body_capture_id']}, it leads to the {body.warc_type} {body.capture_id}")
        elif body.warc_type == "response" and (stated := sha256_of.get(page["capture_id"])) is not None and stated != body.sha256:
            yield Problem(where, f"captures.payload_sha256 is {stated}, the payload that it leads to has {body.sha256}")
    known = {page["capture_id"] for page in pages} | {page["body_capture_id"] for page in pages}
    for table in _OF_PAGES:
        try:
            found = set(tables.read(lake, table, partition, ["capture_id"]).column("capture_id").to_pylist())
        except LakeError as error:
            yield Problem(lake.table_name(table, partition), str(error))
            continue
        for capture_id in sorted(found - known, key=str):
            yield Problem(f"{table} {partition.crawl_date} {partition.domain} {capture_id}", "its capture_id is not in pages")


def _look_up(lake: Lake, place: Place, met: _Domain) -> _Seen | None:
    """The record at a place, read only where it was not met before; None when it was found unreadable before."""
    if place not in met.records:
        met.records[place] = None
        record = read_payload(lake, *place)
        if faults := faults_of(record):
            raise explain(record.filename, record.offset, "; ".join(faults))
        met.records[place] = _remember(record)
    return met.records[place]


def _remember(record: Record) -> _Seen:
    sha256 = hashlib.sha256(record.payload).hexdigest() if record.warc_type == "response" else None
    is_rendered = record.warc_type == "conversion"
    capture_id = warc.capture_id_of(record.field("WARC-Refers-To")) if is_rendered else record.capture_id
    return _Seen(capture_id, record.warc_type, payload_sha1(record), sha256)


def _place(row: Mapping[str, Any], filename: str, prefix: str) -> Place:
    return row[filename], row[f"{prefix}_offset"], row[f"{prefix}_length"]
