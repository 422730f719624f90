"""Checks of one partition: each returns the problems it found, one line each, none when all is well.

What a blocking check finds fails its partition, and what stands below that partition is not built.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq

from trawl_assets.resources import Trawl
from trawl_core.extract.structured_stage import schemas_without_match
from trawl_core.lake import Lake, Partition, tables
from trawl_core.lake.schemas import SCHEMA_VERSION, TABLES
from trawl_core.warc.verify import verify


@dataclass(frozen=True)
class Check:
    """`look` is called after a partition was built; a problem is an error when `blocking`, else a warning."""

    name: str
    description: str
    look: Callable[[Trawl, Partition], list[str]]
    blocking: bool = False

    def spec(self, asset: str) -> dg.AssetCheckSpec:
        return dg.AssetCheckSpec(self.name, asset=asset, description=self.description, blocking=self.blocking)


def archive_verifies(lake: Lake, partition: Partition) -> list[str]:
    """Every record reads, its digests hold, and captures and records name each other."""
    return [f"{problem.where}: {problem.what}" for problem in verify(lake, [partition.crawl_date], [partition.domain], whole_imports=False)]


def schema_matches(table: str, lake: Lake, partition: Partition) -> list[str]:
    """The committed file has exactly the documented columns and types; one of an older schema version may lack newer columns."""
    name = lake.table_name(table, partition)
    if not lake.exists(name):
        return [f"{name} is missing"]
    try:
        with lake.open(name) as file:
            found = pq.ParquetFile(file).schema_arrow
    except pa.ArrowException as error:
        return [f"{name} is damaged: {error}"]
    wanted: pa.Schema = TABLES[table].schema
    is_older = tables.version_of(found) < SCHEMA_VERSION
    missing = [] if is_older else [field.name for field in wanted if field.name not in found.names]
    wrong = [field.name for field in wanted if field.name in found.names and found.field(field.name).type != field.type]
    more = [column for column in found.names if column not in wanted.names]
    return [
        *(f"{name}: column {column} is missing" for column in missing),
        *(f"{name}: column {column} has another type" for column in wrong),
        *(f"{name}: column {column} is not documented" for column in more),
    ]


def pages_lead_to_records(lake: Lake, partition: Partition) -> list[str]:
    """Each page names a WARC file of the lake and a range inside it."""
    columns = ["url", "warc_filename", "warc_record_offset", "warc_record_length"]
    rows = tables.read(lake, "pages", partition, columns).to_pylist()
    sizes = {name: lake.size(name) for name in {row["warc_filename"] for row in rows} if name}
    problems = []
    for row in rows:
        size = sizes.get(row["warc_filename"])
        if size is None:
            problems.append(f"{row['url']}: its WARC file {row['warc_filename']} is missing")
        elif row["warc_record_offset"] + row["warc_record_length"] > size:
            problems.append(f"{row['url']}: its record lies beyond the end of {row['warc_filename']}")
    return problems


def gate_agrees(lake: Lake, partition: Partition) -> list[str]:
    """Pages of the extraction gate's sample have the text that would have been carried over."""
    rows = tables.read(lake, "pages", partition, ["url", "gate_check"]).to_pylist()
    checked = sum(row["gate_check"] is not None for row in rows)
    return [
        f"{row['url']}: it shows the lines of its previous capture, and another text was read ({checked} pages were compared); "
        "what was read is stored"
        for row in rows
        if row["gate_check"] == "differed"
    ]


def matches_schema(table: str) -> Check:
    return Check(
        "matches_schema",
        f"The committed file of {table} has exactly the documented columns and types.",
        lambda trawl, partition: schema_matches(table, trawl.lake, partition),
        blocking=True,
    )


ARCHIVE_VERIFIES = Check(
    "archive_verifies",
    "Every WARC record reads, its digests hold, and captures and records name each other.",
    lambda trawl, partition: archive_verifies(trawl.lake, partition),
    blocking=True,
)
GATE_AGREES = Check(
    "gate_agrees",
    "A sample of the pages whose text would be carried over, since their lines are the same, is read all the same and gives that text.",
    lambda trawl, partition: gate_agrees(trawl.lake, partition),
)
PAGES_LEAD_TO_RECORDS = Check(
    "pages_lead_to_records",
    "Each page names a WARC file of the lake and a range inside it.",
    lambda trawl, partition: pages_lead_to_records(trawl.lake, partition),
    blocking=True,
)
SCHEMAS_MATCH = Check(
    "schemas_match",
    "Each selector schema of sites.yaml finds something on the pages whose URL it matches.",
    lambda trawl, partition: schemas_without_match(trawl.lake, partition, trawl.site(partition.domain)),
)
