from __future__ import annotations

import sqlite3

import pytest

from trawl_core.fetch import frontier
from trawl_core.lake import Partition, tables
from trawl_core.recrawl import health
from trawl_core.recrawl.health import overdue, report_night, status_table
from trawl_core.recrawl.stage import update_url_history
from trawl_core.sites import SitesConfig

HOME, PAGE, API = "https://a.test/", "https://a.test/page", "https://api.a.test:8443/v1"


@pytest.fixture
def config(site):
    def build(**settings):
        return SitesConfig(
            user_agent="TrawlBot/1.0 (+https://example.org/bot)",
            sites=(site(origins=["https://api.a.test:8443/"], network={"allow_ports": [443, 8443]}, **settings),),
        )

    return build


@pytest.fixture
def reported(night, config):
    """Night 1: two pages and an API, all good. Night 2: one changed, one 304, the API down; a denied URL; a sitemap of 9,000 bytes."""
    night.captures(1, {"url": HOME}, {"url": PAGE}, {"url": API})
    night.captures(
        2,
        {"url": HOME},
        night.unchanged(PAGE, "c1-1"),
        night.failed(API),
        night.failed("https://a.test/private", "robots_denied"),
        {"url": "https://a.test/sitemap.xml", "kind": "sitemap", "wire_bytes": 9000},
    )
    tables.commit(night.lake, "changes", night.partition(2), [{"url": HOME, "event": "content"}, {"url": PAGE, "event": "template"}])
    lengths = [100, 300, 500]
    night.pages(2, *[{"url": HOME, "fetch_status": 200, "text_chars": chars} for chars in lengths])
    for number in (1, 2):
        update_url_history(night.lake, night.partition(number), config().sites[0])
    return night


def rows_of(night, number):
    table = tables.read(night.lake, "crawl_report", Partition(night.partition(number).crawl_date))
    return {row["origin"]: row for row in table.to_pylist()}


def test_the_report_has_a_row_for_each_origin_and_a_total(reported, config):
    result = report_night(reported.lake, reported.partition(2).crawl_date, config())
    rows = rows_of(reported, 2)
    assert set(rows) == {None, "https://a.test:443", "https://api.a.test:8443"}
    total = rows[None]
    assert (total["domain"], total["fetched"], total["not_modified"], total["changed"], total["errors"]) == ("a.test", 1, 1, 1, 1)
    assert (total["errors_by_kind"], total["error_rate"]) == ([("timeout", 1)], pytest.approx(1 / 3))
    assert (total["wire_bytes"], total["bytes_per_changed_page"], total["crawl_seconds"]) == (11_200, 11_200.0, 4.0)
    assert dict(total["length_percentiles"])["p50"] == 300.0
    assert total["filter_rate"] == pytest.approx(1 / 3)
    assert total["oldest_lease_s"] is None
    assert rows["https://api.a.test:8443"]["error_rate"] == 1.0
    assert rows["https://a.test:443"]["errors"] == 0
    assert result.committed[0].rows == 3
    assert (result.facts["domains"], result.facts["errors"]) == (1, 1)


def test_coverage_and_age_are_those_of_the_last_fetch_of_the_night(reported, config):
    report_night(reported.lake, reported.partition(2).crawl_date, config())
    rows = rows_of(reported, 2)
    # Three pages: two good tonight, the API good last night. The denied URL is no page.
    assert rows[None]["fresh_coverage"] == 1.0
    assert rows[None]["oldest_page_days"] == pytest.approx(1.0, abs=1e-3)
    report_night(reported.lake, reported.partition(2).crawl_date, config(recrawl={"max_age_days": 0.5}))
    assert rows_of(reported, 2)[None]["fresh_coverage"] == pytest.approx(2 / 3)


def test_a_site_that_was_not_crawled_still_has_a_row(reported, config):
    report_night(reported.lake, reported.partition(9).crawl_date, config())
    total = rows_of(reported, 9)[None]
    assert (total["fetched"], total["error_rate"], total["bytes_per_changed_page"], total["crawl_seconds"]) == (0, None, None, None)
    assert total["oldest_page_days"] == pytest.approx(8.9, abs=0.1)


def test_a_site_that_was_taken_out_is_still_reported_for_the_nights_it_was_crawled(reported, config):
    nobody = config().model_copy(update={"sites": ()})
    report_night(reported.lake, reported.partition(2).crawl_date, nobody)
    assert rows_of(reported, 2)[None]["fetched"] == 1
    assert report_night(reported.lake, reported.partition(3).crawl_date, nobody).committed[0].rows == 0


def test_the_report_is_the_same_whenever_it_is_made(reported, config):
    path = reported.lake.local_path(reported.lake.table_name("crawl_report", Partition(reported.partition(2).crawl_date)))
    report_night(reported.lake, reported.partition(2).crawl_date, config())
    before = path.read_bytes()
    reported.captures(3, {"url": HOME})
    update_url_history(reported.lake, reported.partition(3), config().sites[0])
    report_night(reported.lake, reported.partition(2).crawl_date, config())
    assert path.read_bytes() == before


@pytest.mark.parametrize(("leases", "age"), [([], 0.0), ([(1, 600.0), (1, 10.0), (3, -900.0)], 890.0)])
def test_the_oldest_lease_comes_from_the_live_frontier(reported, config, tmp_path, leases, age):
    ended = reported.moment(2, 4).timestamp()
    file = tmp_path / "work" / f"{reported.partition(2).folder}.sqlite"
    file.parent.mkdir(parents=True)
    db = sqlite3.connect(file)
    db.execute("CREATE TABLE urls (state INTEGER, lease_until REAL)")
    db.executemany("INSERT INTO urls VALUES (?, ?)", [(state, ended + more) for state, more in leases])
    db.commit()
    db.close()
    report_night(reported.lake, reported.partition(2).crawl_date, config(), work=tmp_path / "work")
    assert rows_of(reported, 2)[None]["oldest_lease_s"] == pytest.approx(age)


def test_a_lease_is_as_long_as_the_frontier_makes_it():
    assert (health.LEASE_S, frontier.LEASED) == (frontier.LEASE_S, 1)


def test_status_tells_each_site_also_one_that_was_never_crawled(reported, config, clock_at, site):
    other = site().model_copy(update={"domain": "b.test"})
    both = config().model_copy(update={"sites": (*config().sites, other)})
    first, second = status_table(reported.lake, both, clock_at(2, 3600))
    assert (first["domain"], first["last_crawl"], first["urls"], first["fetched"], first["errors"]) == (
        "a.test",
        reported.partition(2).crawl_date,
        4,
        1,
        1,
    )
    assert (second["domain"], second["last_crawl"], second["urls"], second["fetched"]) == ("b.test", None, 0, 0)
    assert list(first) == list(second)
    assert overdue(reported.lake, both, clock_at(2, 3600)) == []


def test_a_crawl_that_stopped_is_overdue_after_a_day_and_a_half(reported, config, clock_at):
    assert overdue(reported.lake, config(), clock_at(3, 11 * 3600)) == []
    (problem,) = overdue(reported.lake, config(), clock_at(3, 13 * 3600))
    assert problem.startswith("a.test: not crawled for 37 hours")
    disabled = config(enabled=False)
    assert overdue(reported.lake, disabled, clock_at(9)) == []


def test_old_pages_and_failing_nights_are_overdue(reported, config, clock_at):
    reported.captures(6, {"url": HOME}, night_failed := reported.failed(PAGE), {**night_failed, "url": API})
    update_url_history(reported.lake, reported.partition(6), config().sites[0])
    problems = overdue(reported.lake, config(recrawl={"max_age_days": 2}), clock_at(6, 3600))
    assert [problem.split(";")[0] for problem in problems] == [
        "a.test: its oldest page was last seen 5 days ago, recrawl.max_age_days is 2",
        "a.test: 2 attempts failed on 2026-11-06 (67%)",
    ]
