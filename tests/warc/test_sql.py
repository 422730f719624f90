"""Archived bytes inside SQL, over the catalog's connection and over the catalog file."""

import gzip
from dataclasses import replace
from datetime import date, timedelta

import duckdb
import pytest

from trawl_core.errors import UsageError
from trawl_core.lake import catalog, tables
from trawl_core.lake.catalog import run_sql
from trawl_core.warc import sql
from trawl_core.warc.captures import revisit_of

BODY = b"<!doctype html><title>t</title><p>Hello"
CODED = gzip.compress(BODY, mtime=0)
NOT_MODIFIED = b'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n'


@pytest.fixture
def nights(new_archive, make, clock):
    """Rows by name: what a first night archived, and a second one that refers to it."""
    first, named = new_archive(date(2026, 11, 29)), {}

    def add(archive, name, wire, revisit=None, **changes):
        named[name] = archive.add(make.exchange(wire, f"http://docs.example.org/{name}", started_at=clock.now(), **changes), revisit)

    add(first, "plain", make.ok(BODY))
    add(first, "coded", make.ok(CODED, b"Content-Encoding: gzip"))
    add(first, "chunked", make.chunked(BODY, 7))
    add(first, "moved", make.ok(b"moved", b"Location: /plain").replace(b"200 OK", b"301 Moved"))
    add(first, "empty", make.ok(b""))
    add(first, "cut", make.ok(CODED[:-9], b"Content-Encoding: gzip"), truncated="unspecified")
    add(first, "lies", make.ok(BODY, b"Content-Encoding: gzip"))
    add(first, "failed", b"", outcome="timeout", error="no answer in 20 s")
    first.finish()
    clock.sleep(86_400)
    second = new_archive(date(2026, 11, 30))
    add(second, "unchanged", NOT_MODIFIED, revisit_of(named["coded"], "server-not-modified"))
    add(second, "same", make.ok(BODY, b"Age: 7"), revisit_of(named["plain"], "identical-payload-digest"))
    second.finish()
    return first.lake, named


@pytest.fixture
def ask(nights):
    """`ask(name)`: the value of an SQL expression for each capture, by name."""
    lake, named = nights
    with catalog.connect(lake) as connection:
        sql.register(connection, lake)

        def values(expression):
            found = run_sql(connection, f"SELECT capture_id, {expression} AS value FROM captures").to_pylist()
            by_id = {row["capture_id"]: row["value"] for row in found}
            return {name: by_id[row["capture_id"]] for name, row in named.items()}

        yield values


def test_payloads_keep_the_content_coding(ask):
    assert ask("trawl_payload(capture_id)") == {
        "plain": BODY,
        "coded": CODED,
        "chunked": BODY,
        "moved": b"moved",
        "empty": b"",
        "cut": CODED[:-9],
        "lies": BODY,
        "failed": None,
        "unchanged": CODED,
        "same": BODY,
    }


def test_bodies_have_none_and_go_as_far_as_they_can(ask):
    bodies = ask("trawl_body(capture_id)")
    assert BODY.startswith(bodies.pop("cut"))
    assert bodies == {
        "plain": BODY,
        "coded": BODY,
        "chunked": BODY,
        "moved": b"moved",
        "empty": b"",
        "lies": BODY,
        "failed": None,
        "unchanged": BODY,
        "same": BODY,
    }


def test_blocks_are_what_came_over_the_wire(ask, make):
    blocks = ask("trawl_block(capture_id)")
    assert blocks["coded"] == make.ok(CODED, b"Content-Encoding: gzip")
    assert blocks["chunked"] == make.chunked(BODY, 7)
    assert blocks["same"] == make.ok(BODY, b"Age: 7").removesuffix(BODY)
    assert blocks["unchanged"] == b""
    assert blocks["failed"] is None


def test_the_reason_why_a_body_is_not_whole(ask):
    faults = {name: fault for name, fault in ask("trawl_fault(capture_id)").items() if fault is not None}
    assert faults == {
        "cut": "The gzip coding of the body is cut off or damaged: these are the bytes before that.",
        "lies": "Content-Encoding says gzip (not gzip): these are the bytes of the body as they came.",
        "failed": "Nothing was archived (timeout): no answer in 20 s",
    }


@pytest.mark.parametrize("name", ["payload", "body", "block", "rendered"])
def test_an_unknown_id_and_null_give_null(nights, name):
    lake, _ = nights
    with catalog.connect(lake) as connection:
        sql.register(connection, lake)
        query = f"SELECT trawl_{name}('no such') AS unknown, trawl_{name}(NULL) AS nothing, trawl_fault('no such') AS fault, trawl_fault(NULL) AS f"
        assert run_sql(connection, query).to_pylist() == [{"unknown": None, "nothing": None, "fault": "No capture has this id.", "f": None}]


def test_what_a_browser_made(archive, make):
    exchange = make.exchange(make.ok(BODY))
    written = archive.writer.write(exchange, "0" * 8 + "-0000-4000-8000-" + "0" * 12, rendered=b"<p>made")
    row = archive.add(make.exchange(make.ok(BODY), "http://docs.example.org/b"))
    row |= {"warc_filename": written.filename, "rendered_offset": written.rendered_offset, "rendered_length": written.rendered_length}
    archive.finish()
    with catalog.connect(archive.lake) as connection:
        sql.register(connection, archive.lake)
        assert run_sql(connection, "SELECT trawl_rendered(capture_id) AS dom FROM captures").to_pylist() == [{"dom": b"<p>made"}]


def test_a_damaged_record_is_an_error_that_names_it_and_can_be_left_out(nights):
    lake, named = nights
    place = named["plain"]
    path = lake.local_path(place["warc_filename"])
    content = bytearray(path.read_bytes())
    content[place["warc_record_offset"] + place["warc_record_length"] - 6] ^= 1
    path.write_bytes(content)
    with catalog.connect(lake) as connection:
        sql.register(connection, lake)
        with pytest.raises(UsageError, match=rf"byte {place['warc_record_offset']} of warc/{path.parent.parent.name}/.*damaged"):
            run_sql(connection, "SELECT trawl_body(capture_id) FROM captures")
        sound = "SELECT count(CASE WHEN trawl_fault(capture_id) IS NULL THEN trawl_body(capture_id) END) AS n FROM captures"
        assert run_sql(connection, sound).to_pylist() == [{"n": len(named) - 5}]
        damaged = run_sql(
            connection, "SELECT url, trawl_fault(capture_id) f FROM captures WHERE contains(trawl_fault(capture_id), 'byte ')"
        )
        assert {row["url"].rsplit("/", 1)[-1] for row in damaged.to_pylist()} == {"plain", "same"}


def test_thousands_of_rows_of_many_partitions(nights):
    lake, named = nights
    place = {name: value for name, value in named["coded"].items() if name not in ("capture_id", "url", "crawl_date", "domain")}
    for number in range(3):
        night = date(2026, 11, 1) + timedelta(days=number)
        rows = [place | {"capture_id": f"{night}-{n}", "url": f"http://docs.example.org/{n}"} for n in range(3_000)]
        tables.commit(lake, "captures", replace(lake.partitions("captures")[-1], crawl_date=night), rows)
    with catalog.connect(lake) as connection:
        sql.register(connection, lake)
        query = "SELECT count(*) AS n, count(DISTINCT trawl_body(capture_id)) AS bodies FROM captures WHERE crawl_date < '2026-11-10'"
        assert run_sql(connection, query).to_pylist() == [{"n": 9_000, "bodies": 1}]


def test_a_read_only_catalog_file_reads_the_archive_too(nights, tmp_path):
    lake, named = nights
    catalog.build_catalog(lake, tmp_path / "trawl.duckdb")
    with duckdb.connect(tmp_path / "trawl.duckdb", read_only=True) as connection:
        sql.register(connection, lake)
        query = f"SELECT decode(trawl_body('{named['unchanged']['capture_id']}')) AS text"
        assert run_sql(connection, query).to_pylist() == [{"text": BODY.decode()}]


def test_captures_committed_later_are_found_by_the_same_connection(nights, new_archive, make):
    lake, named = nights
    with catalog.connect(lake) as connection:
        sql.register(connection, lake)
        run_sql(connection, f"SELECT trawl_body('{named['plain']['capture_id']}')")
        later = new_archive(date(2026, 12, 1))
        row = later.add(make.exchange(make.ok(b"new")))
        later.finish()
        assert run_sql(connection, f"SELECT trawl_body('{row['capture_id']}') AS body").to_pylist() == [{"body": b"new"}]


def test_a_bomb_is_read_up_to_the_bound(archive, make):
    archive.add(make.exchange(make.ok(gzip.compress(bytes(100_000), mtime=0), b"Content-Encoding: gzip")))
    archive.finish()
    with catalog.connect(archive.lake) as connection:
        sql.register(connection, archive.lake, max_decoded_bytes=1_000)
        (row,) = run_sql(
            connection, "SELECT octet_length(trawl_body(capture_id)) AS n, trawl_fault(capture_id) AS f FROM captures"
        ).to_pylist()
    assert row == {"n": 1_000, "f": "The body decodes to more than 1000 bytes: these are the first."}
