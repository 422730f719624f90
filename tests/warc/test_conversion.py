"""The DOM that a browser made of an answer, archived beside that answer."""

import uuid

import pytest
from warcio.archiveiterator import ArchiveIterator

from trawl_core.extract.bodies import body_capture_id, body_place, captures_with_body, read_body
from trawl_core.lake import tables
from trawl_core.warc.captures import capture_row, revisit_of
from trawl_core.warc.reader import payload_of_capture, read_payload
from trawl_core.warc.show import show_body
from trawl_core.warc.verify import verify

SHELL = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 29\r\n\r\n<div id=root></div><script>//"
RENDERED = "<html><body><p>Überfahrt</p></body></html>".encode()


@pytest.fixture
def add(new_archive, make):
    """Writes the shell with a rendered DOM; gives the archive and the rows."""
    archive = new_archive()

    def write(rendered=RENDERED, revisit=None):
        exchange, capture_id = make.exchange(SHELL, url="http://docs.example.org/app"), str(uuid.uuid4())
        written = archive.writer.write(exchange, capture_id, revisit=revisit, rendered=rendered)
        row = capture_row(
            exchange,
            capture_id=capture_id,
            partition=archive.partition,
            written=written,
            revisit=revisit,
            kind="page",
            depth=0,
            is_seed=False,
            attempt=1,
        )
        archive.rows.append(row)
        return row

    write.archive = archive
    return write


def test_the_answer_stays_as_it_came_and_the_rendered_page_is_what_is_extracted(add):
    row = add()
    lake = add.archive.finish().lake
    assert payload_of_capture(lake, row).payload == show_body(lake, row) == SHELL.partition(b"\r\n\r\n")[2]
    (capture,) = captures_with_body(lake, add.archive.partition)
    body = read_body(lake, capture, 1 << 20)
    assert (body.document, body.content_type, body.fault) == (RENDERED, "text/html; charset=utf-8", None)
    assert body_capture_id(capture) == row["capture_id"]
    record = read_payload(lake, *body_place(capture).values())
    assert (record.warc_type, record.field("WARC-Refers-To")) == ("conversion", f"<urn:uuid:{row['capture_id']}>")
    assert record.target_uri == "http://docs.example.org/app"


def test_a_revisit_has_a_rendered_page_of_its_own(add):
    first = add()
    second = add(b"<p>Tomorrow", revisit=revisit_of(first, "identical-payload-digest"))
    third = add(None, revisit=revisit_of(second, "identical-payload-digest"))
    archive = add.archive.finish()
    captures = {row["capture_id"]: row for row in captures_with_body(archive.lake, archive.partition)}
    bodies = [read_body(archive.lake, captures[row["capture_id"]], 1 << 20).document for row in (first, second, third)]
    assert bodies == [RENDERED, b"<p>Tomorrow", SHELL.partition(b"\r\n\r\n")[2]]
    assert verify(archive.lake) == []


def test_other_readers_find_nothing_wrong(add):
    add()
    archive = add.archive.finish()
    with open(archive.lake.local_path(archive.warc_names[0]), "rb") as file:
        kinds = []
        for record in ArchiveIterator(file, check_digests="raise"):
            record.content_stream().read()
            kinds.append(record.rec_type)
    assert kinds == ["warcinfo", "response", "request", "conversion", "metadata"]


def test_a_row_that_leads_to_another_record_is_found(add):
    row = add()
    archive = add.archive.finish()
    archive.rows[0] = {**row, "rendered_offset": row["metadata_offset"], "rendered_length": row["metadata_length"]}
    tables.commit(archive.lake, "captures", archive.partition, archive.rows)
    assert [problem.what for problem in verify(archive.lake)] == ["its conversion record is a metadata"]


def test_a_conversion_of_nothing_is_found(add, monkeypatch):
    from trawl_core.warc import writer

    honest = writer._companion

    def forget(kind, urn, content_type, block, fields, packer):
        kept = [line for line in fields.splitlines(keepends=True) if not line.startswith("WARC-Refers-To:")]
        return honest(kind, urn, content_type, block, "".join(kept), packer)

    monkeypatch.setattr(writer, "_companion", forget)
    add()
    archive = add.archive.finish()
    assert "WARC-Refers-To is missing" in [problem.what for problem in verify(archive.lake)]
