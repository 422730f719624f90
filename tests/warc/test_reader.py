import gzip
import os

import pytest

from trawl_core.errors import WarcError
from trawl_core.warc.captures import revisit_of
from trawl_core.warc.reader import iter_records, payload_of_capture, read_payload

BODY = b"<p>a body</p>" * 50


def place(row):
    return row["warc_filename"], row["warc_record_offset"], row["warc_record_length"]


def test_a_record_is_read_by_its_place(archive, make):
    coded = gzip.compress(BODY, mtime=0)
    rows = [archive.add(make.exchange(wire)) for wire in (make.ok(BODY), make.chunked(BODY, 9), make.ok(coded, b"Content-Encoding: gzip"))]
    archive.finish()
    records = [read_payload(archive.lake, *place(row)) for row in rows]
    assert [record.payload for record in records] == [BODY, BODY, coded]
    assert [record.status for record in records] == [200, 200, 200]
    assert records[2].header("content-encoding") == "gzip"
    assert [record.capture_id for record in records] == [row["capture_id"] for row in rows]


def test_an_open_file_is_read_by_its_sealed_name(archive, make):
    row = archive.add(make.exchange(make.ok(BODY)))
    assert read_payload(archive.lake, *place(row)).payload == BODY
    assert next(iter_records(archive.lake, row["warc_filename"])).warc_type == "warcinfo"
    archive.writer.close()
    assert read_payload(archive.lake, *place(row)).payload == BODY


def test_revisits_lead_to_the_body_also_across_dates(new_archive, make):
    first, second = new_archive(), new_archive(day=new_archive().partition.crawl_date.replace(day=29))
    original = first.add(make.exchange(make.ok(BODY)))
    same = second.add(make.exchange(make.ok(BODY)), revisit_of(original, "identical-payload-digest"))
    unchanged = second.add(make.exchange(b"HTTP/1.1 304 Not Modified\r\n\r\n"), revisit_of(same, "server-not-modified"))
    first.finish()
    second.finish()
    assert unchanged["refers_to_id"] == original["capture_id"]
    for row in (original, same, unchanged):
        record = payload_of_capture(first.lake, row)
        assert record.payload == BODY
        assert record.capture_id == original["capture_id"]


def test_rows_without_a_body_say_so(archive, make):
    silent = archive.add(make.exchange(b"", outcome="timeout"))
    original = archive.add(make.exchange(make.ok(BODY)))
    revisit = archive.add(make.exchange(make.ok(BODY)), revisit_of(original, "identical-payload-digest"))
    archive.finish()
    with pytest.raises(WarcError, match="no record was written"):
        payload_of_capture(archive.lake, silent)
    with pytest.raises(WarcError, match="does not say where"):
        payload_of_capture(archive.lake, {**revisit, "refers_to_warc_filename": None})
    astray = dict(zip(("refers_to_warc_filename", "refers_to_warc_offset", "refers_to_warc_length"), place(revisit), strict=True))
    with pytest.raises(WarcError, match="is a revisit itself"):
        payload_of_capture(archive.lake, {**revisit, **astray})


def test_a_wrong_place_names_file_offset_and_fault(archive, make):
    row = archive.add(make.exchange(make.ok(BODY)))
    archive.finish()
    name, offset, length = place(row)
    for wrong, fault in [
        ((name, offset + 1, length), "no WARC record begins here"),
        ((name, offset, length - 1), "cut off"),
        ((name, offset, length + 1), "follow the gzip member"),
        ((name, offset, 10**9), "wanted"),
        ((name.replace("trawl-", "gone-"), offset, length), "gone-"),
    ]:
        with pytest.raises(WarcError, match=fault) as error:
            read_payload(archive.lake, *wrong)
        assert f"byte {wrong[1]} of {wrong[0]}" in str(error.value)


def test_a_stream_ends_loudly_at_every_cut(archive, make):
    archive.add(make.exchange(make.ok(BODY)))
    archive.finish()
    name = archive.warc_names[0]
    path = archive.lake.local_path(name)
    ends = [record.offset + record.length for record in iter_records(archive.lake, name)]
    for cut in reversed(range(1, path.stat().st_size)):
        os.truncate(path, cut)
        if cut in ends:
            assert len(list(iter_records(archive.lake, name))) == ends.index(cut) + 1
        else:
            with pytest.raises(WarcError, match=r"the file ends after \d+ bytes of a gzip member"):
                list(iter_records(archive.lake, name))


def test_plain_files_and_files_in_one_member_are_read_too(archive, make):
    row = archive.add(make.exchange(make.ok(BODY)))
    archive.finish()
    plain = gzip.decompress(archive.lake.local_path(row["warc_filename"]).read_bytes())
    expected = [(record.warc_type, record.block) for record in iter_records(archive.lake, row["warc_filename"])]
    for name, data in [("plain.warc", plain), ("one-member.warc.gz", gzip.compress(plain))]:
        archive.lake.local_path(name).write_bytes(data)
        assert [(record.warc_type, record.block) for record in iter_records(archive.lake, name)] == expected
    for record in iter_records(archive.lake, "plain.warc"):
        assert read_payload(archive.lake, "plain.warc", record.offset, record.length).block == record.block
    ends = [record.offset + record.length for record in iter_records(archive.lake, "plain.warc")]
    for cut in sorted(set(range(1, len(plain), 7)) - set(ends), reverse=True):
        os.truncate(archive.lake.local_path("plain.warc"), cut)
        with pytest.raises(WarcError, match=r"plain\.warc"):
            list(iter_records(archive.lake, "plain.warc"))
