"""Files of other programs become captures: made here by hand, and those of ../shared where they are."""

import gzip
import hashlib
import json
import os
import re
import uuid
import zipfile
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from backports import zstd

from trawl_core.clock import SystemClock
from trawl_core.errors import LakeError, LockedError, UsageError, WarcError
from trawl_core.extract.bodies import captures_with_body, read_body
from trawl_core.fetch.ledger import Ledger
from trawl_core.fetch.state import NightState
from trawl_core.lake import Lake, Partition, tables
from trawl_core.sites import Site
from trawl_core.warc import importing
from trawl_core.warc.foreign_rows import own_id
from trawl_core.warc.imported import archived_files, imported_files, imported_partitions, is_imported
from trawl_core.warc.importing import AS_IT_IS, REWRITTEN, ImportRequest, import_warcs
from trawl_core.warc.reader import payload_of_capture, read_payload
from trawl_core.warc.show import find_captures, show_body, show_headers
from trawl_core.warc.verify import verify

CASES = Path(__file__).parents[3] / "shared" / "cases" / "warc"
DAY = date(2020, 1, 2)
URL = "http://docs.example.org/"
HTML = b"<html><title>A page</title><p>What it says.</p></html>"


def sha1(data):
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


def http(body=HTML, *headers, status="200 OK"):
    lines = [f"HTTP/1.1 {status}", "Content-Type: text/html", *headers, f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def rec(kind, block=b"", url=URL, *fields, record_id=None, when="2020-01-02T03:04:05Z", version="1.0", msgtype=None):
    record_id = record_id or f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{kind}{url}{when}{block!r}')}>"
    head = [f"WARC/{version}", f"WARC-Type: {kind}", f"WARC-Record-ID: {record_id}", f"WARC-Date: {when}"]
    if url:
        head.append(f"WARC-Target-URI: {url}")
    if not any(field.startswith("Content-Type") for field in fields) and kind in ("response", "request", "revisit"):
        head.append(f"Content-Type: application/http; msgtype={msgtype or ('request' if kind == 'request' else 'response')}")
    head += [*fields, f"Content-Length: {len(block)}"]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + block + b"\r\n\r\n"


def response(url=URL, body=HTML, *fields, **more):
    return rec("response", http(body), url, *fields, **more)


def id_of(record):
    return next(line for line in record.decode("latin-1").split("\r\n") if line.startswith("WARC-Record-ID")).split(": ", 1)[1]


def members(*records):
    return b"".join(gzip.compress(one, mtime=0) for one in records)


@pytest.fixture
def home(lake, tmp_path):
    """Import files of bytes into a lake, and look at what came of it."""

    class Home:
        def __init__(self):
            self.lake, self.work = lake, tmp_path / "work"

        def write(self, data, name="crawl.warc.gz"):
            path = tmp_path / name
            path.write_bytes(data)
            return path

        def run(self, *paths, clock=SystemClock(), **request):  # noqa: B008
            return list(import_warcs(paths, ImportRequest(**request), lake=lake, work=self.work, clock=clock))

        def take(self, data, name="crawl.warc.gz", **request):
            (outcome,) = self.run(self.write(data, name), **request)
            return outcome

        def rows(self):
            return tables.read_many(lake, "captures", lake.partitions("captures")).to_pylist()

        def row(self):
            (row,) = self.rows()
            return row

        def verified(self):
            return [str(problem) for problem in verify(lake)]

    return Home()


OTHER_SITE = response("http://z.example.org/")
WARCINFO = rec("warcinfo", b"software: Other/1.2\r\nformat: WARC File Format 1.0\r\n", None, "Content-Type: application/warc-fields")


@pytest.mark.parametrize(
    ("data", "name", "form"),
    [
        (WARCINFO + response(), "plain.warc", AS_IT_IS),
        (members(WARCINFO, response()), "members.warc.gz", AS_IT_IS),
        (gzip.compress(WARCINFO + response(), mtime=0), "one-member.warc.gz", REWRITTEN),
        (zstd.compress(WARCINFO) + zstd.compress(response()), "frames.warc.zst", REWRITTEN),
        (members(WARCINFO, response()), "no-suffix", AS_IT_IS),
    ],
)
def test_a_file_of_each_packing_is_kept_and_read_by_range(home, data, name, form):
    outcome = home.take(data, name)
    assert (outcome.status, outcome.new, outcome.imported.form, outcome.imported.faults) == ("imported", 1, form, ())
    row = home.row()
    assert (row["crawl_date"], row["domain"], row["url"], row["fetch_status"]) == (DAY, "docs.example.org", URL, 200)
    assert (row["outcome"], row["kind"], row["software"], row["warc_type"]) == ("ok", "page", "Other/1.2", "response")
    assert row["payload_sha256"] == hashlib.sha256(HTML).hexdigest()
    unknown = ("wire_bytes", "fetch_ms", "ttfb_ms", "depth", "is_seed", "attempt", "robots_digest", "config_hash", "ip_address")
    assert [row[column] for column in unknown] == [None] * len(unknown)
    assert is_imported(row["warc_filename"])
    assert payload_of_capture(home.lake, row).payload == HTML
    kept = home.lake.local_path(row["warc_filename"]).read_bytes()
    assert kept == data if form == AS_IT_IS else b"".join(gzip.decompress(kept).split()) == b"".join((WARCINFO + response()).split())
    assert hashlib.sha256(kept).hexdigest() == outcome.imported.stored_sha256
    assert home.verified() == []
    assert not list(home.work.glob("*"))


def test_the_later_stages_and_show_read_an_imported_capture(home):
    home.take(members(rec("response", http(gzip.compress(HTML), "Content-Encoding: gzip"))))
    partition = Partition(DAY, "docs.example.org")
    (capture,) = captures_with_body(home.lake, partition)
    assert read_body(home.lake, capture, 10**6).document == HTML
    (found,) = find_captures(home.lake, URL)
    assert show_headers(home.lake, found).startswith("HTTP/1.1 200 OK\r\n")
    assert show_body(home.lake, found) == HTML
    assert archived_files(home.lake, partition) == [found["warc_filename"]]
    assert archived_files(home.lake, Partition(DAY, "other.example.org")) == []
    assert imported_partitions(home.lake) == {partition}


def test_the_same_file_again_changes_nothing_and_says_so(home):
    data = members(response())
    first = home.take(data)
    before = {name: home.lake.local_path(name).stat().st_mtime_ns for name in home.lake.files("")}
    again = home.take(data, "another-name.warc.gz")
    assert (again.status, again.imported) == ("already", first.imported)
    assert {name: home.lake.local_path(name).stat().st_mtime_ns for name in home.lake.files("")} == before


def test_a_killed_import_goes_on(home):
    data = members(response(), response("http://other.example.org/"))
    undo = pytest.MonkeyPatch()
    undo.setattr(importing, "write_manifest", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        home.take(data)
    undo.undo()
    assert not list(imported_files(home.lake))
    outcome = home.take(data)
    assert (outcome.status, outcome.new, outcome.known) == ("imported", 0, 2)
    assert len(home.rows()) == 2
    assert home.verified() == []


def test_a_crawl_that_is_completed_later_keeps_what_was_imported(home, make, tmp_path, new_archive):
    rows = [new_archive(day=DAY).add(make.exchange(b"", outcome="timeout")) for _ in range(3)]
    home.take(members(response()))
    state = NightState(tmp_path / "night.sqlite")
    ledger = Ledger(state)
    for row in rows:
        ledger.add({name: value for name, value in row.items() if name not in ("crawl_date", "domain")})
    for _ in range(2):
        assert ledger.commit_captures(home.lake, Partition(DAY, "docs.example.org")).rows == 4
    state.close()
    assert payload_of_capture(home.lake, next(row for row in home.rows() if row["url"] == URL and row["warc_type"])).payload == HTML


def test_files_may_come_in_any_order(home, tmp_path):
    original = response(when="2020-01-01T00:00:00Z")
    revisit = rec(
        "revisit",
        http()[: -len(HTML)],
        URL,
        "WARC-Profile: http://netpreserve.org/warc/1.0/revisit/identical-payload-digest",
        f"WARC-Payload-Digest: sha1:{sha1(HTML)}",
        "WARC-Refers-To-Target-URI: " + URL,
        "WARC-Refers-To-Date: 2020-01-01T00:00:00Z",
    )
    files = [
        home.write(members(original), "a.warc.gz"),
        home.write(members(revisit), "b.warc.gz"),
        home.write(members(original, revisit), "c.warc.gz"),
    ]
    seen = []
    for number, order in enumerate(([0, 1, 2], [2, 1, 0], [1, 2, 0])):
        lake = Lake(tmp_path / f"lake{number}")
        for place in order:
            list(import_warcs([files[place]], ImportRequest(), lake=lake, work=tmp_path / "work", clock=SystemClock()))
        rows = tables.read_many(lake, "captures", lake.partitions("captures")).to_pylist()
        assert payload_of_capture(lake, next(row for row in rows if row["warc_type"] == "revisit")).payload == HTML
        assert verify(lake) == []
        seen.append(rows)
    assert seen[0] == seen[1] == seen[2]
    assert len(seen[0]) == 2


def test_a_crawled_night_gets_the_imported_captures_and_loses_none(new_archive, make, home):
    archive = new_archive(day=DAY)
    crawled = [archive.add(make.exchange(make.ok(b"<p>ours</p>"))), archive.add(make.exchange(b"", outcome="timeout"))]
    archive.finish()
    ours = archive.lake.local_path(crawled[0]["warc_filename"]).read_bytes()
    home.take(members(response("http://docs.example.org/theirs")))
    rows = home.rows()
    assert len(rows) == 3
    assert {row["capture_id"] for row in crawled} < {row["capture_id"] for row in rows}
    again = home.take(ours, "ours.warc.gz", crawl_date=DAY)
    assert (again.known, again.imported.name) == (1, None)
    assert len(home.lake.files("warc/imported", ".warc.gz")) == 1
    kept = {row["capture_id"]: row["warc_filename"] for row in home.rows()}
    assert kept[crawled[0]["capture_id"]] == crawled[0]["warc_filename"]
    assert home.verified() == []


def test_a_running_crawl_of_a_domain_fails_its_file_until_it_is_imported_again(home):
    first, second = (
        home.write(members(response(), response("http://a.example.org/")), "a.warc.gz"),
        home.write(members(OTHER_SITE), "b.warc.gz"),
    )
    with home.lake.lock("crawl-docs.example.org", "crawling"):
        locked, other = home.run(first, second)
    assert (locked.status, other.status) == ("failed", "imported")
    assert re.search(r"importing .*a\.warc\.gz: importing into docs\.example\.org: another run is at it now", locked.error)
    assert {row["domain"] for row in home.rows()} == {"a.example.org", "z.example.org"}
    assert home.run(first)[0].new == 1
    assert home.verified() == []


def test_one_import_at_a_time(home):
    with home.lake.lock("import", "importing"), pytest.raises(LockedError, match="importing WARC files: another run is at it"):
        home.take(members(response()))


def test_a_day_that_has_not_come_is_no_crawl_date(home):
    with pytest.raises(UsageError, match=r"2100-01-01: that day has not come yet"):
        home.take(members(response()), crawl_date=date(2100, 1, 1))


def test_domains_are_those_of_sites_yaml_else_hosts(home):
    site = Site(domain="docs.example.org", seeds=(URL,), origins=("https://static.example.org:8443/",))
    data = members(
        *[
            response(url)
            for url in (
                URL,
                "https://static.example.org:8443/x",
                "https://static.example.org/x",
                "http://[::1]:80/",
                "http://Bücher.example/",
            )
        ]
    )
    home.take(data, sites=(site,))
    assert sorted((row["domain"], row["url"]) for row in home.rows()) == [
        ("::1", "http://[::1]/"),
        ("docs.example.org", "http://docs.example.org/"),
        ("docs.example.org", "https://static.example.org:8443/x"),
        ("static.example.org", "https://static.example.org/x"),
        ("xn--bcher-kva.example", "http://xn--bcher-kva.example/"),
    ]
    assert home.verified() == []


def test_asked_for_a_domain_the_others_can_follow_later(home):
    data = members(response(), response("http://other.example.org/"), response("http://third.example.org/"))
    first = home.take(data, only=frozenset(["docs.example.org"]))
    assert first.imported.passed_over == {"of domains that were not asked for": 2}
    assert [row["domain"] for row in home.rows()] == ["docs.example.org"]
    second = home.take(data, "again.warc.gz", only=frozenset(["other.example.org"]))
    assert (second.status, second.new, second.imported.name) == ("imported", 1, first.imported.name)
    assert home.take(data, only=frozenset(["docs.example.org", "other.example.org"])).status == "already"
    assert home.take(data).new == 1
    assert len(home.rows()) == 3
    assert len(home.lake.files("warc/imported", ".warc.gz")) == 1


def test_a_record_without_a_date_can_be_given_one(home):
    outcome = home.take(response(when="never"), "dateless.warc", crawl_date=DAY)
    assert home.row()["fetch_time"] == datetime(2020, 1, 2, tzinfo=UTC)
    assert [text for _, text in outcome.imported.faults] == [
        f"the response of {URL}: WARC-Date 'never' is no date; the beginning of --date is taken"
    ]


def test_a_file_is_never_replaced_by_what_another_version_makes_of_it(home, monkeypatch):
    data = gzip.compress(response() + response("http://other.example.org/"))
    first = home.take(data, only=frozenset(["docs.example.org"]))
    monkeypatch.setattr("trawl_core.warc.import_reading._LEVEL", 0)
    second = home.take(data)
    assert (first.imported.form, second.new, second.known) == (REWRITTEN, 1, 1)
    assert first.imported.name != second.imported.name
    for row in home.rows():
        assert payload_of_capture(home.lake, row).payload == HTML
    assert home.verified() == []


@pytest.mark.parametrize("first", [frozenset(["docs.example.org"]), frozenset(["other.example.org"])])
def test_a_proven_record_that_is_cut_makes_no_difference_to_the_place_of_the_others(home, first):
    block = http()
    last = gzip.compress(rec("response", block, URL, f"WARC-Block-Digest: sha1:{sha1(block)}"), mtime=0)[:-8]
    data = members(response("http://other.example.org/")) + last
    for only in (first, None):
        home.take(data, only=only)
        for row in home.rows():
            assert payload_of_capture(home.lake, row).payload == HTML
    assert len(home.rows()) == 2
    assert home.verified() == []


def test_a_crawl_date_can_be_given_and_not_changed_later(home):
    data = members(response(), response(when="2020-03-04T00:00:00Z"))
    home.take(data, crawl_date=date(2020, 5, 6))
    assert [(row["crawl_date"], row["fetch_time"].date()) for row in home.rows()] == [
        (date(2020, 5, 6), DAY),
        (date(2020, 5, 6), date(2020, 3, 4)),
    ]
    again = home.take(data)
    assert again.status == "failed"
    assert "imported with --date 2020-05-06" in again.error
    assert len(home.rows()) == 2


def test_too_many_new_domains_are_refused_before_anything_is_stored(home):
    data = members(*[response(f"http://h{number}.example.org/") for number in range(5)])
    with pytest.raises(UsageError, match=r"more than 4 of its domains \(5\) are not in.*--domain.*--max-new-domains 5"):
        home.take(data, max_new_domains=4)
    assert [name for name in home.lake.files("") if not name.startswith("locks/")] == []
    assert home.take(data, max_new_domains=5).new == 5


def test_a_file_can_be_linked(home):
    path = home.write(members(response()))
    home.run(path, link=True)
    assert os.path.samefile(path, home.lake.local_path(home.row()["warc_filename"]))
    assert home.verified() == []


def test_a_file_that_changes_while_it_is_read_is_refused(home, monkeypatch):
    path = home.write(members(response()))
    spool = importing.Spool.pair

    def change(self):
        path.write_bytes(members(response(), response("http://docs.example.org/more")))
        return spool(self)

    monkeypatch.setattr(importing.Spool, "pair", change)
    with pytest.raises(LakeError, match="changed while it was read"):
        home.run(path)
    assert home.rows() == []


# what belongs to a capture -------------------------------------------------------------------------------------------


def request(url=URL, *fields, method="GET", headers=(), **more):
    return rec(
        "request", "\r\n".join([f"{method} / HTTP/1.1", "Host: docs.example.org", *headers]).encode() + b"\r\n\r\n", url, *fields, **more
    )


def metadata(url=URL, *fields, **more):
    return rec(
        "metadata",
        b"fetchTimeMs: 123\r\nvia: http://docs.example.org/from\r\n",
        url,
        "Content-Type: application/warc-fields",
        *fields,
        **more,
    )


PAGE = response()
OTHER = response("http://docs.example.org/2", b"<p>two</p>")
NAMED = f"WARC-Concurrent-To: {id_of(PAGE)}"


@pytest.mark.parametrize(
    "records",
    [
        [request(URL, NAMED), PAGE, metadata(URL, NAMED)],
        [PAGE, OTHER, metadata(URL, NAMED), request(URL, NAMED)],
        [request(), PAGE, metadata()],
        [PAGE, request(), metadata()],
        [PAGE, request(), metadata(), OTHER, request("http://docs.example.org/2")],
        [request(), PAGE, metadata(), request("http://docs.example.org/2"), OTHER],
        [
            response(URL, HTML, f"WARC-Concurrent-To: {id_of(request())}", f"WARC-Concurrent-To: {id_of(metadata())}"),
            OTHER,
            metadata(),
            request(),
        ],
    ],
    ids=["wget", "far away", "order, request first", "order, response first", "warcio", "Common Crawl", "named by the response"],
)
def test_request_and_metadata_are_found(home, records):
    home.take(members(*records))
    row = next(row for row in home.rows() if row["url"] == URL)
    read = {
        kind: read_payload(home.lake, row["warc_filename"], row[f"{kind}_offset"], row[f"{kind}_length"])
        for kind in ("request", "metadata")
    }
    assert {kind: (one.warc_type, one.target_uri) for kind, one in read.items()} == {
        "request": ("request", URL),
        "metadata": ("metadata", URL),
    }
    assert row["fetch_ms"] == 123.0
    assert home.verified() == []


def test_a_request_of_another_page_is_not_taken(home):
    home.take(members(request("http://docs.example.org/elsewhere"), PAGE))
    assert home.row()["request_offset"] is None


def test_what_post_gave_is_no_page(home):
    home.take(members(response(), request(method="POST")))
    assert home.row()["kind"] == "other"
    assert captures_with_body(home.lake, Partition(DAY, "docs.example.org")) == []


@pytest.mark.parametrize(("headers", "outcome"), [((), "unsolicited_304"), (('If-None-Match: "x"',), "not_modified")])
def test_a_304_is_what_its_request_asked_for(home, headers, outcome):
    home.take(members(rec("response", http(b"", status="304 Not Modified")), request(headers=headers)))
    assert home.row()["outcome"] == outcome


# revisits ------------------------------------------------------------------------------------------------------------

ORIGINAL = response(when="2020-01-01T00:00:00Z")
PROFILE = "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/"
DIGEST = f"WARC-Payload-Digest: sha1:{sha1(HTML)}"


@pytest.mark.parametrize(
    ("profile", "fields", "block"),
    [
        ("identical-payload-digest", [f"WARC-Refers-To: {id_of(ORIGINAL)}"], http()[: -len(HTML)]),
        (
            "identical-payload-digest",
            ["WARC-Refers-To-Target-URI: " + URL, "WARC-Refers-To-Date: 2020-01-01T00:00:00Z"],
            http()[: -len(HTML)],
        ),
        ("identical-payload-digest", [DIGEST], http()[: -len(HTML)]),
        ("server-not-modified", [f"WARC-Refers-To: {id_of(ORIGINAL)}"], b"HTTP/1.1 304 Not Modified\r\n\r\n"),
        ("server-not-modified", [f"WARC-Refers-To: {id_of(ORIGINAL)}"], b""),
    ],
)
def test_a_revisit_leads_to_its_payload(home, profile, fields, block):
    outcome = home.take(members(rec("revisit", block, URL, PROFILE + profile, *fields), ORIGINAL))
    assert (outcome.resolved, outcome.unresolved) == (1, 0)
    row = next(row for row in home.rows() if row["warc_type"] == "revisit")
    assert payload_of_capture(home.lake, row).payload == HTML
    assert show_body(home.lake, row) == HTML
    assert (row["fetch_status"], row["outcome"]) == ((200, "ok") if profile.startswith("identical") else (304, "not_modified"))
    assert row["refers_to_url"] == URL
    if block:
        assert show_headers(home.lake, row) == block.decode()
    else:
        with pytest.raises(WarcError, match="its revisit record came without one"):
            show_headers(home.lake, row)
    assert home.verified() == []


def test_a_revisit_of_what_is_not_archived_waits_for_it(home):
    revisit = rec("revisit", http()[: -len(HTML)], URL, PROFILE + "identical-payload-digest", f"WARC-Refers-To: {id_of(ORIGINAL)}", DIGEST)
    outcome = home.take(members(revisit))
    assert (outcome.resolved, outcome.unresolved) == (0, 1)
    row = home.row()
    assert (row["refers_to_warc_filename"], row["refers_to_id"]) == (None, id_of(ORIGINAL)[10:-1])
    with pytest.raises(WarcError, match="does not say where its payload lies"):
        payload_of_capture(home.lake, row)
    assert captures_with_body(home.lake, Partition(DAY, "docs.example.org")) == []
    assert home.verified() == []
    assert home.take(members(ORIGINAL), "later.warc.gz").resolved == 1
    assert home.verified() == []


def test_a_revisit_of_a_crawled_page_leads_to_our_record(new_archive, make, home):
    archive = new_archive(day=date(2020, 1, 1))
    crawled = archive.add(make.exchange(make.ok(HTML), URL, started_at=datetime(2020, 1, 1, tzinfo=UTC)))
    archive.finish()
    home.take(members(rec("revisit", b"", URL, PROFILE + "identical-payload-digest", DIGEST)))
    row = next(row for row in home.rows() if row["warc_type"] == "revisit")
    assert row["refers_to_id"] == crawled["capture_id"]
    assert payload_of_capture(home.lake, row).payload == HTML


def test_documents_without_an_http_head_are_pages(home):
    resource = rec("resource", HTML, "http://docs.example.org/r", "Content-Type: text/html")
    conversion = rec(
        "conversion", b"What it says.", "http://docs.example.org/c", "Content-Type: text/plain", "WARC-Refers-To: <urn:uuid:a>"
    )
    home.take(members(resource, conversion))
    partition = Partition(DAY, "docs.example.org")
    assert {(row["warc_type"], row["fetch_status"], row["outcome"]) for row in home.rows()} == {
        ("resource", None, "ok"),
        ("conversion", None, "ok"),
    }
    bodies = {row["url"]: read_body(home.lake, row, 10**6) for row in captures_with_body(home.lake, partition)}
    assert {url: (body.document, body.content_type) for url, body in bodies.items()} == {
        "http://docs.example.org/c": (b"What it says.", "text/plain"),
        "http://docs.example.org/r": (HTML, "text/html"),
    }
    assert home.verified() == []


def test_the_text_of_an_archived_page_is_no_page_of_its_own(home):
    conversion = rec("conversion", b"What it says.", URL, "Content-Type: text/plain", f"WARC-Refers-To: {id_of(PAGE)}")
    home.take(members(conversion), "a.warc.wet.gz")
    home.take(members(PAGE), "a.warc.gz")
    assert {row["warc_type"]: row["kind"] for row in home.rows()} == {"conversion": "other", "response": "page"}


# faults --------------------------------------------------------------------------------------------------------------

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
FAULTY = {
    "<uri>": (response(f"<{URL}>"), {"url": URL}, None),
    "spaces in the URI": (response("http://docs.example.org/a b"), {"url": "http://docs.example.org/a%20b"}, None),
    "other letters in the URI": (response("http://docs.example.org/ü"), {"url": "http://docs.example.org/%C3%BC"}, None),
    "no record id": (response().replace(b"WARC-Record-ID", b"X-Record-ID"), {"fetch_status": 200}, "WARC-Record-ID is missing"),
    "an id that is no UUID": (response(record_id="<http://example.org/1>"), {"fetch_status": 200}, None),
    "0.17": (response(version="0.17"), {"fetch_status": 200}, None),
    "0.18": (response(version="0.18"), {"fetch_status": 200}, None),
    "1.1, microseconds": (response(version="1.1", when="2020-01-02T03:04:05.123456Z"), {"fetch_status": 200}, None),
    "LF only": (rec("response", http()).replace(b"\r\n", b"\n"), {"fetch_status": 200}, "block"),
    "no date, a Date header": (
        rec("response", http(HTML, "Date: Thu, 02 Jan 2020 03:04:05 GMT"), when="2008-10-294T05:21:46-0700"),
        {"fetch_time": datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)},
        "no date; the server's Date header is taken",
    ),
    "a date of next year": (
        WARCINFO + response(when=(datetime.now(UTC) + timedelta(days=400)).strftime("%Y-%m-%dT%H:%M:%SZ")),
        {"crawl_date": DAY},
        "can't be; the date of the file's warcinfo is taken",
    ),
    "1970": (WARCINFO + response(when="1970-01-01T00:00:00Z"), {"crawl_date": DAY}, "can't be"),
    "a header twice": (response(URL, HTML, "WARC-Date: 2019-01-01T00:00:00Z"), {"crawl_date": DAY}, "WARC-Date stands 2 times"),
    "no HTTP head": (rec("response", b"<p>just a body</p>"), {"outcome": "invalid_http", "fetch_status": None}, "status line"),
    "an empty response": (rec("response", b"", URL, "Content-Type: text/plain"), {"outcome": "invalid_http"}, None),
    "no Content-Type": (response().replace(b"Content-Type: application", b"X-Type: application"), {"fetch_status": 200}, "Content-Type is missing"),
    "a revisit without a profile": (rec("revisit", http()[: -len(HTML)]), {"fetch_status": 200, "revisit_profile": None}, None),
    "HTTP/2": (rec("response", http().replace(b"HTTP/1.1", b"HTTP/2")), {"fetch_status": 200, "http_version": "HTTP/2"}, None),
    "a status line of bytes": (rec("response", http(status="200 Tr\xe8s bien")), {"fetch_status": 200}, None),
    "chunked, bad chunks": (
        rec("response", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nxx\r\n" + b"more bytes than can be the end of one"),
        {"payload_bytes": 5},
        "no chunk size",
    ),
    "chunked, stored without": (rec("response", http(HTML, "Transfer-Encoding: chunked")), {"payload_bytes": len(HTML)}, "the body is not"),
    "chunked, zero-padded end": (
        rec("response", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0000\r\n\r\n\r\n"),
        {"payload_bytes": 5, "content_digest": "VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N"},
        None,
    ),
    "chunked, trailers": (
        rec("response", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nX-Trailer: 1\r\n\r\n"),
        {"payload_bytes": 5},
        None,
    ),
    "chunked, digest over the framing": (
        rec("response", CHUNKED, URL, f"WARC-Payload-Digest: sha1:{sha1(CHUNKED[-15:])}"),
        {"payload_bytes": 5, "content_digest": "VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N"},
        None,
    ),
    "chunked, digest of the entity": (
        rec("response", CHUNKED, URL, f"WARC-Payload-Digest: sha1:{sha1(b'hello')}"),
        {"payload_bytes": 5, "content_digest": "VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N"},
        None,
    ),
    "br that no library reads": (rec("response", http(b"not br", "Content-Encoding: br")), {"content_encoding": "br", "payload_bytes": 6}, None),
    "a wrong block digest": (response(URL, HTML, "WARC-Block-Digest: sha1:" + "0" * 40), {"fetch_status": 200}, "the block digest is"),
    "a wrong payload digest": (response(URL, HTML, "WARC-Payload-Digest: md5:" + "0" * 32), {"fetch_status": 200}, "the payload digest is"),
    "an unknown digest": (response(URL, HTML, "WARC-Payload-Digest: xyz:abc"), {"fetch_status": 200}, None),
    "a body that is cut": (rec("response", http().replace(b"Content-Length: 5", b"Content-Length: 95")), {"fetch_status": 200}, "the body has"),
    "flagged as cut": (response(URL, HTML, "WARC-Truncated: length"), {"outcome": "truncated", "content_truncated": "length"}, None),
    "flagged by an unknown reason": (response(URL, HTML, "WARC-Truncated: weather"), {"content_truncated": "unspecified"}, None),
    "a redirect": (
        rec("response", http(b"", "Location: /caf\xe9", status="301 Moved")),
        {"fetch_redirect": "http://docs.example.org/caf%E9", "outcome": "ok"},
        None,
    ),
    "404": (rec("response", http(b"gone", status="404 Not Found")), {"outcome": "http_error", "fetch_status": 404}, None),
    "robots.txt": (response("http://docs.example.org/robots.txt"), {"kind": "robots"}, None),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTY)
def test_a_record_with_a_fault_is_imported_and_the_fault_told(home, name):
    data, columns, fault = FAULTY[name]
    outcome = home.take(data + response("http://docs.example.org/behind"), "faulty.warc")
    told = [text for _, text in outcome.imported.faults]
    assert (outcome.status, outcome.new) == ("imported", 2), told
    row = next(row for row in home.rows() if not row["url"].endswith("/behind"))
    assert {column: row[column] for column in columns} == columns
    assert any(fault in text for text in told) if fault else told == []
    assert outcome.has_problem is bool(fault)
    if row["warc_type"] != "revisit":
        payload_of_capture(home.lake, row)
    assert home.verified() == []


LOST = {
    "no URL": (rec("response", http(), None), "WARC-Target-URI is missing"),
    "a bad URL": (response("http://"), "is no URL"),
    "a host that can't be": (response("http://a!b.example.org/"), "its host can't be a partition"),
    "no date at all": (response(when="never"), "WARC-Date 'never' is no date, and nothing else in the file says when it was fetched"),
    "junk": (b"this is no record\r\n\r\n", "bytes that are no WARC record"),
}  # fmt: skip


@pytest.mark.parametrize("name", LOST)
def test_a_record_that_can_not_be_imported_is_told_and_the_others_are(home, name):
    data, fault = LOST[name]
    path = home.write(response("http://docs.example.org/1") + data + response("http://docs.example.org/2"), "bad.warc")
    (outcome,) = home.run(path)
    assert sorted(row["url"] for row in home.rows()) == ["http://docs.example.org/1", "http://docs.example.org/2"]
    ((offset, text),) = outcome.imported.faults
    assert fault in text
    assert offset == len(response("http://docs.example.org/1"))
    assert outcome.has_problem
    assert home.verified() == []


def test_records_of_other_kinds_are_no_fault(home):
    outcome = home.take(
        members(rec("resource", b"1.2.3.4", "dns:docs.example.org", "Content-Type: text/dns", "WARC-Payload-Digest: sha1:abc"), response())
    )
    assert (outcome.imported.passed_over, outcome.imported.faults, outcome.new) == ({"of dns:, not http(s)": 1}, (), 1)


def test_two_records_of_one_id_are_both_kept(home):
    record_id = "<urn:uuid:11111111-1111-1111-1111-111111111111>"
    first, second = response(record_id=record_id), response("http://docs.example.org/2", record_id=record_id)
    outcome = home.take(first + second + first, "twice.warc")
    assert sorted(row["capture_id"] for row in home.rows()) == sorted([record_id[10:-1], own_id(outcome.imported.sha256, len(first))])
    assert (outcome.new, outcome.known) == (2, 1)
    assert [text for _, text in outcome.imported.faults] == [
        "the response of http://docs.example.org/2: its WARC-Record-ID is that of another record"
    ]
    assert home.verified() == []


@pytest.mark.parametrize("digest", [True, False])
def test_a_last_record_that_is_cut_is_imported_only_when_a_digest_proves_it(home, digest):
    block = http()
    fields = [f"WARC-Block-Digest: sha1:{sha1(block)}"] if digest else []
    whole, last = members(response("http://docs.example.org/1")), gzip.compress(rec("response", block, URL, *fields), mtime=0)
    for cut in (len(last) - 8, len(last) // 2):
        outcome = home.take(whole + last[:cut], f"cut-{cut}.warc.gz")
        assert "http://docs.example.org/1" in {row["url"] for row in home.rows()}
        assert any("gzip member" in text or "the record ends after" in text for _, text in outcome.imported.faults)
    assert (URL in {row["url"] for row in home.rows()}) is digest
    assert home.verified() == []


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (b"filedesc://x.arc 0.0.0.0 20200101 text/plain 1\n", "ARC file"),
        (b"<html>not a WARC</html>", "at byte 0: 23 bytes that are no WARC record"),
        (gzip.compress(b"", mtime=0), "it holds no record"),
        (gzip.compress(b"hello", mtime=0), "no WARC record"),
        (b"\x1f\x8b\x08 and no more", "gzip member"),
        (b"\x28\xb5\x2f\xfd and no more", "zstd frame"),
        (b"\x5d\x2a\x4d\x18\x04\0\0\0abcd" + zstd.compress(response()), "dictionary"),
        (b"PK\x03\x04 and no more", "no WACZ that can be read"),
    ],
)
def test_what_is_no_warc_fails_with_file_place_and_reason(home, data, reason):
    outcome = home.take(data, "strange.warc.gz")
    assert (outcome.status, outcome.has_problem) == ("failed", True)
    assert reason in outcome.error
    assert "strange.warc.gz" in outcome.error
    assert home.rows() == []


def test_the_warcs_inside_a_wacz_are_imported(home, tmp_path):
    path = tmp_path / "crawl.wacz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/a.warc.gz", members(response()))
        archive.writestr("archive/b.warc", response("http://docs.example.org/2"), zipfile.ZIP_DEFLATED)
        archive.writestr("pages/pages.jsonl", "{}")
    first, second = home.run(path)
    assert [first.source, second.source] == [f"{path}:archive/a.warc.gz", f"{path}:archive/b.warc"]
    assert sorted(row["url"] for row in home.rows()) == [URL, "http://docs.example.org/2"]
    assert home.verified() == []
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("pages/pages.jsonl", "{}")
    assert "holds no archive" in home.run(path)[0].error


def test_a_manifest_that_is_damaged_says_so(home):
    outcome = home.take(members(response()))
    name = next(iter(home.lake.files("warc/imported", "import.json")))
    home.lake.local_path(name).write_text(json.dumps({"source": 1}))
    with pytest.raises(LakeError, match=r"import\.json: it is no import's manifest"):
        home.take(members(response()))
    assert outcome.imported.name


# the files of ../shared ----------------------------------------------------------------------------------------------

# By file: captures that it brings by itself, fewest faults told (the error's words where nothing comes of it).
EXPECTED: dict[str, tuple[int, int] | str] = {
    "chatnoir-eu_chatnoir-resiliparse__clipped.warc.gz": "the record ends after 75207 of 88275 bytes",
    "internetarchive_gowarc__empty.warc.gz.open": "it holds no record",
    "webrecorder_py-wacz__invalid_example_1.wacz": "holds no archive/",
    "LAW-Unimi_BUbiNG__misc.warc": (3, 0),
    "N0taN3rd_node-warc__parseMe.warc.gz": (13, 5),
    "apache_incubator-stormcrawler__test.warc.gz": (20, 0),
    "apache_incubator-stormcrawler__unparsable-date.warc.gz": (1, 1),
    "chatnoir-eu_chatnoir-resiliparse__clueweb-quirk.warc.gz": (29, 29),
    "chatnoir-eu_chatnoir-resiliparse__warcfile.warc.gz": (16, 0),
    "commoncrawl_whirlwind-python__whirlwind.warc.gz": (1, 0),
    "commoncrawl_whirlwind-python__whirlwind.warc.wet.gz": (1, 0),
    "iipc_jwarc__cc.warc.gz": (1, 0),
    "iipc_webarchive-commons__IAH-urls-wget.warc.gz": (16, 0),
    "iipc_webarchive-commons__link-extraction-test.warc": (6, 13),
    "iipc_webarchive-commons__mutliple-headers.warc": (1, 0),
    "internetarchive_gowarc__corrupted-mid-record.warc.gz.open": (12, 1),
    "internetarchive_gowarc__corrupted-trailing-bytes.warc.gz.open": (30, 1),
    "internetarchive_gowarc__good.warc.gz.open": (50, 0),
    "internetarchive_gowarc__test.warc.gz": (1, 0),
    "webrecorder_py-wacz__example-collection-with-lists.warc": (18, 0),
    "webrecorder_py-wacz__example-iana.warc": (58, 1),
    "webrecorder_warcio.js__example-bad-length.warc": (2, 5),
    "webrecorder_warcio__example-bad-non-chunked.warc.gz": (2, 1),
    "webrecorder_warcio__example-trunc.warc": (1, 1),
    "webrecorder_warcio__example-wrong-chunks.warc.gz": (1, 3),
    "webrecorder_warcio__example.warc": (2, 0),
}  # fmt: skip


def test_every_shared_file_is_imported_or_says_why_not(home):
    for path in sorted(CASES.glob("*")) if CASES.is_dir() else []:
        if path.suffix == ".md":
            continue
        outcomes = home.run(path)
        expected = EXPECTED.get(path.name)
        for outcome in outcomes:
            if isinstance(expected, str):
                assert expected in (outcome.error or ""), path.name
                assert path.name in outcome.error
            else:
                assert outcome.status in ("imported", "already"), (path.name, outcome.error)
                if expected:
                    assert (outcome.new + outcome.known, len(outcome.imported.faults) >= expected[1]) == (expected[0], True), path.name
    for row in home.rows():
        if row["warc_type"] != "revisit" or row["refers_to_warc_filename"]:
            payload_of_capture(home.lake, row)
    assert home.verified() == []
