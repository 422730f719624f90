"""Blocking checks: a planted fault fails its partition and no other, and the check is shown failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow.parquet as pq
import pytest

from trawl_assets.checks import pages_lead_to_records, schema_matches
from trawl_core.lake import Partition
from trawl_core.lake.schemas import SCHEMA_VERSION


def reason(result: Any) -> str:
    [failure] = [event for event in result.all_events if event.is_step_failure]
    return failure.step_failure_data.user_failure_data.description


def damage(path: Path) -> None:
    """One byte in the middle of the file is another one."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


@pytest.fixture
def over(crawled, monkeypatch):
    """The crawled home a day later: its archive is looked at, nothing is fetched. What was shown of it is forgotten."""
    monkeypatch.setenv("TRAWL_NOW", crawled.moment(1, "02:00:00"))
    crawled.instance.wipe_assets([dg.AssetKey("warc_snapshot"), dg.AssetKey("pages")])
    return crawled


def test_a_damaged_record_fails_the_snapshot_of_its_domain_only(over) -> None:
    bad, good = over.hosts
    damage(over.warc_file(bad))
    result = over.run("nightly", bad, good, assets=["warc_snapshot"])
    assert not result.success
    assert "1 of 2 partitions failed" in reason(result)
    assert f"{over.night}|{bad}: check archive_verifies: {over.warc_file(bad).name}" in reason(result).replace(_folder(over, bad), "")
    assert over.built("warc_snapshot") == {good}
    shown = over.last_check("warc_snapshot", "archive_verifies")
    assert (shown.passed, shown.blocking, shown.severity) == (False, True, dg.AssetCheckSeverity.ERROR)
    assert over.warc_file(bad).name in shown.metadata["problems"].value
    assert over.last_check("warc_snapshot", "matches_schema").passed


def _folder(place, domain: str) -> str:
    return place.lake.warc_folder(Partition(place.night, domain)) + "/"


def test_a_missing_archive_fails_the_pages_of_its_domain_only(over) -> None:
    bad, good = over.hosts
    lost = over.warc_file(bad)
    lost.unlink()
    result = over.run("reprocess", bad, good, assets=["pages"])
    assert not result.success
    assert f"{over.night}|{bad}: check pages_lead_to_records: " in reason(result)
    assert lost.name in reason(result)
    assert over.built("pages") == {good}
    shown = over.last_check("pages", "pages_lead_to_records")
    assert (shown.passed, shown.blocking) == (False, True)
    assert lost.name in shown.metadata["problems"].value


def test_what_stands_below_a_failed_check_is_not_built(over) -> None:
    bad = over.hosts[0]
    over.warc_file(bad).unlink()
    result = over.run("reprocess", bad, assets=["pages", "chunks"])
    assert [event.step_key for event in result.all_events if event.is_step_failure] == ["pages"]
    assert [event.step_key for event in result.all_events if event.is_step_skipped or event.is_step_success] == []


def test_a_record_beyond_the_end_of_its_file_is_a_problem(crawled) -> None:
    partition = Partition(crawled.night, crawled.hosts[0])
    assert pages_lead_to_records(crawled.lake, partition) == []
    with crawled.warc_file(crawled.hosts[0]).open("r+b") as file:
        file.truncate(100)
    problems = pages_lead_to_records(crawled.lake, partition)
    assert len(problems) == 6
    assert all("beyond the end" in problem for problem in problems)


def test_another_schema_is_named_column_by_column(crawled) -> None:
    partition = Partition(crawled.night, crawled.hosts[0])
    path = crawled.lake.local_path(crawled.lake.table_name("pages", partition))
    assert schema_matches("pages", crawled.lake, partition) == []
    good = pq.ParquetFile(path).read()
    renamed = good.rename_columns(["headline" if name == "title" else name for name in good.column_names])
    renamed = renamed.set_column(renamed.schema.get_field_index("fetch_status"), "fetch_status", renamed["url"])
    pq.write_table(renamed.replace_schema_metadata(good.schema.metadata), path)
    problems = schema_matches("pages", crawled.lake, partition)
    assert [problem.partition(": ")[2] for problem in problems] == [
        "column title is missing",
        "column fetch_status has another type",
        "column headline is not documented",
    ]
    older = good.drop_columns(["title"]).replace_schema_metadata({"trawl_schema_version": str(SCHEMA_VERSION - 1)})
    pq.write_table(older, path)
    assert schema_matches("pages", crawled.lake, partition) == []
    path.write_bytes(b"PAR1 and no more")
    assert "is damaged" in schema_matches("pages", crawled.lake, partition)[0]
    path.unlink()
    assert "is missing" in schema_matches("pages", crawled.lake, partition)[0]
