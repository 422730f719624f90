import errno
import gzip
import hashlib
import io
import json
import re
import zipfile
from datetime import date, timedelta

import pytest
from warcio.archiveiterator import ArchiveIterator

from trawl_core.errors import DiskFullError, LakeError, UsageError
from trawl_core.lake import tables
from trawl_core.urls.surt import url_key
from trawl_core.warc.captures import revisit_of
from trawl_core.warc.members import inflate, read_members
from trawl_core.warc.reader import payload_of_capture
from trawl_core.warc.record import parse_record
from trawl_core.warc.selection import select_archive, short_names
from trawl_core.warc.wacz import write_wacz

HTML = b"<!doctype html><title>t</title><p>%b"
NOT_MODIFIED = b'HTTP/1.1 304 Not Modified\r\nETag: "x"\r\n\r\n'


@pytest.fixture
def two_nights(new_archive, make, clock, lake):
    """Night one: pages `/` (seed), `/a`, `/b`, a robots file; night two: `/` answers 304, `/a` again, `/c` new."""
    first = new_archive(date(2026, 11, 29))
    rows = {
        path: first.add(make.exchange(make.ok(HTML % path.encode()), f"http://docs.example.org{path}"), depth=0 if path == "/" else 1)
        for path in ("/", "/a", "/b")
    }
    first.add(make.exchange(make.ok(b"User-agent: *"), "http://docs.example.org/robots.txt"), kind="robots")
    first.finish()
    clock.sleep(86_400)
    second = new_archive(date(2026, 11, 30))
    later = make.start + timedelta(days=1)
    second.add(
        make.exchange(NOT_MODIFIED, "http://docs.example.org/", started_at=later), revisit_of(rows["/"], "server-not-modified"), depth=0
    )
    second.add(
        make.exchange(make.ok(HTML % b"/a"), "http://docs.example.org/a", started_at=later),
        revisit_of(rows["/a"], "identical-payload-digest"),
        depth=1,
    )
    second.add(make.exchange(make.ok(HTML % b"/c"), "http://docs.example.org/c", started_at=later), depth=1)
    second.finish()
    for archive, titles in ((first, {"/": "Home", "/a": "A", "/b": None}), (second, {"/": "Home", "/a": "A", "/c": "C"})):
        pages = [
            {
                "capture_id": row["capture_id"],
                "url": row["url"],
                "title": titles[row["url_path"]],
                "mime_detected": "text/html",
                "text": f"text of {row['url_path']}",
            }
            for row in archive.rows
            if row["kind"] == "page"
        ]
        tables.commit(lake, "pages", archive.partition, pages)
    return first, second


@pytest.fixture
def package(lake, clock, tmp_path):
    def make(first=None, last=None, **options):
        output = tmp_path / "out.wacz"
        made = write_wacz(lake, select_archive(lake, first, last), output, clock=clock, **options)
        return made, zipfile.ZipFile(output)

    return make


def index_of(file):
    return [json.loads(line.split(" ", 2)[2]) for line in gzip.decompress(file.read("indexes/index.cdx.gz")).decode().splitlines()]


def pages_of(file, name="pages"):
    return [json.loads(line) for line in file.read(f"pages/{name}.jsonl").decode().splitlines()]


def test_files_of_the_lake_are_in_it_byte_for_byte_and_not_packed_twice(two_nights, package, lake):
    made, file = package()
    names = lake.files("warc", ".warc.gz")
    assert len(names) == made.files == 2
    for name in names:
        entry = file.getinfo("archive/" + name.rpartition("/")[2])
        assert entry.compress_type == zipfile.ZIP_STORED
        assert file.read(entry) == lake.open(name).read()
    assert file.getinfo("indexes/index.cdx.gz").compress_type == zipfile.ZIP_STORED
    assert (made.originals, made.faults) == (0, [])


def test_the_manifest_names_every_file_with_its_size_and_digest(two_nights, package):
    _, file = package(title="Two nights")
    described = file.read("datapackage.json")
    manifest = json.loads(described)
    assert (manifest["profile"], manifest["wacz_version"], manifest["title"]) == ("data-package", "1.1.1", "Two nights")
    assert manifest["mainPageUrl"] == "http://docs.example.org/"
    listed = {resource["path"]: resource for resource in manifest["resources"]}
    assert set(listed) | {"datapackage.json", "datapackage-digest.json"} == set(file.namelist())
    for path, resource in listed.items():
        data = file.read(path)
        assert resource["bytes"] == len(data)
        assert resource["hash"] == "sha256:" + hashlib.sha256(data).hexdigest()
        assert not set(resource["name"]) - set("abcdefghijklmnopqrstuvwxyz0123456789._-/")
    digest = json.loads(file.read("datapackage-digest.json"))
    assert digest == {"path": "datapackage.json", "hash": "sha256:" + hashlib.sha256(described).hexdigest()}


def test_each_line_of_the_index_leads_to_its_record(two_nights, package):
    made, file = package()
    lines = index_of(file)
    assert len(lines) == made.index_lines == 7
    for line in lines:
        offset, length = int(line["offset"]), int(line["length"])
        raw = file.read(f"archive/{line['filename']}")[offset : offset + length]
        assert line["recordDigest"] == "sha256:" + hashlib.sha256(raw).hexdigest()
        record = next(iter(ArchiveIterator(io.BytesIO(raw))))
        assert record.rec_headers["WARC-Target-URI"] == line["url"]


def test_pages_next_to_the_seeds_come_first(two_nights, package):
    made, file = package()
    header, *first = pages_of(file)
    assert header == {"format": "json-pages-1.0", "id": "pages", "title": "Pages", "hasText": True}
    assert [(page["url"], page["ts"], page["title"], page["text"]) for page in first] == [
        ("http://docs.example.org/", "2026-11-30T02:00:00Z", "Home", "text of /"),
        ("http://docs.example.org/", "2026-12-01T02:00:00Z", "Home", "text of /"),
    ]
    further = pages_of(file, "extraPages")[1:]
    assert sorted(page["url"][-2:] for page in further) == ["/a", "/a", "/b", "/c"]
    assert next(page for page in further if page["url"].endswith("/b")).keys() == {"id", "url", "ts", "depth", "text"}
    assert made.pages == 6


def test_text_can_stay_out_and_pages_need_no_extraction(two_nights, package, lake):
    lake.delete(lake.table_name("pages", two_nights[0].partition))
    made, file = package(last=date(2026, 11, 29), with_text=False)
    header, *first = pages_of(file)
    assert header["hasText"] is False
    assert [set(page) for page in first] == [{"id", "url", "ts", "depth"}]
    assert made.pages == 3


def test_bodies_of_earlier_nights_come_along(two_nights, package, lake):
    made, file = package(first=date(2026, 11, 30))
    assert (made.files, made.originals, made.faults) == (1, 2, [])
    extra = "archive/trawl-originals-20261130.warc.gz"
    records = list(ArchiveIterator(io.BytesIO(file.read(extra))))
    assert len(records) == 3 and records[0].rec_type == "warcinfo"
    originals = {line["url"]: line for line in index_of(file) if "originals" in line["filename"]}
    assert {url[-2:] for url in originals} == {"g/", "/a"}
    for row in two_nights[1].rows[:2]:
        line = originals[row["refers_to_url"]]
        raw = file.read(extra)[int(line["offset"]) : int(line["offset"]) + int(line["length"])]
        assert raw == lake.read_range(row["refers_to_warc_filename"], row["refers_to_warc_offset"], row["refers_to_warc_length"])


def test_a_night_replays_from_the_package_alone(two_nights, package, lake):
    """As players do it: the record at URL and time, and for a revisit the one at the URL and time that it refers to."""
    _, file = package(first=date(2026, 11, 30))
    places = {}
    for line in gzip.decompress(file.read("indexes/index.cdx.gz")).decode().splitlines():
        key, timestamp, fields = line.split(" ", 2)
        places[key, timestamp] = json.loads(fields)

    def record_at(url, timestamp):
        place = places[url_key(url), timestamp]
        raw = file.read(f"archive/{place['filename']}")[int(place["offset"]) :][: int(place["length"])]
        return parse_record(inflate(raw))

    for row in two_nights[1].rows:
        record = record_at(row["url"], f"{row['fetch_time']:%Y%m%d%H%M%S}")
        if record.warc_type == "revisit":
            digits = "".join(re.findall(r"\d", record.field("WARC-Refers-To-Date")))[:14]
            record = record_at(record.field("WARC-Refers-To-Target-URI"), digits)
        assert record.warc_type == "response"
        assert record.payload == payload_of_capture(lake, row).payload


def test_copied_records_are_sound_gzip_with_one_record_a_member(two_nights, package):
    _, file = package(first=date(2026, 11, 30))
    data = file.read("archive/trawl-originals-20261130.warc.gz")
    assert (
        gzip.decompress(data).count(b"WARC/1.1\r\n") == len([parse_record(member.data) for member in read_members(io.BytesIO(data))]) == 3
    )


def test_a_body_that_is_gone_is_named_and_the_rest_is_written(two_nights, package, lake):
    lake.delete(two_nights[0].warc_names[0])
    made, file = package(first=date(2026, 11, 30))
    assert made.originals == 0
    (fault,) = made.faults
    assert f"exporting 2 records of {two_nights[0].rows[0]['warc_filename']}, to which revisits" in fault
    assert len(index_of(file)) == 3


def test_a_damaged_file_is_named_and_copied_whole(two_nights, package, lake):
    name = two_nights[1].warc_names[0]
    path = lake.local_path(name)
    path.write_bytes(path.read_bytes()[:-10])
    made, file = package(first=date(2026, 11, 30))
    assert len(made.faults) == 1 and "gzip member" in made.faults[0]
    assert file.read("archive/" + name.rpartition("/")[2]) == path.read_bytes()
    assert len([line for line in index_of(file) if "originals" not in line["filename"]]) == 3


def test_records_behind_damage_are_indexed_with_their_digests(two_nights, package, lake):
    name = two_nights[0].warc_names[0]
    path = lake.local_path(name)
    data = bytearray(path.read_bytes())
    place = two_nights[0].rows[1]["warc_record_offset"] + 60
    data[place : place + 9] = b"\xff" * 9
    path.write_bytes(data)
    made, file = package(last=date(2026, 11, 29))
    assert len(made.faults) == 1
    assert file.read("archive/" + name.rpartition("/")[2]) == data
    lines = index_of(file)
    assert sorted(line["url"][-2:] for line in lines) == ["/b", "g/", "xt"]
    for line in lines:
        raw = data[int(line["offset"]) :][: int(line["length"])]
        assert line["recordDigest"] == "sha256:" + hashlib.sha256(raw).hexdigest()


def test_a_file_that_is_there_stays(two_nights, package, tmp_path):
    (tmp_path / "out.wacz").write_bytes(b"mine")
    with pytest.raises(UsageError, match="--overwrite"):
        package()
    assert (tmp_path / "out.wacz").read_bytes() == b"mine"
    package(overwrite=True)
    assert zipfile.is_zipfile(tmp_path / "out.wacz")


def test_a_failure_leaves_nothing(two_nights, package, tmp_path):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        package(progress=stop)
    assert [path.name for path in tmp_path.iterdir() if "wacz" in path.name] == []


def test_a_disk_that_fills_up_between_records_is_told_as_such(two_nights, package, tmp_path, monkeypatch):
    def full(lines):
        next(iter(lines))
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("trawl_core.warc.wacz.sort_lines", full)
    with pytest.raises(DiskFullError, match=r"writing .*out\.wacz: the disk is full"):
        package()
    assert [path.name for path in tmp_path.iterdir() if "wacz" in path.name] == []


def test_a_name_that_players_do_not_know_is_refused(two_nights, lake, clock, tmp_path):
    with pytest.raises(UsageError, match=r"ends in \.wacz"):
        write_wacz(lake, select_archive(lake), tmp_path / "out.zip", clock=clock)


def test_a_revisit_without_its_place_is_named(two_nights, package):
    second = two_nights[1]
    rows = [{**row, "refers_to_warc_filename": None} for row in second.rows]
    tables.commit(second.lake, "captures", second.partition, rows)
    made, _ = package(first=date(2026, 11, 30))
    (fault,) = made.faults
    assert "exporting 2 revisits" in fault and any(row["capture_id"] in fault for row in second.rows[:2])


def test_a_confirmed_page_is_listed_before_it_is_extracted_and_without_a_depth(two_nights, package, lake):
    second = two_nights[1]
    lake.delete(lake.table_name("pages", second.partition))
    tables.commit(lake, "captures", second.partition, [{**row, "depth": None} for row in second.rows])
    made, file = package(first=date(2026, 11, 30))
    assert made.pages == 3 and made.faults == []
    assert {page["url"] for page in pages_of(file)[1:]} == {row["url"] for row in second.rows}


def test_a_folder_that_is_not_there_is_explained(two_nights, lake, clock, tmp_path):
    with pytest.raises(LakeError, match=r"writing .*nowhere/x\.wacz: No such file"):
        write_wacz(lake, select_archive(lake), tmp_path / "nowhere" / "x.wacz", clock=clock)


def test_progress_ends_at_all_bytes(two_nights, package, lake):
    told = []
    package(progress=lambda done, total: told.append((done, total)))
    size = sum(lake.size(name) for name in lake.files("warc", ".warc.gz"))
    assert told[-1] == (size, size)


def test_the_same_archive_gives_the_same_file(two_nights, package, tmp_path):
    package()
    first = (tmp_path / "out.wacz").read_bytes()
    package(overwrite=True)
    assert (tmp_path / "out.wacz").read_bytes() == first


def test_a_night_without_pages_says_so(archive, make, package):
    archive.add(make.exchange(make.ok(b"User-agent: *"), "http://docs.example.org/robots.txt"), kind="robots")
    archive.finish()
    made, file = package()
    assert made.pages == 0 and "no page" in made.faults[0]
    assert len(pages_of(file)) == 1


def test_selections(two_nights, lake):
    assert [str(part.crawl_date) for part in select_archive(lake, first=date(2026, 11, 30)).partitions] == ["2026-11-30"]
    with pytest.raises(UsageError, match="Turn them round"):
        select_archive(lake, date(2026, 11, 30), date(2026, 11, 29))
    with pytest.raises(LakeError, match="no captures or warc on 2020-01-01"):
        select_archive(lake, date(2020, 1, 1), date(2020, 1, 1))
    with pytest.raises(LakeError, match=r"no captures or warc of other\.test\."):
        select_archive(lake, domains=["other.test"])


def test_files_of_a_night_whose_captures_were_never_committed_are_taken(two_nights, package, lake):
    lake.delete(lake.table_name("captures", two_nights[1].partition))
    made, file = package()
    assert made.files == 2
    assert len(index_of(file)) == 7


def test_an_open_file_is_told_apart(two_nights, lake):
    name = two_nights[1].warc_names[0]
    path = lake.local_path(name)
    path.rename(path.with_name(path.name + ".open"))
    selection = select_archive(lake)
    assert len(selection.names) == 1
    assert selection.unsealed == (name + ".open",)


def test_two_files_of_one_name_are_told_apart():
    names = [
        "warc/crawl_date=2026-11-30/domain=a.test/x.warc.gz",
        "warc/crawl_date=2026-11-30/domain=b.test/x.warc.gz",
        "warc/imported/y.warc.gz",
    ]
    assert list(short_names(names).values()) == ["2026-11-30-a.test-x.warc.gz", "2026-11-30-b.test-x.warc.gz", "y.warc.gz"]
