"""Tonight's URLs by the index rule, with an age guard, caps per domain, retries and probes.

For a page of weight w and change rate d that was last seen τ days ago, x = dτ, a fetch is worth
    V_fresh = w(1 − (1 + x)e^−x)/d    and    V_harm = w(τ − (1 − e^−x)/d),
mixed 0.75 : 0.25; freshness alone abandons pages that change faster than they can be followed.

The order is: pages that were never fetched; pages whose age is due, or must be fetched now so that those that fall due
later find room (the age guard); everything else by value. Caps are applied while picking, so their places go to others.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from numbers import Real

import numpy as np
import polars as pl
import xxhash

from trawl_core.errors import SchemaError, UsageError
from trawl_core.recrawl.estimate import estimate, prior_days
from trawl_core.recrawl.guard import GUARD_SHARE, must_fetch, nights_left
from trawl_core.recrawl.history import TIME, as_utc, conform_history

MIX = {"mixed": (0.75, 0.25), "freshness": (1.0, 0.0), "harm": (0.0, 1.0)}
HINT_CHANGED = 0.8  # chance that a page has changed when a sitemap says so; learned per domain in a later version
PROBE_VALUE = 0.25  # a page that is gone is worth this much of one that is there

Caps = Mapping[str, int] | pl.DataFrame | float | None
Hints = Mapping[str, datetime] | pl.DataFrame | None
_PLAN = {"rank": pl.Int64, "url": pl.String, "domain": pl.String, "score": pl.Float64, "reason": pl.String}


def plan_recrawl(
    history: pl.DataFrame | None,
    budget: int,
    caps: Caps,
    now: datetime,
    *,
    max_age_days: float,
    objective: str = "mixed",
    hints: Hints = None,
    seed: int = 0,
) -> pl.DataFrame:
    """rank (1 first), url, domain, score, reason: at most `budget` URLs of `history`, no URL twice.

    `caps`: most URLs of a domain, as a mapping, a table (domain, cap) or one number for every domain; None caps nothing.
    `hints`: url, hint_at (a sitemap's lastmod), as a table or a mapping; one newer than the last good fetch, and not in the
    future, raises the value. `seed` varies the jitter of the age guard and ties. `reason` is one of crawl_plan's but `seed`.
    Eligible is each active URL that is not waiting for a retry, and each gone URL whose probe is due; none stays out
    while the budget and its cap have room.

    Raises UsageError for a negative budget, an age that is not positive or an unknown objective, SchemaError for a table
    without the columns named here.
    """
    _check(budget, max_age_days, objective)
    budget = int(budget)
    due = _eligible(conform_history(history), as_utc(now))
    if budget == 0 or due.is_empty():
        return pl.DataFrame(schema=_PLAN)
    valued = _value(due, as_utc(now), prior_days(due.height, budget), MIX[objective], hints, seed)
    order = _order(valued, budget, _caps_of(valued, caps), max_age_days)
    picked = order.filter(pl.int_range(pl.len()).over("domain") < pl.col("cap"))
    spare = picked.slice(budget)
    chosen = picked.head(budget)
    bar = float(spare.filter(pl.col("tier") == 3)["score"].max() or 0.0) if spare.height else 0.0
    return chosen.with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int64), reason=_reason(bar)).select(*_PLAN)


def smallest_feasible_age_days(n_urls: int, budget: int) -> float:
    """The least max_age_days that the guard can keep: it may use 60 % of the budget, the rest follows the value."""
    return n_urls / (GUARD_SHARE * max(budget, 1e-9))


def value_of_fetch(weight: np.ndarray, rate: np.ndarray, days: np.ndarray, mix: tuple[float, float]) -> np.ndarray:
    """The mixed index: V of a fetch now for pages of that weight and change rate a day, seen `days` ago."""
    x = rate * days
    near = np.minimum(x, 1e-3)  # near 0 the closed forms lose their digits
    fresh = np.where(x > 1e-3, -np.expm1(-x) - x * np.exp(-x), near**2 * (1 / 2 - near / 3 + near**2 / 8 - near**3 / 30))
    harm = np.where(x > 1e-3, x + np.expm1(-x), near**2 * (1 / 2 - near / 6 + near**2 / 24 - near**3 / 120))
    return weight * (mix[0] * fresh + mix[1] * harm) / rate


def _check(budget: int, max_age_days: float, objective: str) -> None:
    if budget < 0:
        raise UsageError(f"planning the recrawl: the budget is {budget} URLs; give 0 or more.")
    if not max_age_days > 0:
        raise UsageError(f"planning the recrawl: max_age_days is {max_age_days}; give more than 0.")
    if objective not in MIX:
        raise UsageError(f"planning the recrawl: unknown objective {objective!r}; known are {', '.join(MIX)}.")


def _eligible(history: pl.DataFrame, now: datetime) -> pl.DataFrame:
    waits = pl.col("next_retry_at").is_not_null() & (pl.col("next_retry_at") > now)
    return history.filter(pl.col("state").is_in(["active", "gone"]) & waits.not_())


def _value(due: pl.DataFrame, now: datetime, pseudo_days: float, mix: tuple[float, float], hints: Hints, seed: int) -> pl.DataFrame:
    """Sorted by URL: url, domain, weight, state, days (since the last good fetch, else the last try), new, hinted, score, jitter."""
    base = (
        due.sort("url")
        .join(_hints(hints), on="url", how="left", maintain_order="left")
        .with_columns(
            days=((pl.lit(now, TIME) - pl.coalesce("last_ok_at", "last_fetched_at")).dt.total_microseconds() / 86_400e6)
            .clip(lower_bound=0)
            .fill_null(0.0),
            new=pl.col("last_ok_at").is_null() & (pl.col("errors_in_row") == 0) & (pl.col("state") == "active"),
            hinted=pl.max_horizontal("hint_at", "hint_at_given") > pl.col("last_ok_at"),
        )
        .with_columns(hinted=(pl.col("hinted") & (pl.max_horizontal("hint_at", "hint_at_given") <= now)).fill_null(False))
    )
    days, weight = base["days"].to_numpy(), base["weight"].to_numpy()
    rate = estimate(base, pseudo_days=pseudo_days)["rate_per_day"].to_numpy()
    told = -np.log1p(-HINT_CHANGED) / np.maximum(days, 1e-9)
    rate = np.where(base["hinted"].to_numpy(), np.maximum(rate, told), rate)
    score = value_of_fetch(weight * np.where(base["state"].to_numpy() == "gone", PROBE_VALUE, 1.0), rate, days, mix)
    jitter = np.fromiter((xxhash.xxh3_64_intdigest(url.encode(), seed & 0xFFFFFFFFFFFFFFFF) for url in base["url"]), np.uint64, base.height)
    return base.select("url", "domain", "weight", "state", "errors_in_row", "days", "new", "hinted").with_columns(
        score=pl.when("new").then(pl.col("weight") * pseudo_days).otherwise(pl.Series(score)),
        jitter=pl.Series(jitter / 2.0**64),
    )


def _hints(hints: Hints) -> pl.DataFrame:
    """The latest hint of each URL as url, hint_at_given."""
    if hints is None:
        return pl.DataFrame(schema={"url": pl.String, "hint_at_given": TIME})
    if isinstance(hints, Mapping):
        hints = pl.DataFrame({"url": list(hints), "hint_at": list(hints.values())})
    if missing := [name for name in ("url", "hint_at") if name not in hints.columns]:
        raise SchemaError(f"planning the recrawl: the column {', '.join(missing)} of the hints is missing.")
    given = hints.select(pl.col("url").cast(pl.String), hint_at_given=pl.col("hint_at"))
    if given.schema["hint_at_given"] == pl.Date or not getattr(given.schema["hint_at_given"], "time_zone", None):
        given = given.with_columns(pl.col("hint_at_given").cast(pl.Datetime("us")).dt.replace_time_zone("UTC"))
    return given.group_by("url").agg(pl.col("hint_at_given").max().dt.convert_time_zone("UTC").cast(TIME))


def _caps_of(valued: pl.DataFrame, caps: Caps) -> pl.Series:
    """The cap of each row's domain; the number of rows where there is none."""
    if caps is None or isinstance(caps, Real):
        return pl.Series("cap", np.full(valued.height, valued.height if caps is None else min(caps, valued.height), np.int64))
    if isinstance(caps, Mapping):
        caps = pl.DataFrame({"domain": list(caps), "cap": list(caps.values())}, schema_overrides={"domain": pl.String}, strict=False)
    name = next((column for column in ("cap", *caps.columns) if column in caps.columns and column != "domain"), None)
    if name is None or "domain" not in caps.columns:
        raise SchemaError("planning the recrawl: the table of caps needs the columns domain and cap.")
    within = pl.col(name).cast(pl.Float64).clip(upper_bound=valued.height).cast(pl.Int64)
    table = caps.select(pl.col("domain").cast(pl.String), cap=within).unique("domain", keep="first", maintain_order=True)
    return valued.select("domain").join(table, on="domain", how="left", maintain_order="left")["cap"].fill_null(valued.height)


def _order(valued: pl.DataFrame, budget: int, caps: pl.Series, max_age_days: float) -> pl.DataFrame:
    """All rows in the order of picking, with `cap` and `tier`: 0 new, 1 forced by age, 2 new beyond the guard's reserve, 3 by value."""
    rows = valued.with_columns(cap=caps).with_columns(nights=pl.Series(nights_left(valued["days"], valued["jitter"], max_age_days)))
    rows = rows.filter(pl.col("cap") > 0).sort("score", "days", "weight", "jitter", "url", descending=[True, True, True, False, False])
    guarded = (~rows["new"] & (rows["state"] == "active")).to_numpy()
    forced = must_fetch(rows["nights"].to_numpy(), rows["days"].to_numpy(), rows["domain"], rows["cap"].to_numpy(), budget, guarded)
    rows = rows.with_columns(forced=pl.Series(forced >= 0), turn=pl.Series(forced))
    overdue = int((forced >= 0).sum())
    reserve = min(overdue, int(GUARD_SHARE * budget))
    place = pl.when("new").then(pl.int_range(pl.len()).over("new"))
    tier = pl.when(pl.col("new") & (place < budget - reserve)).then(0).when("forced").then(1).when("new").then(2).otherwise(3)
    return rows.with_columns(tier=tier).sort("tier", "turn", maintain_order=True)


def _reason(bar: float) -> pl.Expr:
    """Why a row was picked; `bar` is the best score that was not: a weight above 1 decided where the score without it is not higher."""
    by_weight = (pl.col("weight") > 1) & (pl.col("tier") == 3) & (pl.col("score") / pl.col("weight") <= bar * (1 + 1e-9))
    return (
        pl.when(pl.col("state") == "gone")
        .then(pl.lit("probe"))
        .when("new")
        .then(pl.lit("new"))
        .when(pl.col("errors_in_row") > 0)
        .then(pl.lit("retry"))
        .when("forced")
        .then(pl.lit("forced_age"))
        .when("hinted")
        .then(pl.lit("hint"))
        .when(by_weight)
        .then(pl.lit("priority"))
        .otherwise(pl.lit("index"))
    )
