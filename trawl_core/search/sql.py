"""Search as an SQL function, beside the catalog's views and the archive's functions (trawl_core.warc.sql).

SELECT url, score FROM trawl_search('dead letter queue', k := 5, domain := 'docs.example.org')
"""

from __future__ import annotations

from dataclasses import asdict, fields
from datetime import date
from typing import Any

import duckdb

from trawl_core.errors import UsageError
from trawl_core.lake.layout import Lake
from trawl_core.search.query import Hit, search
from trawl_core.warc import sql as archive

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


def register(connection: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """Add `trawl_search(q, k := 10, mode := 'hybrid', domain := NULL, as_of := NULL)` and the archive's functions.

    They live as long as the connection, which may be a read-only one on the catalog file. A domain given to trawl_search
    is applied before the best are chosen, a WHERE after it.
    """

    def hits(query: str | None, k: int | None, mode: str | None, domain: str | None, as_of: date | None) -> list[dict[str, Any]]:
        if query is None or k is None or mode is None:
            raise UsageError("trawl_search: the query, k and mode can't be NULL.")
        return [asdict(hit) for hit in search(query, k, mode, domain, as_of, lake=lake)]

    arguments = ["VARCHAR", "INTEGER", "VARCHAR", "VARCHAR", "DATE"]
    connection.create_function("trawl_search_hits", hits, arguments, _HITS, null_handling="special", side_effects=True)
    connection.execute(
        "CREATE TEMP MACRO trawl_search(q, k := 10, mode := 'hybrid', domain := NULL, as_of := NULL) AS TABLE "
        "SELECT hit.* FROM (SELECT unnest(trawl_search_hits(q, k, mode, domain, as_of::DATE)) AS hit)"
    )
    archive.register(connection, lake)
