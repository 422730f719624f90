"""What a person sees of a stage's result."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pyarrow as pa

from trawl_assets.preview import CELL_CHARS, markdown_table, stage_metadata
from trawl_core.lake import Lake, Partition, tables
from trawl_core.lake.tables import StageResult

DAY = date(2024, 3, 1)


def test_one_result_shows_its_counts_sample_and_facts(tmp_path: Path) -> None:
    lake, partition = Lake(tmp_path), Partition(DAY, "a.test")
    committed = tables.commit(lake, "pages", partition, [{"url": "https://a.test/", "capture_id": "1", "title": "Knots"}])
    result = StageResult((committed,), {"carried": 0, "by_status": {"ok": 1}, "problems": [], "median_ms": 1.5, "oldest": None})
    shown = stage_metadata(lake, [result], [partition])
    assert list(shown)[:3] == ["dagster/row_count", "bytes", "sample"]
    assert (shown["dagster/row_count"], shown["bytes"]) == (1, committed.bytes)
    assert "| https://a.test/ | Knots |" in shown["sample"].md_str
    assert (shown["carried"], shown["problems"], shown["oldest"], shown["median_ms"]) == (0, "none", "none", 1.5)
    assert shown["by_status"].data == {"ok": 1}


def test_several_results_add_counts_and_list_the_rest(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    partitions = [Partition(DAY, "a.test"), Partition(DAY, "b.test")]
    results = [
        StageResult(
            (
                tables.commit(lake, "changes", partition, [{"url": f"https://{partition.domain}/"}]),
                tables.commit(lake, "template_edits", partition, []),
            ),
            {"compared": 4, "median_ms": 1.5, "problems": [partition.domain]},
        )
        for partition in partitions
    ]
    shown = stage_metadata(lake, results, partitions)
    assert (shown["dagster/row_count"], shown["template_edits_rows"], shown["compared"]) == (2, 0, 8)
    assert shown["median_ms"].md_str == "- 1.5\n- 1.5"
    assert shown["problems"].md_str == "- a.test\n- b.test"


def test_no_rows_are_said_to_be_none(tmp_path: Path) -> None:
    lake, partition = Lake(tmp_path), Partition(DAY, "a.test")
    result = StageResult((tables.commit(lake, "pages", partition, []),), {})
    assert stage_metadata(lake, [result], [partition])["sample"].md_str == "no rows"


def test_words_of_a_page_stay_words() -> None:
    table = pa.table({"title": ["a | b <img src=x>\n![x](http://tracker.test/) `c`"], "links": [["x"]], "empty": pa.nulls(1, pa.string())})
    head, _, row = markdown_table(table).split("\n")
    assert head == "| title |"
    assert row == r"| a \| b &lt;img src=x> \!\[x](http://tracker.test/) \`c\` |"


def test_a_long_cell_is_cut() -> None:
    row = markdown_table(pa.table({"text": ["x" * 500]})).split("\n")[2]
    assert row == f"| {'x' * (CELL_CHARS - 1)}… |"
