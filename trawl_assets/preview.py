"""What a person sees of a stage's result in the UI: counts, facts, the first rows, and the documented columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import dagster as dg
import pyarrow as pa

from trawl_core.lake import Lake, Partition, tables
from trawl_core.lake.schemas import TABLES
from trawl_core.lake.tables import StageResult

SAMPLE_ROWS = 5
SAMPLE_COLUMNS = 7
CELL_CHARS = 70
# Columns that tell a person most; a table that is not named here shows its first ones.
SHOWN: Mapping[str, tuple[str, ...]] = {
    "crawl_plan": ("rank", "url", "reason", "score", "rate_per_day", "staleness_days"),
    "captures": ("url", "outcome", "fetch_status", "content_mime_detected", "payload_bytes", "fetch_ms", "error"),
    "pages": ("url", "title", "language", "page_type", "text_words", "extract_status"),
    "structured_data": ("url", "syntax", "type", "valid", "entity", "fields"),
    "fingerprints": ("url", "text_sha256", "n_shingles", "simhash"),
    "duplicates": ("representative_url", "url", "relation", "jaccard"),
    "changes": ("url", "event", "severity", "words_added", "words_removed", "added_text"),
    "url_history": ("url", "state", "last_ok_at", "last_changed_at", "n_changed", "n_unchanged", "errors_in_row"),
    "chunks": ("url", "position", "heading", "text"),
    "crawl_report": ("domain", "origin", "fetched", "not_modified", "changed", "errors", "oldest_page_days"),
}


def stage_metadata(lake: Lake, results: Iterable[StageResult], partitions: Iterable[Partition]) -> dict[str, Any]:
    """Row count, bytes, facts and sample rows of stage results."""
    results = list(results)
    metadata: dict[str, Any] = {}
    main = [result.committed[0] for result in results if result.committed]
    if main:
        metadata["dagster/row_count"] = sum(committed.rows for committed in main)
        metadata["bytes"] = sum(committed.bytes for result in results for committed in result.committed)
        table = main[0].name.split("/", 1)[0]
        if table in TABLES:
            metadata["sample"] = dg.MetadataValue.md(sample_rows(lake, table, partitions))
        for committed in (extra for result in results for extra in result.committed[1:]):
            name = f"{committed.name.split('/', 1)[0]}_rows"
            metadata[name] = metadata.get(name, 0) + committed.rows
    return {**metadata, **dict(_facts(results))}


def _facts(results: list[StageResult]) -> Iterator[tuple[str, Any]]:
    """Facts of one result as they are; of several, counts are added and anything else is listed."""
    merged: dict[str, list[Any]] = {}
    for result in results:
        for name, value in result.facts.items():
            found = list(value) if isinstance(value, (list, tuple)) else [] if value is None else [value]
            merged.setdefault(name, []).extend(found)
    for name, values in merged.items():
        if not values:
            yield name, "none"
        elif all(isinstance(value, int) and not isinstance(value, bool) for value in values):
            yield name, sum(values)
        elif len(values) == 1 and isinstance(values[0], (str, int, float)):
            yield name, values[0]
        elif len(values) == 1 and isinstance(values[0], Mapping):
            yield name, dg.MetadataValue.json({str(key): value for key, value in values[0].items()})
        else:
            yield name, dg.MetadataValue.md("\n".join(f"- {value}" for value in values))


def sample_rows(lake: Lake, table: str, partitions: Iterable[Partition]) -> str:
    """The first rows of the first partition that has any, as a Markdown table."""
    for partition in partitions:
        shown = SHOWN.get(table)
        data = tables.read(lake, table, partition, shown).slice(0, SAMPLE_ROWS)
        if data.num_rows:
            return markdown_table(data.drop_columns([name for name in ("crawl_date", "domain") if not shown and name in data.column_names]))
    return "no rows"


def markdown_table(data: pa.Table) -> str:
    """The first columns that hold a value and are no lists or bytes; long cells are cut."""
    columns = [
        name for name in data.column_names if data.column(name).null_count < data.num_rows and not _is_bulky(data.schema.field(name).type)
    ]
    columns = columns[:SAMPLE_COLUMNS]
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join(_cell(row[name]) for name in columns) + " |" for row in data.select(columns).to_pylist()]
    return "\n".join(lines)


def _is_bulky(kind: pa.DataType) -> bool:
    return pa.types.is_nested(kind) or pa.types.is_binary(kind)


def _cell(value: object) -> str:
    if isinstance(value, float):
        value = f"{value:.4g}"
    text = "" if value is None else " ".join(str(value).split())
    text = text if len(text) <= CELL_CHARS else f"{text[: CELL_CHARS - 1]}…"
    # A page's words are data: nothing in them may become Markdown or HTML of the UI.
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("[", "\\[").replace("`", "\\`").replace("!", "\\!")


def column_schema(table: str) -> dg.TableSchema:
    """A table's columns with their documentation, as Dagster shows them."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(field.name, str(field.type), (field.metadata or {}).get(b"doc", b"").decode()) for field in TABLES[table].schema
        ]
    )
