"""A lake with files that others wrote: their own faults are known, what happened to them since is a problem."""

import gzip
from datetime import UTC, datetime

import pytest

from trawl_core.clock import SystemClock
from trawl_core.lake import tables
from trawl_core.warc.importing import ImportRequest, import_warcs
from trawl_core.warc.verify import verify
from trawl_core.warc.verify_imported import known_faults

DATE = "2026-11-20T02:00:00Z"


def record(kind, number, block, *fields):
    lines = [
        "WARC/1.0",
        f"WARC-Type: {kind}",
        f"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{number:012d}>",
        f"WARC-Date: {DATE}",
        f"WARC-Target-URI: http://docs.example.org/{number}",
        f"Content-Type: application/http; msgtype={kind}",
        *fields,
        f"Content-Length: {len(block)}",
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + block + b"\r\n\r\n"


def page(number):
    body = b"<p>page %d</p>" % number
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(body) + body


@pytest.fixture
def imported(lake, tmp_path):
    """Three responses without digests, one with a wrong digest, a revisit of nothing that is there; a garbage tail."""
    revisit = (
        "WARC-Profile: http://netpreserve.org/warc/1.0/revisit/identical-payload-digest",
        "WARC-Refers-To-Target-URI: http://x.test/",
    )
    records = [record("response", number, page(number)) for number in range(3)]
    records.append(record("response", 3, page(3), "WARC-Block-Digest: sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"))
    records.append(record("revisit", 4, b"HTTP/1.1 200 OK\r\n\r\n", *revisit))
    path = tmp_path / "old.warc.gz"
    path.write_bytes(b"".join(gzip.compress(one, mtime=0) for one in records) + b"garbage")
    (outcome,) = import_warcs([path], ImportRequest(), lake=lake, work=tmp_path / "work", clock=SystemClock())
    assert (outcome.status, outcome.new) == ("imported", 5)
    return outcome.imported


def lines(lake):
    return [str(problem) for problem in verify(lake)]


def test_what_was_wrong_when_it_came_is_known(lake, imported):
    assert lines(lake) == []
    ((where, told),) = known_faults(lake, lake.partitions("captures"))
    assert where == imported.name
    assert told.startswith(f"{len(imported.faults)} faults known since old.warc.gz was imported; warc/imported/")
    assert list(known_faults(lake, [])) == []


def test_a_file_that_is_read_by_processes_too(lake, imported):
    steps = []
    assert verify(lake, readers=2, progress=lambda done, total: steps.append((done, total))) == []
    assert steps[-1] == (lake.size(imported.name), lake.size(imported.name))


def test_a_changed_file_is_found(lake, imported):
    path = lake.local_path(imported.name)
    path.write_bytes(path.read_bytes()[:-1])
    (found,) = lines(lake)
    assert found.startswith(f"{imported.name}: the file is not what was imported: its sha256 was {imported.stored_sha256}, it is ")


def test_without_its_whole_files_the_records_are_held_to_their_rows_all_the_same(lake, imported):
    path = lake.local_path(imported.name)
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    assert verify(lake, whole_imports=False) == []
    path.write_bytes(data[:40] + b"x" + data[41:])
    assert verify(lake, whole_imports=False) != []


def test_a_lost_file_is_found(lake, imported):
    lake.delete(imported.name)
    found = lines(lake)
    assert sum("its record can't be read" in line for line in found) == 5
    assert f"{imported.name}: the imported file is gone, and captures lead into it" in found


def test_a_lost_manifest_is_found(lake, imported):
    lake.delete(imported.name.rpartition("/")[0] + "/import.json")
    assert lines(lake) == [f"{imported.name}: its import was not completed: import the file again, or delete the folder"]


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        ({"payload_sha256": "00"}, "captures.payload_sha256 of"),
        ({"content_digest": "AA"}, "captures.content_digest of"),
        ({"block_digest": "AA"}, "captures.block_digest of"),
        ({"warc_type": "resource"}, "captures.warc_type of"),
        ({"warc_record_offset": 3}, "its record can't be read"),
    ],
)
def test_a_row_that_is_not_its_records_is_found(lake, imported, columns, fault):
    (partition,) = lake.partitions("captures")
    assert partition.crawl_date == datetime(2026, 11, 20, tzinfo=UTC).date()
    rows = tables.read(lake, "captures", partition).to_pylist()
    target = next(row for row in rows if row["url"].endswith("/1"))
    tables.commit(lake, "captures", partition, [{**row, **(columns if row is target else {})} for row in rows])
    (found,) = lines(lake)
    assert fault in found
