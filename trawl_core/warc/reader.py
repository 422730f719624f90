"""Records back from the lake: one by its place with a single range read, or a whole file in order.

A capture's body is `payload_of_capture(lake, row)`, whether the capture is a response or a revisit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, BinaryIO

from fastwarc import ArchiveIterator
from fastwarc.warc import WarcRecordType

from trawl_core.errors import LakeError, WarcError
from trawl_core.lake import Lake
from trawl_core.warc.format import OPEN_SUFFIX, SUFFIX
from trawl_core.warc.imported import is_imported
from trawl_core.warc.loose import parse_loose
from trawl_core.warc.members import MemberFault, inflate, read_members
from trawl_core.warc.record import Record, RecordFault, cut_record, explain, parse_record

_GZIP = b"\x1f\x8b"


def read_payload(lake: Lake, filename: str, offset: int, length: int) -> Record:
    """The record in the `length` bytes at `offset` of `filename` (its sealed name; the `.open` file is read while there is no other).

    One range read. Raises WarcError with file, offset and fault when these bytes are not exactly one record.
    """
    try:
        data = lake.read_range(present_name(lake, filename), offset, length)
    except LakeError as error:
        raise explain(filename, offset, str(error).rstrip(".")) from error
    try:
        plain = inflate(data) if data.startswith(_GZIP) else data
        if not is_imported(filename):
            return parse_record(plain, filename, offset, length)
        record, faults = parse_loose(plain, filename, offset, length)
        if not record.fields:
            raise RecordFault("; ".join(faults))
        return record
    except MemberFault as error:
        raise explain(filename, offset, error.fault) from None
    except RecordFault as error:
        raise explain(filename, offset, str(error)) from None


def payload_of_capture(lake: Lake, row: Mapping[str, Any]) -> Record:
    """The record that holds the body of a captures row: its own, or the one that a revisit refers to.

    Needs the columns capture_id, warc_type, warc_filename, warc_record_offset, warc_record_length and refers_to_warc_*.
    Raises WarcError for a row without a record, a revisit that leads nowhere, and unreadable bytes.
    """
    if row["warc_type"] is None or row["warc_filename"] is None:
        raise WarcError(f"reading the body of the capture {row['capture_id']}: no record was written for it; its outcome tells why.")
    if row["warc_type"] != "revisit":
        return read_payload(lake, row["warc_filename"], row["warc_record_offset"], row["warc_record_length"])
    place = row["refers_to_warc_filename"], row["refers_to_warc_offset"], row["refers_to_warc_length"]
    if None in place:
        raise WarcError(f"reading the body of the capture {row['capture_id']}: the revisit does not say where its payload lies.")
    record = read_payload(lake, *place)
    if record.warc_type == "revisit":
        raise explain(record.filename, record.offset, f"the revisit {row['capture_id']} refers to it, but it is a revisit itself")
    return record


def iter_records(lake: Lake, name: str) -> Iterator[Record]:
    """Every record of a file in order, with the place of its gzip member; memory is bounded by the largest member.

    Raises WarcError at a record that is cut or damaged; all before it have been yielded by then. Gzip members are read
    by us, since fastwarc ends without a word at most cuts; plain and zstd files are read by fastwarc.
    """
    name = present_name(lake, name)
    with lake.open(name) as file:
        is_gzip = _GZIP.startswith(file.read(2))
        file.seek(0)
        yield from _records_of_members(file, name) if is_gzip else _records_of_stream(lake, file, name)


def _records_of_members(file: BinaryIO, name: str) -> Iterator[Record]:
    try:
        for member in read_members(file):
            position = 0
            while position < len(member.data):
                try:
                    record, position = cut_record(member.data, position, name, member.offset, member.length)
                except RecordFault as error:
                    raise explain(name, member.offset, str(error)) from None
                yield record
    except MemberFault as error:
        raise explain(name, error.offset, error.fault) from None


def _records_of_stream(lake: Lake, file: BinaryIO, name: str) -> Iterator[Record]:
    offset = 0
    pending: Record | None = None
    try:
        for found in ArchiveIterator(file, parse_http=False, record_types=WarcRecordType.any_type, fsspec_args=False):
            if pending is not None:
                yield replace(pending, length=found.stream_pos - offset)
            offset = found.stream_pos
            block = found.reader.read()
            if len(block) != found.content_length:
                raise explain(name, offset, f"the block has {len(block)} of {found.content_length} bytes")
            pending = Record(name, offset, 0, tuple((str(key), str(value)) for key, value in found.headers), block)
    except OSError as error:
        raise explain(name, offset, str(error)) from error
    # fastwarc ends in silence where no record begins: what stands from the last one on must be that one alone.
    tail = lake.read_range(name, offset, (lake.size(name) or 0) - offset)
    end = len(tail)
    if pending is None or tail.startswith(b"WARC/"):
        try:
            _, end = cut_record(tail, 0, name, offset, 0)
        except RecordFault as error:
            raise explain(name, offset, str(error)) from None
    if pending is not None:
        yield replace(pending, length=end)
    if tail[end:].strip(b"\r\n"):
        raise explain(name, offset + end, f"no WARC record begins here, but {tail[end : end + 16]!r}")


def present_name(lake: Lake, name: str) -> str:
    """`name`, or its `.open` form while the file has not been sealed."""
    open_name = name.removesuffix(SUFFIX) + OPEN_SUFFIX
    if lake.exists(name) or not lake.exists(open_name):
        return name  # also when it was sealed between the two looks
    return open_name
