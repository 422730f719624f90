"""Stretches of real files: cut anywhere, damaged anywhere, read by processes that die."""

import gzip
import os
import signal
from itertools import pairwise

import pytest

from trawl_core.warc import scan_pool
from trawl_core.warc.captures import revisit_of
from trawl_core.warc.scan import Stretch, scan
from trawl_core.warc.scan_pool import scan_in_order
from trawl_core.warc.verify import verify

PAGES = 12


def body(number):
    return b"<!doctype html><title>%d</title>" % number + b"<p>words</p>" * 40


@pytest.fixture
def night(archive, make):
    """Twelve responses, each third of them with a revisit behind it."""
    for number in range(PAGES):
        row = archive.add(make.exchange(make.ok(body(number)), f"http://docs.example.org/{number}"))
        if number % 3 == 0:
            copy = make.exchange(make.ok(body(number)), f"http://docs.example.org/copy/{number}")
            archive.add(copy, revisit_of(row, "identical-payload-digest"))
    archive.finish()
    archive.name = archive.warc_names[0]
    archive.path = archive.lake.local_path(archive.name)
    archive.size = archive.path.stat().st_size
    return archive


def lines(night, **how):
    return [str(problem) for problem in verify(night.lake, **how)]


def damage(night, number, at=30):
    data = bytearray(night.path.read_bytes())
    data[night.rows[number]["warc_record_offset"] + at] ^= 0xFF
    night.path.write_bytes(bytes(data))


@pytest.mark.parametrize("stretch_bytes", [1, 2_000, 1 << 30])
def test_a_file_in_stretches_is_as_sound_as_in_one(night, stretch_bytes):
    steps = []
    assert verify(night.lake, stretch_bytes=stretch_bytes, progress=lambda done, total: steps.append((done, total))) == []
    assert steps[-1] == (night.size, night.size)
    stretches = len(steps) - 1
    assert {1: stretches == len(night.rows) + 1, 2_000: 1 < stretches < len(night.rows), 1 << 30: stretches == 1}[stretch_bytes]
    assert steps == sorted(steps)


@pytest.mark.parametrize("stretch_bytes", [1, 2_000])
def test_stretches_find_what_one_reading_finds(night, stretch_bytes):
    damage(night, 4)
    damage(night, 9, at=200)
    whole = sorted(lines(night))
    assert sum("at byte" in line and "gzip member is damaged" in line and "can't be read" not in line for line in whole) == 2
    assert sorted(lines(night, stretch_bytes=stretch_bytes)) == whole


def test_a_row_that_leads_into_the_middle_cuts_no_stretch_wrongly(night):
    from trawl_core.lake import tables

    row = night.rows[5]
    night.rows[5] = {**row, "warc_record_offset": row["warc_record_offset"] + 7, "warc_record_length": row["warc_record_length"] - 7}
    tables.commit(night.lake, "captures", night.partition, night.rows)
    expected = [
        f"{night.name} at byte {row['warc_record_offset']}: the {row['warc_type']} of {row['url']} has no row in captures",
        f"captures 2026-11-30 docs.example.org {row['capture_id']}: its record can't be read: ",
    ]
    for stretch_bytes in (1, 2_000, 1 << 30):
        found = lines(night, stretch_bytes=stretch_bytes)
        assert len(found) == 2
        assert all(line.startswith(start) for line, start in zip(found, expected, strict=True))


def test_reading_goes_on_behind_damage(night):
    damage(night, 3)
    row = night.rows[3]
    found = scan(night.lake, Stretch(night.name, 0, night.size))
    place, fault = found.faults[0]
    assert place == row["warc_record_offset"]
    assert f"the next record begins at byte {row['request_offset']}" in fault
    assert len(found.records) == len(night.rows) - 1
    assert found.end == night.size


@pytest.mark.parametrize("junk", [b"\x1f\x8b\x08 no member", gzip.compress(b"no record"), bytes(3000)], ids=["magic", "member", "zeros"])
def test_junk_between_records_is_one_fault_line(night, junk):
    data, row = night.path.read_bytes(), night.rows[6]
    night.path.write_bytes(data[: row["warc_record_offset"]] + junk + data[row["warc_record_offset"] :])
    found = scan(night.lake, Stretch(night.name, 0, len(data) + len(junk)))
    assert [place for place, _ in found.faults] == [row["warc_record_offset"]]
    assert len(found.records) == len(night.rows)


def test_processes_answer_in_order_and_find_the_same(night):
    damage(night, 4)
    ends = [0, *(row["warc_record_offset"] for row in night.rows[1:]), night.size]
    stretches = [Stretch(night.name, start, end) for start, end in pairwise(ends)]
    found = list(scan_in_order(night.lake, stretches, 2))
    assert [stretch for stretch, _ in found] == stretches
    assert found == [(stretch, scan(night.lake, stretch)) for stretch in stretches]
    assert lines(night, stretch_bytes=1, readers=2) == lines(night)


def test_a_process_that_dies_costs_its_stretch_by_name(night, monkeypatch):
    send_it = scan_pool._send
    killed = []

    def send(lake, reader):
        if not reader.ready or killed:
            send_it(lake, reader)
            return
        os.kill(reader.process.pid, signal.SIGSTOP)  # so that it does not finish what it is sent
        send_it(lake, reader)
        os.kill(reader.process.pid, signal.SIGKILL)
        killed.append(reader)

    monkeypatch.setattr(scan_pool, "_send", send)
    found = lines(night, stretch_bytes=1, readers=2)
    assert len(killed) == 1
    assert len(found) == 1
    assert found[0].startswith(f"{night.name}: the process that read bytes ")
    assert "died (signal 9): nothing in them was checked" in found[0]


def test_a_process_that_can_not_start_is_an_error(night, monkeypatch):
    from trawl_core.errors import WarcError

    monkeypatch.setattr(scan_pool, "_MODULE", "trawl_core.no_such_module")
    with pytest.raises(WarcError, match=r"it ended at once \(exit status 1\)"):
        verify(night.lake, stretch_bytes=1, readers=2)
