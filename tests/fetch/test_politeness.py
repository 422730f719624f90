from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.fetch.politeness import OriginPace, backoff_s, parse_http_date, retry_after_s

NOW = datetime(2026, 11, 30, 2, 0, tzinfo=UTC)


def _http(moment: datetime) -> str:
    return format_datetime(moment, usegmt=True)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("3", 3.0),
        (" 0.5 ", 0.5),
        ("0", 0.0),
        ("-1", None),
        ("9999999999", 86_400.0),
        ("inf", 86_400.0),
        ("nan", None),
        ("soon", None),
        ("", None),
        (None, None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", None),
        ("Wed, 99 Foo 2015 07:28:00 GMT", None),
        (_http(NOW + timedelta(seconds=90)), 90.0),
        (_http(NOW + timedelta(days=400)), 86_400.0),
    ],
)
def test_retry_after(value, seconds) -> None:
    assert retry_after_s(value, None, NOW, 86_400.0) == seconds


def test_a_date_counts_against_the_servers_own_clock() -> None:
    skewed = NOW - timedelta(days=3)
    assert retry_after_s(_http(skewed + timedelta(hours=1)), _http(skewed), NOW, 86_400.0) == 3600.0


def test_all_three_forms_of_a_date() -> None:
    forms = ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
    assert {parse_http_date(form) for form in forms} == {datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)}


@given(st.text(max_size=40), st.one_of(st.none(), st.text(max_size=40)))
def test_any_header_gives_a_bounded_wait_or_none(value, date) -> None:
    seconds = retry_after_s(value, date, NOW, 600.0)
    assert seconds is None or 0 <= seconds <= 600


def _pace(**changes) -> OriginPace:
    return OriginPace(**{"delay_s": 1.0, "max_delay_s": 60.0, "concurrency": 1, **changes})


def test_spacing_is_the_greatest_of_what_is_asked_for() -> None:
    assert _pace().spacing_s == 1.0
    assert _pace(crawl_delay_s=5.0).spacing_s == 5.0
    assert _pace(crawl_delay_s=0.1).spacing_s == 1.0
    assert _pace(crawl_delay_s=3600.0).spacing_s == 60.0


def test_requests_keep_their_distance() -> None:
    pace = _pace()
    assert pace.may_start(0.0)
    pace.started(0.0)
    assert not pace.may_start(5.0)
    pace.finished(0.2, 200, "ok", latency_s=0.1)
    assert not pace.may_start(0.9)
    assert pace.may_start(1.0)


def test_distance_counts_from_the_moment_the_request_went_out() -> None:
    pace = _pace()
    pace.started(0.0)
    pace.finished(0.8, 200, "ok", latency_s=0.1, since_sent_s=0.3)
    assert not pace.may_start(1.4)
    assert pace.may_start(1.5)


def test_concurrency_is_a_bound() -> None:
    pace = _pace(delay_s=0.0, concurrency=2)
    pace.started(0.0)
    assert pace.may_start(0.0)
    pace.started(0.0)
    assert not pace.may_start(0.0)
    pace.finished(0.1, 200, "ok")
    assert pace.may_start(0.1)


def test_it_backs_off_at_once_and_comes_back_slowly() -> None:
    pace = _pace()
    pace.started(0.0)
    pace.finished(0.0, 503, "http_error")
    assert pace.spacing_s == 2.0
    pace.started(10.0)
    pace.finished(10.0, 429, "http_error")
    assert pace.spacing_s == 4.0
    steps = 0
    while pace.spacing_s > 1.0:
        pace.started(20.0)
        pace.finished(20.0, 200, "ok")
        steps += 1
    assert 10 < steps < 20


def test_backing_off_has_a_limit() -> None:
    pace = _pace(max_delay_s=30.0)
    for _ in range(20):
        pace.started(0.0)
        pace.finished(0.0, 503, "http_error")
    assert pace.spacing_s == 30.0


def test_one_failing_page_of_an_undelayed_site_slows_it_little() -> None:
    pace = _pace(delay_s=0.0)
    pace.started(0.0)
    pace.finished(0.0, 503, "http_error")
    assert pace.spacing_s == 0.1
    for _ in range(30):
        pace.started(0.0)
        pace.finished(0.0, 200, "ok")
    assert pace.spacing_s == 0.0


def test_pages_that_always_fail_slow_nothing_down_but_a_run_of_failures_does() -> None:
    pace = _pace()
    for status in (200, 200, 500) * 50:
        pace.started(0.0)
        pace.finished(0.0, status, "ok" if status == 200 else "http_error")
    assert pace.spacing_s == 1.0
    for outcome in ("timeout", "connect_error", "timeout"):
        pace.started(0.0)
        pace.finished(0.0, None, outcome)
    assert pace.spacing_s == 1.0 * 1.5 * 1.5 * 1.5


def test_retry_after_closes_the_origin() -> None:
    pace = _pace()
    pace.started(0.0)
    pace.finished(0.5, 429, "http_error", pause_s=30.0)
    assert not pace.may_start(30.4)
    assert pace.may_start(30.5)


def test_a_slow_server_gets_a_rest() -> None:
    pace = _pace(delay_s=0.0)
    pace.started(0.0)
    pace.finished(3.0, 200, "ok", latency_s=3.0, since_sent_s=3.0)
    assert not pace.may_start(4.4)
    assert pace.may_start(4.5)


@given(
    st.lists(
        st.tuples(st.floats(0, 10), st.sampled_from([200, 304, 404, 429, 500, 503, None]), st.one_of(st.none(), st.floats(0, 100))),
        max_size=40,
    )
)
def test_no_history_lets_two_requests_come_closer_than_the_delay(history) -> None:
    pace, now, last = _pace(delay_s=2.0), 0.0, -math.inf
    for gap, status, pause in history:
        now += gap
        if not pace.may_start(now):
            continue
        assert now - last >= 2.0
        last = now
        pace.started(now)
        pace.finished(now, status, "ok" if status else "timeout", latency_s=gap, pause_s=pause)
        assert 2.0 <= pace.spacing_s <= 60.0
        assert pace.in_flight == 0


def test_retries_back_off_by_doubling_up_to_two_minutes() -> None:
    assert [backoff_s(attempt, 1.0) for attempt in (1, 2, 3)] == [1.0, 2.0, 4.0]
    assert backoff_s(1, 0.0) == 0.25
    assert backoff_s(20, 1.0) == 120.0
