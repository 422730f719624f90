"""Power cuts in the middle of a crawl, then `trawl repair`: a few of those that `bench.power_cuts` makes by the hundred."""

from __future__ import annotations

import json
import random
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bench.lost_power import cut
from bench.power_cuts import CutSite, Found, crawls, one_home
from trawl_core.errors import LakeError
from trawl_core.fetch.recovery import recover, unfinished
from trawl_core.lake import Lake, tables
from trawl_core.warc.verify import verify

PAGES = 90


@pytest.fixture(scope="module")
def running():
    with CutSite("127.0.0.9", PAGES) as site, crawls(site) as crawls_of_it:
        yield crawls_of_it


@pytest.fixture
def home(tmp_path):
    for name in ("lake", "work"):
        (tmp_path / "home" / name).mkdir(parents=True)
    return tmp_path / "home"


def test_rows_lead_to_their_bytes_whatever_was_not_durable(running, tmp_path) -> None:
    chance, found = random.Random(1), Found()
    number = 0
    while found.cuts < 5:
        one_home(running, tmp_path / str(number), chance, 1 if number % 3 else 2, found)
        number += 1
    assert (found.told, dict(found.counts)) == ([], {})


@pytest.mark.parametrize("tail", ["cut", "garbage"])
def test_the_simulation_takes_away_what_was_not_synced(running, tmp_path, home, tail) -> None:
    # Without any repair the rows of the crawl's state fit what is left of the file, and what is behind it is lost.
    assert running.run(tmp_path, at_request=PAGES - 5)
    before = {path: path.stat().st_size for path in home.rglob("*.open")}
    cut(home, tmp_path / "journal", tail=tail, folders_too=False, chance=random.Random(2))
    (path,) = home.rglob("*.open")
    (state,) = home.rglob("*.sqlite")
    with closing(sqlite3.connect(state)) as db:
        known, end = db.execute("SELECT count(*), max(warc_end) FROM captures").fetchone()
    assert known >= 64
    kept = path.stat().st_size
    assert end <= kept
    assert (kept < before[path]) == (tail == "cut")


@pytest.mark.parametrize("source", ["the crawl's state", "the records"])
def test_a_night_without_its_captures_is_repaired(running, tmp_path, home, source) -> None:
    lake = Lake(home / "lake")
    assert not running.run(tmp_path)
    (partition,) = lake.partitions("captures")
    rows = tables.count(lake, "captures", partition)
    lake.delete(lake.table_name("captures", partition))
    if source == "the records":
        for path in (home / "work").rglob("*.sqlite*"):
            path.unlink()
    assert verify(lake) != []
    assert unfinished(lake, home / "work") == [partition]
    (told,) = recover(lake, home / "work")
    how = f", {rows} captures committed" if source != "the records" else f"; its crawl state is lost, {rows} captures were made anew"
    assert f"sealed 0 file(s){how}" in told
    assert tables.count(lake, "captures", partition) == rows
    assert verify(lake) == []
    assert unfinished(lake, home / "work") == []


@pytest.mark.parametrize("by", ["repair", "the next crawl"])
def test_records_outlast_the_crawl_state(running, tmp_path, home, by) -> None:
    lake = Lake(home / "lake")
    assert running.run(tmp_path, at_request=PAGES - 5)
    for path in (home / "work").rglob("*.sqlite*"):
        path.unlink()
    if by == "repair":
        (told,) = recover(lake, home / "work")
        assert "its crawl state is lost, " in told
        assert "captures were made anew from the records" in told
        assert verify(lake) == []
    assert not running.run(tmp_path)
    assert running.site.missing(lake) == set()
    # What had been archived is there still; its pages were asked for again, and are revisits.
    rows = tables.read_many(lake, "captures", lake.partitions("captures")).to_pylist()
    pages = [row for row in rows if row["kind"] == "page"]
    assert len([row for row in pages if row["warc_type"] == "response"]) == len({row["content_digest"] for row in pages})
    assert len(pages) > PAGES + 60
    asked = running.site.asked
    assert not running.run(tmp_path)
    assert running.site.asked == asked
    assert verify(lake) == []


def test_repair_keeps_rows_that_the_crawl_state_does_not_know(running, tmp_path, home) -> None:
    lake = Lake(home / "lake")
    assert running.run(tmp_path, at_request=PAGES - 5)
    (partition,) = unfinished(lake, home / "work")
    row = {"capture_id": "of another", "url": "http://127.0.0.9/", "fetch_time": datetime.now(UTC), "outcome": "timeout"}
    tables.commit(lake, "captures", partition, [row])
    list(recover(lake, home / "work"))
    ids = tables.read(lake, "captures", partition)["capture_id"].to_pylist()
    assert len(ids) > 64
    assert "of another" in ids
    assert verify(lake) == []


def test_a_damaged_crawl_state_keeps_no_other_night_from_its_repair(running, tmp_path, home) -> None:
    lake = Lake(home / "lake")
    assert running.run(tmp_path, at_request=PAGES - 5)
    other = home / "work" / "crawl_date=2026-01-01" / "domain=127.0.0.9.sqlite"
    other.parent.mkdir()
    other.write_bytes(b"no database" * 100)
    left = home / "lake" / "warc" / "crawl_date=2026-01-01" / "domain=127.0.0.9" / "trawl-x.warc.gz.open"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"")
    with pytest.raises(LakeError, match="the file is damaged"):
        list(recover(lake, home / "work"))
    assert [night.crawl_date.isoformat() for night in unfinished(lake, home / "work")] == ["2026-01-01"]
    other.unlink()
    list(recover(lake, home / "work"))
    assert unfinished(lake, home / "work") == []
    assert verify(lake) == []


def test_trawl_repair_and_verify_after_a_power_cut(running, new_home, tmp_path) -> None:
    home = new_home()
    for name in ("lake", "work"):
        (home.root / name).mkdir(parents=True)
    home.write_text(json.dumps(json.loads(running.site.sites), indent=1))
    assert running.run(tmp_path, at_request=PAGES - 5)
    cut(home.root, tmp_path / "journal", tail="zeros", folders_too=True, chance=random.Random(3))
    assert "sealed 1 file(s)" in home.passes("repair")
    assert "is sound" in home.passes("verify")
    assert len(home.table("captures")) >= 64
    assert home.passes("repair") == "nothing was left unfinished.\n"
    assert [path for path in Path(home.root).rglob("*") if path.suffix in (".open", ".tmp")] == []
    (path,) = (home.root / "lake" / "warc").rglob("*.warc.gz")
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(bytes(data))
    told = home.trawl("verify")
    *lines, verdict = told.stdout.splitlines()
    assert (told.returncode, verdict) == (1, f"{len(lines)} problems found.")
    assert any(f"{path.name} at byte " in line and "the gzip member is damaged" in line for line in lines)
    listed = json.loads(home.trawl("verify", "--json").stdout)
    assert [f"{one['where']}: {one['what']}" for one in listed] == lines
    assert {one["known"] for one in listed} == {False}
