"""The archive's bytes as SQL functions: from a capture's id to what its records hold, one range read a record.

SELECT url, decode(trawl_body(capture_id)) FROM captures WHERE content_mime_detected = 'text/html'
SELECT url, trawl_fault(capture_id) FROM captures WHERE trawl_fault(capture_id) IS NOT NULL
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as pads

from trawl_core.errors import TrawlError
from trawl_core.lake import Lake, Partition, tables
from trawl_core.warc.reader import payload_of_capture, read_payload
from trawl_core.warc.show import MAX_DECODED_BYTES, decoded_body, show_rendered

_COLUMNS = [
    "crawl_date", "domain", "capture_id", "warc_type", "outcome", "error", "warc_filename", "warc_record_offset", "warc_record_length",
    "rendered_offset", "rendered_length", "refers_to_warc_filename", "refers_to_warc_offset", "refers_to_warc_length",
]  # fmt: skip
_Row = Mapping[str, Any]


def register(connection: duckdb.DuckDBPyConnection, lake: Lake, max_decoded_bytes: int = MAX_DECODED_BYTES) -> None:
    """Add trawl_payload, trawl_body, trawl_block, trawl_rendered and trawl_fault, each of a capture id, to a connection.

    `trawl_payload` is the body with the content coding kept, `trawl_body` without it (at most `max_decoded_bytes`), both also of
    a revisit; `trawl_block` what the capture's own record holds: head and body as they came over the wire; `trawl_rendered`
    the DOM that a browser made. Each is null where there is none. Bytes that should be there and can't be read are an error
    that names file, offset and fault. `trawl_fault` says why the body is null, unreadable or not whole, and is null where
    nothing is wrong.
    """
    archive = _Archive(lake, max_decoded_bytes)
    for name, read in (
        ("payload", archive.payload),
        ("body", archive.body),
        ("block", archive.block),
        ("rendered", archive.rendered),
    ):
        connection.create_function(f"trawl_{name}", archive.blobs_of(read), ["VARCHAR"], "BLOB", type="arrow", null_handling="special")
    connection.create_function("trawl_fault", archive.faults, ["VARCHAR"], "VARCHAR", type="arrow", null_handling="special")


class _Archive:
    """Answers for one vector of capture ids at a time.

    A query mostly goes through one partition after the other, so captures are looked for in those that had the ids before,
    and in the whole lake only where they lack one.
    """

    def __init__(self, lake: Lake, max_decoded_bytes: int) -> None:
        self._lake = lake
        self._max_decoded_bytes = max_decoded_bytes
        self._latest: tuple[Partition, ...] = ()

    def blobs_of(self, read: Callable[[_Row], bytes | None]) -> Callable[[pa.ChunkedArray], pa.Array]:
        def blobs(capture_ids: pa.ChunkedArray) -> pa.Array:
            rows = self._rows(capture_ids)
            return _blobs(None if row is None else read(row) for row in map(rows.get, capture_ids.to_pylist()))

        return blobs

    def faults(self, capture_ids: pa.ChunkedArray) -> pa.Array:
        rows = self._rows(capture_ids)
        wanted = capture_ids.to_pylist()
        return pa.array([None if one is None else self._fault(rows.get(one)) for one in wanted], pa.string())

    def payload(self, row: _Row) -> bytes | None:
        return None if row["warc_type"] is None else payload_of_capture(self._lake, row).payload

    def body(self, row: _Row) -> bytes | None:
        return None if row["warc_type"] is None else self._decoded(row)[0]

    def block(self, row: _Row) -> bytes | None:
        if row["warc_type"] is None:
            return None
        return read_payload(self._lake, row["warc_filename"], row["warc_record_offset"], row["warc_record_length"]).block

    def rendered(self, row: _Row) -> bytes | None:
        return show_rendered(self._lake, row)

    def _decoded(self, row: _Row) -> tuple[bytes, str | None]:
        return decoded_body(payload_of_capture(self._lake, row), self._max_decoded_bytes)

    def _fault(self, row: _Row | None) -> str | None:
        if row is None:
            return "No capture has this id."
        if row["warc_type"] is None:
            return f"Nothing was archived ({row['outcome']}): {row['error']}"
        try:
            return self._decoded(row)[1]
        except TrawlError as error:
            return str(error)

    def _rows(self, capture_ids: pa.ChunkedArray) -> dict[str, _Row]:
        """By id; ids that no capture has are missing."""
        wanted = capture_ids.unique().drop_null()
        latest = self._latest
        found = self._rows_in(wanted, latest)
        if len(found) < len(wanted):
            missing = pa.array([one for one in wanted.to_pylist() if one not in found], pa.string())
            found |= self._rows_in(missing, [partition for partition in self._lake.partitions("captures") if partition not in latest])
        if found:
            self._latest = tuple({Partition(row["crawl_date"], row["domain"]): None for row in found.values()})
        return found

    def _rows_in(self, capture_ids: pa.Array, partitions: Iterable[Partition]) -> dict[str, _Row]:
        files = [self._lake.path(self._lake.table_name("captures", partition)) for partition in partitions]
        if not files or not len(capture_ids):
            return {}
        captures = pads.dataset(files, filesystem=self._lake.fs, format="parquet", schema=tables.spec_of("captures").schema)
        rows = captures.to_table(columns=_COLUMNS, filter=pads.field("capture_id").isin(capture_ids)).to_pylist()
        return {row["capture_id"]: row for row in rows}


def _blobs(values: Iterable[bytes | None]) -> pa.Array:
    """The values in one buffer, so that a vector of bodies stands in memory once."""
    data, ends, present = bytearray(), array("q", [0]), []
    for value in values:
        data += value or b""
        ends.append(len(data))
        present.append(value is not None)
    bitmap = pa.array(present, pa.bool_()).buffers()[1]
    return pa.Array.from_buffers(pa.large_binary(), len(present), [bitmap, pa.py_buffer(ends), pa.py_buffer(data)])
