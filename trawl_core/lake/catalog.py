"""The catalog: DuckDB views over every table of the lake, with the schema's docs as comments.

`connect(lake)` gives them in memory, `build_catalog(lake, path)` as a file that any number of readers opens read-only.
A view looks at the folder when it is queried, so partitions committed later are seen without building it again; only
a table's very first file needs that.
"""

from __future__ import annotations

import glob
import os
import re
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as pads

from trawl_core.errors import LakeError, UsageError, explain_os_error
from trawl_core.lake.beside import beside
from trawl_core.lake.layout import Lake
from trawl_core.lake.macros import MACROS
from trawl_core.lake.schemas import TABLES, TableSpec
from trawl_core.lake.tables import Committed, StageResult

_SCALARS = {
    pa.date32(): "DATE",
    pa.timestamp("us", tz="UTC"): "TIMESTAMPTZ",
    pa.string(): "VARCHAR",
    pa.binary(): "BLOB",
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.uint64(): "UBIGINT",
    pa.float16(): "FLOAT",
    pa.float64(): "DOUBLE",
}
_UDF_PREFIX = re.compile(r"^Invalid Input Error: Python exception occurred while executing the UDF: (?:\w+\.)*\w+: ")


def sql_type(kind: pa.DataType) -> str:
    """DuckDB's type for a column type of the lake; half floats are read as FLOAT."""
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return f"{sql_type(kind.value_type)}[]"
    if pa.types.is_map(kind):
        return f"MAP({sql_type(kind.key_type)}, {sql_type(kind.item_type)})"
    if pa.types.is_struct(kind):
        return "STRUCT(" + ", ".join(f"{_name(field.name)} {sql_type(field.type)}" for field in kind) + ")"
    return _SCALARS[kind]


def views(lake: Lake) -> dict[str, str]:
    """A query by table name. Columns are those of today's schema, in order: what an older file lacks is null.

    A table without any file is an empty one of the right types. On an object store the query reads `<table>_files`,
    which `connect` registers.
    """
    return {name: _view(spec, _source(lake, spec) if lake.partitions(name) else None) for name, spec in TABLES.items()}


def connect(lake: Lake) -> duckdb.DuckDBPyConnection:
    """An in-memory connection with all views and macros; times are shown in UTC.

    A table with a file that can't be read gets a view that says so when it is queried; the others work.
    """
    connection = duckdb.connect(config={"python_enable_replacements": False})
    connection.execute("SET TimeZone = 'UTC'")
    _create(connection, lake)
    return connection


def build_catalog(lake: Lake, path: Path) -> StageResult:
    """Write the views and macros to a DuckDB file at `path`, replaced in one step: readers see the old one or the new one.

    On an object store no file is written, as DuckDB's own readers can't reach one offline: `connect` serves there. Raises
    DiskFullError, ReadOnlyHomeError or LakeError.
    """
    facts = {"views": len(TABLES), "macros": len(MACROS), "path": str(path)}
    if not lake.is_local:
        return StageResult((), facts | {"views": 0, "macros": 0, "note": "the lake is an object store: use `trawl sql`"})
    unfinished = beside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with duckdb.connect(str(unfinished)) as connection:
            _create(connection, lake)
        size = unfinished.stat().st_size
        os.replace(unfinished, path)
    except OSError as error:
        raise explain_os_error(error, "writing the catalog", path) from error
    except duckdb.Error as error:
        raise LakeError(
            f"writing the catalog {path}: {_one_paragraph(error)} Check that the folder can be written and has space."
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)
        unfinished.with_name(f"{unfinished.name}.wal").unlink(missing_ok=True)
    return StageResult((Committed(path.name, len(TABLES), size),), facts)


def run_sql(connection: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    """The result of the last statement of `sql`, an empty table without columns when it has none.

    Raises UsageError with DuckDB's message.
    """
    try:
        result = connection.sql(sql)
        return pa.table({}) if result is None else result.to_arrow_table()
    except duckdb.Error as error:
        raise UsageError(_one_paragraph(error)) from error


def _create(connection: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    if not lake.is_local:
        _register_files(connection, lake)
    for name, query in views(lake).items():
        try:
            connection.execute(f"CREATE VIEW {name} AS {query}")
        except duckdb.Error as error:
            message = f"The table {name} can't be read: {_one_paragraph(error)} Materialize the partition of that file again."
            connection.execute(f"CREATE VIEW {name} AS SELECT {_typed_nulls(TABLES[name])} WHERE error({_text(message)}) IS NULL")
    for signature, query in MACROS.items():
        connection.execute(f"CREATE MACRO {signature} AS TABLE {query}")
    connection.begin()
    for name, spec in TABLES.items():
        connection.execute(f"COMMENT ON VIEW {name} IS {_text(spec.doc)}")
        for field in spec.schema:
            connection.execute(f"COMMENT ON COLUMN {name}.{_name(field.name)} IS {_text(field.metadata[b'doc'].decode())}")
    connection.commit()


def _view(spec: TableSpec, source: str | None) -> str:
    columns = ", ".join(_name(field.name) for field in spec.schema)
    nothing = f"SELECT {_typed_nulls(spec)} WHERE false"
    return (
        f"SELECT {columns} FROM ({nothing})"
        if source is None
        else f"SELECT {columns} FROM ({nothing} UNION ALL BY NAME SELECT * FROM {source})"
    )


def _typed_nulls(spec: TableSpec) -> str:
    return ", ".join(f"NULL::{sql_type(field.type)} AS {_name(field.name)}" for field in spec.schema)


def _source(lake: Lake, spec: TableSpec) -> str:
    if not lake.is_local:
        return f"{spec.name}_files"
    folders = "crawl_date=*/domain=*" if spec.by == "domain" else "crawl_date=*"
    types = "{'crawl_date': DATE, 'domain': VARCHAR}" if spec.by == "domain" else "{'crawl_date': DATE}"
    pattern = f"{glob.escape(lake.path(spec.name))}/{folders}/part.parquet"
    return f"read_parquet({_text(pattern)}, hive_partitioning = true, hive_types = {types}, union_by_name = true)"


def _register_files(connection: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    for name, spec in TABLES.items():
        files = [lake.path(lake.table_name(name, partition)) for partition in lake.partitions(name)]
        if files:
            schema = pa.schema([field.with_type(_readable(field.type)) for field in spec.schema])
            connection.register(f"{name}_files", pads.dataset(files, filesystem=lake.fs, format="parquet", schema=schema))


def _readable(kind: pa.DataType) -> pa.DataType:
    """DuckDB can't scan half floats from arrow."""
    if pa.types.is_fixed_size_list(kind) and pa.types.is_float16(kind.value_type):
        return pa.list_(pa.float32(), kind.list_size)
    return kind


def _one_paragraph(error: duckdb.Error) -> str:
    """DuckDB's message on one line: without the quotation of the statement, or the message of an error of ours inside a function."""
    message = _UDF_PREFIX.sub("", str(error)).split("\n\nLINE ")[0]
    message = " ".join(message.split())
    return message if message.endswith((".", "!", "?")) else f"{message}."


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
