from __future__ import annotations

from datetime import timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from trawl_core.errors import SchemaError, UsageError
from trawl_core.recrawl.history import update_history
from trawl_core.recrawl.plan import plan_recrawl, smallest_feasible_age_days, value_of_fetch

MAX_AGE = 30.0
NOW = 100.0


def page(number: int, age: float | None = 5.0, **more):
    """A row of the history: a page of domain number % 3, last fetched well `age` days before NOW; None: never fetched."""
    fetched = {} if age is None else {"first_seen_at": more.pop("first", None), "age": age}
    return {"url": f"https://d{number % 3}.test/{number}", "domain": f"d{number % 3}.test", **fetched, **more}


@pytest.fixture(scope="session")
def pages(known, day):
    def build(*rows: dict) -> pl.DataFrame:
        complete = []
        for row in rows:
            age = row.pop("age", None)
            seen = {} if age is None else {"last_ok_at": day(NOW - age), "last_fetched_at": day(NOW - age)}
            complete.append({"state": "active", "weight": 1.0, **seen, **row})
        names = sorted({name for row in complete for name in row})
        return known([{name: row.get(name) for name in names} for row in complete])

    return build


@pytest.fixture(scope="session")
def planned(day):
    def plan(history, budget, caps=None, now=NOW, max_age_days=MAX_AGE, **more):
        return plan_recrawl(history, budget, caps, day(now), max_age_days=max_age_days, **more)

    return plan


def test_the_order_is_new_then_due_by_age_then_value(pages, planned, day):
    history = pages(
        page(1, age=3.0, n_changed=20, days_changed=20.0),
        page(2, age=29.9),
        page(3, age=None),
        page(4, age=3.0, n_unchanged=20, days_unchanged=200.0),
        page(5, age=40.0),
    )
    plan = planned(history, 5)
    assert plan.select("rank", "url", "reason").rows() == [
        (1, "https://d0.test/3", "new"),
        (2, "https://d2.test/5", "forced_age"),
        (3, "https://d2.test/2", "forced_age"),
        (4, "https://d1.test/1", "index"),
        (5, "https://d1.test/4", "index"),
    ]
    assert (plan["score"] > 0).all()
    assert plan.columns == ["rank", "url", "domain", "score", "reason"]


def test_nothing_to_plan_is_an_empty_plan(pages, planned, day):
    assert planned(None, 10).height == 0
    assert (
        planned(
            update_history(
                None, pl.DataFrame(schema={"url": pl.String, "fetched_at": pl.Datetime("us", "UTC"), "outcome": pl.String}), day(0)
            ),
            5,
        ).height
        == 0
    )
    assert planned(pages(page(1)), 0).height == 0


def test_retries_wait_for_their_time_and_then_come(pages, planned, day):
    history = pages(page(1, errors_in_row=1, next_retry_at=day(NOW + 1)), page(2, errors_in_row=1, next_retry_at=day(NOW)))
    assert planned(history, 5).select("url", "reason").rows() == [("https://d2.test/2", "retry")]


def test_a_page_that_never_answered_is_a_retry_not_new(pages, planned, day):
    history = pages(page(1, age=None, errors_in_row=2, last_fetched_at=day(NOW - 3), next_retry_at=day(NOW - 1)))
    assert planned(history, 5)["reason"].to_list() == ["retry"]


def test_gone_pages_are_probed_when_it_is_time_and_excluded_ones_never(pages, planned, day):
    history = pages(
        page(1, state="gone", next_retry_at=day(NOW - 1)), page(2, state="gone", next_retry_at=day(NOW + 5)), page(3, state="excluded")
    )
    assert planned(history, 5).select("url", "reason").rows() == [("https://d1.test/1", "probe")]


def test_a_fresh_hint_lifts_a_page_and_a_stale_or_future_one_does_not(pages, planned, day):
    quiet = {"n_unchanged": 20, "days_unchanged": 200.0}
    history = pages(*[page(number, age=5.0, **quiet) for number in range(4)])
    hints = pl.DataFrame(
        {
            "url": ["https://d0.test/0", "https://d1.test/1", "https://d2.test/2", "https://elsewhere.test/"],
            "hint_at": [day(NOW - 1), day(NOW - 9), day(NOW + 27_000), day(NOW - 1)],
        }
    )
    plan = planned(history, 1, hints=hints)
    assert plan.select("url", "reason").rows() == [("https://d0.test/0", "hint")]
    assert planned(history, 4, hints=hints)["reason"].to_list().count("hint") == 1
    assert planned(history.with_columns(hint_at=pl.lit(day(NOW - 1))), 4)["reason"].to_list() == ["hint"] * 4


def test_a_weight_that_decides_is_named(pages, planned):
    history = pages(page(1, weight=10.0), page(2), page(3))
    assert planned(history, 1).select("url", "reason").rows() == [("https://d1.test/1", "priority")]
    assert planned(history, 3)["reason"].to_list() == ["index"] * 3


def test_caps_come_as_mapping_table_or_number(pages, planned):
    history = pages(*[page(number) for number in range(12)])
    by_map = planned(history, 12, {"d0.test": 1, "d1.test": 0})
    assert sorted(by_map["domain"].to_list()) == ["d0.test"] + ["d2.test"] * 4
    assert_frame_equal(planned(history, 12, pl.DataFrame({"domain": ["d0.test", "d1.test"], "cap": [1, 0]})), by_map)
    assert planned(history, 12, 2)["domain"].value_counts()["count"].to_list() == [2, 2, 2]

    plain = planned(history, 12)
    for roomy in ({"d0.test": 1e9, "d1.test": None}, float("inf"), np.int64(12), pl.DataFrame({"domain": [], "cap": []})):
        assert_frame_equal(planned(history, 12, roomy), plain)
    assert_frame_equal(planned(history, 12, pl.DataFrame({"domain": ["d0.test", "d1.test"], "cap": [1.0, 0.0]})), by_map)


def test_hints_come_as_mapping_or_table(pages, planned, day):
    history = pages(*[page(number) for number in range(6)])
    hinted = {page(4)["url"]: day(NOW - 1)}
    plan = planned(history, 1, hints=hinted)
    assert plan.select("url", "reason").rows() == [(page(4)["url"], "hint")]
    assert_frame_equal(planned(history, 1, hints=pl.DataFrame({"url": list(hinted), "hint_at": list(hinted.values())})), plan)
    nothing = planned(history, 6)
    for empty in ({}, pl.DataFrame({"url": [], "hint_at": []})):
        assert_frame_equal(planned(history, 6, hints=empty), nothing)


@pytest.mark.parametrize(
    "table", [{"caps": pl.DataFrame({"domain": ["d0.test"]})}, {"hints": pl.DataFrame({"url": ["https://d0.test/0"]})}]
)
def test_tables_without_their_columns_are_refused_by_name(pages, planned, table):
    with pytest.raises(SchemaError, match=r"planning the recrawl: the (table of caps|column hint_at)"):
        planned(pages(page(1)), 1, **table)


@pytest.mark.parametrize("wrong", [{"budget": -1}, {"max_age_days": 0}, {"objective": "speed"}])
def test_impossible_wishes_are_refused(pages, planned, wrong):
    with pytest.raises(UsageError, match="planning the recrawl"):
        planned(pages(page(1)), **{"budget": 1, **wrong})


AGES = st.one_of(st.none(), st.floats(0, 45))
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "age": AGES,
            "weight": st.sampled_from([0.5, 1.0, 2.0, 10.0]),
            "n_changed": st.integers(0, 20),
            "n_unchanged": st.integers(0, 20),
            "state": st.sampled_from(["active"] * 6 + ["gone", "excluded"]),
            "retry": st.sampled_from([None] * 6 + [-2.0, 2.0]),
        }
    ),
    min_size=1,
    max_size=25,
)
CAPS = st.one_of(st.none(), st.dictionaries(st.sampled_from(["d0.test", "d1.test", "d2.test"]), st.integers(0, 6)))
OBJECTIVES = st.sampled_from(["mixed", "freshness", "harm"])


@pytest.fixture(scope="session")
def drawn(pages, day):
    def build(rows: list[dict]) -> pl.DataFrame:
        complete = []
        for number, row in enumerate(rows):
            retry = None if row["retry"] is None else day(NOW + row["retry"])
            counts = {name: row[name] if row["age"] is not None else 0 for name in ("n_changed", "n_unchanged")}
            complete.append(
                page(
                    number,
                    row["age"],
                    weight=row["weight"],
                    state=row["state"],
                    next_retry_at=retry,
                    errors_in_row=0 if retry is None else 1,
                    days_changed=2.0 * counts["n_changed"],
                    days_unchanged=3.0 * counts["n_unchanged"],
                    **counts,
                )
            )
        return pages(*complete)

    return build


@settings(deadline=None, max_examples=80)
@given(rows=ROWS, budget=st.integers(0, 30), caps=CAPS, objective=OBJECTIVES, seed=st.integers(0, 3))
def test_budget_and_caps_are_kept_and_no_room_is_left_while_a_page_could_use_it(drawn, planned, day, rows, budget, caps, objective, seed):
    history = drawn(rows)
    plan = planned(history, budget, caps, objective=objective, seed=seed)
    assert plan.height <= budget
    assert plan["url"].is_unique().all()
    assert plan["rank"].to_list() == list(range(1, plan.height + 1))
    used = dict(plan["domain"].value_counts().iter_rows())
    limits = caps or {}
    assert all(count <= limits.get(domain, budget) for domain, count in used.items())
    free = (pl.col("next_retry_at").is_null() | (pl.col("next_retry_at") <= day(NOW))) & (pl.col("state") != "excluded")
    assert set(plan["url"]) <= set(history.filter(free)["url"])
    if plan.height < budget:
        left = history.filter(free & pl.col("url").is_in(plan["url"].implode()).not_())
        assert all(used.get(domain, 0) >= limits.get(domain, budget) for domain in left["domain"])


@settings(deadline=None, max_examples=40)
@given(rows=ROWS, budget=st.integers(1, 30), caps=CAPS, order=st.randoms(use_true_random=False))
def test_the_order_of_rows_makes_no_difference(drawn, planned, rows, budget, caps, order):
    history = drawn(rows)
    mixed = list(range(history.height))
    order.shuffle(mixed)
    assert_frame_equal(planned(history[mixed], budget, caps), planned(history, budget, caps))


@settings(deadline=None, max_examples=120)
@given(
    rows=ROWS,
    budget=st.integers(1, 12),
    caps=CAPS,
    objective=OBJECTIVES,
    which=st.integers(0, 24),
    more=st.floats(0.01, 40),
    by=st.sampled_from(["weight", "age"]),
)
def test_a_page_that_matters_more_or_waited_longer_is_not_planned_less(drawn, planned, rows, budget, caps, objective, which, more, by):
    before = planned(drawn(rows), budget, caps, objective=objective)
    which %= len(rows)
    url = f"https://d{which % 3}.test/{which}"
    if rows[which]["age"] is None and by == "age":
        return
    lifted = [dict(row) for row in rows]
    lifted[which][by] += more
    after = planned(drawn(lifted), budget, caps, objective=objective)
    if url in set(before["url"]):
        assert url in set(after["url"])
        assert after.filter(url=url)["score"].item() >= before.filter(url=url)["score"].item() * (1 - 1e-9)


@settings(deadline=None, max_examples=100)
@given(weight=st.floats(0.01, 100), rate=st.floats(1e-6, 20), days=st.floats(0, 400), more=st.floats(0, 100))
def test_the_index_rises_with_weight_and_waiting(weight, rate, days, more):
    def value(weight: float, days: float) -> float:
        return value_of_fetch(np.array([weight]), np.array([rate]), np.array([days]), (0.75, 0.25)).item()

    assert value(weight, days) >= 0
    assert value(weight, days + more) >= value(weight, days) * (1 - 1e-9)
    assert value(weight + more, days) >= value(weight, days)


def simulate(planned, day, history, nights, budget, caps=None, max_age_days=MAX_AGE, fails=lambda url, night: False):
    """Runs plans and histories for some nights, every fetch unchanged; returns the history and the oldest page of each night."""
    oldest = []
    for night in range(nights):
        now = NOW + night
        plan = planned(history, budget, caps, now, max_age_days)
        done = plan.select(
            "url",
            "domain",
            fetched_at=pl.lit(day(now)),
            outcome=pl.Series(["error" if fails(url, night) else "ok" for url in plan["url"]], dtype=pl.String),
            changed=pl.lit(False),
        )
        history = update_history(history, done, day(now))
        oldest.append((pl.Series([day(now)]) - history["last_ok_at"].min()).item() / timedelta(days=1) if history.height else 0)
    return history, oldest


@pytest.mark.parametrize(("n_pages", "budget", "max_age"), [(60, 10, 10.0), (90, 10, 15.0), (40, 10, 6.7), (7, 1, 12.0), (120, 12, 17.5)])
def test_no_page_grows_too_old_where_the_age_is_feasible(pages, planned, day, n_pages, budget, max_age):
    assert smallest_feasible_age_days(n_pages, budget) <= max_age
    fast = {"n_changed": 50, "days_changed": 50.0, "weight": 50.0}
    for start in (None, 0.0, 1.0):
        history = pages(*[page(number, start, **(fast if start is not None and number % 4 == 0 else {})) for number in range(n_pages)])
        history, oldest = simulate(planned, day, history, int(max_age * 2.5), budget, max_age_days=max_age)
        assert history["last_ok_at"].null_count() == 0
        assert max(oldest) <= max_age + 2


def test_caps_leave_the_age_to_be_kept_where_they_allow_it(pages, planned, day):
    history = pages(*[page(number, 1.0, n_changed=30 * (number % 2), days_changed=30.0 * (number % 2)) for number in range(90)])
    _, oldest = simulate(planned, day, history, 40, 20, {"d0.test": 4, "d1.test": 4}, max_age_days=14.0)
    assert max(oldest) <= 16


def test_every_active_page_is_planned_sooner_or_later_even_where_the_age_is_not_feasible(pages, planned, day):
    history = pages(*[page(number, 2.0, weight=100.0 if number < 10 else 0.01) for number in range(60)])
    history, oldest = simulate(planned, day, history, 70, 1, max_age_days=5.0)
    assert (history["last_ok_at"] >= day(NOW)).all()
    assert max(oldest[62:]) <= 63


def test_pages_that_fail_do_not_take_the_room_of_those_that_answer(pages, planned, day):
    history = pages(*[page(number, 1.0) for number in range(30)])
    history, _ = simulate(planned, day, history, 30, 4, max_age_days=15.0, fails=lambda url, night: int(url.rsplit("/", 1)[1]) < 10)
    answering = history.filter(pl.col("errors_in_row") == 0)
    assert answering.height == 20
    assert (pl.Series([day(NOW + 29)]) - answering["last_ok_at"].min()).item() <= timedelta(days=17)


def test_pages_first_seen_in_one_night_do_not_fall_due_in_one_night(pages, planned, day):
    history = pages(*[page(number, 26.5) for number in range(300)])
    due = planned(history, 300, max_age_days=MAX_AGE).filter(reason="forced_age").height
    assert 0 < due < 300
