"""One stretch of a WARC file read through: every member, every record by itself, every pair; what is found fits in little.

A file is cut into stretches so that both cores have work and a bar moves. They begin at records that captures lead to, so an
exchange never lies in two of them. Behind damage reading goes on at the next record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import BinaryIO

from trawl_core.errors import LakeError, WarcError
from trawl_core.lake import Lake
from trawl_core.warc import format as warc
from trawl_core.warc.imported import is_imported
from trawl_core.warc.integrity import faults_of, payload_sha1
from trawl_core.warc.members import Member, MemberFault, find_member, read_members
from trawl_core.warc.reader import read_payload
from trawl_core.warc.record import Record, RecordFault, parse_record

# Only these hold or confirm a body, and have a row in captures (a conversion belongs to the row of what was rendered).
_MAIN = ("response", "revisit", "resource", "conversion")


@dataclass(frozen=True)
class Stretch:
    """The members of `name` that begin in `start` … `end` (bytes). `owner` is whatever the stretch was cut for.

    A file that others wrote is looked at in two ways: where `sha256` is given, the file must have it still; where `places` are given, the
    records at these (offset, length) are read. Its faults were told by its import.
    """

    name: str
    start: int
    end: int
    owner: Hashable = None
    sha256: str | None = None
    places: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """What is kept of a record that holds or confirms a body, to be compared with captures.

    `sha1` is the payload digest that it states (of an imported record: that its payload gives), `sha256` that of a payload; `block_sha1` is
    computed. A conversion has the `capture_id` of the capture that was rendered. `status` is None where the block is empty.
    """

    offset: int
    length: int
    warc_type: str
    capture_id: str | None
    target_uri: str | None
    date: datetime | None
    truncated: str | None
    block_sha1: str
    status: int | None
    has_block: bool
    sha1: str | None
    sha256: str | None
    profile: str | None
    refers_to_id: str | None


@dataclass
class Scan:
    """`faults` are (byte, what is wrong), `beside` the other records as (byte, length, type); `end` is where reading stopped.

    `pairs` are those that the stretch leaves open; `died` tells why it could not be read at all.
    """

    records: list[Seen] = field(default_factory=list)
    beside: list[tuple[int, int, str]] = field(default_factory=list)
    faults: list[tuple[int, str]] = field(default_factory=list)
    pairs: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)
    end: int = 0
    died: str | None = None


def scan(lake: Lake, stretch: Stretch) -> Scan:
    """Read a stretch. What is wrong with it is in the result; memory is bounded by the largest record."""
    found = Scan(end=stretch.start)
    pairs = Pairs()
    try:
        with lake.open(stretch.name) as file:
            if stretch.sha256 is not None:
                found.end = stretch.end
                if (digest := hashlib.file_digest(file, "sha256").hexdigest()) != stretch.sha256:
                    found.faults.append((0, f"the file is not what was imported: its sha256 was {stretch.sha256}, it is {digest}"))
                return found
            if stretch.places:
                found.end = stretch.end
                return _scan_places(lake, stretch, found)
            for member in sound_members(file, stretch, found):
                try:
                    record = parse_record(member.data, stretch.name, member.offset, member.length)
                except RecordFault as error:
                    found.faults.append((member.offset, str(error) if member.data else "the gzip member is empty"))
                    continue
                if member.offset == 0 and record.warc_type != "warcinfo":
                    found.faults.append((0, f"the file begins with a {record.warc_type}, not with warcinfo"))
                found.faults += [(record.offset, fault) for fault in faults_of(record)]
                _note(record, found)
                _pair(record, pairs, found)
            if stretch.start == 0 and found.end == 0:
                found.faults.append((0, "the file is empty"))
    except (LakeError, OSError) as error:
        found.faults.append((found.end, str(error)))
    except MemoryError:
        found.faults.append((found.end, "there is not enough memory for the record that begins here"))
    found.pairs = pairs.open
    return found


def _scan_places(lake: Lake, stretch: Stretch, found: Scan) -> Scan:
    for offset, length in stretch.places:
        with suppress(WarcError):  # told of the row that leads there
            _note(read_payload(lake, stretch.name, offset, length), found)
    return found


def scan_record(lake: Lake, name: str, offset: int, length: int) -> Scan:
    """The same for the one record in these bytes. Raises WarcError when they are not exactly one.

    The faults of an imported record were told by its import: they are none of this.
    """
    found = Scan(end=offset + length)
    record = read_payload(lake, name, offset, length)
    if not is_imported(name):
        found.faults += [(record.offset, fault) for fault in faults_of(record)]
    _note(record, found)
    return found


def sound_members(file: BinaryIO, stretch: Stretch, found: Scan) -> Iterator[Member]:
    """Members with their place in the file; damage is noted in `found`, and reading goes on behind it."""
    position: int | None = stretch.start
    while position is not None and position < stretch.end:
        start = position
        file.seek(start)
        try:
            for member in read_members(file):
                found.end = start + member.end
                yield Member(start + member.offset, member.length, member.data)
                if found.end >= stretch.end:
                    return
            return  # the file ended with a whole member
        except MemberFault as error:
            damaged = start + error.offset
            position = find_member(file, damaged + 1)
            found.end = stretch.end if position is None else position
            behind = "no record follows" if position is None else f"the next record begins at byte {position}"
            found.faults.append((damaged, f"{error.fault}; {behind}"))


def _note(record: Record, found: Scan) -> None:
    kind = record.warc_type
    if kind not in _MAIN or kind == "conversion":
        found.beside.append((record.offset, record.length, kind))
    if kind in _MAIN:
        found.records.append(_seen(record))


def _pair(record: Record, pairs: Pairs, found: Scan) -> None:
    kind = record.warc_type
    if kind not in ("response", "revisit", "request", "metadata"):
        return
    others = record.field_values("WARC-Concurrent-To")
    if not others:
        found.faults.append((record.offset, f"the {kind} has no WARC-Concurrent-To"))
    for other in others:
        pairs.meet(record.field("WARC-Record-ID") or "", other, record.offset, kind)


def _seen(record: Record) -> Seen:
    refers_to = warc.capture_id_of(record.field("WARC-Refers-To"))
    has_payload = record.warc_type == "response" or (is_imported(record.filename) and record.warc_type != "revisit")
    return Seen(
        offset=record.offset,
        length=record.length,
        warc_type=record.warc_type,
        capture_id=refers_to if record.warc_type == "conversion" else record.capture_id,
        target_uri=record.target_uri,
        date=record.date,
        truncated=record.truncated,
        block_sha1=record.block_sha1,
        status=record.status,
        has_block=bool(record.block),
        sha1=warc.sha1_base32(record.payload) if has_payload and is_imported(record.filename) else payload_sha1(record),
        sha256=hashlib.sha256(record.payload).hexdigest() if has_payload else None,
        profile=(record.field("WARC-Profile") or "").rsplit("/", 1)[-1] or None,
        refers_to_id=refers_to,
    )


class Pairs:
    """WARC-Concurrent-To, which in our files points both ways. Only what has not been answered yet is kept in `open`:
    (a record's id, the id that it names) → (its byte, its type).
    """

    def __init__(self) -> None:
        self.open: dict[tuple[str, str], tuple[int, str]] = {}

    def meet(self, own: str, other: str, offset: int, kind: str) -> None:
        if self.open.pop((other, own), None) is None:
            self.open[own, other] = (offset, kind)

    def faults(self) -> Iterator[tuple[int, str]]:
        """What is unanswered at the end of the file."""
        for (_, other), (offset, kind) in self.open.items():
            yield offset, f"the {kind} is WARC-Concurrent-To {other}, but no record of that id in the file names it back"
