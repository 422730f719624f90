from __future__ import annotations

from datetime import timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from trawl_core.errors import SchemaError
from trawl_core.recrawl.estimate import estimate
from trawl_core.recrawl.history import GOOD, OUTCOMES, update_history

END = 400.0


def test_a_first_good_fetch_opens_no_interval(fetches, day):
    row = update_history(None, fetches((0, "ok", None)), day(0)).row(0, named=True)
    assert (row["n_changed"], row["n_unchanged"]) == (0, 0)
    assert row["first_seen_at"] == row["last_ok_at"] == row["last_fetched_at"] == day(0)
    assert row["last_changed_at"] is None
    assert (row["state"], row["weight"], row["last_outcome"], row["next_retry_at"]) == ("active", 1.0, "ok", None)


def test_a_change_then_four_304_are_four_misses_and_keep_the_date_of_the_change(fetches, day):
    history = update_history(None, fetches((0, "ok", None), (1, "ok", True)), day(1))
    for night in range(2, 6):
        history = update_history(history, fetches((night, "not_modified", None)), day(night))
    row = history.row(0, named=True)
    assert (row["n_changed"], row["n_unchanged"], row["days_changed"], row["days_unchanged"]) == (1, 4, 1.0, 4.0)
    assert row["last_changed_at"] == day(1)
    assert row["last_ok_at"] == day(5)


def test_a_304_is_unchanged_even_where_the_caller_says_otherwise(fetches, day):
    row = update_history(None, fetches((0, "ok", None), (1, "not_modified", True)), day(1)).row(0, named=True)
    assert (row["n_changed"], row["n_unchanged"]) == (0, 1)


def test_a_redirect_is_a_good_unchanged_fetch(fetches, day):
    row = update_history(None, fetches((0, "redirect", None), (3, "redirect", None)), day(3)).row(0, named=True)
    assert (row["n_unchanged"], row["days_unchanged"], row["last_ok_at"]) == (1, 3.0, day(3))
    assert (row["last_outcome"], row["state"]) == ("redirect", "active")


def test_failures_back_off_by_doubling_whole_nights_up_to_thirty_days(fetches, day):
    history = update_history(None, fetches((0, "ok", None)), day(0))
    waits = []
    for night in range(1, 8):
        history = update_history(history, fetches((night, "throttled" if night % 2 else "error", None)), day(night))
        row = history.row(0, named=True)
        waits.append((row["next_retry_at"] - day(night).replace(hour=0)).days)
        assert row["errors_in_row"] == night
        assert row["last_ok_at"] == day(0)
    assert waits == [1, 2, 4, 8, 16, 30, 30]


def test_a_good_fetch_ends_the_back_off(fetches, day):
    history = update_history(None, fetches((0, "ok", None), (1, "error", None), (2, "ok", False)), day(2))
    row = history.row(0, named=True)
    assert (row["errors_in_row"], row["next_retry_at"], row["n_unchanged"], row["days_unchanged"]) == (0, None, 1, 2.0)


def test_gone_is_a_state_with_a_probe_to_come(fetches, day):
    history = update_history(None, fetches((0, "ok", None), (1, "gone", None)), day(1))
    row = history.row(0, named=True)
    assert row["state"] == "gone"
    assert row["next_retry_at"] == day(8).replace(hour=0)
    later = update_history(history, fetches((40, "gone", None)), day(40)).row(0, named=True)
    assert later["next_retry_at"] == day(80).replace(hour=0)
    back = update_history(history, fetches((9, "ok", True)), day(9)).row(0, named=True)
    assert (back["state"], back["next_retry_at"], back["n_changed"], back["days_changed"]) == ("active", None, 1, 9.0)


def test_a_page_that_never_answered_and_is_gone_is_probed_too(fetches, day):
    row = update_history(None, fetches((0, "gone", None)), day(0)).row(0, named=True)
    assert row["last_ok_at"] is None
    assert row["next_retry_at"] > day(0)


def test_a_fetch_that_was_folded_before_counts_no_more(fetches, day):
    night = fetches((0, "ok", None), (1, "ok", True))
    once = update_history(None, night, day(1))
    assert_frame_equal(update_history(once, night, day(1)), once)


def test_weight_and_further_columns_stay_the_callers(fetches, day):
    history = update_history(None, fetches((0, "ok", None)), day(0)).with_columns(weight=pl.lit(5.0), note=pl.lit("kept"))
    after = update_history(history, fetches((1, "ok", True), (1, "ok", None, "https://a.test/new")), day(1))
    assert after.select("url", "weight", "note").rows() == [("https://a.test/", 5.0, "kept"), ("https://a.test/new", 1.0, None)]


def test_what_the_last_good_answer_said_is_kept_through_failures(day):
    fetch = pl.DataFrame(
        {
            "url": ["https://a.test/"] * 2,
            "domain": ["a.test"] * 2,
            "fetched_at": [day(0), day(1)],
            "outcome": ["ok", "error"],
            "changed": pl.Series([None, None], dtype=pl.Boolean),
            "server_last_modified": [day(-3), None],
            "bytes": [1234, 0],
            "validator_kind": ["both", None],
            "something_else": [1, 2],
        }
    )
    row = update_history(None, fetch, day(1)).row(0, named=True)
    assert (row["server_last_modified"], row["bytes"], row["validator_kind"]) == (day(-3), 1234, "both")


def test_a_fetch_without_a_zone_is_utc(fetches, day):
    naive = fetches((0, "ok", None)).with_columns(pl.col("fetched_at").dt.replace_time_zone(None))
    assert update_history(None, naive, day(0).replace(tzinfo=None))["last_ok_at"].to_list() == [day(0)]


@pytest.mark.parametrize("wrong", ["unknown", "column", "null"])
def test_wrong_fetches_are_refused_by_name(fetches, day, wrong):
    night = fetches((0, "ok", None))
    night = {
        "unknown": night.with_columns(outcome=pl.lit("fine")),
        "column": night.drop("outcome"),
        "null": night.with_columns(url=pl.lit(None, pl.String)),
    }[wrong]
    with pytest.raises(SchemaError, match=r"fine|outcome|url"):
        update_history(None, night, day(0))


EVENTS = st.lists(
    st.tuples(
        st.integers(0, int(END)).map(float),
        st.sampled_from(OUTCOMES),
        st.sampled_from([True, False, None]),
        st.sampled_from(["u1", "u2", "u3"]),
    ),
    max_size=25,
    unique_by=lambda event: (event[0], event[3]),
)


@settings(deadline=None, max_examples=40)
@given(events=EVENTS, cut=st.integers(0, int(END)), order=st.randoms(use_true_random=False))
def test_the_order_of_rows_and_the_way_nights_are_cut_make_no_difference(fetches, day, events, cut, order):
    whole = update_history(None, fetches(*events), day(END))
    mixed = list(events)
    order.shuffle(mixed)
    first = update_history(None, fetches(*[event for event in mixed if event[0] <= cut]), day(END))
    parts = update_history(first, fetches(*[event for event in mixed if event[0] > cut]), day(END))
    assert_frame_equal(parts, whole, rel_tol=1e-9)
    assert parts["url"].is_sorted()


@settings(deadline=None, max_examples=40)
@given(events=EVENTS)
def test_failures_change_neither_rate_nor_the_last_good_fetch(fetches, day, events):
    with_failures = update_history(None, fetches(*events), day(END))
    only_answers = update_history(None, fetches(*[event for event in events if event[1] not in ("error", "throttled")]), day(END))
    columns = ["url", "last_ok_at", "first_seen_at", "last_changed_at", "n_changed", "n_unchanged", "days_changed", "days_unchanged"]
    assert_frame_equal(with_failures.join(only_answers, on="url", how="semi").select(columns), only_answers.select(columns))
    assert_frame_equal(
        estimate(with_failures, pseudo_days=7).join(only_answers, on="url", how="semi"), estimate(only_answers, pseudo_days=7)
    )


@settings(deadline=None, max_examples=40)
@given(events=EVENTS)
def test_a_304_counts_like_a_200_with_the_same_digest(fetches, day, events):
    full = [
        (at, "ok", False if outcome == "not_modified" else changed, url)
        if outcome in ("ok", "not_modified")
        else (at, outcome, changed, url)
        for at, outcome, changed, url in events
    ]
    columns = ["url", "last_ok_at", "n_changed", "n_unchanged", "days_changed", "days_unchanged", "errors_in_row", "next_retry_at", "state"]
    assert_frame_equal(
        update_history(None, fetches(*events), day(END)).select(columns), update_history(None, fetches(*full), day(END)).select(columns)
    )


@settings(deadline=None, max_examples=40)
@given(events=EVENTS)
def test_intervals_add_up_and_every_url_comes_up_again(fetches, day, events):
    history = update_history(None, fetches(*events), day(END))
    for row in history.iter_rows(named=True):
        mine = sorted(event for event in events if event[3] == row["url"])
        good = [event[0] for event in mine if event[1] in GOOD]
        assert row["n_changed"] + row["n_unchanged"] <= max(len(good) - 1, 0)
        assert row["days_changed"] + row["days_unchanged"] <= (good[-1] - good[0] if good else 0) + 1e-9
        if row["next_retry_at"] is not None:
            assert timedelta(0) < row["next_retry_at"] - row["last_fetched_at"] <= timedelta(days=90)
