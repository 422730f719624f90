from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trawl_core.recrawl.estimate import DEFAULT_PRIOR_DAYS, estimate, prior_days


def history(*rows: tuple[int, float, int, float]) -> pl.DataFrame:
    """Rows (n_changed, days_changed, n_unchanged, days_unchanged)."""
    names = ("n_changed", "days_changed", "n_unchanged", "days_unchanged")
    data = {name: [row[at] for row in rows] for at, name in enumerate(names)}
    return pl.DataFrame({"url": [f"https://a.test/{number:04}" for number in range(len(rows))], **data})


COUNTS = st.tuples(st.integers(0, 400), st.floats(0.05, 60), st.integers(0, 400), st.floats(0.05, 60)).map(
    lambda drawn: (drawn[0], drawn[0] * drawn[1], drawn[2], drawn[2] * drawn[3])
)


def test_a_page_never_seen_to_change_keeps_a_rate_above_zero():
    rates = estimate(history((0, 0, 10_000, 300_000.0)), pseudo_days=10)
    assert rates["rate_per_day"].item() > 0
    assert rates["rate_lo"].item() > 0


def test_without_any_interval_the_rate_is_the_prior():
    assert estimate(history((0, 0, 0, 0)))["rate_per_day"].item() == pytest.approx(math.log(2) / DEFAULT_PRIOR_DAYS)


def test_the_default_prior_is_the_mean_interval_seen():
    rows = history((2, 10.0, 2, 30.0), (0, 0, 0, 0))
    assert estimate(rows).equals(estimate(rows, pseudo_days=10.0))


def test_nights_for_all_pages_are_the_prior_within_bounds():
    assert prior_days(20_000, 1_500) == pytest.approx(13.33, abs=0.01)
    assert prior_days(3, 1_000) == 1.0
    assert prior_days(10**9, 1) == 365.0


@settings(deadline=None, max_examples=100)
@given(rows=st.lists(COUNTS, min_size=1, max_size=20), pseudo=st.floats(1, 365))
def test_the_rate_solves_the_likelihood_equation(rows, pseudo):
    result = estimate(history(*rows), pseudo_days=pseudo)
    assert result["url"].is_sorted()
    for (n, changed_days, _, unchanged_days), rate in zip(rows, result["rate_per_day"], strict=True):
        left = pseudo / math.expm1(rate * pseudo) + (changed_days / math.expm1(rate * changed_days / n) if n else 0)
        assert left == pytest.approx(unchanged_days + pseudo, rel=1e-8)
    assert ((result["rate_lo"] > 0) & (result["rate_lo"] < result["rate_per_day"]) & (result["rate_per_day"] < result["rate_hi"])).all()
    assert np.isfinite(result["rate_hi"].to_numpy()).all()


@settings(deadline=None, max_examples=40)
@given(row=COUNTS, days=st.floats(0.1, 50))
def test_one_more_change_raises_the_rate_and_one_more_miss_lowers_it(row, days):
    n, changed_days, misses, unchanged_days = row
    plain, missed = estimate(history(row, (n, changed_days, misses + 1, unchanged_days + days)), pseudo_days=14)["rate_per_day"]
    assert missed < plain
    mean = changed_days / n if n else days
    assert estimate(history((n + 1, changed_days + mean, misses, unchanged_days)), pseudo_days=14)["rate_per_day"].item() > plain


def test_the_interval_holds_the_true_rate_about_as_often_as_it_says():
    rng = np.random.default_rng(7)
    true = np.exp(rng.uniform(np.log(0.02), np.log(0.5), 400))
    changed = rng.random((400, 60)) < 1 - np.exp(-true[:, None] * 2.0)
    counts = changed.sum(axis=1)
    rows = [(int(n), 2.0 * n, 60 - int(n), 2.0 * (60 - n)) for n in counts]
    result = estimate(history(*rows), pseudo_days=10)
    inside = (result["rate_lo"].to_numpy() <= true) & (true <= result["rate_hi"].to_numpy())
    assert inside.mean() > 0.9
