import gzip
from datetime import date

import pytest

from trawl_core.errors import UsageError, WarcError
from trawl_core.lake import tables
from trawl_core.warc.captures import revisit_of
from trawl_core.warc.show import find_captures, show_body, show_headers, show_text

BODY = b"<!doctype html><title>t</title>"
NOT_MODIFIED = b'HTTP/1.1 304 Not Modified\r\nETag: "\xe9"\r\n\r\n'


@pytest.fixture
def nights(new_archive, make, clock):
    first = new_archive(date(2026, 11, 29))
    coded = make.ok(gzip.compress(BODY, mtime=0), b"Content-Encoding: gzip")
    page = first.add(make.exchange(coded, "http://docs.example.org/a", started_at=clock.now()))
    first.add(make.exchange(make.ok(BODY), "http://docs.example.org/b", started_at=clock.now()))
    clock.sleep(86_400)
    second = new_archive(date(2026, 11, 30))
    unchanged = make.exchange(NOT_MODIFIED, "http://docs.example.org/a", started_at=clock.now())
    second.add(unchanged, revisit_of(page, "server-not-modified"))
    second.add(make.exchange(b"", "http://cdn.example.org/a", started_at=clock.now(), outcome="timeout", error="no answer in 20 s"))
    return first.finish(), second.finish()


def test_captures_of_a_url_newest_first(nights):
    first, second = nights
    rows = find_captures(first.lake, "HTTP://docs.example.org:80/a#part")
    assert [row["capture_id"] for row in rows] == [second.rows[0]["capture_id"], first.rows[0]["capture_id"]]
    assert find_captures(first.lake, "http://docs.example.org/a", date(2026, 11, 29)) == rows[1:]
    assert find_captures(first.lake, "http://docs.example.org/unknown") == []


def test_a_url_of_another_host_is_found_in_the_collection_that_holds_it(nights):
    first, second = nights
    (row,) = find_captures(first.lake, "http://cdn.example.org/a")
    assert row["capture_id"] == second.rows[1]["capture_id"]
    with pytest.raises(WarcError, match="no answer in 20 s"):
        show_headers(first.lake, row)
    with pytest.raises(WarcError, match="no record was written"):
        show_body(first.lake, row)


def test_what_is_no_url_is_refused(lake):
    with pytest.raises(UsageError, match="not an http"):
        find_captures(lake, "docs.example.org/a")


def test_headers_and_body_of_a_response_and_of_its_304(nights):
    first, _ = nights
    unchanged, page = find_captures(first.lake, "http://docs.example.org/a")
    assert show_headers(first.lake, page).startswith("HTTP/1.1 200 OK\r\nContent-Type: text/html")
    assert show_headers(first.lake, unchanged) == NOT_MODIFIED.decode("latin-1")
    for row in (page, unchanged):
        assert show_body(first.lake, row) == BODY
        assert show_body(first.lake, row, raw=True) == gzip.compress(BODY, mtime=0)


def test_the_extracted_text(nights):
    first, _ = nights
    row = find_captures(first.lake, "http://docs.example.org/b")[0]
    assert show_text(first.lake, row) is None
    tables.commit(first.lake, "pages", first.partition, [{"capture_id": row["capture_id"], "url": row["url"], "text": "words"}])
    assert show_text(first.lake, row) == "words"
