import gzip
import os
import re
import resource
import socket
import threading
import uuid
from collections import Counter
from dataclasses import replace
from pathlib import Path

import fastwarc
import pytest
from warcio.archiveiterator import ArchiveIterator

from trawl_core.errors import LakeError, WarcError
from trawl_core.lake import Lake
from trawl_core.warc.captures import revisit_of
from trawl_core.warc.format import unescape_line
from trawl_core.warc.http_message import parse_headers
from trawl_core.warc.members import read_members
from trawl_core.warc.packing import LONG_BYTES
from trawl_core.warc.reader import iter_records, read_payload

BODY = b"<!doctype html><title>t</title>" + b"".join(b"<p>line %d of the page</p>\n" % number for number in range(300))
NOT_MODIFIED = b'HTTP/1.1 304 Not Modified\r\nETag: "a%\xe9"\r\nDate: Mon, 30 Nov 2026 02:00:00 GMT\r\n\r\n'


def wires(make):
    """What servers send: each must lie in the archive byte for byte."""
    return {
        "plain": make.ok(BODY),
        "chunked": make.chunked(BODY, 700),
        "chunked-other-sizes": make.chunked(BODY, 333),
        "chunk-extension-and-trailer": make.chunked(BODY, 9000).replace(b"\r\n0\r\n\r\n", b"\r\n0;x=1\r\nX-After: 1\r\n\r\n"),
        "gzip": make.ok(gzip.compress(BODY, mtime=0), b"Content-Encoding: gzip"),
        "header-spelling": make.ok(BODY, b"set-COOKIE: a=1", b"X-A:none", b"X-B:   wide   ", b"Set-Cookie: b=2", b"X-Empty:"),
        "latin-1-header": make.ok(BODY, b"X-Name: caf\xe9"),
        "odd-reason": make.ok(BODY).replace(b"200 OK", b"200 Tr\xe8s  bien!"),
        "no-reason": make.ok(BODY).replace(b"200 OK", b"200"),
        "bare-newlines": make.ok(BODY).replace(b"\r\n", b"\n"),
        "empty": make.ok(b""),
        "blank-line-first": make.ok(b"\r\n\r\n" + BODY),
        "warc-inside": make.ok(b"\r\n\r\nWARC/1.1\r\nWARC-Type: response\r\n\r\n"),
        "not-found": make.ok(b"nothing here").replace(b"200 OK", b"404 Not Found"),
        "moved": make.ok(b"moved", b"Location: /elsewhere").replace(b"200 OK", b"301 Moved"),
    }


@pytest.fixture
def served(make):
    """A raw socket server: path → exactly these bytes, then the connection is closed."""
    recipes = {f"/{name}": wire for name, wire in wires(make).items()}
    listener = socket.create_server(("127.0.0.1", 0))

    def run():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                request = connection.recv(65536)
                connection.sendall(recipes[request.split(b" ")[1].decode()])

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield listener.getsockname()[1], recipes
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(5)


def fetch(port, path):
    """(request, answer) as they went over the wire."""
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(request)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return request, answer


def test_records_hold_what_went_over_the_wire(served, archive, make):
    port, recipes = served
    rows = {}
    for path in recipes:
        request, answer = fetch(port, path)
        rows[path] = archive.add(make.exchange(answer, f"http://127.0.0.1:{port}{path}", request_bytes=request)), request
    archive.finish()
    for path, (row, request) in rows.items():
        record = read_payload(archive.lake, row["warc_filename"], row["warc_record_offset"], row["warc_record_length"])
        assert record.block == recipes[path], path
        assert record.head == recipes[path][: row["http_header_length"]], path
        sent = read_payload(archive.lake, row["warc_filename"], row["request_offset"], row["request_length"])
        assert sent.block == request, path
    digests = {rows[path][0]["content_digest"] for path in ("/plain", "/chunked", "/chunked-other-sizes", "/chunk-extension-and-trailer")}
    assert len(digests) == 1


def test_warcio_finds_nothing_wrong_but_the_payload_digest_of_chunked_records(archive, make):
    for name, wire in wires(make).items():
        archive.add(make.exchange(wire, f"http://docs.example.org/{name}"))
    first = archive.rows[0]
    archive.add(make.exchange(NOT_MODIFIED, first["url"]), revisit_of(first, "server-not-modified"))
    archive.add(make.exchange(make.ok(BODY), "http://docs.example.org/copy"), revisit_of(first, "identical-payload-digest"))
    archive.finish()
    complaints, records = {}, 0
    with archive.lake.local_path(archive.warc_names[0]).open("rb") as file:
        for record in ArchiveIterator(file, check_digests=True):
            record.content_stream().read()
            records += 1
            if record.digest_checker.problems:
                complaints[record.rec_headers.get_header("WARC-Target-URI").rsplit("/", 1)[-1]] = record.digest_checker.problems
    assert records == 1 + 3 * len(archive.rows)
    assert set(complaints) == {"chunked", "chunked-other-sizes", "chunk-extension-and-trailer"}
    assert all(len(problems) == 1 and problems[0].startswith("payload digest failed") for problems in complaints.values())


def test_one_gzip_member_a_record_warcinfo_first(archive, make):
    for name, wire in wires(make).items():
        archive.add(make.exchange(wire, f"http://docs.example.org/{name}"))
    archive.finish()
    path = archive.lake.local_path(archive.warc_names[0])
    with path.open("rb") as file:
        members = list(read_members(file))
    kinds = [str(record.record_type) for record in fastwarc.ArchiveIterator(str(path), parse_http=False, fsspec_args=False)]
    assert len(kinds) == len(members) == 1 + 3 * len(archive.rows)
    assert kinds[0].endswith("warcinfo")
    assert Counter(kind.rsplit(".", 1)[-1] for kind in kinds) == {
        "warcinfo": 1,
        "response": len(archive.rows),
        "request": len(archive.rows),
        "metadata": len(archive.rows),
    }
    assert members[-1].end == path.stat().st_size
    assert gzip.decompress(path.read_bytes()) == b"".join(member.data for member in members)


def test_warcinfo_says_who_wrote_it_and_how(archive, make):
    archive.add(make.exchange(make.ok(BODY)))
    archive.finish()
    warcinfo = next(iter_records(archive.lake, archive.warc_names[0]))
    fields = dict(parse_headers(b"\n" + warcinfo.block))
    assert fields["software"] == "trawl/0"
    assert fields["http-header-user-agent"] == "TestBot/1.0"
    assert fields["robots"] == "obey"
    assert fields["trawl-config-hash"] == "00ff"
    assert "trawl-clock" not in fields
    assert archive.warc_names[0].endswith("/" + warcinfo.field("WARC-Filename"))


def test_a_moved_clock_is_noted(archive, make):
    archive.clock.moved = True
    archive.add(make.exchange(make.ok(BODY)))
    archive.finish()
    assert b"trawl-clock: moved" in next(iter_records(archive.lake, archive.warc_names[0])).block


def test_the_three_records_name_one_another(archive, make):
    row = archive.add(
        make.exchange(
            make.ok(BODY), "https://docs.example.org/a", tls_version="TLSv1.3", tls_cipher="TLS_AES_256_GCM_SHA384", truncated="length"
        )
    )
    archive.finish()
    warcinfo, response, request, metadata = iter_records(archive.lake, archive.warc_names[0])
    assert response.field_values("WARC-Concurrent-To") == [request.field("WARC-Record-ID"), metadata.field("WARC-Record-ID")]
    assert request.field_values("WARC-Concurrent-To") == metadata.field_values("WARC-Concurrent-To") == [response.field("WARC-Record-ID")]
    assert {record.field("WARC-Warcinfo-ID") for record in (response, request, metadata)} == {warcinfo.field("WARC-Record-ID")}
    assert response.capture_id == row["capture_id"]
    assert response.date == request.date == metadata.date == make.start
    assert response.field("WARC-Date") == "2026-11-30T02:00:00.123456Z"
    assert response.field("WARC-IP-Address") == "127.0.0.1"
    assert response.field_values("WARC-Protocol") == ["http/1.1", "tls/1.3"]
    assert response.field("WARC-Cipher-Suite") == "TLS_AES_256_GCM_SHA384"
    assert response.truncated == "length"
    assert (request.offset, request.length, metadata.offset, metadata.length) == tuple(
        row[name] for name in ("request_offset", "request_length", "metadata_offset", "metadata_length")
    )


def test_target_uris_are_percent_encoded_ascii(archive, make):
    archive.add(make.exchange(make.ok(BODY), "http://docs.example.org/caf\u00e9 menu?q=%20[1]|{x}"))
    archive.finish()
    uris = {record.target_uri for record in iter_records(archive.lake, archive.warc_names[0]) if record.warc_type != "warcinfo"}
    assert uris == {"http://docs.example.org/caf%C3%A9%20menu?q=%20[1]%7C%7Bx%7D"}


def test_a_not_modified_revisit_is_empty_and_keeps_its_head_beside(archive, make):
    original = archive.add(make.exchange(make.ok(BODY), "http://docs.example.org/a"))
    row = archive.add(make.exchange(NOT_MODIFIED, "http://docs.example.org/a"), revisit_of(original, "server-not-modified"))
    archive.finish()
    revisit, _, metadata = list(iter_records(archive.lake, archive.warc_names[0]))[-3:]
    assert revisit.warc_type == "revisit"
    assert revisit.block == b""
    assert revisit.field("WARC-Payload-Digest") is None
    assert revisit.field("WARC-Profile") == "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
    assert revisit.field("WARC-Refers-To") == f"<urn:uuid:{original['capture_id']}>"
    assert revisit.field("WARC-Refers-To-Target-URI") == "http://docs.example.org/a"
    assert revisit.field("WARC-Refers-To-Date") == "2026-11-30T02:00:00.123456Z"
    assert revisit.field("Content-Type") == "application/http;msgtype=response"
    assert row["http_header_length"] == 0
    assert unescape_line(dict(parse_headers(b"\n" + metadata.block))["not-modified-head"]) == NOT_MODIFIED


def test_an_identical_payload_revisit_holds_the_new_head(archive, make):
    original = archive.add(make.exchange(make.chunked(BODY, 500), "http://docs.example.org/a"))
    wire = make.ok(BODY, b"Age: 7")
    row = archive.add(make.exchange(wire, "http://docs.example.org/b"), revisit_of(original, "identical-payload-digest"))
    archive.finish()
    revisit = list(iter_records(archive.lake, archive.warc_names[0]))[-3]
    assert revisit.block == wire.removesuffix(BODY)
    assert revisit.field("WARC-Profile").endswith("/identical-payload-digest")
    assert revisit.field("WARC-Payload-Digest") == f"sha1:{original['content_digest']}"
    assert revisit.field("WARC-Refers-To-Target-URI") == "http://docs.example.org/a"
    assert row["http_header_length"] == len(revisit.block)


@pytest.mark.parametrize("status", [b"200 OK", b"403 Forbidden"])
def test_only_a_304_becomes_a_not_modified_revisit(archive, make, status):
    original = archive.add(make.exchange(make.ok(BODY)))
    wire = make.ok(BODY).replace(b"200 OK", status)
    with pytest.raises(WarcError, match="can't be a server-not-modified"):
        archive.add(make.exchange(wire), revisit_of(original, "server-not-modified"))


def test_another_payload_is_no_identical_revisit(archive, make):
    original = archive.add(make.exchange(make.ok(BODY)))
    with pytest.raises(WarcError, match="payload digest"):
        archive.add(make.exchange(make.ok(b"other")), revisit_of(original, "identical-payload-digest"))


def test_without_a_status_line_there_is_no_record(archive, make):
    silent = make.exchange(b"", outcome="timeout")
    with pytest.raises(WarcError, match="no status line"):
        archive.writer.write(silent, str(uuid.uuid4()))
    archive.writer.close()
    assert archive.warc_names == []


def test_a_capture_id_is_a_uuid(archive, make):
    with pytest.raises(WarcError, match="not a UUID"):
        archive.writer.write(make.exchange(make.ok(BODY)), "17")


def test_interim_heads_and_facts_stand_in_the_metadata(archive, make):
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
    exchange = make.exchange(make.ok(BODY), interim=interim)
    written = archive.writer.write(exchange, str(uuid.uuid4()), facts={"via": "http://docs.example.org/\r\nforged: 1"})
    archive.writer.close()
    metadata = read_payload(archive.lake, written.filename, written.metadata_offset, written.metadata_length)
    fields = dict(parse_headers(b"\n" + metadata.block))
    assert fields.pop("via") == "http://docs.example.org/ forged: 1"
    assert unescape_line(fields.pop("interim-heads")) == interim
    assert fields == {"fetchTimeMs": "12"}


def test_a_file_is_open_until_it_is_sealed(archive, make):
    row = archive.add(make.exchange(make.ok(BODY)))
    archive.writer.sync()
    assert archive.warc_names == [row["warc_filename"] + ".open"]
    archive.writer.close()
    archive.writer.close()
    assert archive.warc_names == [row["warc_filename"]]
    name = row["warc_filename"].rsplit("/", 1)[-1]
    assert re.fullmatch(rf"trawl-20261130020000123-00000-{os.getpid()}~[a-z0-9.-]+\.warc\.gz", name)


def test_writers_of_one_moment_never_share_or_overwrite_a_file(archive, make):
    writers = [archive.writer, archive.new_writer(), archive.new_writer()]
    names = {writer.write(make.exchange(make.ok(BODY)), str(uuid.uuid4())).filename for writer in writers}
    for writer in writers:
        writer.close()
    late = archive.new_writer()
    names.add(late.write(make.exchange(make.ok(BODY)), str(uuid.uuid4())).filename)
    late.close()
    assert sorted(names) == archive.warc_names
    assert len(names) == 4
    assert all(len(list(iter_records(archive.lake, name))) == 4 for name in names)


def test_files_rotate_and_each_begins_with_warcinfo(archive, make):
    archive.writer = archive.new_writer(max_bytes=6_000)
    noise = [os.urandom(2_500) for _ in range(7)]
    rows = [archive.add(make.exchange(make.ok(part), f"http://docs.example.org/{number}")) for number, part in enumerate(noise)]
    archive.finish()
    assert len(archive.warc_names) > 2
    for name in archive.warc_names:
        records = list(iter_records(archive.lake, name))
        assert [record.warc_type for record in records].index("warcinfo") == 0
        assert records[0].field("WARC-Filename") == name.rsplit("/", 1)[-1]
    for row, part in zip(rows, noise, strict=True):
        record = read_payload(archive.lake, row["warc_filename"], row["warc_record_offset"], row["warc_record_length"])
        assert record.payload == part


@pytest.mark.parametrize("size", [50_000, LONG_BYTES + 600_000])
def test_a_failed_write_leaves_the_file_as_it_was(archive, make, size):
    archive.add(make.exchange(make.ok(BODY)))
    archive.writer.sync()
    path = archive.lake.local_path(archive.warc_names[0])
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + size - 20_000, hard))
    try:
        with pytest.raises(LakeError):
            archive.add(make.exchange(make.ok(os.urandom(size))))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    row = archive.add(make.exchange(make.ok(b"after")))
    archive.writer.close()
    records = list(iter_records(archive.lake, row["warc_filename"]))
    assert [record.warc_type for record in records[1:]] == ["response", "request", "metadata"] * 2
    assert records[4].payload == b"after"


def test_an_object_store_gets_the_sealed_file_in_one_step(new_archive, tmp_path, make):
    store = Lake("mock://bucket")
    archive = new_archive(lake=store)
    store.fs.create_dir(store.path(store.warc_folder(archive.partition)), recursive=True)  # buckets have no folders, the mock does
    row = archive.add(make.exchange(make.ok(BODY)))
    assert archive.warc_names == []
    assert [path.suffix for path in Path(tmp_path / "work").rglob("*.open")] == [".open"]
    archive.writer.close()
    assert archive.warc_names == [row["warc_filename"]]
    assert not list(Path(tmp_path / "work").rglob("*.open"))
    record = read_payload(store, row["warc_filename"], row["warc_record_offset"], row["warc_record_length"])
    assert record.payload == BODY


def test_an_exchange_without_a_request_has_two_records(archive, make):
    written = archive.writer.write(replace(make.exchange(make.ok(BODY)), request_bytes=b""), str(uuid.uuid4()))
    archive.writer.close()
    assert written.request_offset is None
    assert [record.warc_type for record in iter_records(archive.lake, written.filename)] == ["warcinfo", "response", "metadata"]
