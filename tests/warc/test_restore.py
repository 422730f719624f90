"""Captures made anew from the records alone are those that the crawl wrote."""

from datetime import date

import pytest

from trawl_core.lake import tables
from trawl_core.warc.captures import revisit_of
from trawl_core.warc.restore import restored_rows
from trawl_core.warc.verify import verify

BODY = b"<!doctype html><title>t</title>" + b"<p>words</p>" * 40
NOT_MODIFIED = b'HTTP/1.1 304 Not Modified\r\nETag: "caf\xe9"\r\nCache-Control: max-age=9\r\n\r\n'
# What no record tells.
UNTOLD = {"is_seed", "ttfb_ms", "robots_digest", "content_charset", "config_hash", "software", "fetch_ms", "attempt", "depth"}


@pytest.fixture
def nights(new_archive, make):
    """Two nights with everything that the writer writes."""
    first, second = new_archive(date(2026, 11, 29)), new_archive(date(2026, 11, 30))
    plain = first.add(make.exchange(make.ok(BODY, b'ETag: "1"'), "http://docs.example.org/plain"))
    first.add(make.exchange(make.ok(BODY * 2)[:-100], "http://docs.example.org/cut", truncated="length", outcome="truncated"))
    tls = {"tls_version": "TLSv1.3", "tls_cipher": "TLS_AES_256_GCM_SHA384"}
    first.add(make.exchange(make.chunked(BODY + b"2", 60), "https://docs.example.org/caf%C3%A9", **tls))
    first.add(make.exchange(make.ok(b"no").replace(b"200 OK", b"404 No"), "http://docs.example.org/gone"))
    first.add(make.exchange(make.ok(b"", b"Location: /plain").replace(b"200 OK", b"301 Moved"), "http://docs.example.org/moved"))
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
    first.add(make.exchange(make.ok(b"hints"), "http://docs.example.org/hints", interim=interim))
    first.add(make.exchange(make.ok(BODY), "http://docs.example.org/copy"), revisit_of(plain, "identical-payload-digest"))
    second.add(make.exchange(NOT_MODIFIED, "http://docs.example.org/plain"), revisit_of(plain, "server-not-modified"))
    second.add(make.exchange(make.ok(BODY, b"Age: 4"), "http://docs.example.org/copy"), revisit_of(plain, "identical-payload-digest"))
    return first.finish(), second.finish()


@pytest.mark.parametrize("number", [0, 1])
def test_restored_rows_are_the_rows(nights, number):
    night = nights[number]
    before = tables.read(night.lake, "captures", night.partition).to_pylist()
    night.lake.delete(night.lake.table_name("captures", night.partition))
    restored = {row["capture_id"]: row for row in restored_rows(night.lake, night.partition)}
    assert set(restored) == {row["capture_id"] for row in before}
    for row in before:
        found = restored[row["capture_id"]]
        differing = {name for name in row if name not in UNTOLD and found[name] != row[name]}
        assert differing == ({"wire_bytes"} if row["revisit_profile"] == "identical-payload-digest" else set()), row["url"]
    tables.commit(night.lake, "captures", night.partition, list(restored.values()))
    assert verify(night.lake) == []


def test_only_what_is_missing_is_restored(nights):
    night = nights[0]
    assert list(restored_rows(night.lake, night.partition)) == []
    kept, (lost, *_) = night.rows[:4] + night.rows[5:], night.rows[4:5]
    tables.commit(night.lake, "captures", night.partition, kept)
    assert [row["capture_id"] for row in restored_rows(night.lake, night.partition)] == [lost["capture_id"]]


def test_a_revisit_of_what_is_gone_is_kept_without_a_place(nights):
    first, second = nights
    for night in nights:
        night.lake.delete(night.lake.table_name("captures", night.partition))
    rows = list(restored_rows(second.lake, second.partition))
    assert [row["refers_to_warc_filename"] for row in rows] == [None, None]
    assert {row["refers_to_id"] for row in rows} == {first.rows[0]["capture_id"]}


def test_what_stands_behind_damage_is_restored_too(nights):
    first, _ = nights
    first.lake.delete(first.lake.table_name("captures", first.partition))
    path = first.lake.local_path(first.warc_names[0])
    data = bytearray(path.read_bytes())
    data[first.rows[1]["warc_record_offset"] + 30] ^= 0xFF
    path.write_bytes(bytes(data))
    restored = [row["capture_id"] for row in restored_rows(first.lake, first.partition)]
    assert restored == [row["capture_id"] for row in first.rows if row is not first.rows[1]]


@pytest.mark.parametrize("field", [b"depth: 1e999", b"attempt: -5", b"fetchTimeMs: soon", b"via: nowhere", b"redirect-from: <urn:uuid:x>"])
def test_odd_facts_are_no_obstacle(new_archive, make, field):
    night = new_archive()
    name, _, value = field.decode().partition(": ")
    written = night.writer.write(make.exchange(make.ok(BODY)), "00000000-0000-4000-8000-000000000001", facts={name: value})
    night.writer.close()
    (row,) = restored_rows(night.lake, night.partition)
    assert row["warc_record_offset"] == written.offset
    assert (row["depth"], row["attempt"], row["via_id"], row["redirect_from_id"]) == (0, 1, None, None)
