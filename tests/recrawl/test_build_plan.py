from __future__ import annotations

import pytest

from trawl_core.errors import PastDateError, UsageError
from trawl_core.lake import tables
from trawl_core.recrawl.stage import build_plan, due_tonight, update_url_history

SEED, HOME, PAGE = "https://a.test/", "https://a.test/home", "https://a.test/page"


@pytest.fixture
def one_night(night, site):
    night.captures(
        1,
        {"url": SEED, "etag": '"s"', "depth": 0},
        {"url": HOME, "etag": '"h"', "last_modified": "Thu, 12 Dec 2019 20:00:57 GMT"},
        {"url": PAGE},
        night.failed("https://a.test/lost", "http_error", 404),
        night.failed("https://a.test/down"),
    )
    update_url_history(night.lake, night.partition(1), site())
    return night


def test_the_first_plan_is_the_seeds(night, site, clock_at):
    settings = site(seeds=["HTTPS://A.test/docs/../start", "https://a.test", SEED])
    result = build_plan(night.lake, night.partition(1), settings, clock_at(1))
    assert [(row["rank"], row["url"], row["reason"], row["depth"]) for row in night.plan(1)] == [
        (1, "https://a.test/start", "seed", 0),
        (2, SEED, "seed", 0),
    ]
    assert result.committed[0].rows == 2
    assert result.facts["reasons"] == {"seed": 2}


def test_the_second_plan_carries_validators_and_reasons(one_night, site, clock_at):
    build_plan(one_night.lake, one_night.partition(2), site(), clock_at(2))
    rows = {row["url"]: row for row in one_night.plan(2)}
    assert set(rows) == {SEED, HOME, PAGE, "https://a.test/down"}
    assert rows[SEED]["rank"] == 1
    assert (rows[HOME]["etag"], rows[HOME]["last_modified"]) == ('"h"', "Thu, 12 Dec 2019 20:00:57 GMT")
    assert (rows[HOME]["body_capture_id"], rows[HOME]["depth"]) == ("c1-1", 1)
    assert rows[HOME]["staleness_days"] == pytest.approx(1, abs=0.01)
    assert rows[HOME]["rate_per_day"] > 0
    down = rows["https://a.test/down"]
    assert (down["reason"], down["rate_per_day"], down["staleness_days"], down["etag"]) == ("retry", None, None, None)


def test_a_seed_is_always_in_even_while_it_waits(night, site, clock_at):
    night.captures(1, night.failed(SEED), {"url": HOME})
    night.captures(2, night.failed(SEED), {"url": HOME})
    update_url_history(night.lake, night.partition(2), site())
    build_plan(night.lake, night.partition(3), site(budget={"pages": 1}), clock_at(3))
    assert [(row["url"], row["reason"]) for row in night.plan(3)] == [(SEED, "retry")]


def test_the_budget_is_the_sites(one_night, site, clock_at):
    build_plan(one_night.lake, one_night.partition(2), site(budget={"pages": 2}), clock_at(2))
    assert [row["rank"] for row in one_night.plan(2)] == [1, 2]


def test_excluded_urls_and_changed_seeds_take_effect_at_once(one_night, site, clock_at):
    build_plan(one_night.lake, one_night.partition(2), site(seeds=["https://a.test/start"], exclude=["/home$"]), clock_at(2))
    rows = {row["url"]: row["reason"] for row in one_night.plan(2)}
    assert rows["https://a.test/start"] == "seed"
    assert HOME not in rows


def test_priorities_multiply_the_weight(one_night, site, clock_at):
    settings = site(budget={"pages": 2}, priorities=[{"pattern": "/page$", "weight": 20}])
    build_plan(one_night.lake, one_night.partition(2), settings, clock_at(2))
    assert [(row["url"], row["reason"]) for row in one_night.plan(2)] == [(SEED, "index"), (PAGE, "priority")]


def test_planning_again_the_same_day_gives_the_same_bytes(one_night, site, clock_at):
    path = one_night.lake.local_path(one_night.lake.table_name("crawl_plan", one_night.partition(2)))
    build_plan(one_night.lake, one_night.partition(2), site(), clock_at(2))
    before = path.read_bytes()
    one_night.captures(2, {"url": SEED})
    update_url_history(one_night.lake, one_night.partition(2), site())
    build_plan(one_night.lake, one_night.partition(2), site(), clock_at(2, 3600))
    assert path.read_bytes() == before


def test_an_age_that_the_budget_cant_keep_is_a_warning_with_the_least_that_it_can(night, site, clock_at):
    night.captures(1, *[{"url": f"https://a.test/{number}"} for number in range(120)])
    update_url_history(night.lake, night.partition(1), site())
    result = build_plan(night.lake, night.partition(2), site(budget={"pages": 10}, recrawl={"max_age_days": 7}), clock_at(2))
    assert "20.0 days" in result.facts["warning"]
    assert "warning" not in build_plan(night.lake, night.partition(2), site(), clock_at(2)).facts


def test_a_past_date_without_an_archive_is_refused_with_what_to_do(one_night, site, clock_at):
    with pytest.raises(PastDateError, match=r"a\.test for 2026-11-02.*trawl import-warc"):
        build_plan(one_night.lake, one_night.partition(2), site(), clock_at(3))
    assert not tables.has(one_night.lake, "crawl_plan", one_night.partition(2))


def test_a_past_date_with_an_archive_keeps_its_plan_and_says_so(one_night, site, clock_at):
    build_plan(one_night.lake, one_night.partition(2), site(), clock_at(2))
    path = one_night.lake.local_path(one_night.lake.table_name("crawl_plan", one_night.partition(2)))
    before = path.stat().st_mtime_ns
    one_night.lake.publish(f"{one_night.lake.warc_folder(one_night.partition(2))}/x.warc.gz", lambda file: file.write(b"x"))
    result = build_plan(one_night.lake, one_night.partition(2), site(), clock_at(5))
    assert "stays as it was" in result.facts["note"]
    assert (result.committed[0].rows, path.stat().st_mtime_ns) == (4, before)


def test_a_day_that_has_not_begun_is_refused(night, site, clock_at):
    with pytest.raises(UsageError, match="has not begun"):
        build_plan(night.lake, night.partition(2), site(), clock_at(1))


def test_due_tonight_counts_what_would_be_planned(one_night, site):
    assert due_tonight(one_night.lake, one_night.partition(2), site()) == 4
