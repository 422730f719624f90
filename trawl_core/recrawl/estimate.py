"""How often a page changes, from when it was looked at and whether it had changed: maximum likelihood over censored intervals.

For intervals t between looks, the rate d solves  Σ_changed t/(e^{dt} − 1) = Σ_unchanged t  (Cho & Garcia-Molina,
"Estimating Frequency of Change", 2003, irregular access). One changed and one unchanged pseudo-interval, as long as the
mean time between two looks (N pages over B fetches a night), keep the rate finite and above zero: a page at which
nothing was ever seen to change must come up again.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from trawl_core.recrawl.history import conform_history

DEFAULT_PRIOR_DAYS = 14.0
_PRIOR_RANGE_DAYS = (1.0, 365.0)
_SHORTEST_DAYS = 1e-6
_Z95 = 1.959964


def prior_days(n_urls: int, budget: float) -> float:
    """Length of the pseudo-intervals: nights that `budget` fetches a night need for `n_urls`, between 1 and 365."""
    return float(np.clip(n_urls / max(budget, 1e-9), *_PRIOR_RANGE_DAYS))


def estimate(history: pl.DataFrame, *, pseudo_days: float | None = None) -> pl.DataFrame:
    """url, rate_per_day and its 95 % interval rate_lo < rate < rate_hi, sorted by url; all are > 0 and finite.

    `pseudo_days` is the length of the two pseudo-intervals; None takes the mean interval that the history has seen.
    Reads only n_changed, n_unchanged, days_changed and days_unchanged: changed intervals enter with their mean length.
    """
    seen = conform_history(history).sort("url")
    n_changed = seen["n_changed"].to_numpy().astype(np.float64)
    days_changed = np.maximum(seen["days_changed"].to_numpy(), n_changed * _SHORTEST_DAYS)
    days_unchanged = seen["days_unchanged"].to_numpy()
    if pseudo_days is None:
        intervals = float(n_changed.sum() + seen["n_unchanged"].sum())
        days = float(days_changed.sum() + days_unchanged.sum())
        pseudo_days = float(np.clip(days / intervals, *_PRIOR_RANGE_DAYS)) if intervals else DEFAULT_PRIOR_DAYS
    rate, information = _solve(n_changed, days_changed, days_unchanged, pseudo_days)
    # A Wald interval for log d: it can't reach zero, and is wide where little was seen.
    spread = np.exp(np.minimum(_Z95 / np.sqrt(information), 30.0))
    return pl.DataFrame({"url": seen["url"], "rate_per_day": rate, "rate_lo": rate / spread, "rate_hi": rate * spread})


def _solve(n: np.ndarray, days_changed: np.ndarray, days_unchanged: np.ndarray, pseudo: float) -> tuple[np.ndarray, np.ndarray]:
    """The root d of n·t/(e^{dt}−1) + P/(e^{dP}−1) − (U + P), t the mean changed interval, and the observed information of log d.

    The left side falls and is convex in d, so Newton's steps from below the root rise to it and never pass it.
    1 − x/2 ≤ x/(e^x − 1) gives the start.
    """
    mean = np.where(n > 0, days_changed / np.maximum(n, 1), 1.0)
    wanted = days_unchanged + pseudo
    rate = (n + 1) / (wanted + (days_changed + pseudo) / 2)
    for _ in range(64):
        value = (n * _term(rate * mean) + _term(rate * pseudo)) / rate - wanted
        step = value * rate**2 / (n * _curve(rate * mean) + _curve(rate * pseudo))
        rate = rate + np.maximum(step, 0.0)
        if np.all(step <= 1e-13 * rate):
            break
    return rate, n * _curve(rate * mean) + _curve(rate * pseudo)


def _term(x: np.ndarray) -> np.ndarray:
    """x/(e^x − 1)"""
    return x / np.expm1(np.minimum(x, 700.0))


def _curve(x: np.ndarray) -> np.ndarray:
    """x² e^x/(e^x − 1)² = (x/2 / sinh(x/2))², which is −d² times the slope of t/(e^{dt} − 1)."""
    half = np.minimum(x, 700.0) / 2
    return (half / np.sinh(half)) ** 2
