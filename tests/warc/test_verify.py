import gzip
from datetime import UTC, date, datetime

import pytest

from trawl_core.lake import tables
from trawl_core.warc.captures import revisit_of
from trawl_core.warc.verify import verify

BODY = b"<!doctype html><title>t</title>" + b"<p>words</p>" * 40
START = datetime(2026, 11, 30, 3, tzinfo=UTC)
NOT_MODIFIED = b'HTTP/1.1 304 Not Modified\r\nETag: "x"\r\n\r\n'


@pytest.fixture
def sound(new_archive, make):
    """Two nights: responses of every framing, both revisits across the nights, pages and fingerprints over them."""
    first, second = new_archive(date(2026, 11, 29)), new_archive(date(2026, 11, 30))
    plain = first.add(make.exchange(make.ok(BODY), "http://docs.example.org/plain"))
    first.add(make.exchange(make.chunked(BODY, 60), "http://docs.example.org/chunked"), revisit_of(plain, "identical-payload-digest"))
    first.add(make.exchange(make.chunked(BODY + b"2", 60), "http://docs.example.org/chunked-too"))
    first.add(make.exchange(make.ok(BODY * 2)[:-100], "http://docs.example.org/cut", truncated="length", outcome="truncated"))
    first.add(make.exchange(b"", "http://docs.example.org/silent", outcome="timeout"))
    second.add(make.exchange(NOT_MODIFIED, "http://docs.example.org/plain"), revisit_of(plain, "server-not-modified"))
    second.add(make.exchange(make.ok(b"new"), "http://docs.example.org/new"))
    for night in (first.finish(), second.finish()):
        rows = [row for row in night.rows if row["warc_type"]]
        pages = []
        for row in rows:
            prefix, place = ("refers_to_", "warc") if row["warc_type"] == "revisit" else ("", "warc_record")
            pages.append(
                {
                    "capture_id": row["capture_id"],
                    "body_capture_id": row["refers_to_id"] or row["capture_id"],
                    "url": row["url"],
                    "fetch_time": row["fetch_time"],
                    "warc_filename": row[f"{prefix}warc_filename"],
                    "warc_record_offset": row[f"{prefix}{place}_offset"],
                    "warc_record_length": row[f"{prefix}{place}_length"],
                }
            )
        night.pages = pages
        tables.commit(night.lake, "pages", night.partition, pages)
        tables.commit(
            night.lake, "fingerprints", night.partition, [{"url": page["url"], "capture_id": page["capture_id"]} for page in pages]
        )
    return first, second


def problems_of(archive, **chosen):
    return [str(problem) for problem in verify(archive.lake, **chosen)]


def rewrite(archive, change):
    """Give `change` the members of the archive's file, uncompressed, and write what it returns as the file."""
    path = archive.lake.local_path(archive.warc_names[0])
    from trawl_core.warc.members import read_members

    with path.open("rb") as file:
        members = [member.data for member in read_members(file)]
    path.write_bytes(b"".join(gzip.compress(member, mtime=0) for member in change(members)))


def edit_captures(archive, number, **columns):
    archive.rows[number] = {**archive.rows[number], **columns}
    tables.commit(archive.lake, "captures", archive.partition, archive.rows)


def test_a_sound_archive_has_no_problem(sound):
    first, second = sound
    assert problems_of(first) == []
    assert problems_of(first, dates=[date(2026, 11, 30)]) == []
    assert problems_of(first, domains=["other.example.org"]) == []
    sizes = [night.lake.size(night.warc_names[0]) for night in (first, second)]
    steps = []
    verify(second.lake, progress=lambda done, total: steps.append((done, total)))
    assert steps == [(0, sum(sizes)), (sizes[0], sum(sizes)), (sum(sizes), sum(sizes))]


def test_a_flipped_byte_is_found_and_hides_nothing_behind_it(sound):
    first, _ = sound
    path = first.lake.local_path(first.warc_names[0])
    data = bytearray(path.read_bytes())
    row = first.rows[0]
    data[row["warc_record_offset"] + row["warc_record_length"] - 6] ^= 1
    path.write_bytes(bytes(data))
    found = problems_of(first)
    assert any(f"{first.warc_names[0]} at byte {row['warc_record_offset']}: the gzip member is damaged" in problem for problem in found)
    assert any(f"{row['capture_id']}: its record can't be read" in problem for problem in found)
    assert not any(other["capture_id"] in problem and "can't be read" in problem for other in first.rows[2:] for problem in found)


def test_a_cut_file_is_found(sound):
    first, _ = sound
    path = first.lake.local_path(first.warc_names[0])
    path.write_bytes(path.read_bytes()[:-5])
    found = problems_of(first)
    assert any("the file ends after" in problem for problem in found)
    assert any("its metadata record can't be read" in problem for problem in found)
    assert any("no record of that id in the file names it back" in problem for problem in found)


def test_a_changed_body_is_found_by_its_digests(sound):
    first, _ = sound
    rewrite(
        first, lambda members: [member.replace(b"words", b"swords"[1:][::-1], 1) if b"response" in member else member for member in members]
    )
    found = problems_of(first)
    assert any("the block digest is" in problem for problem in found)
    assert any("the payload digest is" in problem for problem in found)


def without(kind):
    """The members but for the last one of a record of that type."""

    def change(members):
        last = max(number for number, member in enumerate(members) if f"WARC-Type: {kind}\r\n".encode() in member)
        return members[:last] + members[last + 1 :]

    return change


def with_last(kind, old, new):
    """The members with `old` replaced by `new` in the last one of a record of that type."""

    def change(members):
        last = max(number for number, member in enumerate(members) if f"WARC-Type: {kind}\r\n".encode() in member)
        assert old in members[last]
        return [*members[:last], members[last].replace(old, new, 1), *members[last + 1 :]]

    return change


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda members: [members[0], b"".join(members[1:3]), *members[3:]], "bytes follow the record, beginning b'WARC/1.1"),
        (lambda members: [*members[:3], members[3] + b"more", *members[4:]], "4 bytes follow the record, beginning b'more'"),
        (lambda members: [*members[:3], b"", *members[3:]], "the gzip member is empty"),
        (lambda members: [*members[:3], b"no record", *members[3:]], "no WARC record begins here, but b'no record'"),
        (lambda members: [*members[:3], members[3][:-1], *members[4:]], "not by two empty lines"),
        (lambda members: [members[0], members[1][:-40], *members[2:]], "the block has "),
        (lambda members: members[1:], "the file begins with a response, not with warcinfo"),
        (without("request"), "the response is WARC-Concurrent-To "),
        (without("metadata"), "but no record of that id in the file names it back"),
        (without("response"), "the request is WARC-Concurrent-To "),
        (with_last("request", b"WARC-Concurrent-To: <urn:uuid:", b"WARC-Concurrent-To: <urn:uuid:0"), "the request is WARC-Concurrent-To"),
        (with_last("metadata", b"WARC-Concurrent-To", b"WARC-Concurrxnt-To"), "the metadata has no WARC-Concurrent-To"),
        (with_last("response", b"WARC-Truncated: length", b"WARC-Truncated: bored"), "WARC-Truncated is 'bored'; the reasons are length, "),
        (with_last("revisit", b"WARC-Payload-Digest", b"WARC-Paylxad-Digest"), "the payload digest is missing"),
        (with_last("request", b"GET ", b"PUT "), "the block digest is "),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_wrong_member_is_found(sound, change, fault):
    first, _ = sound
    rewrite(first, change)
    found = problems_of(first)
    assert any(problem.startswith(f"{first.warc_names[0]} at byte ") and fault in problem for problem in found), found


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (b"WARC-Date: 2026-", b"WARC-Date: 20x6-", "is no date"),
        (b"WARC-Record-ID", b"WARC-Recxrd-ID", "the record has no WARC-Record-ID"),
        (b"WARC-Payload-Digest", b"WARC-Paylxad-Digest", "the payload digest is missing"),
        (b"WARC-Block-Digest", b"WARC-Blxck-Digest", "the block digest is missing"),
        (b"WARC-Target-URI", b"WARC-Targxt-URI", "WARC-Target-URI is missing"),
        (b"org/plain\r\n", b"org/pl in\r\n", "is not percent-encoded ASCII"),
        (b"WARC-Refers-To-Date", b"WARC-Refxrs-To-Date", "WARC-Refers-To-Date is missing"),
        (b"WARC-Truncated: length", b"WARC-Truncxted: length", "and WARC-Truncated is missing"),
    ],
)
def test_each_wrong_field_is_found(sound, old, new, fault):
    first, _ = sound
    rewrite(first, lambda members: [member.replace(old, new, 1) for member in members])
    assert any(fault in problem for problem in problems_of(first))


def test_a_record_without_a_row_is_found(sound):
    first, _ = sound
    row = first.rows.pop(2)
    tables.commit(first.lake, "captures", first.partition, first.rows)
    found = problems_of(first)
    assert f"{row['warc_filename']} at byte {row['warc_record_offset']}: the response of {row['url']} has no row in captures" in found


def test_a_row_without_its_record_is_found(sound):
    first, _ = sound
    edit_captures(first, 2, warc_record_offset=first.rows[2]["warc_record_offset"] + 1)
    assert any(f"{first.rows[2]['capture_id']}: its record can't be read" in problem for problem in problems_of(first))


def test_a_row_into_the_middle_of_a_record_is_found(sound):
    first, _ = sound
    row = first.rows[2]
    edit_captures(first, 2, warc_record_offset=row["warc_record_offset"] + 9, warc_record_length=row["warc_record_length"] - 9)
    assert [problem.split(": ")[0] for problem in problems_of(first)] == [
        f"{row['warc_filename']} at byte {row['warc_record_offset']}",
        f"captures 2026-11-29 docs.example.org {row['capture_id']}",
    ]


def test_a_row_of_a_request_is_found(sound):
    first, _ = sound
    row = first.rows[2]
    edit_captures(first, 2, warc_record_offset=row["request_offset"], warc_record_length=row["request_length"])
    assert any(f"{row['capture_id']}: its record is a request" in problem for problem in problems_of(first))


@pytest.mark.parametrize(
    ("spelling", "is_right"),
    [
        ("sha1:{sha1_32}", True),
        ("sha1:{sha1_hex}", True),
        ("SHA-256:{sha256_hex}", True),
        ("sha256:{sha256_32}", True),
        ("md5:{md5_hex}", True),
        ("blake3:whatever", True),
        ("sha1:{sha256_hex}", False),
        ("sha256:{md5_hex}", False),
        ("md5:!", False),
    ],
)
def test_digests_are_recomputed_however_they_are_written(spelling, is_right):
    from base64 import b32encode
    from hashlib import md5, sha1, sha256

    from trawl_core.warc.integrity import faults_of
    from trawl_core.warc.record import Record

    values = {}
    for make_digest in (sha1, sha256, md5):
        digest = make_digest(BODY).digest()
        name = make_digest.__name__.removeprefix("openssl_")
        values |= {f"{name}_hex": digest.hex(), f"{name}_32": b32encode(digest).decode().rstrip("=")}
    stated = spelling.format(**values)
    fields = (("WARC-Type", "metadata"), ("WARC-Date", "2026-11-30T00:00:00Z"), ("WARC-Block-Digest", stated))
    found = faults_of(Record("a", 0, 0, fields, BODY))
    assert (found == []) == is_right
    assert is_right or found[0].startswith("the block digest is ")


def test_a_lost_file_is_found_from_every_side(sound):
    first, second = sound
    first.lake.delete(first.warc_names[0])
    found = problems_of(first)
    assert any(
        f"captures 2026-11-29 docs.example.org {first.rows[0]['capture_id']}: its record can't be read" in problem for problem in found
    )
    assert any(
        f"captures 2026-11-30 docs.example.org {second.rows[0]['capture_id']}" in problem
        for problem in problems_of(first, dates=[date(2026, 11, 30)])
    )


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        ({"payload_sha256": "00"}, "captures.payload_sha256 of"),
        ({"content_digest": "AA"}, "captures.content_digest of"),
        ({"block_digest": "AA"}, "captures.block_digest of"),
        ({"fetch_status": 404}, "captures.fetch_status of"),
        ({"fetch_time": START}, "captures.fetch_time of"),
        ({"url": "http://docs.example.org/other"}, "captures.url of"),
        ({"content_truncated": "time"}, "captures.content_truncated of"),
        ({"capture_id": "00000000-0000-0000-0000-000000000000"}, "captures.capture_id of"),
        ({"warc_type": "revisit"}, "captures.warc_type of"),
        ({"warc_type": None}, "one needs the other"),
        ({"request_offset": 0}, "its request record"),
        ({"metadata_length": 5}, "its metadata record can't be read"),
    ],
)
def test_each_wrong_column_is_found(sound, columns, fault):
    first, _ = sound
    edit_captures(first, 2, **columns)
    assert any(fault in problem for problem in problems_of(first))


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        ({"refers_to_warc_filename": None}, "does not say where its payload lies"),
        ({"refers_to_warc_offset": 3}, "the record it refers to can't be read"),
        ({"refers_to_id": "00000000-0000-0000-0000-000000000000"}, "the record there is"),
        ({"content_digest": "AA"}, "its payload digest is AA"),
    ],
)
def test_each_wrong_reference_is_found(sound, columns, fault):
    _, second = sound
    edit_captures(second, 0, **columns)
    assert any(fault in problem for problem in problems_of(second))


def test_a_revisit_of_a_revisit_is_found(sound):
    first, second = sound
    copy = first.rows[1]
    place = {
        "refers_to_id": copy["capture_id"],
        "refers_to_warc_filename": copy["warc_filename"],
        "refers_to_warc_offset": copy["warc_record_offset"],
        "refers_to_warc_length": copy["warc_record_length"],
    }
    edit_captures(second, 0, **place)
    assert any("it refers to a revisit, which holds no payload" in problem for problem in problems_of(second))


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        ({"capture_id": "00000000-0000-0000-0000-000000000000"}, "its capture_id is not in captures"),
        ({"warc_record_offset": 3}, "the record with its body can't be read"),
        ({"warc_filename": None}, "it does not lead to a record"),
        ({"body_capture_id": "00000000-0000-0000-0000-000000000000"}, "its body is that of"),
    ],
)
def test_each_page_that_leads_astray_is_found(sound, columns, fault):
    first, _ = sound
    pages = [{**page, **(columns if number == 2 else {})} for number, page in enumerate(first.pages)]
    tables.commit(first.lake, "pages", first.partition, pages)
    assert any(problem.startswith("pages 2026-11-29") and fault in problem for problem in problems_of(first))


def test_rows_of_pages_that_are_not_there_are_found(sound):
    first, _ = sound
    tables.commit(first.lake, "fingerprints", first.partition, [{"url": "http://docs.example.org/x", "capture_id": "unknown"}])
    assert problems_of(first) == ["fingerprints 2026-11-29 docs.example.org unknown: its capture_id is not in pages"]


def test_an_empty_file_is_found(sound):
    first, _ = sound
    name = f"{first.lake.warc_folder(first.partition)}/trawl-empty.warc.gz"
    first.lake.local_path(name).write_bytes(b"")
    assert problems_of(first) == [f"{name} at byte 0: the file is empty"]


def test_a_file_that_was_left_open_is_found(sound, make):
    first, _ = sound
    first.writer = first.new_writer()
    row = first.add(make.exchange(make.ok(BODY)))
    first.writer.sync()
    assert any(f"{row['warc_filename']}.open: it is not sealed" in problem for problem in problems_of(first))


def test_a_damaged_table_is_named(sound):
    first, _ = sound
    first.lake.local_path(first.lake.table_name("captures", first.partition)).write_bytes(b"PAR1 nonsense")
    assert any("the file is damaged" in problem for problem in problems_of(first))
