"""The second night: what did not change costs a 304, what changed is archived, what is not due is left alone."""

from __future__ import annotations

from datetime import timedelta

import polars as pl

from trawl_core.lake import Partition, tables
from trawl_core.warc.payload import decode_content
from trawl_core.warc.reader import payload_of_capture, read_payload
from trawl_core.warc.verify import verify


def _tagged(body: bytes, tag: str):
    def answer(asked):
        if asked.headers.get("If-None-Match") == tag:
            return {"status": 304, "headers": {"ETag": tag}}
        return {"body": body, "headers": {"ETag": tag}}

    return answer


def _first_night(serve, run_crawl):
    site = serve()
    site.routes = {
        "/": _tagged(site.page("/same", "/changing", "/idle", "/untagged"), '"home"'),
        "/same": _tagged(b"<p>same", 'W/"a\xe9"'),
        "/changing": _tagged(b"<p>old", '"1"'),
        "/idle": b"<p>idle",
        "/untagged": b"<p>never tagged",
    }
    run_crawl(site)
    return site


def test_unchanged_pages_become_revisits_of_their_bodies(serve, run_crawl, remember) -> None:
    site = _first_night(serve, run_crawl)
    remember(site, night=1, due=["/", "/same", "/changing", "/untagged"])
    site.routes["/changing"] = _tagged(b"<p>new text <a href='/found'>more</a>", '"2"')
    site.routes["/found"] = b"<p>found"
    site.asked.clear()
    run = run_crawl(site, night=1)
    rows = {row["url"].removeprefix(site.root): row for row in run.captures(site.host).iter_rows(named=True)}
    assert {path: row["outcome"] for path, row in rows.items()} == {
        "/": "not_modified",
        "/same": "not_modified",
        "/changing": "ok",
        "/untagged": "ok",
        "/found": "ok",
    }
    assert rows["/same"]["revisit_profile"] == "server-not-modified"
    assert rows["/untagged"]["revisit_profile"] == "identical-payload-digest"
    assert rows["/changing"]["warc_type"] == "response"
    assert "/idle" not in site.paths()
    same = payload_of_capture(run.lake, rows["/same"])
    assert decode_content(same.payload, None, 100) == (b"<p>same", None)
    assert verify(run.lake) == []
    facts = run.outcome(site.host).result.facts
    assert (facts["fetched"], facts["not_modified"], facts["identical"]) == (5, 2, 1)


def test_validators_go_back_byte_for_byte(serve, run_crawl, remember) -> None:
    site = _first_night(serve, run_crawl)
    remember(site, night=1, due=["/same"])
    site.asked.clear()
    run_crawl(site, night=1)
    sent = [asked.headers.get("If-None-Match") for asked in site.asked if asked.path == "/same"]
    assert sent == ['W/"a\xe9"']


def test_validators_stay_home_when_the_body_is_not_known(serve, run_crawl, remember, tmp_path) -> None:
    site = _first_night(serve, run_crawl)
    remember(site, night=1, due=["/same"])
    for history in (tmp_path / "lake" / "url_history").rglob("*.parquet"):
        history.unlink()
    site.asked.clear()
    run = run_crawl(site, night=1)
    assert all("If-None-Match" not in asked.headers for asked in site.asked)
    assert run.captures(site.host).filter(pl.col("url").str.ends_with("/same"))["warc_type"].to_list() == ["response"]


def test_a_304_that_nobody_asked_for_is_tried_once_without_validators(serve, run_crawl) -> None:
    site = serve()
    answers = iter([{"status": 304}, b"<p>there it is"])
    site.routes = {"/": site.page("/odd", "/always"), "/odd": lambda asked: next(answers), "/always": {"status": 304}}
    captures = run_crawl(site).captures(site.host)
    by_path = captures.group_by(pl.col("url").str.replace(site.root, "", literal=True), maintain_order=True).agg("outcome")
    outcomes = dict(by_path.iter_rows())
    assert outcomes["/odd"] == ["unsolicited_304", "ok"]
    assert outcomes["/always"] == ["unsolicited_304", "unsolicited_304"]


def test_an_empty_plan_begins_at_the_seeds(serve, run_crawl, remember) -> None:
    site = _first_night(serve, run_crawl)
    remember(site, night=1, due=[])
    site.asked.clear()
    run_crawl(site, night=1)
    assert [path for path in site.paths() if path not in ("/robots.txt", "/sitemap.xml")] == ["/"]


def test_a_revisit_names_the_url_whose_record_holds_the_body(serve, run_crawl, remember) -> None:
    """Two pages sent the same body: the later one was a revisit of the other, and the next night's revisits of either are of that."""
    site = serve()
    site.routes = {"/": site.page("/z", "/a"), "/z": b"<p>the same", "/a": b"<p>the same"}
    first = run_crawl(site)
    rows = {row["url"].removeprefix(site.root): row for row in first.captures(site.host).iter_rows(named=True)}
    copy, original = sorted((rows["/z"], rows["/a"]), key=lambda row: row["warc_type"], reverse=True)
    assert (copy["revisit_profile"], copy["refers_to_url"]) == ("identical-payload-digest", original["url"])
    remember(site, night=1, due=["/"])
    before = Partition(copy["crawl_date"], site.host)
    history = tables.read(first.lake, "url_history", before).to_pylist()
    known = next(row for row in history if row["url"] == original["url"])
    tables.commit(first.lake, "url_history", before, [*history, {**known, "url": copy["url"]}])
    tonight = Partition(copy["crawl_date"] + timedelta(days=1), site.host)
    due = [{"rank": rank, "url": row["url"], "score": 1.0, "reason": "index"} for rank, row in enumerate((copy, original), start=1)]
    tables.commit(first.lake, "crawl_plan", tonight, due)
    run = run_crawl(site, night=1)
    for row in run.captures(site.host).iter_rows(named=True):
        assert (row["refers_to_id"], row["refers_to_url"]) == (original["capture_id"], original["url"])
        record = read_payload(run.lake, row["warc_filename"], row["warc_record_offset"], row["warc_record_length"])
        assert record.field("WARC-Refers-To-Target-URI") == original["url"]
    assert verify(run.lake) == []
