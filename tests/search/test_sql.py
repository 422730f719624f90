"""Search and archived bytes inside SQL, over the catalog's connection and over the catalog file."""

import re
import uuid
from datetime import UTC, date, datetime
from pathlib import Path

import duckdb
import pytest

from trawl_core.clock import SystemClock
from trawl_core.errors import UsageError
from trawl_core.lake import Partition, catalog, tables
from trawl_core.search import sql
from trawl_core.warc.exchange import Exchange
from trawl_core.warc.writer import WarcWriter

NIGHT = date(2026, 11, 29)
POOL = "A connection pool keeps sockets open between requests."
BREAD = "Knead the dough and bake the loaf until its crust is dark brown."


@pytest.fixture
def filled(library):
    library.crawl(NIGHT, "docs.test", {"https://docs.test/pool": POOL, "https://docs.test/it's": "The O'Reilly of queues."})
    library.crawl(NIGHT, "food.test", {"https://food.test/bread": BREAD})
    library.index()
    return library


@pytest.fixture
def connection(filled):
    with catalog.connect(filled.lake) as connection:
        sql.register(connection, filled.lake)
        yield connection


def rows(connection, query):
    return catalog.run_sql(connection, query).to_pylist()


def test_search_is_a_table_best_first(connection):
    found = rows(connection, "SELECT * FROM trawl_search('open sockets', 2)")
    assert found[0]["url"] == "https://docs.test/pool"
    assert len(found) == 2
    assert found[0]["crawl_date"] == NIGHT
    assert found[0]["also_at"] == []
    assert found[0]["text"] == POOL


def test_search_takes_names_and_joins(connection):
    assert rows(connection, "SELECT url FROM trawl_search('sockets', k := 5, domain := 'food.test', mode := 'semantic')") == [
        {"url": "https://food.test/bread"}
    ]
    assert rows(connection, "SELECT url FROM trawl_search('sockets bread', as_of := '2026-12-24') WHERE domain = 'food.test'") == [
        {"url": "https://food.test/bread"}
    ]
    joined = "SELECT p.url, p.title FROM trawl_search('dough', k := 1) s JOIN pages p USING (domain, url, capture_id)"
    assert rows(connection, joined) == [{"url": "https://food.test/bread", "title": "bread"}]


def test_search_of_a_column(connection):
    found = rows(
        connection,
        "SELECT asked.q, s.url FROM (VALUES ('bake the dough'), ('open sockets')) asked(q), LATERAL (FROM trawl_search(asked.q, 1)) s ORDER BY 1",
    )
    assert [row["url"] for row in found] == ["https://food.test/bread", "https://docs.test/pool"]


def test_examples_of_the_documentation_run(connection):
    text = Path(__file__).parents[2].joinpath("docs/search.md").read_text()
    examples = re.findall(r'^trawl sql "(.+)"$', text, re.MULTILINE)
    assert len(examples) >= 4
    for example in examples:
        rows(connection, example)


def test_many_queries_in_parallel_threads_end(filled, connection):
    connection.execute("SET threads = 4")
    connection.execute("CREATE TABLE asked AS SELECT i, 'sockets ' || i AS q FROM range(400000) t(i)")  # row groups for each thread
    query = "SELECT DISTINCT trawl_search_hits(q, 1, 'hybrid', NULL, NULL)[1].url AS url FROM asked WHERE i % 10000 = 0"
    assert rows(connection, query) == [{"url": "https://docs.test/pool"}]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * FROM trawl_search('x', mode := 'fuzzy')", r"^searching: 'fuzzy' is not a mode; use hybrid, semantic, keyword\.$"),
        ("SELECT * FROM trawl_search('x', as_of := '2020-01-01')", r"^searching .*: there is no index of 2020-01-01 or before\."),
        ("SELECT * FROM trawl_search(NULL)", r"can't be NULL\.$"),
        ("SELECT * FROM trawl_search('x', k := 0)", r"ask for 1 or more\.$"),
    ],
)
def test_errors_are_one_paragraph(connection, query, message):
    with pytest.raises(UsageError, match=message) as caught:
        catalog.run_sql(connection, query)
    assert "\n" not in str(caught.value)


def test_read_only_catalog_file_can_search_too(filled, tmp_path):
    catalog.build_catalog(filled.lake, tmp_path / "trawl.duckdb")
    with duckdb.connect(tmp_path / "trawl.duckdb", read_only=True) as connection:
        sql.register(connection, filled.lake)
        assert rows(connection, "SELECT url FROM trawl_search('dough', 1)") == [{"url": "https://food.test/bread"}]


def archive(library, partition, body):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(body)
    exchange = Exchange(
        url="https://docs.test/",
        started_at=datetime(2026, 11, 29, 2, tzinfo=UTC),
        request_bytes=b"GET / HTTP/1.1\r\nHost: docs.test\r\n\r\n",
        response_bytes=head + body,
        head_length=len(head),
        payload=body,
        status=200,
        reason="OK",
        headers=(("Content-Type", "text/html"), ("Content-Length", str(len(body)))),
        outcome="ok",
    )
    with WarcWriter(
        library.lake,
        partition,
        software="trawl/test",
        user_agent="TestBot/1.0 (+https://example.org/bot)",
        config_hash="0" * 16,
        clock=SystemClock(),
        work=library.work,
    ) as writer:
        return writer.write(exchange, str(uuid.uuid4()))


@pytest.fixture
def archived(library):
    """A response and a revisit of it, with their records, and a failure."""
    partition = Partition(NIGHT, "docs.test")
    written = archive(library, partition, b"<p>Hello</p>")
    place = {"warc_filename": written.filename, "warc_record_offset": written.offset, "warc_record_length": written.length}
    moment = datetime(2026, 11, 29, 2, tzinfo=UTC)
    tables.commit(
        library.lake,
        "captures",
        partition,
        [
            {"capture_id": "first", "url": "https://docs.test/", "warc_type": "response", "fetch_time": moment} | place,
            {
                "capture_id": "again",
                "url": "https://docs.test/",
                "warc_type": "revisit",
                "fetch_time": moment,
                "warc_filename": written.filename,
                "refers_to_warc_filename": written.filename,
                "refers_to_warc_offset": written.offset,
                "refers_to_warc_length": written.length,
            },
            {"capture_id": "failed", "url": "https://docs.test/x", "outcome": "timeout", "fetch_time": moment},
        ],
    )
    return library


def test_payload_of_a_response_a_revisit_and_a_failure(archived):
    with catalog.connect(archived.lake) as connection:
        sql.register(connection, archived.lake)
        found = rows(connection, "SELECT capture_id, trawl_payload(capture_id) AS body FROM captures ORDER BY capture_id")
        assert {row["capture_id"]: row["body"] for row in found} == {"first": b"<p>Hello</p>", "again": b"<p>Hello</p>", "failed": None}
        assert rows(connection, "SELECT trawl_payload('no such') AS body, trawl_payload(NULL) AS nothing") == [
            {"body": None, "nothing": None}
        ]
        assert rows(
            connection, "SELECT capture_id FROM captures WHERE contains(decode(trawl_payload(capture_id)), 'Hello') ORDER BY 1"
        ) == [
            {"capture_id": "again"},
            {"capture_id": "first"},
        ]


def test_damaged_record_is_one_paragraph(archived):
    (name,) = archived.lake.files("warc")
    path = archived.lake.local_path(name)
    content = bytearray(path.read_bytes())
    captures = tables.read(archived.lake, "captures", Partition(NIGHT, "docs.test")).to_pylist()
    first = next(row for row in captures if row["capture_id"] == "first")
    content[first["warc_record_offset"] + first["warc_record_length"] - 6] ^= 1
    path.write_bytes(content)
    with catalog.connect(archived.lake) as connection:
        sql.register(connection, archived.lake)
        with pytest.raises(UsageError, match=path.name) as caught:
            catalog.run_sql(connection, "SELECT trawl_payload('first')")
        assert "\n" not in str(caught.value)
