"""Folding fetches into what is known of each URL: interval counts, validators' kind, errors in a row, state.

An interval lies between two good fetches (ok, not_modified, redirect) of one URL; it ended in a change or without one.
Only those counts feed the rate, so a failure can't move it.
"""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl

from trawl_core.errors import SchemaError
from trawl_core.lake import tables

GOOD = ("ok", "not_modified", "redirect")
FAILED = ("error", "throttled")
OUTCOMES = (*GOOD, *FAILED, "gone")

# Nights are whole UTC days, so both back-offs end at the start of a day: a page that failed at 02:10 may be tried at 02:00.
RETRY_FIRST_DAYS, RETRY_MAX_DAYS = 1, 30
PROBE_FIRST_DAYS, PROBE_MAX_DAYS = 7, 90

TIME = pl.Datetime("us", "UTC")
_SCHEMA: dict[str, pl.DataType] = {
    name: kind for name, kind in pl.from_arrow(tables.empty("url_history")).schema.items() if name != "crawl_date"
}
_FETCHES: dict[str, pl.DataType] = {
    "url": pl.String(),
    "domain": pl.String(),
    "fetched_at": TIME,
    "outcome": pl.String(),
    "changed": pl.Boolean(),
    "server_last_modified": TIME,
    "bytes": pl.Int64(),
    "validator_kind": pl.String(),
}
_DEFAULTS = {"n_changed": 0, "n_unchanged": 0, "days_changed": 0.0, "days_unchanged": 0.0, "errors_in_row": 0, "weight": 1.0}
_DAY_US = 86_400_000_000


def update_history(history: pl.DataFrame | None, fetches: pl.DataFrame, now: datetime) -> pl.DataFrame:
    """`history` (None before the first crawl) after `fetches`, one row per URL sorted by URL, the columns of url_history.

    `fetches`: url, domain, fetched_at, outcome (ok, not_modified, error, throttled, gone, redirect), changed (null: not
    known), server_last_modified, bytes, validator_kind; url, fetched_at and outcome are required, further columns are
    ignored. They are folded in time order, whatever their order; one that is not newer than the URL's last known fetch
    was folded before and counts no more. `now` is the end of the crawl; a fetch after it (a wrong clock) counts as made then.
    A 304 is an unchanged answer whatever `changed` says, and so is a redirect without `changed`. `weight` is the caller's.

    Raises SchemaError for a missing column, a null in a required one, or an unknown outcome.
    """
    past = conform_history(history)
    events = _intervals(past, _conform_fetches(fetches, now))
    seen = events.group_by("url").agg(
        pl.col("domain").drop_nulls().last(),
        first_ok=pl.col("fetched_at").filter("good").first(),
        last_ok=pl.col("fetched_at").filter("good").last(),
        last_change=pl.col("fetched_at").filter(pl.col("ended") == "changed").last(),
        last_fetch=pl.col("fetched_at").last(),
        last_outcome=pl.col("outcome").last(),
        last_answer=pl.col("outcome").filter(pl.col("outcome").is_in(FAILED).not_()).last(),
        server_last_modified=pl.col("server_last_modified").filter(pl.col("good")).drop_nulls().last(),
        validator_kind=pl.col("validator_kind").filter(pl.col("good")).drop_nulls().last(),
        bytes=pl.col("bytes").filter(pl.col("outcome") == "ok").drop_nulls().last(),
        changed_n=(pl.col("ended") == "changed").sum().cast(pl.Int64),
        unchanged_n=(pl.col("ended") == "unchanged").sum().cast(pl.Int64),
        changed_days=pl.col("days").filter(pl.col("ended") == "changed").sum(),
        unchanged_days=pl.col("days").filter(pl.col("ended") == "unchanged").sum(),
        failures=(pl.col("outcome").is_in(FAILED) & (pl.col("goods") == pl.col("goods").max())).sum().cast(pl.Int32),
    )
    joined = past.join(seen, on="url", how="full", coalesce=True, suffix="_new").with_columns(
        touched=pl.col("last_fetch").is_not_null(), recovered=pl.col("last_ok").is_not_null()
    )
    return _schedule(joined.with_columns(*_folded())).select(*_SCHEMA, *[name for name in past.columns if name not in _SCHEMA]).sort("url")


def conform_history(history: pl.DataFrame | None) -> pl.DataFrame:
    """`history` with every column of url_history (missing ones null or their start value) and one row per URL.

    Further columns are kept. Raises SchemaError without a `url` column.
    """
    if history is None:
        return pl.DataFrame(schema=_SCHEMA)
    if "url" not in history.columns:
        raise SchemaError("a URL history needs the column url; start with None and fold fetches by update_history.")
    known = [_cast(history, name, kind) for name, kind in _SCHEMA.items()]
    others = [name for name in history.columns if name not in _SCHEMA and name != "crawl_date"]
    complete = history.select(*known, *others).with_columns(
        *[pl.col(name).fill_null(start) for name, start in _DEFAULTS.items()], pl.col("state").fill_null("active")
    )
    if complete["url"].is_duplicated().any():
        complete = complete.sort("url", "last_fetched_at").unique("url", keep="last", maintain_order=True)
    return complete


def _cast(frame: pl.DataFrame, name: str, kind: pl.DataType) -> pl.Expr:
    if name not in frame.columns:
        return pl.lit(None, kind).alias(name)
    if kind == TIME and isinstance(frame.schema[name], pl.Datetime):
        column = pl.col(name) if frame.schema[name].time_zone else pl.col(name).dt.replace_time_zone("UTC")
        return column.dt.convert_time_zone("UTC").cast(TIME)
    return pl.col(name).cast(kind)


def _conform_fetches(fetches: pl.DataFrame, now: datetime) -> pl.DataFrame:
    if missing := [name for name in ("url", "fetched_at", "outcome") if name not in fetches.columns]:
        raise SchemaError(f"folding fetches into the URL history: the column {', '.join(missing)} is missing.")
    events = fetches.select(_cast(fetches, name, kind) for name, kind in _FETCHES.items())
    if unknown := sorted(set(events["outcome"].drop_nulls()) - set(OUTCOMES)):
        raise SchemaError(f"folding fetches into the URL history: unknown outcome {', '.join(unknown)}; known are {', '.join(OUTCOMES)}.")
    if events.select(pl.any_horizontal(pl.col("url", "fetched_at", "outcome").is_null()).any()).item():
        raise SchemaError("folding fetches into the URL history: url, fetched_at and outcome must be set in every row.")
    return events.with_columns(pl.col("fetched_at").clip(upper_bound=pl.lit(as_utc(now), TIME)))


def as_utc(moment: datetime) -> datetime:
    """`moment` in UTC; one without a zone is taken as UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _intervals(past: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """The new fetches in time order with `good`, `goods` (good fetches so far), `days` since the last good one, and how it `ended`."""
    known = past.select("url", known_fetch="last_fetched_at", known_ok="last_ok_at")
    fresh = (
        events.join(known, on="url", how="left")
        .filter(pl.col("known_fetch").is_null() | (pl.col("fetched_at") > pl.col("known_fetch")))
        .sort("url", "fetched_at", "outcome", "changed", "bytes", "validator_kind", "server_last_modified")
        .with_columns(good=pl.col("outcome").is_in(GOOD))
    )
    good_at = pl.when("good").then("fetched_at")
    previous = good_at.shift(1).forward_fill().over("url")
    changed = (
        pl.when(pl.col("outcome") == "not_modified")
        .then(False)
        .when(pl.col("outcome") == "redirect")
        .then(pl.col("changed").fill_null(False))
        .otherwise("changed")
    )
    counts = pl.col("good") & (pl.col("days") > 0)
    return fresh.with_columns(
        goods=pl.col("good").cum_sum().over("url"),
        days=(pl.col("fetched_at") - pl.coalesce(previous, "known_ok")).dt.total_microseconds() / _DAY_US,
        changed=changed,
    ).with_columns(
        ended=pl.when(counts & pl.col("changed")).then(pl.lit("changed")).when(counts & ~pl.col("changed")).then(pl.lit("unchanged"))
    )


def _folded() -> list[pl.Expr]:
    """Old and new facts joined; a URL without new fetches keeps all of its own."""
    outcome = pl.coalesce("last_outcome_new", "last_outcome")
    answered = pl.col("last_answer").is_not_null() & (pl.col("state").fill_null("active") != "excluded")
    return [
        pl.coalesce("domain", "domain_new").alias("domain"),
        pl.coalesce("first_seen_at", "first_ok").alias("first_seen_at"),
        pl.coalesce("last_fetch", "last_fetched_at").alias("last_fetched_at"),
        pl.coalesce("last_ok", "last_ok_at").alias("last_ok_at"),
        pl.coalesce("last_change", "last_changed_at").alias("last_changed_at"),
        outcome.alias("last_outcome"),
        pl.coalesce("server_last_modified_new", "server_last_modified").alias("server_last_modified"),
        pl.coalesce("validator_kind_new", "validator_kind").alias("validator_kind"),
        pl.coalesce("bytes_new", "bytes").alias("bytes"),
        *[
            (pl.col(old).fill_null(0) + pl.col(new).fill_null(0)).alias(old)
            for old, new in (
                ("n_changed", "changed_n"),
                ("n_unchanged", "unchanged_n"),
                ("days_changed", "changed_days"),
                ("days_unchanged", "unchanged_days"),
            )
        ],
        (pl.when("recovered").then(0).otherwise(pl.col("errors_in_row").fill_null(0)) + pl.col("failures").fill_null(0)).alias(
            "errors_in_row"
        ),
        pl.col("weight").fill_null(1.0),
        pl.when(answered)
        .then(pl.when(pl.col("last_answer") == "gone").then(pl.lit("gone")).otherwise(pl.lit("active")))
        .otherwise(pl.col("state").fill_null("active"))
        .alias("state"),
    ]


def _schedule(folded: pl.DataFrame) -> pl.DataFrame:
    """`next_retry_at` of the URLs that were fetched.

    A failure waits 1, 2, 4, … 30 days. A gone URL is probed after as long again as it has been gone, 7 to 90 days.
    """
    retry = (2.0 ** (pl.col("errors_in_row") - 1).clip(0, 10) * RETRY_FIRST_DAYS).clip(upper_bound=RETRY_MAX_DAYS)
    gone_days = (pl.col("last_fetched_at") - pl.col("last_ok_at")).dt.total_days().fill_null(PROBE_FIRST_DAYS * 4)
    probe = gone_days.clip(PROBE_FIRST_DAYS, PROBE_MAX_DAYS)
    wait = pl.when(pl.col("state") == "gone").then(probe).when(pl.col("errors_in_row") > 0).then(retry)
    from_day = pl.col("last_fetched_at").dt.truncate("1d") + pl.duration(days=wait.cast(pl.Int64))
    return folded.with_columns(next_retry_at=pl.when("touched").then(from_day).otherwise("next_retry_at").cast(TIME))
