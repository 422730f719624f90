"""Redirects, hop by hop: each is a capture, and its target is judged like any URL before it is asked for."""

from __future__ import annotations

import polars as pl


def _to(target: str, status: int = 302) -> dict:
    return {"status": status, "headers": {"Location": target}}


def _rows(run, site) -> dict[str, dict]:
    return {row["url"].removeprefix(site.root): row for row in run.captures(site.host).iter_rows(named=True)}


def test_a_chain_is_stored_hop_by_hop(serve, run_crawl) -> None:
    site = serve()
    site.routes = {"/": site.page("/r1"), "/r1": _to("/r2", 301), "/r2": _to("end", 307), "/end": b"<p>here"}
    rows = _rows(run_crawl(site), site)
    assert [rows[path]["redirect_hop"] for path in ("/r1", "/r2", "/end")] == [0, 1, 2]
    assert rows["/r2"]["redirect_from_id"] == rows["/r1"]["capture_id"]
    assert rows["/end"]["redirect_from_id"] == rows["/r2"]["capture_id"]
    assert rows["/r1"]["fetch_redirect"] == f"{site.root}/r2"
    assert [rows[path]["fetch_status"] for path in ("/r1", "/r2", "/end")] == [301, 307, 200]
    assert rows["/end"]["depth"] == 1


def test_a_loop_ends_where_it_closes(serve, run_crawl) -> None:
    site = serve()
    site.routes = {"/": site.page("/loop", "/self"), "/loop": _to("/back"), "/back": _to("/loop"), "/self": _to("/self")}
    rows = _rows(run_crawl(site), site)
    assert site.paths().count("/loop") == 1
    assert rows["/loop"]["outcome"] == "ok"
    assert rows["/back"]["outcome"] == "redirect_loop"
    assert rows["/back"]["warc_filename"] is not None
    assert rows["/self"]["outcome"] == "redirect_loop"


def test_a_loop_is_found_when_both_ends_are_linked(serve, run_crawl) -> None:
    site = serve()
    site.routes = {"/": site.page("/x", "/y"), "/x": _to("/y"), "/y": _to("/x")}
    rows = _rows(run_crawl(site), site)
    assert sorted(rows[path]["outcome"] for path in ("/x", "/y")) == ["ok", "redirect_loop"]


def test_an_endless_chain_stops_at_the_limit(serve, run_crawl) -> None:
    site = serve()
    site.routes["/"] = site.page("/n/0")
    site.fallback = lambda asked: _to(f"/n/{int(asked.path.rsplit('/', 1)[1]) + 1}") if asked.path.startswith("/n/") else {"status": 404}
    run = run_crawl(site, settings={"max_redirects": 3})
    rows = _rows(run, site)
    assert [path for path in site.paths() if path.startswith("/n/")] == ["/n/0", "/n/1", "/n/2", "/n/3"]
    assert rows["/n/3"]["outcome"] == "redirect_limit"
    assert "/n/4" in rows["/n/3"]["error"]


def test_a_target_out_of_scope_is_told_and_not_asked_for(serve, run_crawl) -> None:
    other = serve({"/x": b"<p>not ours"})
    site = serve()
    site.routes = {"/": site.page("/out", "/meta"), "/out": _to(f"{other.root}/x"), "/meta": _to("http://169.254.169.254/latest/")}
    run = run_crawl(site)
    told = run.captures(site.host).filter(pl.col("outcome") == "out_of_scope")
    assert set(told["url"]) == {f"{other.root}/x", "http://169.254.169.254/latest/"}
    assert told["warc_filename"].is_null().all()
    assert told["redirect_hop"].to_list() == [1, 1]
    assert other.asked == []


def test_a_target_that_robots_forbid_is_not_asked_for(serve, run_crawl) -> None:
    site = serve()
    site.routes = {
        "/robots.txt": b"User-agent: *\nDisallow: /private/\n",
        "/": site.page("/ok"),
        "/ok": _to("/private/x"),
        "/private/x": b"<p>secret",
    }
    run = run_crawl(site)
    rows = _rows(run, site)
    assert "/private/x" not in site.paths()
    assert rows["/private/x"]["outcome"] == "robots_denied"
    assert rows["/private/x"]["redirect_from_id"] == rows["/ok"]["capture_id"]


def test_a_raw_latin1_location_is_followed(serve, run_crawl) -> None:
    site = serve()
    site.routes = {"/": site.page("/r"), "/r": _to("/caf\xe9"), "/caf%E9": b"<p>coffee"}
    rows = _rows(run_crawl(site), site)
    assert rows["/caf%E9"]["outcome"] == "ok"
