from __future__ import annotations

from datetime import UTC, datetime

import pytest

from trawl_core.lake import tables
from trawl_core.recrawl.stage import update_url_history

HOME, PAGE, OTHER = "https://a.test/home", "https://a.test/page", "https://a.test/other"
DATE = "Thu, 12 Dec 2019 20:00:57 GMT"


def test_a_304_refers_to_the_record_that_holds_the_body(night, site):
    night.captures(1, {"url": HOME, "etag": '"a"', "last_modified": DATE})
    night.captures(2, night.unchanged(HOME, "c1-0", etag='"b"'))
    update_url_history(night.lake, night.partition(2), site())
    row = night.history(2)[HOME]
    assert (row["etag"], row["last_modified"]) == ('"b"', DATE)
    assert (row["body_capture_id"], row["body_warc_filename"], row["body_warc_offset"], row["body_warc_length"]) == (
        "c1-0",
        "warc/1.warc.gz",
        0,
        500,
    )
    assert (row["content_digest"], row["body_fetch_time"], row["last_ok_at"]) == ("D1-0", night.moment(1), night.moment(2))
    assert (row["n_unchanged"], row["days_unchanged"], row["last_status"], row["last_outcome"]) == (1, 1.0, 304, "not_modified")
    assert row["server_last_modified"] == datetime(2019, 12, 12, 20, 0, 57, tzinfo=UTC)
    assert (row["validator_kind"], row["bytes"], row["depth"]) == ("both", 2000, 1)


def test_the_newest_200_replaces_the_validators_even_by_none(night, site):
    night.captures(1, {"url": HOME, "etag": '"a"', "last_modified": DATE})
    night.captures(2, {"url": HOME, "etag": '"b"'})
    update_url_history(night.lake, night.partition(2), site())
    row = night.history(2)[HOME]
    assert (row["etag"], row["last_modified"], row["body_capture_id"]) == ('"b"', None, "c2-0")


def test_an_identical_payload_revisit_keeps_the_place_of_the_first_body_and_takes_the_new_validators(night, site):
    night.captures(1, {"url": HOME, "etag": '"a"'})
    night.captures(2, night.unchanged(HOME, "c1-0", outcome="ok", fetch_status=200, etag='"new"'))
    update_url_history(night.lake, night.partition(2), site())
    row = night.history(2)[HOME]
    assert (row["etag"], row["body_capture_id"], row["n_unchanged"], row["n_changed"]) == ('"new"', "c1-0", 1, 0)


def test_gone_drops_the_validators_and_a_return_counts_as_a_change(night, site):
    night.captures(1, {"url": HOME, "etag": '"a"'})
    night.captures(2, night.failed(HOME, "http_error", 404))
    night.captures(3, {"url": HOME, "etag": '"c"'})
    night.changes(3, home="reappeared")
    update_url_history(night.lake, night.partition(2), site())
    gone = night.history(2)[HOME]
    assert (gone["state"], gone["etag"], gone["last_status"], gone["last_ok_at"]) == ("gone", None, 404, night.moment(1))
    update_url_history(night.lake, night.partition(3), site())
    back = night.history(3)[HOME]
    assert (back["state"], back["etag"], back["n_changed"], back["days_changed"]) == ("active", '"c"', 1, 2.0)


def test_what_changed_is_what_the_changes_table_says(night, site):
    names = ("content", "structured", "metadata", "template", "quiet")
    night.captures(1, *[{"url": f"https://a.test/{name}"} for name in names])
    night.captures(2, *[{"url": f"https://a.test/{name}"} for name in names])
    night.changes(2, content="content", structured="structured", metadata="metadata", template="template")
    update_url_history(night.lake, night.partition(2), site())
    assert {url.rsplit("/", 1)[1]: row["n_changed"] for url, row in night.history(2).items()} == {
        "content": 1,
        "structured": 1,
        "metadata": 1,
        "template": 0,
        "quiet": 0,
    }


def test_without_a_changes_table_the_digest_decides(night, site):
    night.captures(1, {"url": HOME, "content_digest": "A"}, {"url": PAGE, "content_digest": "B"})
    night.captures(2, {"url": HOME, "content_digest": "A"}, {"url": PAGE, "content_digest": "C"})
    update_url_history(night.lake, night.partition(2), site())
    assert [(row["n_changed"], row["n_unchanged"]) for row in night.history(2).values()] == [(0, 1), (1, 0)]


@pytest.mark.parametrize(
    ("shells", "doms", "counts"),
    [
        ("AA", "XY", (1, 0)),
        ("AB", "XX", (0, 1)),
        ("AA", "XX", (0, 1)),
        ("AA", "X-", (0, 0)),
        ("AA", "-X", (0, 0)),
        ("AB", "-X", (1, 0)),
        ("AB", "--", (1, 0)),
    ],
)
def test_of_a_page_that_a_browser_rendered_the_dom_decides(night, site, shells, doms, counts):
    for number, (shell, dom) in enumerate(zip(shells, doms, strict=True), start=1):
        night.captures(number, {"url": HOME, "content_digest": shell, "rendered_digest": None if dom == "-" else dom})
    update_url_history(night.lake, night.partition(2), site())
    row = night.history(2)[HOME]
    assert (row["n_changed"], row["n_unchanged"]) == counts
    assert row["rendered_digest"] == (None if doms[1] == "-" else doms[1])


def test_what_leads_into_a_maze_is_no_url_of_the_next_night(night, site):
    link = {"rel": None, "text": "x", "in_scope": True}
    inside = [{**link, "url": f"https://a.test/lost/{n}/"} for n in range(5)]
    maze = {"reason": "trap", "detail": "maze https://a.test/lost/", "count": 5, "samples": [], "first_seen": night.moment(2)}
    night.captures(1, {"url": HOME}, {"url": "https://a.test/lost/0/"})
    night.pages(1, {"url": HOME, "outlinks": [*inside[:3], {**link, "url": PAGE}]})
    update_url_history(night.lake, night.partition(1), site())
    assert {url.removeprefix("https://a.test") for url in night.history(1)} == {"/home", "/page", "/lost/0/", "/lost/1/", "/lost/2/"}
    night.captures(2, {"url": HOME})
    night.pages(2, {"url": HOME, "outlinks": inside})
    tables.commit(night.lake, "frontier_log", night.partition(2), [maze])
    update_url_history(night.lake, night.partition(2), site())
    assert {url.removeprefix("https://a.test") for url in night.history(2)} == {"/home", "/page", "/lost/0/"}
    # A person overruled it: the pages still show the way.
    update_url_history(night.lake, night.partition(2), site(traps={"allow": ["/lost/"]}))
    assert len(night.history(2)) == 7


def test_a_bad_night_is_one_failure_however_often_it_was_tried(night, site):
    night.captures(1, {"url": HOME})
    night.captures(2, *[night.failed(HOME, outcome) for outcome in ("timeout", "connect_error", "timeout")])
    night.captures(3, night.failed(HOME), {"url": HOME}, night.failed(HOME))
    update_url_history(night.lake, night.partition(2), site())
    row = night.history(2)[HOME]
    assert (row["errors_in_row"], row["last_outcome"], row["last_ok_at"], row["last_status"]) == (1, "error", night.moment(1), 200)
    assert row["body_capture_id"] == "c1-0"
    update_url_history(night.lake, night.partition(3), site())
    row = night.history(3)[HOME]
    assert (row["errors_in_row"], row["last_outcome"]) == (0, "ok")


@pytest.mark.parametrize(
    ("outcome", "status", "kept"),
    [
        ("http_error", 404, "gone"),
        ("http_error", 410, "gone"),
        ("http_error", 429, "throttled"),
        ("http_error", 503, "throttled"),
        ("http_error", 500, "error"),
        ("http_error", 403, "error"),
        ("robots_unavailable", None, "throttled"),
        ("robots_denied", None, "error"),
        ("dns_error", None, "error"),
        ("unsolicited_304", 304, "error"),
        ("redirect_loop", 302, "error"),
    ],
)
def test_each_failure_has_its_outcome(night, site, outcome, status, kept):
    night.captures(1, night.failed(HOME, outcome, status))
    update_url_history(night.lake, night.partition(1), site())
    row = night.history(1)[HOME]
    assert (row["last_outcome"], row["state"]) == (kept, "gone" if kept == "gone" else "active")
    assert row["last_ok_at"] is None
    assert row["next_retry_at"] is not None


def test_a_body_cut_at_the_limit_is_good_but_never_asked_for_by_validators(night, site):
    night.captures(1, {"url": HOME, "etag": '"a"', "outcome": "truncated", "content_truncated": "length"})
    night.captures(2, {"url": HOME, "outcome": "truncated", "content_truncated": "disconnect"})
    update_url_history(night.lake, night.partition(1), site())
    row = night.history(1)[HOME]
    assert (row["last_outcome"], row["etag"]) == ("ok", None)
    update_url_history(night.lake, night.partition(2), site())
    assert night.history(2)[HOME]["last_outcome"] == "error"


def test_redirects_stay_known_and_name_their_permanent_target(night, site):
    night.captures(
        1,
        {"url": HOME, "fetch_status": 301, "fetch_redirect": OTHER},
        {"url": PAGE, "fetch_status": 302, "fetch_redirect": OTHER},
        {"url": OTHER, "redirect_hop": 1},
    )
    update_url_history(night.lake, night.partition(1), site())
    rows = night.history(1)
    assert (rows[HOME]["last_outcome"], rows[HOME]["canonical_url"], rows[HOME]["state"]) == ("redirect", OTHER, "active")
    assert rows[HOME]["last_ok_at"] == night.moment(1)
    assert rows[PAGE]["canonical_url"] is None
    night.captures(2, {"url": HOME})
    update_url_history(night.lake, night.partition(2), site())
    assert night.history(2)[HOME]["canonical_url"] is None


@pytest.mark.parametrize(("status", "moves"), [(301, True), (302, False), (303, False), (307, False), (308, True)])
def test_only_a_permanent_redirect_moves_the_canonical_url(night, site, status, moves):
    night.captures(1, {"url": HOME, "fetch_status": status, "fetch_redirect": OTHER}, {"url": OTHER, "redirect_hop": 1})
    update_url_history(night.lake, night.partition(1), site())
    assert night.history(1)[HOME]["canonical_url"] == (OTHER if moves else None)
    assert {row["state"] for row in night.history(1).values()} == {"active"}


def test_robots_files_sitemaps_and_urls_out_of_scope_have_no_history(night, site):
    night.captures(
        1,
        {"url": "https://a.test/robots.txt", "kind": "robots"},
        {"url": "https://a.test/sitemap.xml", "kind": "sitemap"},
        night.failed("https://elsewhere.test/", "out_of_scope"),
        {"url": HOME},
    )
    update_url_history(night.lake, night.partition(1), site())
    assert set(night.history(1)) == {HOME}


def test_a_pattern_excluded_later_marks_its_urls_and_lets_them_back(night, site):
    night.captures(1, {"url": HOME}, {"url": PAGE})
    update_url_history(night.lake, night.partition(1), site())
    night.captures(2, {"url": HOME})
    update_url_history(night.lake, night.partition(2), site(exclude=["/page"]))
    assert {url: row["state"] for url, row in night.history(2).items()} == {HOME: "active", PAGE: "excluded"}
    update_url_history(night.lake, night.partition(3), site())
    assert night.history(3)[PAGE]["state"] == "active"


def test_links_that_no_crawl_fetched_stay_known(night, site):
    night.captures(1, {"url": HOME, "depth": 1}, {"url": PAGE, "depth": 2})
    link = {"rel": None, "text": "x", "in_scope": True}
    outside = {**link, "url": "https://b.test/", "in_scope": False}
    night.pages(
        1,
        {"url": HOME, "outlinks": [{**link, "url": PAGE}, {**link, "url": "https://a.test/new"}, outside]},
        {"url": PAGE, "outlinks": [{**link, "url": "https://a.test/deep"}, {**link, "url": "https://a.test/excluded"}]},
    )
    settings = site(exclude=["/excluded"], budget={"depth": 2})
    result = update_url_history(night.lake, night.partition(1), settings)
    rows = night.history(1)
    assert set(rows) == {HOME, PAGE, "https://a.test/new"}
    assert (rows["https://a.test/new"]["depth"], rows["https://a.test/new"]["last_fetched_at"]) == (2, None)
    assert result.facts["unfetched"] == 1


def test_feeds_and_sitemaps_that_pages_link_to_do_not_become_pages(night, site):
    link = {"rel": "alternate", "text": None, "in_scope": True}
    shown = [{**link, "url": f"https://a.test/{name}"} for name in ("feed.xml", "sitemap.xml", "new")]
    night.captures(1, {"url": "https://a.test/feed.xml", "kind": "feed"}, {"url": "https://a.test/sitemap.xml", "kind": "sitemap"})
    night.captures(2, {"url": HOME})
    night.pages(2, {"url": HOME, "outlinks": shown})
    update_url_history(night.lake, night.partition(2), site())
    assert set(night.history(2)) == {HOME, "https://a.test/new"}


def test_an_endless_calendar_adds_only_a_sample(night, site):
    link = {"rel": None, "text": "x", "in_scope": True}
    days = [{**link, "url": f"https://a.test/calendar/20{year:02}/{month:02}"} for year in range(90) for month in range(1, 13)]
    night.captures(1, {"url": HOME})
    night.pages(1, {"url": HOME, "outlinks": days})
    update_url_history(night.lake, night.partition(1), site())
    assert len(night.history(1)) < 200


def test_nights_may_be_folded_one_by_one_or_together_with_the_same_bytes(night, site):
    night.captures(1, {"url": HOME, "etag": '"a"', "fetch_time": night.moment(1, 7)}, {"url": PAGE}, night.failed(OTHER))
    night.captures(2, night.unchanged(HOME, "c1-0"), night.failed(PAGE, "http_error", 410), night.failed(OTHER))
    night.captures(3, {"url": HOME, "fetch_time": night.moment(3, 1234)}, {"url": OTHER})
    night.changes(3, home="content")
    settings = site(exclude=["/page"])
    name = night.lake.table_name("url_history", night.partition(3))
    update_url_history(night.lake, night.partition(3), settings)
    together = night.lake.local_path(name).read_bytes()
    for number in (2, 1, 2, 3):
        update_url_history(night.lake, night.partition(number), settings)
    assert night.lake.local_path(name).read_bytes() == together


def test_a_night_without_a_crawl_carries_the_history_on(night, site):
    night.captures(1, {"url": HOME})
    update_url_history(night.lake, night.partition(1), site())
    result = update_url_history(night.lake, night.partition(4), site())
    assert result.facts["nights_folded"] == 0
    assert night.history(4)[HOME]["last_ok_at"] == night.moment(1)
    assert tables.count(night.lake, "url_history", night.partition(4)) == 1
