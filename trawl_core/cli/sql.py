"""`trawl sql`: the catalog in DuckDB's SQL."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from trawl_core.cli.options import open_home
from trawl_core.cli.output import print_json, print_rows
from trawl_core.errors import UsageError
from trawl_core.lake.catalog import connect, run_sql
from trawl_core.search.sql import register


@click.command()
@click.argument("query")
@click.option("--format", "form", type=click.Choice(["table", "csv", "json", "parquet"]), default="table", show_default=True)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write there instead of to standard output.")
def sql(query: str, form: str, output: Path | None) -> None:
    """Run QUERY over the catalog views: captures, pages, changes, duplicates, chunks, …

    \b
    Example: trawl sql "select domain, fetch_status, count(*) n from captures group by all order by n desc"
             trawl sql "select url, title from trawl_search('connection pool', 5)"
             trawl sql "show tables"
    """
    _, lake = open_home()
    connection = connect(lake)
    register(connection, lake)
    result = run_sql(connection, query)
    if form == "parquet" and output is None and sys.stdout.isatty():
        raise UsageError("Parquet is binary: give --output FILE, or pipe it into one.")
    if form in ("table", "json") and output is None:
        _show(result, form)
        return
    with output.open("wb") if output else click.get_binary_stream("stdout") as stream:
        _write(result, form, stream)


def _show(result: pa.Table, form: str) -> None:
    rows = result.to_pylist()
    if form == "json":
        print_json(rows)
    else:
        print_rows(rows, empty="no rows")


def _write(result: pa.Table, form: str, stream: object) -> None:
    if form == "csv":
        pa_csv.write_csv(_flat(result), stream)
    elif form == "parquet":
        pq.write_table(result, stream, compression="zstd")
    else:
        raise UsageError(f"--output takes csv or parquet, not {form}.")


def _flat(result: pa.Table) -> pa.Table:
    """Nested columns as text, which CSV needs."""
    nested = [index for index, field in enumerate(result.schema) if pa.types.is_nested(field.type)]
    for index in nested:
        text = pa.array([None if value is None else str(value) for value in result.column(index).to_pylist()], pa.string())
        result = result.set_column(index, result.schema.field(index).name, text)
    return result
