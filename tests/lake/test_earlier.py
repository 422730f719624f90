from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from trawl_core.lake import Lake, Partition, tables
from trawl_core.lake.earlier import build_after_earlier, missing_before
from trawl_core.lake.tables import StageResult

FIRST = date(2026, 11, 1)


def night(number: int, domain: str = "a.test") -> Partition:
    return Partition(FIRST + timedelta(days=number), domain)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path / "lake")
    for number in (0, 1, 3, 4):
        tables.commit(lake, "captures", night(number), [])
    tables.commit(lake, "captures", night(0, "b.test"), [])
    return lake


def test_what_is_missing_of_the_same_domain_before_a_date(lake: Lake) -> None:
    tables.commit(lake, "pages", night(1), [])
    tables.commit(lake, "pages", night(2), [])  # without captures: nothing to build it from
    assert missing_before(lake, "pages", "captures", night(4)) == [night(0), night(3)]
    assert missing_before(lake, "pages", "captures", night(0)) == []


def test_missing_partitions_are_built_first_and_only_once(lake: Lake) -> None:
    built: list[Partition] = []

    def build(partition: Partition) -> StageResult:
        built.append(partition)
        return StageResult((tables.commit(lake, "pages", partition, []),), {"rows": 0})

    result = build_after_earlier(lake, "pages", "captures", night(3), build)
    assert built == [night(0), night(1), night(3)]
    assert result.committed[0].name == lake.table_name("pages", night(3))
    assert result.facts == {"rows": 0, "built_earlier": ["2026-11-01", "2026-11-02"]}
    assert build_after_earlier(lake, "pages", "captures", night(3), build).facts == {"rows": 0}
    assert built[3:] == [night(3)]
