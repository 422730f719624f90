"""The catalog: typed, documented views over whatever the lake holds, replaced whole."""

import errno
import os
import threading
from datetime import UTC, date, datetime

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trawl_core.errors import DiskFullError, LakeError, ReadOnlyHomeError, UsageError
from trawl_core.lake import Lake, Partition, catalog, tables
from trawl_core.lake.catalog import build_catalog, connect, run_sql, sql_type, views
from trawl_core.lake.corpus import corpus_asof
from trawl_core.lake.schemas import TABLES

NIGHTS = [date(2026, 11, 28), date(2026, 11, 29), date(2026, 11, 30)]


@pytest.fixture
def lake(tmp_path):
    return Lake(tmp_path / "it's [a] lake*")


def moment(night, hour=2):
    return datetime(night.year, night.month, night.day, hour, tzinfo=UTC)


def fill(lake):
    """Three nights: a page that stays, one that moves for good, one that fails once, one that is gone, one that comes back."""
    statuses = {
        "stays": [200, 304, 200],
        "moves": [200, 301, None],
        "fails": [200, None, 503],
        "gone": [200, 404, None],
        "back": [410, 200, None],
    }
    for n, night in enumerate(NIGHTS):
        for domain in ("docs.test", "::1"):
            captures, pages = [], []
            for name, seen in statuses.items():
                url, status = f"https://{domain}/{name}", seen[n]
                row = {"url": url, "capture_id": f"{name}-{n}", "fetch_time": moment(night), "fetch_status": status}
                captures.append(row | {"outcome": "ok" if status in (200, 304) else "http_error"})
                if status is not None and status != 301:
                    pages.append(row | {"title": f"{name} {n}", "text": "text", "headings": [{"level": 1, "text": name}]})
            tables.commit(lake, "captures", Partition(night, domain), captures)
            tables.commit(lake, "pages", Partition(night, domain), pages)
    tables.commit(
        lake,
        "changes",
        Partition(NIGHTS[1], "docs.test"),
        [{"url": "https://docs.test/gone", "event": "gone", "severity": "major", "capture_id": "gone-1"}],
    )
    tables.commit(
        lake, "duplicates", Partition(NIGHTS[1]), [{"url": "https://docs.test/stays", "domain": "docs.test", "relation": "representative"}]
    )


def every_type(lake):
    """One row in each table that has an embedding, a map or a list of structs."""
    partition = Partition(NIGHTS[0], "docs.test")
    tables.commit(lake, "chunks", partition, [{"url": "u", "capture_id": "c", "position": 0, "embedding": [0.5] * 384}])
    tables.commit(
        lake,
        "changes",
        partition,
        [{"url": "u", "diff_ops": [{"op": "insert", "new_blocks": ["a"]}], "evidence": {"text_changed": True}, "kinds": ["content"]}],
    )
    tables.commit(lake, "fingerprints", partition, [{"url": "u", "simhash": 2**64 - 1, "minhash": b"\0\xff", "bands": [2**63]}])
    tables.commit(lake, "crawl_report", Partition(NIGHTS[0]), [{"domain": "docs.test", "errors_by_kind": [("timeout", 2)]}])


def test_empty_lake_has_every_table_with_its_columns(lake):
    with connect(lake) as connection:
        for name, spec in TABLES.items():
            table = run_sql(connection, f"SELECT * FROM {name}")
            assert (table.num_rows, table.column_names) == (0, spec.schema.names)


@pytest.mark.parametrize("filled", [fill, every_type])
def test_types_do_not_depend_on_whether_a_table_has_files(lake, tmp_path, filled):
    filled(lake)
    with connect(lake) as connection, connect(Lake(tmp_path / "empty")) as empty:
        for name in TABLES:
            assert run_sql(connection, f"DESCRIBE {name}").to_pylist() == run_sql(empty, f"DESCRIBE {name}").to_pylist()
            assert {row["column_type"] for row in run_sql(empty, f"DESCRIBE {name}").to_pylist()}


def test_values_come_through(lake):
    every_type(lake)
    with connect(lake) as connection:
        assert run_sql(connection, "SELECT len(embedding) AS n, embedding[1] AS first FROM chunks").to_pylist() == [
            {"n": 384, "first": 0.5}
        ]
        assert run_sql(connection, "SELECT simhash, minhash, bands FROM fingerprints").to_pylist() == [
            {"simhash": 2**64 - 1, "minhash": b"\0\xff", "bands": [2**63]}
        ]
        assert run_sql(connection, "SELECT errors_by_kind['timeout'] AS n FROM crawl_report").to_pylist() == [{"n": 2}]
        assert run_sql(connection, "SELECT diff_ops[1].op AS op, evidence.text_changed AS t FROM changes").to_pylist() == [
            {"op": "insert", "t": True}
        ]


def test_partition_columns_are_typed_and_decoded(lake):
    fill(lake)
    with connect(lake) as connection:
        found = run_sql(connection, "SELECT DISTINCT crawl_date, domain FROM pages WHERE crawl_date < DATE '2026-11-29' ORDER BY domain")
        assert found.to_pylist() == [{"crawl_date": NIGHTS[0], "domain": "::1"}, {"crawl_date": NIGHTS[0], "domain": "docs.test"}]
        assert run_sql(connection, "SELECT count(*) AS n FROM pages WHERE domain = '::1'").to_pylist()[0]["n"] > 0


def test_filter_by_partition_reads_only_its_files(lake):
    fill(lake)
    with connect(lake) as connection:
        plan = run_sql(connection, "EXPLAIN SELECT url FROM pages WHERE crawl_date = '2026-11-29' AND domain = 'docs.test'").to_pylist()
    assert "Scanning Files: 1/6" in str(plan)


@pytest.mark.parametrize("others", [0, 1])
def test_older_file_without_a_column_is_read(lake, others):
    partitions = [Partition(night, "docs.test") for night in NIGHTS[: 1 + others]]
    for partition in partitions:
        tables.commit(lake, "pages", partition, [{"url": "https://docs.test/", "title": "Title", "site_name": "Site"}])
    path = lake.local_path(lake.table_name("pages", partitions[0]))
    pq.write_table(pq.read_table(path, partitioning=None).drop_columns(["needs_browser", "site_name"]), path)
    with connect(lake) as connection:
        found = run_sql(connection, "SELECT * FROM pages ORDER BY crawl_date")
    assert found.column_names == TABLES["pages"].schema.names
    assert found.column("title").to_pylist() == ["Title"] * len(partitions)
    assert found.column("site_name").to_pylist() == [None, "Site"][: len(partitions)]


def test_comments_are_the_schemas_docs(lake):
    with connect(lake) as connection:
        comments = run_sql(connection, "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal").to_pylist()
        assert {row["view_name"]: row["comment"] for row in comments} == {name: spec.doc for name, spec in TABLES.items()}
        columns = run_sql(connection, "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'changes'").to_pylist()
        expected = {field.name: field.metadata[b"doc"].decode() for field in TABLES["changes"].schema}
        assert {row["column_name"]: row["comment"] for row in columns} == expected


@pytest.mark.parametrize("night", NIGHTS)
def test_corpus_macro_equals_the_library(lake, night):
    fill(lake)
    with connect(lake) as connection:
        found = run_sql(connection, f"SELECT domain, url, capture_id, crawl_date, first_seen FROM corpus_asof('{night}')").to_pylist()
    expected = corpus_asof(lake, night).select("domain", "url", "capture_id", "crawl_date", "first_seen").to_dicts()
    assert len(expected) > 0
    assert found == expected


def test_history_of_a_url(lake):
    fill(lake)
    with connect(lake) as connection:
        found = run_sql(connection, "SELECT crawl_date, fetch_status, title, event FROM history_of('https://docs.test/gone')").to_pylist()
    assert [(row["crawl_date"], row["fetch_status"], row["title"], row["event"]) for row in found] == [
        (NIGHTS[0], 200, "gone 0", None),
        (NIGHTS[1], 404, "gone 1", "gone"),
        (NIGHTS[2], None, None, None),
    ]


def test_unreadable_file_speaks_when_its_table_is_asked(lake):
    fill(lake)
    path = lake.local_path(lake.table_name("pages", Partition(NIGHTS[1], "docs.test")))
    path.write_bytes(b"PAR1 this is not Parquet")
    with connect(lake) as connection:
        assert run_sql(connection, "SELECT count(*) AS n FROM captures").to_pylist()[0]["n"] == 30
        with pytest.raises(UsageError, match=r"The table pages can't be read: .*crawl_date=2026-11-29.*Materialize the partition"):
            run_sql(connection, "SELECT count(*) FROM pages")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("selec 1", r"syntax error at or near \"selec\"\.$"),
        ("SELECT nope FROM pages", r"Referenced column \"nope\" not found"),
        ("SELECT * FROM nowhere", r"Table with name nowhere does not exist!"),
        ("SELECT CAST('a' AS INTEGER)", r"Could not convert string 'a' to INT32\.$"),
    ],
)
def test_wrong_statement_is_a_usage_error_of_one_paragraph(lake, statement, message):
    with connect(lake) as connection, pytest.raises(UsageError, match=message) as caught:
        run_sql(connection, statement)
    assert "\n" not in str(caught.value)


def test_statement_without_rows_gives_an_empty_table(lake):
    with connect(lake) as connection:
        assert run_sql(connection, "").num_rows == 0
        assert run_sql(connection, "CREATE TABLE kept AS SELECT 1 AS one; SELECT one FROM kept").to_pylist() == [{"one": 1}]


def test_python_variables_are_out_of_reach(lake):
    sql = pa.table({"secret": [1]})
    with connect(lake) as connection, pytest.raises(UsageError, match="does not exist"):
        run_sql(connection, "SELECT * FROM sql")
    assert sql.num_rows == 1


def test_catalog_file_has_the_same_views(lake, tmp_path):
    fill(lake)
    path = tmp_path / "home" / "trawl.duckdb"
    result = build_catalog(lake, path)
    assert (result.committed[0].name, result.committed[0].rows) == ("trawl.duckdb", len(TABLES))
    assert result.committed[0].bytes == path.stat().st_size
    with duckdb.connect(path, read_only=True) as one, duckdb.connect(path, read_only=True) as other:
        for connection in (one, other):
            assert run_sql(connection, "SELECT count(*) AS n FROM captures").to_pylist() == [{"n": 30}]
            assert run_sql(connection, "SELECT count(*) AS n FROM corpus_asof('2026-11-29')").to_pylist()[0]["n"] > 0
    assert [entry.name for entry in path.parent.iterdir()] == ["trawl.duckdb"]


def test_partition_committed_later_is_seen_without_building_again(lake, tmp_path):
    fill(lake)
    build_catalog(lake, tmp_path / "trawl.duckdb")
    tables.commit(lake, "pages", Partition(NIGHTS[2], "new.test"), [{"url": "https://new.test/", "fetch_time": moment(NIGHTS[2])}])
    with duckdb.connect(tmp_path / "trawl.duckdb", read_only=True) as connection:
        assert run_sql(connection, "SELECT url FROM pages WHERE domain = 'new.test'").to_pylist() == [{"url": "https://new.test/"}]


def test_readers_see_a_whole_catalog_while_it_is_rebuilt(lake, tmp_path):
    fill(lake)
    path = tmp_path / "trawl.duckdb"
    build_catalog(lake, path)
    stop, faults, looks = threading.Event(), [], []

    def look():
        while not stop.is_set() or not looks:
            copy = tmp_path / f"seen-{threading.get_ident()}"
            copy.unlink(missing_ok=True)
            os.link(path, copy)  # DuckDB shares one instance a path in a process; another name is another reader
            with duckdb.connect(copy, read_only=True) as connection:
                names = run_sql(connection, "SELECT view_name FROM duckdb_views() WHERE NOT internal").num_rows
            looks.append(names)
            if names != len(TABLES):
                faults.append(names)

    reader = threading.Thread(target=look)
    reader.start()
    for _ in range(4):
        build_catalog(lake, path)
    stop.set()
    reader.join()
    assert looks
    assert faults == []


@pytest.mark.parametrize(
    ("number", "kind"), [("ENOSPC", DiskFullError), ("EACCES", ReadOnlyHomeError), ("EROFS", ReadOnlyHomeError), ("EIO", LakeError)]
)
def test_catalog_that_can_not_be_written_leaves_the_old_one(lake, tmp_path, monkeypatch, number, kind):
    path = tmp_path / "trawl.duckdb"
    build_catalog(lake, path)
    before = path.read_bytes()

    def fail(*_args):
        raise OSError(getattr(errno, number), os.strerror(getattr(errno, number)))

    monkeypatch.setattr(catalog.os, "replace", fail)
    with pytest.raises(kind):
        build_catalog(lake, path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["trawl.duckdb"]


class ObjectStore(Lake):
    """A lake whose files are reached through its filesystem only."""

    is_local = False


def test_object_store_is_read_through_its_filesystem(lake, tmp_path):
    fill(lake)
    every_type(lake)
    remote = ObjectStore(lake.root)
    assert "read_parquet" not in "".join(views(remote).values())
    with connect(remote) as connection, connect(lake) as local:
        for name in TABLES:
            query = f"SELECT * FROM {name} ORDER BY ALL"
            assert run_sql(connection, query).to_pylist() == run_sql(local, query).to_pylist()
    result = build_catalog(remote, tmp_path / "trawl.duckdb")
    assert result.committed == ()
    assert "trawl sql" in result.facts["note"]


def test_every_column_type_has_a_sql_type():
    for spec in TABLES.values():
        for field in spec.schema:
            assert sql_type(field.type)
    assert sql_type(pa.struct([("a", pa.list_(pa.int8()))])) == 'STRUCT("a" TINYINT[])'
