import json

import pytest
from isal import isal_zlib

from trawl_core.warc import format as warc
from trawl_core.warc.captures import revisit_of
from trawl_core.warc.cdxj import index_file, sort_lines

ROOT = "http://docs.example.org"


def lines_of(archive, name=None):
    """(sorted lines of the archive's only file, faults)"""
    faults = []
    name = name or archive.warc_names[0]
    return list(sort_lines(index_file(archive.lake, name, "x.warc.gz", faults.append))), faults


def read(line):
    key, timestamp, fields = line.split(" ", 2)
    return key, timestamp, json.loads(fields)


def foreign(lake, records, name="warc/foreign.warc.gz", pack=True):
    data = [warc.serialize(fields, block) for fields, block in records]
    path = lake.local_path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(isal_zlib.compress(record, 2, 31) if pack else record for record in data))
    return name


def record(kind, url="http://h.test/x", block=b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=x\r\n\r\nbody", **fields):
    number = f"{len(kind):012}"
    head = {
        "WARC-Type": kind,
        "WARC-Record-ID": f"<urn:uuid:00000000-0000-0000-0000-{number}>",
        "WARC-Date": "2026-11-30T02:00:00Z",
        "WARC-Target-URI": url,
        "Content-Type": "application/http; msgtype=response",
        **{name.replace("_", "-"): value for name, value in fields.items()},
    }
    return [(name, value) for name, value in head.items() if value is not None], block


def indexed(lake, *records, **options):
    faults = []
    return list(index_file(lake, foreign(lake, records, **options), "f.warc.gz", faults.append)), faults


def test_every_kind_of_capture_has_the_line_that_cdxj_indexer_writes(archive, make):
    page = archive.add(make.exchange(make.ok(b"<p>one"), f"{ROOT}/Page?b=2&a=1"))
    archive.add(make.exchange(make.ok(b"<p>one"), f"{ROOT}/same"), revisit_of(page, "identical-payload-digest"))
    archive.add(
        make.exchange(b'HTTP/1.1 304 Not Modified\r\nETag: "x"\r\n\r\n', f"{ROOT}/same-304"), revisit_of(page, "server-not-modified")
    )
    archive.add(make.exchange(b"HTTP/1.1 301 Moved\r\nLocation: /Page\r\nContent-Length: 0\r\n\r\n", f"{ROOT}/moved"))
    archive.add(
        make.exchange(make.ok(b"User-agent: *").replace(b"text/html; charset=utf-8", b"text/plain"), f"{ROOT}/robots.txt"), kind="robots"
    )
    archive.add(make.exchange(make.chunked(b"<p>chunks", 4), f"{ROOT}/chunked"))
    archive.finish()
    lines, faults = lines_of(archive)
    assert faults == []
    found = {}
    for line in lines:
        key, timestamp, fields = read(line)
        assert timestamp == "20261130020000"
        assert list(fields) == [name for name in ("url", "mime", "status", "digest", "length", "offset", "filename") if name in fields]
        found[key.removeprefix("org,example,docs)")] = fields
    shown = {key: (row["url"][len(ROOT) :], row.get("mime"), row.get("status")) for key, row in found.items()}
    assert shown == {
        "/page?a=1&b=2": ("/Page?b=2&a=1", "text/html", "200"),
        "/same": ("/same", "warc/revisit", "200"),
        "/same-304": ("/same-304", "warc/revisit", None),
        "/moved": ("/moved", None, "301"),
        "/robots.txt": ("/robots.txt", "text/plain", "200"),
        "/chunked": ("/chunked", "text/html", "200"),
    }
    rows = {row["url_surtkey"].removeprefix("org,example,docs)"): row for row in archive.rows}
    for key, fields in found.items():
        row = rows[key]
        assert (fields["offset"], fields["length"]) == (str(row["warc_record_offset"]), str(row["warc_record_length"]))
        assert fields.get("digest") == (None if key == "/same-304" else f"sha1:{row['content_digest']}")
    assert lines == sorted(lines)


# What cdxj-indexer 1.5.0 (-s -p) wrote for this record.
def test_a_line_to_the_letter(lake):
    (line,), _ = indexed(lake, record("response", WARC_Payload_Digest="sha1:A"), name="warc/f.warc", pack=False)
    length = len(warc.serialize(*record("response", WARC_Payload_Digest="sha1:A"))) - 4
    assert line == (
        'test,h)/x 20261130020000 {"url": "http://h.test/x", "mime": "text/html", "status": "200", "digest": "sha1:A", '
        f'"length": "{length}", "offset": "0", "filename": "f.warc.gz"}}\n'
    )


def test_what_a_foreign_record_lacks_is_computed_or_left_out(lake):
    lines, faults = indexed(
        lake,
        record("response"),
        record("response", block=b"HTTP/1.1 200\r\n\r\n"),
        record("response", block=b"HTTP/1.1\r\nX: y\r\n\r\n"),
        record("resource", url="urn:a", Content_Type="text/plain", block=b"x"),
        record("metadata", Content_Type="application/json"),
        record("metadata", Content_Type="application/warc-fields"),
        record("resource", url="dns:h.test", Content_Type=None, block=b"1.2.3.4"),
        record("warcinfo"),
        record("conversion"),
        record("request"),
        record("response", url="<http://h.test/a b>"),
    )
    assert faults == []
    shown = [(fields["url"], fields.get("mime"), fields.get("status")) for _, _, fields in map(read, lines)]
    assert shown == [
        ("http://h.test/x", "text/html", "200"),
        ("http://h.test/x", None, "200"),
        ("http://h.test/x", None, ""),
        ("urn:a", "text/plain", None),
        ("http://h.test/x", "application/json", None),
        ("dns:h.test", None, None),
        ("http://h.test/a%20b", "text/html", "200"),
    ]
    assert read(lines[0])[2]["digest"] == f"sha1:{warc.sha1_base32(b'body')}"


@pytest.mark.parametrize("order", ["response first", "request first"])
def test_what_was_posted_is_part_of_the_key(lake, order):
    block = b"POST /x HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 7\r\n\r\nA=1&b=2 and more"
    request = dict(Content_Type="application/http; msgtype=request", block=block)
    response = record("response")
    if order == "response first":
        records = response, record("request", WARC_Concurrent_To="<urn:uuid:00000000-0000-0000-0000-000000000008>", **request)
    else:
        records = record("request", **request), record("response", WARC_Concurrent_To="<urn:uuid:00000000-0000-0000-0000-000000000007>")
    (line,), _ = indexed(lake, *records)
    key, _, fields = read(line)
    assert key == "test,h)/x?__wb_method=post&a=1&b=2"
    assert (fields["requestBody"], fields["method"], fields["url"]) == ("A=1&b=2", "POST", "http://h.test/x")


def test_a_body_sent_in_chunks_is_taken_out_of_them(lake):
    block = b"PUT /x HTTP/1.1\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    request = record(
        "request",
        block=block,
        Content_Type="application/http; msgtype=request",
        WARC_Concurrent_To="<urn:uuid:00000000-0000-0000-0000-000000000008>",
    )
    (line,), _ = indexed(lake, record("response"), request)
    assert read(line)[0] == "test,h)/x?__wb_method=put&__wb_post_data=ywjj"


def test_a_request_of_another_response_is_not_taken(lake):
    block = b"POST /x HTTP/1.1\r\n\r\n"
    other = record("request", block=block, WARC_Concurrent_To="<urn:uuid:00000000-0000-0000-0000-00000000ffff>")
    (line,), _ = indexed(lake, record("response"), other)
    assert read(line)[0] == "test,h)/x"


def test_what_can_not_be_indexed_is_named_and_the_rest_is(lake):
    lines, faults = indexed(
        lake, record("response", WARC_Date="once"), record("response", url=None), record("response", url="http://h.test/y")
    )
    assert [read(line)[2]["url"] for line in lines] == ["http://h.test/y"]
    assert ["WARC-Date is 'once'" in str(faults[0]), "no WARC-Target-URI" in str(faults[1])] == [True, True]
    assert all("indexing the record at byte" in str(fault) and "foreign.warc.gz" in str(fault) for fault in faults)


def test_two_records_in_one_member_have_no_place(lake):
    name = "warc/two.warc.gz"
    path = lake.local_path(name)
    path.parent.mkdir(parents=True)
    path.write_bytes(isal_zlib.compress(warc.serialize(*record("response")) * 2, 2, 31))
    faults = []
    assert list(index_file(lake, name, "two.warc.gz", faults.append)) == []
    assert "bytes follow the record" in str(faults[0])


def test_a_file_that_is_cut_is_indexed_up_to_there(archive, make):
    for path in "abc":
        archive.add(make.exchange(make.ok(b"<p>"), f"{ROOT}/{path}"))
    archive.finish()
    path = archive.lake.local_path(archive.warc_names[0])
    path.write_bytes(path.read_bytes()[: archive.rows[2]["warc_record_offset"] + 20])
    lines, faults = lines_of(archive)
    assert [read(line)[2]["url"][-1] for line in lines] == ["a", "b"]
    assert len(faults) == 1 and "gzip member" in str(faults[0])


def test_behind_damage_indexing_goes_on(archive, make):
    for path in "abcd":
        archive.add(make.exchange(make.ok(b"<p>"), f"{ROOT}/{path}"))
    archive.finish()
    path = archive.lake.local_path(archive.warc_names[0])
    data = bytearray(path.read_bytes())
    for place in (archive.rows[1]["warc_record_offset"] + 60, archive.rows[2]["warc_record_offset"] + 60):
        data[place : place + 9] = b"\xff" * 9
    path.write_bytes(data)
    lines, faults = lines_of(archive)
    found = {fields["url"][-1]: int(fields["offset"]) for _, _, fields in map(read, lines)}
    assert found == {name: row["warc_record_offset"] for name, row in zip("abcd", archive.rows, strict=True) if name in "ad"}
    assert [
        f"byte {archive.rows[number]['warc_record_offset']} of" in str(fault) for number, fault in zip((1, 2), faults, strict=True)
    ] == [True] * 2


@pytest.mark.parametrize("run_bytes", [1, 50, 10_000])
def test_lines_are_sorted_and_each_is_there_once(run_bytes):
    lines = [f"{number * 7919 % 101:03}\n" for number in range(300)]
    assert list(sort_lines(lines, run_bytes)) == [f"{number:03}\n" for number in range(101)]
