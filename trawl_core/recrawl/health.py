"""Health of the crawls: one report a night, and what is overdue now.

Reads captures, changes, pages, url_history and the night's live state; writes crawl_report.
"""

from __future__ import annotations

import sqlite3
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import polars as pl

from trawl_core.clock import Clock
from trawl_core.lake import Lake, Partition, tables
from trawl_core.lake.tables import StageResult
from trawl_core.recrawl.stage import latest_history
from trawl_core.sites import Site, SitesConfig
from trawl_core.urls.normalize import origin_of

CHANGED_EVENTS = ("content", "structured", "metadata", "new")
SHORT_TEXT_CHARS = 200
PERCENTILES = (10, 25, 50, 75, 90)
OVERDUE_AFTER = timedelta(hours=36)
AGE_GRACE_DAYS = 2
WORST_ERROR_RATE = 0.5
LEASE_S = 900.0  # length of a lease in the frontier (fetch/frontier.py), which notes only when it ends

# Decided by us, not failures of the site.
_NOT_ATTEMPTED = ("robots_denied", "out_of_scope")
_DEFAULT_MAX_AGE_DAYS = Site.model_fields["recrawl"].default.max_age_days


def report_night(lake: Lake, crawl_date: date, config: SitesConfig, work: Path | None = None) -> StageResult:
    """Commits crawl_report of a date: each domain that was crawled or has a history, its origins and its total.

    Ages are as of the domain's last fetch of that night, so the report does not depend on when it is made.
    `work` is the folder of live crawl state; without it oldest_lease_s is null. facts: domains, fetched,
    not_modified, changed, errors, and the worst error rate and oldest page over all domains.
    """
    crawled = {partition.domain for partition in lake.partitions("captures") if partition.crawl_date == crawl_date}
    known = {partition.domain for partition in lake.partitions("url_history") if partition.crawl_date <= crawl_date}
    enabled = {site.domain for site in config.enabled}
    limits = {site.domain: site.recrawl.max_age_days for site in config.sites}
    rows = []
    for domain in sorted(crawled | (known & enabled)):
        rows += _report_domain(lake, Partition(crawl_date, domain), limits.get(domain, _DEFAULT_MAX_AGE_DAYS), work)
    committed = tables.commit(lake, "crawl_report", Partition(crawl_date), rows)
    totals = [row for row in rows if row["origin"] is None]
    facts: dict[str, object] = {"domains": len(totals)}
    facts |= {name: sum(row[name] for row in totals) for name in ("fetched", "not_modified", "changed", "errors")}
    for name in ("error_rate", "oldest_page_days"):
        facts[f"worst_{name}"] = max((row[name] for row in totals if row[name] is not None), default=None)
    return StageResult((committed,), facts)


def _report_domain(lake: Lake, partition: Partition, max_age_days: float, work: Path | None) -> list[dict[str, object]]:
    captures = _with_origin(
        pl.from_arrow(tables.read(lake, "captures", partition, ["url", "kind", "outcome", "fetch_status", "fetch_time", "wire_bytes"]))
    )
    changes = _with_origin(pl.from_arrow(tables.read(lake, "changes", partition, ["url", "event"])))
    pages = _with_origin(pl.from_arrow(tables.read(lake, "pages", partition, ["url", "fetch_status", "extract_status", "text_chars"])))
    history = _with_origin(latest_history(lake, partition.domain, partition.crawl_date + timedelta(days=1)))
    ended = captures["fetch_time"].max() or datetime.combine(partition.crawl_date + timedelta(days=1), time(0, tzinfo=UTC))
    rows = []
    for origin in [None, *sorted(set(captures["origin"]) | set(history["origin"]))]:
        of = (lambda frame: frame) if origin is None else (lambda frame, origin=origin: frame.filter(pl.col("origin") == origin))
        row = {
            "domain": partition.domain,
            "origin": origin,
            **_fetching(of(captures), of(changes)),
            **_ages(of(history), ended, max_age_days),
        }
        row |= _texts(of(pages))
        row["oldest_lease_s"] = _oldest_lease_s(work, partition, ended) if origin is None else None
        rows.append(row)
    return rows


def _with_origin(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(origin=pl.Series([origin_of(url) for url in frame["url"]], dtype=pl.String))


def _fetching(captures: pl.DataFrame, changes: pl.DataFrame) -> dict[str, object]:
    """What the night's attempts at pages came to; bytes and seconds are those of all attempts, robots.txt and sitemaps included."""
    attempts = captures.filter((pl.col("kind").fill_null("page") == "page") & pl.col("outcome").is_in(_NOT_ATTEMPTED).not_())
    failed = attempts.filter(pl.col("outcome").is_in(["ok", "not_modified"]).not_())
    changed = changes.filter(pl.col("event").is_in(CHANGED_EVENTS)).height
    wire_bytes = int(captures["wire_bytes"].sum())
    seconds = (captures["fetch_time"].max() - captures["fetch_time"].min()).total_seconds() if captures.height else None
    return {
        "fetched": attempts.filter((pl.col("outcome") == "ok") & pl.col("fetch_status").is_between(200, 299)).height,
        "not_modified": attempts.filter(pl.col("outcome") == "not_modified").height,
        "changed": changed,
        "errors": failed.height,
        "errors_by_kind": sorted(failed["outcome"].value_counts().iter_rows()),
        "error_rate": failed.height / attempts.height if attempts.height else None,
        "wire_bytes": wire_bytes,
        "bytes_per_changed_page": wire_bytes / changed if changed else None,
        "crawl_seconds": seconds,
    }


def _ages(history: pl.DataFrame, ended: datetime, max_age_days: float) -> dict[str, object]:
    """Coverage and the oldest page of the active URLs.

    A URL that no crawl reached is not covered and has no age; one that only ever failed (a dead link, a disallowed
    path) is no page and does not count.
    """
    is_page = pl.col("last_ok_at").is_not_null() | (pl.col("errors_in_row") == 0)
    active = history.filter((pl.col("state") == "active") & is_page).select(
        days=(pl.lit(ended) - pl.col("last_ok_at")).dt.total_microseconds().clip(lower_bound=0) / 86_400e6
    )
    fresh = active.filter(pl.col("days") <= max_age_days).height
    return {"fresh_coverage": fresh / active.height if active.height else None, "oldest_page_days": active["days"].max()}


def _texts(pages: pl.DataFrame) -> dict[str, object]:
    chars = pages.filter(pl.col("fetch_status").is_in([200, 304]) & pl.col("text_chars").is_not_null())["text_chars"]
    if chars.is_empty():
        return {"length_percentiles": None, "filter_rate": None}
    percentiles = [(f"p{share}", float(chars.quantile(share / 100, "linear"))) for share in PERCENTILES]
    return {"length_percentiles": percentiles, "filter_rate": (chars < SHORT_TEXT_CHARS).sum() / chars.len()}


def _oldest_lease_s(work: Path | None, partition: Partition, ended: datetime) -> float | None:
    """Age of the oldest lease that the night's frontier still holds, 0 without one; None where no frontier can be read."""
    file = None if work is None else work / f"{partition.folder}.sqlite"
    if file is None or not file.is_file():
        return None
    db = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)
    try:
        until = db.execute("SELECT min(lease_until) FROM urls WHERE state = 1").fetchone()[0]
    except sqlite3.DatabaseError:
        return None
    finally:
        db.close()
    return 0.0 if until is None else max(ended.timestamp() - (until - LEASE_S), 0.0)


def status_table(lake: Lake, config: SitesConfig, clock: Clock) -> list[dict[str, object]]:
    """One row per site, in the order of sites.yaml, as things stand now: what `trawl status` prints.

    domain, enabled, last_crawl (date, null before the first), last_fetch (moment), urls, gone, fresh_coverage,
    oldest_page_days, max_age_days, and of the last night fetched, not_modified, changed, errors, error_rate.
    """
    return [_status(lake, site, clock.now()) for site in config.sites]


def _status(lake: Lake, site: Site, now: datetime) -> dict[str, object]:
    nights = tables.dates_of(lake, "captures", site.domain, upto=now.date())
    history = latest_history(lake, site.domain, now.date() + timedelta(days=1))
    row: dict[str, object] = {"domain": site.domain, "enabled": site.enabled, "last_crawl": nights[-1] if nights else None}
    night = Partition(nights[-1], site.domain) if nights else None
    columns = ["url", "kind", "outcome", "fetch_status", "fetch_time", "wire_bytes"]
    captures = pl.from_arrow(tables.read(lake, "captures", night, columns) if night else tables.empty("captures").select(columns))
    changes = pl.from_arrow(tables.read(lake, "changes", night, ["event"]) if night else tables.empty("changes").select(["event"]))
    fetching = _fetching(captures, changes)
    row |= {
        "last_fetch": captures["fetch_time"].max(),
        "urls": history.filter(pl.col("state") == "active").height,
        "gone": history.filter(pl.col("state") == "gone").height,
        **_ages(history, now, site.recrawl.max_age_days),
        "max_age_days": site.recrawl.max_age_days,
    }
    return row | {name: fetching[name] for name in ("fetched", "not_modified", "changed", "errors", "error_rate")}


def overdue(lake: Lake, config: SitesConfig, clock: Clock) -> list[str]:
    """What needs a person, one sentence each, empty when all is well; sites that are disabled or were never crawled are not overdue."""
    now = clock.now()
    problems = []
    for row in status_table(lake, config, clock):
        if not row["enabled"] or row["last_crawl"] is None:
            continue
        domain, last, oldest, rate = row["domain"], row["last_fetch"], row["oldest_page_days"], row["error_rate"]
        last = last or datetime.combine(row["last_crawl"], time(0, tzinfo=UTC))
        if now - last > OVERDUE_AFTER:
            hours = (now - last) / timedelta(hours=1)
            problems.append(
                f"{domain}: not crawled for {hours:.0f} hours (last fetch {last:%Y-%m-%d %H:%M} UTC); run `trawl crawl --domain {domain}`"
            )
        if oldest is not None and oldest > row["max_age_days"] + AGE_GRACE_DAYS:
            problems.append(
                f"{domain}: its oldest page was last seen {oldest:.0f} days ago, recrawl.max_age_days is {row['max_age_days']:g}; "
                "raise budget.pages or that age, or see `trawl plan` for what is in the way"
            )
        if rate is not None and rate > WORST_ERROR_RATE:
            problems.append(
                f"{domain}: {row['errors']} attempts failed on {row['last_crawl']} ({rate:.0%}); "
                f"see `trawl sql \"select outcome, error, count(*) from captures where domain = '{domain}' group by all\"`"
            )
    return problems
