"""Search and archived bytes as SQL functions, beside the catalog's views.

SELECT url, score FROM trawl_search('dead letter queue', k := 5, domain := 'docs.example.org')
SELECT trawl_payload(capture_id) FROM captures WHERE url = 'https://docs.example.org/'
"""

from __future__ import annotations

from dataclasses import asdict, fields
from datetime import date
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as pads

from trawl_core.errors import UsageError
from trawl_core.lake import tables
from trawl_core.lake.layout import Lake
from trawl_core.search.query import Hit, search
from trawl_core.warc.reader import payload_of_capture

_HIT_TYPES = {
    "url": "VARCHAR",
    "title": "VARCHAR",
    "heading": "VARCHAR",
    "snippet": "VARCHAR",
    "text": "VARCHAR",
    "score": "DOUBLE",
    "domain": "VARCHAR",
    "crawl_date": "DATE",
    "capture_id": "VARCHAR",
    "chunk_id": "BIGINT",
    "start_char": "BIGINT",
    "end_char": "BIGINT",
    "also_at": "VARCHAR[]",
}
_HITS = "STRUCT(" + ", ".join(f"{field.name} {_HIT_TYPES[field.name]}" for field in fields(Hit)) + ")[]"
_RECORD_COLUMNS = (
    "capture_id",
    "warc_type",
    "warc_filename",
    "warc_record_offset",
    "warc_record_length",
    "refers_to_warc_filename",
    "refers_to_warc_offset",
    "refers_to_warc_length",
)


def register(connection: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """Add `trawl_search(q, k := 10, mode := 'hybrid', domain := NULL, as_of := NULL)` and `trawl_payload(capture_id)`.

    They live as long as the connection, which may be a read-only one on the catalog file. A domain given to trawl_search
    is applied before the best are chosen, a WHERE after it. trawl_payload is the body with the content coding kept; null
    for a capture without a record and an unknown one.
    """

    def hits(query: str | None, k: int | None, mode: str | None, domain: str | None, as_of: date | None) -> list[dict[str, Any]]:
        if query is None or k is None or mode is None:
            raise UsageError("trawl_search: the query, k and mode can't be NULL.")
        return [asdict(hit) for hit in search(query, k, mode, domain, as_of, lake=lake)]

    def payloads(capture_ids: pa.ChunkedArray) -> pa.Array:
        wanted = [capture_id for capture_id in capture_ids.unique().to_pylist() if capture_id is not None]
        found = {row["capture_id"]: row for row in _records(lake, wanted)}
        bodies = {capture_id: payload_of_capture(lake, row).payload for capture_id, row in found.items()}
        return pa.array([bodies.get(capture_id) for capture_id in capture_ids.to_pylist()], pa.binary())

    arguments = ["VARCHAR", "INTEGER", "VARCHAR", "VARCHAR", "DATE"]
    connection.create_function("trawl_search_hits", hits, arguments, _HITS, null_handling="special", side_effects=True)
    connection.create_function("trawl_payload", payloads, ["VARCHAR"], "BLOB", type="arrow", null_handling="special")
    connection.execute(
        "CREATE TEMP MACRO trawl_search(q, k := 10, mode := 'hybrid', domain := NULL, as_of := NULL) AS TABLE "
        "SELECT hit.* FROM (SELECT unnest(trawl_search_hits(q, k, mode, domain, as_of::DATE)) AS hit)"
    )


def _records(lake: Lake, capture_ids: list[str]) -> list[dict[str, Any]]:
    """The captures rows that have a record."""
    files = [lake.path(lake.table_name("captures", partition)) for partition in lake.partitions("captures")]
    captures = pads.dataset(files, filesystem=lake.fs, format="parquet", schema=tables.spec_of("captures").schema)
    kept = pads.field("capture_id").isin(pa.array(capture_ids, pa.string())) & pads.field("warc_type").is_valid()
    return captures.to_table(columns=list(_RECORD_COLUMNS), filter=kept).to_pylist()
