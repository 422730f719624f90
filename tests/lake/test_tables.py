from __future__ import annotations

import os
import pickle
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from trawl_core.errors import LakeError, LockedError, SchemaError
from trawl_core.lake import Lake, Partition, tables
from trawl_core.lake.corpus import corpus_asof
from trawl_core.lake.schemas import TABLES

DAY = date(2026, 11, 30)
PART = Partition(DAY, "docs.example.org")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


def test_rows_come_back_sorted_with_partition_columns(lake: Lake) -> None:
    done = tables.commit(lake, "pages", PART, [{"url": "http://b/"}, {"url": "http://a/", "headings": [{"level": 1, "text": "x"}]}])
    assert done.rows == 2
    assert tables.read(lake, "pages", PART, ["domain", "crawl_date", "url"]).to_pylist() == [
        {"domain": "docs.example.org", "crawl_date": DAY, "url": "http://a/"},
        {"domain": "docs.example.org", "crawl_date": DAY, "url": "http://b/"},
    ]
    assert tables.count(lake, "pages", PART) == 2


def test_the_same_rows_in_any_order_give_the_same_bytes(lake: Lake) -> None:
    rows = [{"url": f"http://h/{number}"} for number in range(50)]
    tables.commit(lake, "pages", PART, rows)
    path = lake.local_path(lake.table_name("pages", PART))
    before = path.read_bytes()
    tables.commit(lake, "pages", PART, rows[::-1])
    assert path.read_bytes() == before


def test_a_failed_commit_leaves_the_old_version(lake: Lake) -> None:
    tables.commit(lake, "pages", PART, [{"url": "http://a/"}])

    def broken():
        yield from tables.from_rows("pages", [{"url": "http://b/"}], PART).to_batches()
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError):
        tables.commit_stream(lake, "pages", PART, broken())
    assert tables.read(lake, "pages", PART, ["url"]).to_pylist() == [{"url": "http://a/"}]
    folder = lake.local_path(lake.table_name("pages", PART)).parent
    assert os.listdir(folder) == ["part.parquet"]


def test_wrong_columns_partitions_and_tables_are_refused(lake: Lake) -> None:
    with pytest.raises(SchemaError, match="has no column uri"):
        tables.commit(lake, "pages", PART, [{"uri": "x"}])
    with pytest.raises(SchemaError, match="is partitioned by date, not"):
        tables.commit(lake, "duplicates", PART, [])
    with pytest.raises(SchemaError, match="there is no table"):
        tables.read(lake, "nope", PART)
    other = tables.from_rows("pages", [{"url": "x"}], Partition(DAY, "other.example.org"))
    with pytest.raises(SchemaError, match="domain must be"):
        tables.commit(lake, "pages", PART, other)


def test_an_older_file_without_a_column_is_read_with_nulls(lake: Lake) -> None:
    data = tables.from_rows("pages", [{"url": "x", "title": "t"}], PART).drop_columns(["title", "outlinks"])
    lake.publish(lake.table_name("pages", PART), lambda file: pq.write_table(data, file))
    assert tables.read(lake, "pages", PART, ["url", "title"]).to_pylist() == [{"url": "x", "title": None}]
    assert tables.read(lake, "pages", PART).schema.names == TABLES["pages"].schema.names


def test_a_missing_partition_reads_as_empty_and_a_damaged_one_says_so(lake: Lake) -> None:
    assert tables.read(lake, "pages", PART).num_rows == 0
    assert tables.count(lake, "pages", PART) is None
    lake.publish(lake.table_name("pages", PART), lambda file: file.write(b"not parquet"))
    for look in (tables.read, tables.count):
        with pytest.raises(LakeError, match="damaged"):
            look(lake, "pages", PART)


def test_polars_frames_can_be_committed(lake: Lake) -> None:
    frame = pl.DataFrame({"crawl_date": [DAY], "domain": ["docs.example.org"], "url": ["http://a/"], "rank": [1], "score": [0.5]})
    tables.commit(lake, "crawl_plan", PART, frame)
    assert tables.read(lake, "crawl_plan", PART, ["rank", "score"]).to_pylist() == [{"rank": 1, "score": 0.5}]


def test_partitions_are_listed_also_for_ipv6_hosts(lake: Lake) -> None:
    six = Partition(DAY, "::1")
    tables.commit(lake, "pages", six, [])
    tables.commit(lake, "duplicates", Partition(DAY), [])
    assert lake.partitions("pages") == [six]
    assert lake.partitions("duplicates") == [Partition(DAY)]


def test_the_dates_of_a_domain_are_those_of_its_files(lake: Lake) -> None:
    for number in range(3):
        tables.commit(lake, "pages", Partition(DAY + timedelta(days=number), "a.test"), [])
    tables.commit(lake, "pages", Partition(DAY + timedelta(days=3), "b.test"), [])
    tables.commit(lake, "pages", Partition(DAY, "::1"), [])
    lake.delete(lake.table_name("pages", Partition(DAY + timedelta(days=1), "a.test")))  # its folder stays
    first, last = DAY, DAY + timedelta(days=2)
    assert tables.dates_of(lake, "pages", "a.test") == [first, last]
    assert tables.dates_of(lake, "pages", "a.test", before=last) == tables.dates_of(lake, "pages", "a.test", upto=first) == [first]
    assert tables.dates_of(lake, "pages", "::1") == [first]
    assert tables.dates_of(lake, "pages", "c.test") == tables.dates_of(lake, "chunks", "a.test") == []
    assert tables.dates_of(lake, "pages") == [first, last, DAY + timedelta(days=3)]


def test_a_lake_goes_to_other_processes_with_the_options_of_its_url(tmp_path: Path) -> None:
    given = "s3://key:secret@bucket/lake?region=eu-west-1&endpoint_override=127.0.0.1:9"
    store = pickle.loads(pickle.dumps(Lake(given)))
    assert (store.location, store.root, store.is_local) == (given, "bucket/lake", False)
    assert store.fs.region == "eu-west-1"
    assert "secret" not in store.url
    local = Lake(tmp_path.as_uri())
    assert pickle.loads(pickle.dumps(local)).local_path("x") == tmp_path / "x"


def test_a_lock_is_held_against_other_processes_and_dies_with_its_own(lake: Lake) -> None:
    code = "import sys; from trawl_core.lake import Lake; lock = Lake(sys.argv[1]).lock('crawl-a', 'x'); lock.__enter__(); print('held', flush=True); sys.stdin.read()"
    holder = subprocess.Popen([sys.executable, "-c", code, lake.root], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline().strip() == b"held"
    with pytest.raises(LockedError, match="crawling a: another run is at it"), lake.lock("crawl-a", "crawling a"):
        pass
    holder.kill()
    holder.communicate()
    with lake.lock("crawl-a", "crawling a"):
        pass


def _page(url: str, day: date, status: int = 200) -> dict[str, object]:
    return {
        "url": url,
        "capture_id": f"{url}@{day}",
        "fetch_time": datetime(day.year, day.month, day.day, 2, tzinfo=UTC),
        "fetch_status": status,
    }


def test_the_corpus_as_of_a_date(lake: Lake) -> None:
    first, second = Partition(date(2026, 11, 29), "h.test"), Partition(DAY, "h.test")
    tables.commit(lake, "pages", first, [_page("a", first.crawl_date), _page("b", first.crawl_date), _page("c", first.crawl_date)])
    tables.commit(lake, "pages", second, [_page("a", DAY, 304), _page("d", DAY, 404)])
    tables.commit(lake, "captures", first, [_page(url, first.crawl_date) for url in "abc"])
    tables.commit(lake, "captures", second, [_page("a", DAY, 304), _page("b", DAY, 404), _page("c", DAY, 503), _page("d", DAY, 404)])
    today = corpus_asof(lake, DAY)
    assert today.select("url", "crawl_date").rows() == [("a", DAY), ("c", date(2026, 11, 29))]
    assert today["first_seen"].dt.date().to_list() == [date(2026, 11, 29)] * 2
    assert corpus_asof(lake, date(2026, 11, 29))["url"].to_list() == ["a", "b", "c"]
    assert corpus_asof(lake, date(2026, 11, 28)).height == 0
