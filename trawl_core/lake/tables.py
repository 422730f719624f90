"""Reading and committing tables: one Parquet file per table and partition, zstd, replaced in one step.

Rows are sorted by the table's sort key, so that the same rows give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from trawl_core.errors import LakeError, SchemaError
from trawl_core.lake.layout import Lake, Partition
from trawl_core.lake.schemas import SCHEMA_VERSION, TABLES, TableSpec

if TYPE_CHECKING:
    import polars as pl  # each worker process imports this module, and none of them needs polars

ROW_GROUP_ROWS = 10_000
_VERSION_KEY = b"trawl_schema_version"
_MADE_FROM_KEY = b"trawl_made_from"


@dataclass(frozen=True)
class Committed:
    """What a commit made: `name` below the lake's root, rows and bytes."""

    name: str
    rows: int
    bytes: int


@dataclass(frozen=True)
class StageResult:
    """What a stage made of one partition: its commits, the asset's own table first, and facts for people (metadata)."""

    committed: tuple[Committed, ...]
    facts: Mapping[str, Any]


def spec_of(table: str) -> TableSpec:
    try:
        return TABLES[table]
    except KeyError:
        raise SchemaError(f"there is no table {table!r}; the tables are {', '.join(TABLES)}.") from None


def empty(table: str) -> pa.Table:
    return spec_of(table).schema.empty_table()


def from_rows(table: str, rows: Sequence[Mapping[str, Any]], partition: Partition) -> pa.Table:
    """Rows (mappings by column name, partition columns added, missing columns null) as a table of that schema.

    Raises SchemaError for a column that the schema does not have.
    """
    schema = spec_of(table).schema
    fixed: dict[str, Any] = {"crawl_date": partition.crawl_date}
    if spec_of(table).by == "domain":
        fixed["domain"] = partition.domain
    known = set(schema.names)
    for row in rows:
        if unknown := row.keys() - known:
            raise SchemaError(f"{table} has no column {', '.join(sorted(unknown))}.")
    columns = {
        field.name: pa.array(
            [fixed[field.name]] * len(rows) if field.name in fixed else [row.get(field.name) for row in rows], type=field.type
        )
        for field in schema
    }
    return pa.table(columns, schema=schema)


def conform(table: str, data: pa.Table) -> pa.Table:
    """`data` with exactly the table's columns: missing ones (an older schema version) are null, types are cast."""
    schema = spec_of(table).schema
    if unknown := set(data.column_names) - set(schema.names):
        raise SchemaError(f"{table} has no column {', '.join(sorted(unknown))}.")
    arrays = []
    for field in schema:
        if field.name in data.column_names:
            column = data.column(field.name)
            arrays.append(column if column.type == field.type else column.cast(field.type))
        else:
            arrays.append(pa.nulls(data.num_rows, field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def commit(
    lake: Lake,
    table: str,
    partition: Partition,
    data: pa.Table | pl.DataFrame | Sequence[Mapping[str, Any]],
    *,
    made_from: str | None = None,
) -> Committed:
    """Replace one partition of `table` by `data` (arrow, polars or rows); `made_from` is kept in the file for `made_from`.

    Raises SchemaError for a wrong column or partition, DiskFullError and its kin from the lake.
    """
    spec = spec_of(table)
    if (spec.by == "domain") != (partition.domain is not None):
        raise SchemaError(f"{table} is partitioned by {'date and domain' if spec.by == 'domain' else 'date'}, not as {partition}.")
    arrow = data if isinstance(data, pa.Table) else None if isinstance(data, Sequence) else data.to_arrow()
    rows = conform(table, arrow) if arrow is not None else from_rows(table, data, partition)
    _check_partition(spec, partition, rows)
    rows = rows.sort_by([(key, "ascending") for key in spec.sort]) if rows.num_rows > 1 else rows
    return commit_stream(lake, table, partition, rows.to_batches(max_chunksize=ROW_GROUP_ROWS), made_from=made_from)


def commit_stream(
    lake: Lake, table: str, partition: Partition, batches: Iterable[pa.RecordBatch], *, made_from: str | None = None
) -> Committed:
    """Like `commit` for batches already conforming and in sort order; each batch becomes a row group, memory stays bounded."""
    spec = spec_of(table)
    notes = {_VERSION_KEY: str(SCHEMA_VERSION).encode()} | ({} if made_from is None else {_MADE_FROM_KEY: made_from.encode()})
    schema = spec.schema.with_metadata({**(spec.schema.metadata or {}), **notes})
    rows = 0

    def write(file: BinaryIO) -> None:
        nonlocal rows
        with pq.ParquetWriter(file, schema, compression="zstd", compression_level=3) as writer:
            for batch in batches:
                if batch.num_rows:
                    writer.write_batch(batch.cast(schema) if batch.schema != schema else batch)
                    rows += batch.num_rows

    name = lake.table_name(table, partition)
    size = lake.publish(name, write)
    return Committed(name, rows, size)


def version_of(schema: pa.Schema) -> int:
    """The schema version that a file was written with, 0 when it does not say."""
    return int((schema.metadata or {}).get(_VERSION_KEY, b"0"))


def _check_partition(spec: TableSpec, partition: Partition, rows: pa.Table) -> None:
    wanted: dict[str, Any] = {"crawl_date": partition.crawl_date}
    if spec.by == "domain":
        wanted["domain"] = partition.domain
    for column, value in wanted.items():
        found = pc.unique(rows.column(column)).to_pylist()
        if found not in ([], [value]):
            raise SchemaError(f"{spec.name}: {column} must be {value} in every row of this partition, found {found[:3]}.")


def read(lake: Lake, table: str, partition: Partition, columns: Sequence[str] | None = None) -> pa.Table:
    """One partition, conforming to today's schema; the empty table when it was never materialized.

    Raises LakeError for a damaged file.
    """
    name = lake.table_name(table, partition)
    schema = spec_of(table).schema
    if not lake.exists(name):
        data = schema.empty_table()
        return data.select(list(columns)) if columns is not None else data
    try:
        with lake.open(name) as file:
            parquet = pq.ParquetFile(file)
            known = set(parquet.schema_arrow.names)
            have = [column for column in (columns or schema.names) if column in known]
            data = conform(table, parquet.read(columns=have))
    except pa.ArrowException as error:
        raise _damaged(lake, name, error) from error
    return data.select(list(columns)) if columns is not None else data


def stream(lake: Lake, table: str, partition: Partition, columns: Sequence[str] | None = None, rows: int = 500) -> Iterator[pa.Table]:
    """`read` in pieces of at most `rows` rows: memory is bounded by a row group. Raises LakeError for a damaged file."""
    name = lake.table_name(table, partition)
    wanted = list(columns) if columns is not None else spec_of(table).schema.names
    if not lake.exists(name):
        return
    try:
        with lake.open(name) as file:
            parquet = pq.ParquetFile(file)
            known = set(parquet.schema_arrow.names)
            have = [column for column in wanted if column in known]
            for batch in parquet.iter_batches(batch_size=rows, columns=have):
                yield conform(table, pa.Table.from_batches([batch])).select(wanted)
    except pa.ArrowException as error:
        raise _damaged(lake, name, error) from error


def _damaged(lake: Lake, name: str, error: pa.ArrowException) -> LakeError:
    return LakeError(f"reading {lake.path(name)}: the file is damaged ({error}). Materialize this partition again.")


def has(lake: Lake, table: str, partition: Partition) -> bool:
    return lake.exists(lake.table_name(table, partition))


def count(lake: Lake, table: str, partition: Partition) -> int | None:
    """Rows of a partition from the file's footer; None when it was never materialized. Raises LakeError for a damaged file."""
    name = lake.table_name(table, partition)
    if not lake.exists(name):
        return None
    try:
        with lake.open(name) as file:
            return pq.ParquetFile(file).metadata.num_rows
    except pa.ArrowException as error:
        raise _damaged(lake, name, error) from error


def made_from(lake: Lake, table: str, partition: Partition) -> str | None:
    """What `commit` was told that the file was made from; None for a file without it, and for none. Raises LakeError."""
    name = lake.table_name(table, partition)
    if not lake.exists(name):
        return None
    try:
        with lake.open(name) as file:
            note = (pq.ParquetFile(file).schema_arrow.metadata or {}).get(_MADE_FROM_KEY)
    except pa.ArrowException as error:
        raise _damaged(lake, name, error) from error
    return None if note is None else note.decode()


def read_many(lake: Lake, table: str, partitions: Iterable[Partition], columns: Sequence[str] | None = None) -> pa.Table:
    """Several partitions below one another, in the order given."""
    parts = [read(lake, table, partition, columns) for partition in partitions]
    if parts:
        return pa.concat_tables(parts)
    data = empty(table)
    return data.select(list(columns)) if columns is not None else data


def dates_of(lake: Lake, table: str, domain: str | None = None, upto: date | None = None, before: date | None = None) -> list[date]:
    """Crawl dates with a partition of `table` (for that domain), ascending, bounded inclusively by `upto`, exclusively by `before`."""
    found = lake.partitions(table) if domain is None else lake.partitions_of_domain(table, domain)
    return sorted(
        {
            partition.crawl_date
            for partition in found
            if (upto is None or partition.crawl_date <= upto) and (before is None or partition.crawl_date < before)
        }
    )


def newest_first(
    lake: Lake, table: str, domain: str, before: date, columns: Sequence[str] | None = None
) -> Iterator[tuple[date, pa.Table]]:
    """Partitions of a domain before a date, newest first, read one at a time."""
    for day in reversed(dates_of(lake, table, domain, before=before)):
        yield day, read(lake, table, Partition(day, domain), columns)
