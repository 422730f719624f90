import os
import random
import signal
import subprocess
import sys
import textwrap

import pytest

from trawl_core.warc.captures import revisit_of
from trawl_core.warc.reader import iter_records, read_payload
from trawl_core.warc.repair import repair_partition, salvage

BODY = b"<p>a body</p>" * 20


@pytest.fixture
def left_open(archive, make):
    """An archive whose writer died: three exchanges in a `.open` file."""
    first = archive.add(make.exchange(make.ok(BODY), "http://docs.example.org/0"))
    archive.add(make.exchange(make.chunked(BODY, 50), "http://docs.example.org/1"))
    archive.add(make.exchange(make.ok(BODY), "http://docs.example.org/2"), revisit_of(first, "identical-payload-digest"))
    archive.writer.sync()
    archive.path = archive.lake.local_path(archive.warc_names[0])
    return archive


def ends_of(archive):
    return [record.offset + record.length for record in iter_records(archive.lake, archive.rows[0]["warc_filename"])]


def exchange_end(row):
    return row["metadata_offset"] + row["metadata_length"]


BEHIND = {
    "nothing": lambda lost: b"",
    "zeros": bytes,
    "garbage": lambda lost: random.Random(lost).randbytes(lost),
    "more zeros than there was": lambda lost: bytes(lost + 5000),
}


@pytest.mark.parametrize("behind", BEHIND)
def test_salvage_is_right_at_every_cut(archive, make, tmp_path, monkeypatch, behind):
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # thousands of files, none of which has to outlast the test
    archive.add(make.exchange(make.ok(b"small"), "http://docs.example.org/"))
    archive.writer.close()
    whole, ends = archive.lake.local_path(archive.warc_names[0]).read_bytes(), ends_of(archive)
    cut_file = tmp_path / "cut.warc.gz.open"
    for cut in range(len(whole) + 1):
        tail = BEHIND[behind](len(whole) - cut)
        left = whole[:cut] + tail
        cut_file.write_bytes(left)
        salvaged = salvage(cut_file)
        # Zeros may bring back the last bytes of a member, which ends with its length: then it is whole.
        kept = max((end for end in ends if left[:end] == whole[:end]), default=0)
        assert cut_file.read_bytes() == whole[:kept], cut
        assert (salvaged.kept_bytes, salvaged.dropped_bytes) == (kept, len(left) - kept)
        assert salvaged.records == len([end for end in ends if end <= kept])
        assert (salvaged.fault is None) == (kept == len(left))


@pytest.mark.parametrize(
    "tail",
    [bytes(4096), random.Random(1).randbytes(700), b"\x1f\x8b\x08\x00" + bytes(30), b"WARC/1.1\r\n"],
    ids=["zeros", "garbage", "a member's first bytes", "an uncompressed record"],
)
def test_a_tail_that_is_no_record_is_dropped(left_open, tail):
    whole = left_open.path.read_bytes()
    left_open.path.write_bytes(whole + tail)
    salvaged = salvage(left_open.path)
    assert left_open.path.read_bytes() == whole
    assert salvaged.dropped_bytes == len(tail)
    assert f"at byte {len(whole)}" in salvaged.fault


def test_a_member_that_is_no_whole_record_is_dropped(left_open):
    whole = left_open.path.read_bytes()
    import gzip

    left_open.path.write_bytes(whole + gzip.compress(b"WARC/1.1\r\nWARC-Type: response\r\n\r\n"))
    assert salvage(left_open.path).kept_bytes == len(whole)
    assert left_open.path.read_bytes() == whole


def test_exchanges_that_no_capture_knows_are_cut_off(left_open):
    first, second, third = left_open.rows
    salvaged = salvage(left_open.path, keep=exchange_end(second))
    assert left_open.path.stat().st_size == exchange_end(second)
    assert salvaged.exchanges == 2
    assert salvaged.dropped_bytes == exchange_end(third) - exchange_end(second)
    # The response record's own end stands for the whole exchange.
    salvage(left_open.path, keep=first["warc_record_offset"] + first["warc_record_length"])
    assert left_open.path.stat().st_size == exchange_end(first)


def test_damage_before_the_durable_end_does_not_take_the_records_behind_it(left_open):
    data = bytearray(left_open.path.read_bytes())
    first, second, third = left_open.rows
    data[first["warc_record_offset"] + 30] ^= 0xFF
    left_open.path.write_bytes(bytes(data) + bytes(10))
    salvaged = salvage(left_open.path, keep=exchange_end(third))
    assert left_open.path.stat().st_size == exchange_end(third)
    assert f"at byte {first['warc_record_offset']}" in salvaged.fault
    record = read_payload(left_open.lake, second["warc_filename"], second["warc_record_offset"], second["warc_record_length"])
    assert record.payload == BODY


def test_a_file_shorter_than_its_captures_is_named(left_open):
    end = exchange_end(left_open.rows[1])
    os.truncate(left_open.path, end)
    salvaged = salvage(left_open.path, keep=end + 100)
    assert salvaged.fault == f"the file ends at byte {end}, captures lead up to byte {end + 100}"
    assert left_open.path.stat().st_size == end


def test_a_partition_is_sealed_and_empty_files_go(left_open, make):
    lake, partition, work = left_open.lake, left_open.partition, left_open.work
    with left_open.path.open("ab") as file:
        file.write(b"torn")
    only_warcinfo = left_open.path.with_name("trawl-x.warc.gz.open")
    only_warcinfo.write_bytes(left_open.path.read_bytes()[: left_open.rows[0]["warc_record_offset"] + 5])
    sealed, removed = repair_partition(lake, partition, work)
    assert sealed.name == left_open.rows[0]["warc_filename"]
    assert sealed.salvaged.dropped_bytes == 4
    assert removed.name is None
    assert left_open.warc_names == [sealed.name]
    assert [record.warc_type for record in iter_records(lake, sealed.name)].count("response") == 2
    assert repair_partition(lake, partition, work) == []


def test_a_partition_keeps_what_its_captures_know(left_open):
    lake, partition, work = left_open.lake, left_open.partition, left_open.work
    unknown = left_open.path.with_name("trawl-unknown.warc.gz.open")
    unknown.write_bytes(left_open.path.read_bytes())
    name = left_open.rows[0]["warc_filename"]
    repaired = repair_partition(lake, partition, work, keep={name: exchange_end(left_open.rows[0])})
    assert [entry.name for entry in repaired] == [name, None]
    assert [record.warc_type for record in iter_records(lake, name)] == ["warcinfo", "response", "request", "metadata"]


def test_nothing_synced_is_lost_when_the_writer_is_killed(new_archive, tmp_path):
    archive = new_archive()
    program = textwrap.dedent(
        """
        import sys, uuid
        from datetime import UTC, date, datetime
        from pathlib import Path
        from trawl_core.clock import SystemClock
        from trawl_core.lake import Lake, Partition
        from trawl_core.warc.exchange import Exchange
        from trawl_core.warc.writer import WarcWriter

        writer = WarcWriter(
            Lake(sys.argv[1]), Partition(date(2026, 11, 30), "docs.example.org"),
            software="trawl/0", user_agent="TestBot/1.0", config_hash="0", clock=SystemClock(), work=Path(sys.argv[2]),
        )
        head = b"HTTP/1.1 200 OK\\r\\n\\r\\n"
        for number in range(100_000):
            body = str(number).encode() * 200
            exchange = Exchange(f"http://docs.example.org/{number}", datetime.now(UTC), b"GET / HTTP/1.1\\r\\n\\r\\n",
                                head + body, len(head), body, 200, "OK", (), "ok")
            written = writer.write(exchange, str(uuid.uuid4()))
            if number % 10 == 9:
                writer.sync()
                print(written.filename, written.offset, written.length, number, written.end, flush=True)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", program, archive.lake.url, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    durable = [process.stdout.readline() for _ in range(5)]
    os.kill(process.pid, signal.SIGKILL)
    durable += process.stdout.readlines()
    process.stdout.close()
    assert process.wait() == -signal.SIGKILL
    places = [(name, *map(int, rest)) for name, *rest in (line.split() for line in durable if line.endswith("\n"))]
    keep = {places[-1][0]: places[-1][4]}
    (repaired,) = repair_partition(archive.lake, archive.partition, tmp_path, keep)
    assert repaired.name == places[0][0]
    assert repaired.salvaged.exchanges == places[-1][3] + 1
    for name, offset, length, number, _ in places:
        assert read_payload(archive.lake, name, offset, length).payload == str(number).encode() * 200
    assert len(list(iter_records(archive.lake, repaired.name))) == repaired.salvaged.records
