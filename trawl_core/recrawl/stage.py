"""The two assets of recrawl: tonight's plan from the last history, and the history after a night."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time

import polars as pl

from trawl_core.clock import Clock, crawl_date
from trawl_core.errors import PastDateError, UsageError
from trawl_core.lake import Lake, Partition, tables
from trawl_core.lake.tables import Committed, StageResult
from trawl_core.recrawl.estimate import estimate, prior_days
from trawl_core.recrawl.hints import apply_hints, sitemap_hints
from trawl_core.recrawl.history import conform_history, update_history
from trawl_core.recrawl.links import add_unfetched
from trawl_core.recrawl.night import CAPTURE_COLUMNS, fetches_of, night_of, remember_bodies
from trawl_core.recrawl.plan import plan_recrawl, smallest_feasible_age_days
from trawl_core.sites import Site
from trawl_core.urls.mazes import mazes_in_log
from trawl_core.urls.normalize import normalize_url
from trawl_core.urls.scope import Scope
from trawl_core.warc.imported import archived_files

NIGHT_STARTS = time(2, 0, tzinfo=UTC)


def build_plan(lake: Lake, partition: Partition, site: Site, clock: Clock) -> StageResult:
    """Commits crawl_plan of `partition`; facts: planned, reasons, urls_known, and a warning where the maximum age can't be kept.

    For a past date with archived WARC nothing is done: `committed` names the plan that is there (empty without one) and
    the fact `note` says so. Raises PastDateError for a past date without WARC, UsageError for a day that has not begun.
    """
    today = crawl_date(clock)
    if partition.crawl_date < today:
        return _keep_past_plan(lake, partition, today)
    if partition.crawl_date > today:
        raise UsageError(
            f"planning {site.domain} for {partition.crawl_date}: that day has not begun, today is {today} UTC. Plan it when it comes."
        )
    plan = preview_plan(lake, partition, site)
    committed = tables.commit(lake, "crawl_plan", partition, plan)
    known = latest_history(lake, partition.domain, partition.crawl_date)
    facts: dict[str, object] = {
        "planned": plan.height,
        "reasons": dict(sorted(plan["reason"].value_counts().iter_rows())),
        "urls_known": known.height,
    }
    feasible = smallest_feasible_age_days(known.filter(pl.col("state") == "active").height, site.budget.pages)
    if feasible > site.recrawl.max_age_days:
        facts["warning"] = (
            f"{site.domain}: {site.budget.pages} pages a night can't keep every page younger than {site.recrawl.max_age_days:g} days; "
            f"the least age that they can keep is {feasible:.1f} days. Raise recrawl.max_age_days or budget.pages."
        )
    return StageResult((committed,), facts)


def preview_plan(lake: Lake, partition: Partition, site: Site) -> pl.DataFrame:
    """The rows of crawl_plan, not committed: the newest history before the date, seen from the moment the night starts.

    Seeds are always in, first; excluded URLs never.
    """
    history = latest_history(lake, partition.domain, partition.crawl_date)
    known = _apply_site(_with_seeds(history, site), site)
    now = datetime.combine(partition.crawl_date, NIGHT_STARTS)
    seeds = _seeds(site)
    seeded = known.filter(pl.col("url").is_in(seeds)).with_columns(next_retry_at=None)
    budget, max_age, objective = site.budget.pages, site.recrawl.max_age_days, site.recrawl.objective
    first = _seeds_first(plan_recrawl(seeded, len(seeds), None, now, max_age_days=max_age, objective=objective), seeds, budget)
    others = known.filter(pl.col("url").is_in(seeds).not_())
    rest = plan_recrawl(others, budget - first.height, None, now, max_age_days=max_age, objective=objective)
    rates = estimate(known, pseudo_days=prior_days(known.height, budget)).select("url", "rate_per_day")
    usable = (pl.col("state") == "active") & pl.col("body_warc_filename").is_not_null() & pl.col("body_capture_id").is_not_null()
    seen = pl.col("last_ok_at").is_not_null()
    return (
        pl.concat([first, rest.with_columns(pl.col("rank") + first.height)])
        .join(known, on="url", how="left", maintain_order="left", suffix="_known")
        .join(rates, on="url", how="left", maintain_order="left")
        .select(
            "rank",
            "url",
            "score",
            "reason",
            crawl_date=pl.lit(partition.crawl_date),
            domain=pl.lit(partition.domain),
            rate_per_day=pl.when(seen).then("rate_per_day"),
            staleness_days=((pl.lit(now) - pl.col("last_ok_at")).dt.total_microseconds() / 86_400e6).clip(lower_bound=0),
            etag=pl.when(usable).then("etag"),
            last_modified=pl.when(usable).then("last_modified"),
            body_capture_id=pl.when(usable).then("body_capture_id"),
            depth="depth",
        )
    )


def due_tonight(lake: Lake, partition: Partition, site: Site) -> int:
    """How many URLs the plan of `partition` would hold."""
    return preview_plan(lake, partition, site).height


def update_url_history(lake: Lake, partition: Partition, site: Site) -> StageResult:
    """Commits url_history after `partition`: the newest earlier one, and every night of captures since, folded in.

    Moments are those of the crawls, so the result does not depend on when it is made. facts: urls, active, gone,
    excluded, unfetched, hinted (a sitemap tells of a later change than was fetched), nights_folded, sitemaps_unread.
    """
    day = partition.crawl_date
    base = tables.dates_of(lake, "url_history", partition.domain, before=day)
    history = _mark_excluded(latest_history(lake, partition.domain, day), site)
    nights = [night for night in tables.dates_of(lake, "captures", partition.domain, upto=day) if not base or night > base[-1]]
    unread: list[str] = []
    for night in nights:
        history = _fold(lake, Partition(night, partition.domain), site, history)
        hints, faults = sitemap_hints(lake, Partition(night, partition.domain), site.max_decoded_bytes)
        history = apply_hints(history, hints)
        unread += faults
    committed = tables.commit(lake, "url_history", partition, history.with_columns(crawl_date=pl.lit(day), domain=pl.lit(partition.domain)))
    states = dict(history["state"].value_counts().iter_rows())
    facts = {
        "urls": history.height,
        **{state: states.get(state, 0) for state in ("active", "gone", "excluded")},
        "unfetched": int(history["last_fetched_at"].is_null().sum()),
        "hinted": int((history["hint_at"] > history["last_ok_at"]).sum()),
        "nights_folded": len(nights),
    }
    if unread:
        facts["sitemaps_unread"] = f"{len(unread)}: {unread[0]}"
    return StageResult((committed,), facts)


def latest_history(lake: Lake, domain: str | None, before: date) -> pl.DataFrame:
    """The domain's newest url_history before a date, without crawl_date; no rows before the first crawl."""
    for day in reversed(tables.dates_of(lake, "url_history", domain, before=before)):
        return conform_history(pl.from_arrow(tables.read(lake, "url_history", Partition(day, domain))))
    return conform_history(None)


def _fold(lake: Lake, partition: Partition, site: Site, history: pl.DataFrame) -> pl.DataFrame:
    night = night_of(pl.from_arrow(tables.read(lake, "captures", partition, CAPTURE_COLUMNS)))
    if night.height:
        compared = tables.has(lake, "changes", partition)
        changes = pl.from_arrow(tables.read(lake, "changes", partition, ["url", "event"])) if compared else None
        history = update_history(history, fetches_of(night, changes, history), night["fetch_time"].max())
        history = remember_bodies(history, night)
    pages = pl.from_arrow(tables.read(lake, "pages", partition, ["url", "outlinks"]))
    log = tables.read(lake, "frontier_log", partition, ["reason", "detail", "first_seen"]).to_pylist()
    return _mark_excluded(add_unfetched(history, pages, site, _lists(lake, partition), mazes_in_log(log)), site)


def _lists(lake: Lake, partition: Partition) -> pl.Series:
    """URLs that were fetched as something else than a page, on any night up to this one."""
    nights = [Partition(day, partition.domain) for day in tables.dates_of(lake, "captures", partition.domain, upto=partition.crawl_date)]
    captures = pl.from_arrow(tables.read_many(lake, "captures", nights, ["url", "kind"]))
    return captures.filter(pl.col("kind") != "page")["url"].unique()


def _mark_excluded(history: pl.DataFrame, site: Site) -> pl.DataFrame:
    """State `excluded` for what the site's scope holds back now; what it lets in again is active or gone as it was."""
    scope = Scope(site)
    outside = pl.Series([scope.check(url) is not None for url in history["url"]], dtype=pl.Boolean)
    back = pl.when(pl.col("last_outcome") == "gone").then(pl.lit("gone")).otherwise(pl.lit("active"))
    return history.with_columns(
        state=pl.when(outside).then(pl.lit("excluded")).when(pl.col("state") == "excluded").then(back).otherwise("state")
    )


def _apply_site(history: pl.DataFrame, site: Site) -> pl.DataFrame:
    """Scope and weights as sites.yaml has them now."""
    patterns = [(re.compile(one.pattern), one.weight) for one in site.priorities]
    weights = []
    for url, weight in history.select("url", "weight").iter_rows():
        factor = site.recrawl.weight
        for pattern, more in patterns:
            factor *= more if pattern.search(url) else 1.0
        weights.append(weight * factor)
    return _mark_excluded(history, site).with_columns(weight=pl.Series(weights, dtype=pl.Float64))


def _seeds(site: Site) -> list[str]:
    return list(dict.fromkeys(url for url in map(normalize_url, site.seeds) if url))


def _with_seeds(history: pl.DataFrame, site: Site) -> pl.DataFrame:
    """`history` with the site's seeds, at depth 0; one that was never fetched gets a row."""
    seeds = pl.DataFrame({"url": _seeds(site)}, schema={"url": pl.String})
    missing = seeds.join(history, on="url", how="anti").with_columns(domain=pl.lit(site.domain))
    return pl.concat([history, conform_history(missing).select(history.columns)]).with_columns(
        depth=pl.when(pl.col("url").is_in(seeds["url"].implode())).then(0).otherwise("depth").cast(pl.Int32)
    )


def _seeds_first(plan: pl.DataFrame, seeds: list[str], budget: int) -> pl.DataFrame:
    """The seeds' `plan` in the order of sites.yaml, at most `budget` of them; what a plan calls new is a seed here."""
    order = pl.DataFrame({"url": seeds, "place": range(len(seeds))}, schema={"url": pl.String, "place": pl.Int64})
    return (
        plan.join(order, on="url")
        .sort("place")
        .head(budget)
        .with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int64), reason=pl.col("reason").replace("new", "seed"))
        .drop("place")
    )


def _keep_past_plan(lake: Lake, partition: Partition, today: date) -> StageResult:
    if not archived_files(lake, partition):
        raise PastDateError(
            f"planning {partition.domain} for {partition.crawl_date}: the day is over (it is {today} UTC) and nothing was archived then. "
            "Pages can only be fetched today. Import WARC files of that day with `trawl import-warc`, or run the derived assets only."
        )
    name = lake.table_name("crawl_plan", partition)
    rows = tables.count(lake, "crawl_plan", partition)
    kept = () if rows is None else (Committed(name, rows, lake.size(name) or 0),)
    return StageResult(
        kept, {"note": f"{partition.crawl_date} is over and its WARC is archived: the plan stays as it was, nothing was planned."}
    )
