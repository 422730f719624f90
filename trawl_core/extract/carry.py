"""Extractions made before: what an unchanged body carries over, and what a second run of a partition keeps.

A revisit whose body was extracted before, from the same URL by the same extractor version, takes that row and its blocks.
Whether the earlier partition exists or not makes no difference to the result: without it the body is extracted again, and
gives the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from trawl_core.lake import Lake, Partition, tables

# Failures that say more of the machine that night, or of the site's limits, than of the body.
NOT_CARRIED = ("timeout", "error", "too_large")


def earlier_extractions(
    lake: Lake, partition: Partition, wanted: Iterable[tuple[str, str]], version: str
) -> dict[tuple[str, str], tuple[dict[str, Any], list[dict[str, Any]]]]:
    """For (body_capture_id, url) the newest earlier row of `pages` and its rows of `page_blocks`, as far as they exist and are of
    that extractor version."""
    missing = set(wanted)
    found: dict[tuple[str, str], tuple[dict[str, Any], list[dict[str, Any]]]] = {}
    for day in reversed(tables.dates_of(lake, "pages", partition.domain, before=partition.crawl_date)):
        if not missing:
            break
        rows = _rows_of(lake, Partition(day, partition.domain), missing, version)
        blocks = blocks_of(lake, Partition(day, partition.domain), [row["capture_id"] for row in rows.values()])
        for key, row in rows.items():
            found[key] = row, blocks.get(row["capture_id"], [])
        missing -= set(rows)
    return found


def kept_extractions(
    lake: Lake, partition: Partition, wanted: Iterable[tuple[str, str]], version: str
) -> dict[tuple[str, str], tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The same of what this partition holds already: a second run of a night extracts only what is new to it."""
    if not tables.has(lake, "page_blocks", partition):
        return {}
    rows = {key: row for key, row in _rows_of(lake, partition, set(wanted), version).items() if row["capture_id"] == key[0]}
    blocks = blocks_of(lake, partition, [row["capture_id"] for row in rows.values()])
    return {key: (row, blocks.get(row["capture_id"], [])) for key, row in rows.items()}


def _rows_of(lake: Lake, partition: Partition, wanted: set[tuple[str, str]], version: str) -> dict[tuple[str, str], dict[str, Any]]:
    bodies = pa.array(sorted({body for body, _ in wanted}), pa.string())
    data = tables.read(lake, "pages", partition)
    usable = pc.and_(
        pc.and_(pc.is_in(data["body_capture_id"], bodies), pc.equal(data["extractor_version"], version)),
        pc.invert(pc.is_in(data["extract_status"], pa.array(NOT_CARRIED))),
    )
    rows = data.filter(usable).to_pylist()
    return {key: row for row in rows if (key := (row["body_capture_id"], row["url"])) in wanted}


def blocks_of(lake: Lake, partition: Partition, capture_ids: list[str]) -> dict[str, list[dict[str, Any]]]:
    if not capture_ids:
        return {}
    data = tables.read(lake, "page_blocks", partition)
    blocks: dict[str, list[dict[str, Any]]] = {}
    for row in data.filter(pc.is_in(data["capture_id"], pa.array(capture_ids, pa.string()))).to_pylist():
        blocks.setdefault(row["capture_id"], []).append(row)
    return blocks


def row_digest(row: Mapping[str, Any]) -> int:
    """Digest of a row of `pages` without its duration."""
    return xxhash.xxh3_64_intdigest(
        repr(sorted((name, value) for name, value in row.items() if name != "extract_ms")).encode("utf-8", "replace")
    )


def durations(lake: Lake, partition: Partition) -> dict[tuple[str, int], float | None]:
    """extract_ms of the rows that the partition has now, by capture_id and digest."""
    found: dict[tuple[str, int], float | None] = {}
    for batch in tables.read(lake, "pages", partition).to_batches(max_chunksize=500):
        for row in batch.to_pylist():
            found[row["capture_id"], row_digest(row)] = row["extract_ms"]
    return found
