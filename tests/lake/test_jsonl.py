from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from trawl_core.errors import LakeError
from trawl_core.lake import Lake, Partition, tables
from trawl_core.lake.jsonl import FIELDS, page_lines

PART = Partition(date(2026, 11, 30), "docs.example.org")
AT = datetime(2026, 11, 30, 2, 0, 0, 5, tzinfo=UTC)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path / "lake")
    rows = [
        {
            "capture_id": "1",
            "url": "http://h/a",
            "fetch_time": AT,
            "fetch_status": 200,
            "title": "Ä\n",
            "text": "Grüße\nzwei",
            "text_words": 2,
        },
        {"capture_id": "2", "url": "http://h/b", "fetch_time": AT, "text": None, "extract_status": "encrypted"},
        {"capture_id": "3", "url": "http://h/c", "fetch_time": AT, "text": "", "extract_status": "empty"},
    ]
    tables.commit(lake, "pages", PART, rows)
    return lake


def test_a_page_is_a_line_in_the_fields_order(lake: Lake) -> None:
    (line,) = page_lines(lake, [PART])
    assert line.endswith("\n") and line.count("\n") == 1
    row = json.loads(line)
    assert row == {
        "url": "http://h/a",
        "fetch_time": "2026-11-30T02:00:00.000005Z",
        "crawl_date": "2026-11-30",
        "domain": "docs.example.org",
        "fetch_status": 200,
        "title": "Ä\n",
        "capture_id": "1",
        "text_words": 2,
        "text": "Grüße\nzwei",
    }
    assert list(row) == [name for name in FIELDS if name in row]


def test_pages_without_text_come_when_asked_for(lake: Lake) -> None:
    rows = [json.loads(line) for line in page_lines(lake, [PART], without_text=True)]
    assert [(row["capture_id"], row.get("extract_status")) for row in rows] == [("1", None), ("2", "encrypted"), ("3", "empty")]


def test_the_fields_are_columns_of_pages() -> None:
    assert set(FIELDS) <= set(tables.spec_of("pages").schema.names)


def test_a_table_comes_in_pieces(lake: Lake) -> None:
    pieces = list(tables.stream(lake, "pages", PART, ["url", "title"], rows=2))
    assert [piece.num_rows for piece in pieces] == [2, 1]
    assert pa.concat_tables(pieces).equals(tables.read(lake, "pages", PART, ["url", "title"]))
    assert list(tables.stream(lake, "chunks", PART)) == []


def test_a_damaged_table_is_named(lake: Lake) -> None:
    lake.local_path(lake.table_name("pages", PART)).write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(LakeError, match="damaged"):
        list(page_lines(lake, [PART]))
