"""Two nights that another program archived: imported, then pages, changes and search as if they had been crawled here."""

from __future__ import annotations

import gzip
import json
import uuid
from collections.abc import Callable

HOST = "docs.example.org"
FIRST, SECOND = "2020-01-02", "2020-01-03"
POOL = "A connection stays in the pool for {} minutes, then it is closed and the next query opens a fresh one."
FILLER = [
    "The pool is made when the first query is asked, and it is shared by all threads of the program that use the same address.",
    "Backups run at night and are kept for a month, in another building than the one the database stands in.",
]
OTHER = "Whales sleep upright in groups, a few metres below the surface, and breathe only once in a quarter of an hour."


def _page(title: str, *paragraphs: str) -> bytes:
    text = "".join(f"<p>{one}</p>" for one in paragraphs)
    return f"<html><head><title>{title}</title></head><body><main><h1>{title}</h1>{text}</main></body></html>".encode()


def _record(kind: str, day: str, path: str, block: bytes, *fields: str) -> bytes:
    msgtype = "request" if kind == "request" else "response"
    lines = [
        "WARC/1.0",
        f"WARC-Type: {kind}",
        f"WARC-Record-ID: <urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{kind} {day} {path}')}>",
        f"WARC-Date: {day}T02:00:00Z",
        f"WARC-Target-URI: http://{HOST}{path}",
        f"Content-Type: application/http;msgtype={msgtype}",
        *fields,
        f"Content-Length: {len(block)}",
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + block + b"\r\n\r\n"


def _answer(day: str, path: str, body: bytes, status: str = "200 OK") -> list[bytes]:
    """As wget writes it: the request first, no digests, no ids of each other."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    return [
        _record("request", day, path, f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()),
        _record("response", day, path, head + body),
    ]


def _unchanged(day: str, path: str, original: str) -> bytes:
    return _record(
        "revisit",
        day,
        path,
        b"HTTP/1.1 304 Not Modified\r\n\r\n",
        "WARC-Profile: http://netpreserve.org/warc/1.0/revisit/server-not-modified",
        f"WARC-Refers-To-Target-URI: http://{HOST}{path}",
        f"WARC-Refers-To-Date: {original}T02:00:00Z",
    )


def test_imported_nights_are_nights(new_home: Callable[..., object]) -> None:
    home = new_home()
    home.root.mkdir()
    records = [
        *_answer(FIRST, "/pool", _page("The pool", POOL.format("ten"), *FILLER)),
        *_answer(FIRST, "/whales", _page("Whales", OTHER)),
        *_answer(SECOND, "/pool", _page("The pool", POOL.format("ninety"), *FILLER)),
        *_answer(SECOND, "/gone", b"nothing here", "404 Not Found"),
        _unchanged(SECOND, "/whales", FIRST),
    ]
    path = home.root / "theirs.warc.gz"
    # All in one gzip member: the file has to be rewritten, and one file holds both nights.
    path.write_bytes(gzip.compress(b"".join(records)))

    told = json.loads(home.passes("import-warc", str(path), "--add-sites", "--json"))
    (file,) = told["files"]
    assert (file["new"], file["imported"]["form"], file["imported"]["faults"]) == (5, "rewritten", [])
    assert (file["revisits_resolved"], told["sites_added"]) == (1, [HOST])

    night = json.loads(home.passes("crawl", "--date", SECOND, "--domain", HOST, "--json"))
    (site,) = night["sites"]
    assert (night["failures"], site["fetched"], site["304"], site["changed"]) == ([], 1, 1, 1)

    changes = {(str(row["crawl_date"]), row["url"].rpartition("/")[2], row["event"]) for row in home.table("changes")}
    assert (SECOND, "pool", "content") in changes
    assert not [change for change in changes if change[1] == "whales" and change[0] == SECOND]
    assert {(str(row["crawl_date"]), row["url"].rpartition("/")[2], row["extract_status"]) for row in home.table("pages")} >= {
        (FIRST, "pool", "ok"),
        (FIRST, "whales", "ok"),
        (SECOND, "pool", "ok"),
        (SECOND, "whales", "carried"),
    }
    hits = json.loads(home.passes("search", "how do whales sleep", "-k", "1", "--json"))
    assert [hit["url"] for hit in hits] == [f"http://{HOST}/whales"]
    assert "ninety minutes" in home.passes("show", f"http://{HOST}/pool", "--body")
    assert "sound" in home.passes("verify")
