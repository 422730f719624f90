"""`trawl show`: every kind of capture leads back to its bytes, and what is wrong with them is said."""

import gzip
import json
import uuid
from datetime import date

import pytest

from trawl_core.cli.main import run
from trawl_core.lake import Lake
from trawl_core.warc.captures import capture_row, revisit_of

BODY = b"<!doctype html><title>t</title><p>Hello"
CODED = gzip.compress(BODY, mtime=0)
NOT_MODIFIED = b'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n'
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4
URL = "http://docs.example.org/"


@pytest.fixture
def show(new_archive, make, clock, tmp_path, monkeypatch, capfdbinary):
    """`show(name, *options)` over two nights: (status, standard output in bytes, standard error)."""
    lake = Lake(tmp_path / "home" / "lake")
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("TRAWL_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TRAWL_LAKE", raising=False)
    first = new_archive(date(2026, 11, 29), lake=lake)
    named = {}

    def add(archive, name, wire, revisit=None, **changes):
        named[name] = archive.add(make.exchange(wire, URL + name, started_at=clock.now(), **changes), revisit)

    add(first, "coded", make.ok(CODED, b"Content-Encoding: gzip"))
    add(first, "page", make.ok(BODY))
    add(first, "moved", make.ok(b"moved", b"Location: /page").replace(b"200 OK", b"301 Moved"))
    add(first, "picture", make.ok(PICTURE).replace(b"text/html; charset=utf-8", b"image/png"))
    add(first, "long", make.ok(BODY), truncated="length", error="the answer is longer than 39 bytes; the rest was not read.")
    add(first, "damaged", make.ok(CODED[:-9], b"Content-Encoding: gzip"))
    add(first, "failed", b"", outcome="timeout", error="no answer in 20 s")
    rendered = make.exchange(make.ok(BODY), URL + "app", started_at=clock.now())
    written = first.writer.write(rendered, capture_id := str(uuid.uuid4()), rendered=b"<p>made")
    first.rows.append(
        capture_row(
            rendered,
            capture_id=capture_id,
            partition=first.partition,
            written=written,
            revisit=None,
            kind="page",
            depth=0,
            is_seed=False,
            attempt=1,
        )
    )
    first.finish()
    clock.sleep(86_400)
    second = new_archive(date(2026, 11, 30), lake=lake)
    add(second, "coded", NOT_MODIFIED, revisit_of(named["coded"], "server-not-modified"))
    add(second, "copy", make.ok(BODY, b"Age: 7"), revisit_of(named["page"], "identical-payload-digest"))
    add(second, "page", b"", outcome="timeout", error="no answer in 20 s")
    second.finish()

    def ask(name, *options):
        status = run(["show", URL + name, *options])
        out, said = capfdbinary.readouterr()
        return status, out, said.decode()

    return ask


@pytest.mark.parametrize(
    ("name", "body"),
    [("coded", BODY), ("page", BODY), ("copy", BODY), ("picture", PICTURE), ("app", BODY)],
)
def test_bodies_are_those_of_the_archive_to_the_byte(show, name, body):
    assert show(name, "--body") == (0, body, "")


def test_a_body_that_is_no_page_or_not_whole_is_told_of(show):
    status, body, said = show("moved", "--body")
    assert (status, body) == (0, b"moved")
    assert "answer 301 that leads to http://docs.example.org/page, of 2026-11-30 02:00:00" in said
    status, body, said = show("long", "--body")
    assert (status, body) == (0, BODY)
    assert "not whole (length): the answer is longer than 39 bytes" in said
    status, body, said = show("damaged", "--body")
    assert status == 0 and BODY.startswith(body)
    assert "The gzip coding of the body is cut off or damaged" in said


def test_heads_are_as_they_were_sent_that_of_a_304_too(show):
    assert show("coded", "--headers")[1].startswith(b"HTTP/1.1 304 Not Modified")
    assert show("coded", "--headers", "--date", "2026-11-29")[1].startswith(b"HTTP/1.1 200 OK")
    assert b"Age: 7" in show("copy", "--headers")[1]
    assert b"Location: /page" in show("moved", "--headers")[1]


def test_what_a_browser_made_and_that_none_did(show):
    assert show("app", "--rendered") == (0, b"<p>made", "")
    status, out, said = show("page", "--rendered")
    assert (status, out) == (1, b"")
    assert said.startswith("trawl: no browser rendered http://docs.example.org/page. `browser: when-needed`")


def test_each_capture_newest_first(show):
    status, out, _ = show("coded", "--json")
    found = json.loads(out)
    assert status == 0
    assert [(row["crawl_date"], row["fetch_status"], row["revisit_profile"]) for row in found] == [
        ("2026-11-30", 304, "server-not-modified"),
        ("2026-11-29", 200, None),
    ]
    status, out, _ = show("coded")
    assert status == 0 and out.count(b"2026-11-") >= 2


def test_a_url_without_bytes_says_why(show):
    assert show("unknown", "--body")[0::2] == (
        1,
        "trawl: http://docs.example.org/unknown was never captured\n".replace("captured\n", "captured.\n"),
    )
    status, out, said = show("failed", "--body")
    assert (status, out) == (1, b"")
    assert "no record was written" in said
    assert "no answer in 20 s" in show("failed", "--headers")[2]
