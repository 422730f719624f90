import gzip
import uuid

import pytest

from trawl_core.errors import WarcError
from trawl_core.lake import tables
from trawl_core.lake.schemas import OUTCOMES, TABLES
from trawl_core.warc.captures import redirect_target, revisit_of

BODY = b"<!doctype html><title>t</title>"


def test_a_row_has_every_column_and_describes_the_exchange(archive, make):
    wire = make.ok(
        gzip.compress(BODY, mtime=0),
        b"Content-Encoding: gzip",
        b'ETag: W/"caf\xe9"',
        b"Last-Modified: Sun, 29 Nov 2026 10:00:00 GMT",
        b"Cache-Control: max-age=60",
    )
    row = archive.add(make.exchange(wire, "http://docs.example.org:8080/a/b?q=1"), kind="page", config_hash="00ff", software="trawl/0")
    archive.finish()
    assert set(row) == set(TABLES["captures"].schema.names)
    assert row["outcome"] in OUTCOMES
    expected = {
        "warc_type": "response",
        "url_host_name": "docs.example.org",
        "url_host_registered_domain": "example.org",
        "url_host_tld": "org",
        "url_protocol": "http",
        "url_port": 8080,
        "url_path": "/a/b",
        "url_query": "q=1",
        "fetch_time": make.start,
        "fetch_status": 200,
        "fetch_redirect": None,
        "content_mime_type": "text/html",
        "content_mime_detected": "text/html",
        "content_encoding": "gzip",
        "etag": 'W/"caf\xe9"',
        "last_modified": "Sun, 29 Nov 2026 10:00:00 GMT",
        "cache_control": "max-age=60",
        "wire_bytes": len(wire),
        "payload_bytes": len(gzip.compress(BODY, mtime=0)),
        "outcome": "ok",
        "error": None,
        "redirect_hop": 0,
        "http_header_length": wire.index(b"\r\n\r\n") + 4,
    }
    assert {name: row[name] for name in expected} == expected
    stored = tables.read(archive.lake, "captures", archive.partition).to_pylist()
    assert stored == [row]


def test_an_answer_that_never_came_has_a_row_without_a_record(archive, make):
    row = archive.add(make.exchange(b"", outcome="connect_error", error="connection refused"))
    archive.finish()
    assert archive.warc_names == []
    assert row["outcome"] == "connect_error"
    assert row["error"] == "connection refused"
    empty = ["warc_type", "warc_filename", "warc_record_offset", "content_digest", "payload_sha256", "payload_bytes", "fetch_status"]
    assert {name: row[name] for name in empty} == dict.fromkeys(empty)


def test_the_crawl_knows_better(archive, make):
    wire = make.ok(b"", b"Location: /a").replace(b"200 OK", b"302 Found")
    row = archive.add(make.exchange(wire), outcome="redirect_loop", error="leads back to itself", redirect_hop=3)
    assert (row["outcome"], row["error"], row["redirect_hop"]) == ("redirect_loop", "leads back to itself", 3)
    archive.writer.close()


def test_a_not_modified_row_carries_the_digests_of_the_body_it_confirms(archive, make):
    original = archive.add(make.exchange(make.ok(BODY)))
    row = archive.add(make.exchange(b'HTTP/1.1 304 Not Modified\r\nETag: "x"\r\n\r\n'), revisit_of(original, "server-not-modified"))
    archive.writer.close()
    assert row["outcome"] == "not_modified"
    assert row["fetch_status"] == 304
    assert row["content_digest"] == original["content_digest"]
    assert row["payload_sha256"] == original["payload_sha256"]
    assert row["payload_bytes"] == 0
    assert row["content_mime_detected"] is None
    assert row["etag"] == '"x"'
    assert row["refers_to_id"] == original["capture_id"]
    assert row["refers_to_warc_offset"] == original["warc_record_offset"]


def test_a_revisit_of_a_revisit_refers_to_the_response(archive, make):
    original = archive.add(make.exchange(make.ok(BODY), "http://docs.example.org/a"))
    copy = archive.add(make.exchange(make.ok(BODY), "http://docs.example.org/b"), revisit_of(original, "identical-payload-digest"))
    archive.writer.close()
    assert revisit_of(copy, "identical-payload-digest") == revisit_of(original, "identical-payload-digest")


def test_a_row_without_a_record_can_not_be_referred_to(archive, make):
    row = archive.add(make.exchange(b"", outcome="timeout"))
    with pytest.raises(WarcError, match="no WARC record"):
        revisit_of(row, "identical-payload-digest")
    with pytest.raises(WarcError, match="no revisit profile"):
        revisit_of(row, "same")


def test_record_and_revisit_must_agree(archive, make):
    from trawl_core.warc.captures import capture_row

    exchange, capture_id = make.exchange(make.ok(BODY)), str(uuid.uuid4())
    written = archive.writer.write(exchange, capture_id)
    archive.writer.close()
    original = archive.add(exchange)
    archive.writer.close()
    with pytest.raises(WarcError, match="the record is a response"):
        capture_row(
            exchange,
            capture_id=capture_id,
            partition=archive.partition,
            written=written,
            revisit=revisit_of(original, "identical-payload-digest"),
            kind="page",
            depth=0,
            is_seed=True,
            attempt=1,
        )


@pytest.mark.parametrize(
    ("status", "location", "target"),
    [
        (b"301 Moved", b"/b?x=1#part", "http://docs.example.org/b?x=1"),
        (b"302 Found", b"https://Other.Example.org/", "https://other.example.org/"),
        (b"302 Found", b"/caf\xe9", "http://docs.example.org/caf%E9"),
        (b"302 Found", b"/caf\xc3\xa9 menu", "http://docs.example.org/caf%C3%A9%20menu"),
        (b"302 Found", b"/50%25", "http://docs.example.org/50%25"),
        (b"302 Found", b"mailto:someone@example.org", None),
        (b"302 Found", b"", None),
        (b"304 Not Modified", b"/b", None),
        (b"201 Created", b"/b", None),
    ],
)
def test_redirect_targets_are_what_a_browser_would_ask_for(make, status, location, target):
    wire = make.ok(b"", b"Location: " + location).replace(b"200 OK", status)
    assert redirect_target(make.exchange(wire, "http://docs.example.org/a")) == target
