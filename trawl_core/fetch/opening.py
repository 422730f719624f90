"""What a night starts from: the state file of an earlier call, the plan, the history, captures already in the lake."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta

import polars as pl

from trawl_core.fetch.frontier import Frontier, NewUrl
from trawl_core.fetch.ledger import Ledger
from trawl_core.fetch.priority import LISTS, SEED, planned_priority
from trawl_core.fetch.spending import begin_anew
from trawl_core.fetch.state import NightState
from trawl_core.lake import Lake, tables
from trawl_core.lake.layout import Partition
from trawl_core.sites import Site
from trawl_core.urls.normalize import normalize_url, origin_of

# What a later call of the same day tries again; everything else that was decided stays decided.
RETRIED_LATER = ("timeout", "connect_error", "dns_error", "tls_error", "robots_unavailable", "server_error", "put_off", "truncated")
# Reading the captures of more nights would cost more than asking once more.
MOST_DAYS_OF_MEDIA = 90
_TAKEN_OVER = "history"
_HISTORY = [
    "url",
    "state",
    "depth",
    "content_digest",
    "body_capture_id",
    "body_fetch_time",
    "body_warc_filename",
    "body_warc_offset",
    "body_warc_length",
]


def take_over_captures(lake: Lake, partition: Partition, ledger: Ledger, frontier: Frontier) -> None:
    """When the state file was lost, or captures came by another way: what the lake has is not fetched again."""
    committed = tables.count(lake, "captures", partition)
    if committed and committed > ledger.count():
        captures = tables.read(lake, "captures", partition)
        ledger.take_over(captures)
        fetched = captures.select(["url", "kind", "depth", "outcome", "fetch_status"]).to_pylist()
        frontier.done_before(
            (
                NewUrl(row["url"], origin_of(row["url"]), row["kind"], depth=row["depth"] or 0),
                stored_outcome(row["outcome"], row["fetch_status"]),
            )
            for row in fetched
            if row["kind"] in ("page", "media", "sitemap", "feed") and row["outcome"] not in ("out_of_scope", None)
        )


def stored_outcome(outcome: str, status: int | None) -> str:
    """captures.outcome as the frontier keeps it: answers that a later call should try again are told apart."""
    return "server_error" if outcome == "http_error" and status is not None and (status >= 500 or status == 429) else outcome


def start_pass(state: NightState, ledger: Ledger, frontier: Frontier, *, refetch: bool) -> None:
    """Let URLs wait again that this call should fetch again; a refetch begins the budgets anew."""
    if refetch:
        frontier.forget_redirect_targets_and_known()
        taken_over(state, None)
        frontier.redo(None)
        begin_anew(state, ledger)
    else:
        frontier.redo(RETRIED_LATER)


def load_history(lake: Lake, partition: Partition, state: NightState, ledger: Ledger) -> tuple[pl.DataFrame | None, str | None]:
    """The newest url_history before this date, its bodies noted in the ledger, and what tells it from another; None when there is none.

    An earlier call of the night may have taken it over (`taken_over`): then only its URLs are read.
    """
    days = tables.dates_of(lake, "url_history", partition.domain, before=partition.crawl_date)
    if not days:
        return None, None
    newest = Partition(days[-1], partition.domain)
    version = f"{newest.crawl_date} {lake.size(lake.table_name('url_history', newest))}"
    if is_taken_over(state, version):
        return pl.from_arrow(tables.read(lake, "url_history", newest, ["url"])), version
    history = pl.from_arrow(tables.read(lake, "url_history", newest, _HISTORY))
    bodies = history.filter(pl.col("body_warc_filename").is_not_null() & pl.col("content_digest").is_not_null())
    captured = _captured_bodies(lake, partition, bodies)
    ledger.add_bodies(
        (
            row["body_capture_id"],
            row["content_digest"],
            # A page's body may lie in the record of another URL that sent the same.
            captured.get(row["body_capture_id"], (row["url"], None))[0],
            row["body_fetch_time"],
            row["body_warc_filename"],
            row["body_warc_offset"],
            row["body_warc_length"],
            captured.get(row["body_capture_id"], (row["url"], None))[1],
        )
        for row in bodies.iter_rows(named=True)
    )
    return history, version


def is_taken_over(state: NightState, version: str) -> bool:
    """True when the bodies and URLs of that history are in the state file."""
    return state.text(_TAKEN_OVER) == version


def taken_over(state: NightState, version: str | None) -> None:
    """Note that they are; None that they are no longer."""
    state.set_text(_TAKEN_OVER, version)


def _captured_bodies(lake: Lake, partition: Partition, bodies: pl.DataFrame) -> dict[str, tuple[str, str | None]]:
    """(url, payload_sha256) by capture_id for the bodies of the history, from the captures of the nights that fetched them."""
    named = pl.col("body_warc_filename").str.extract(r"crawl_date=(\d{4}-\d\d-\d\d)").str.to_date()
    # Files that were imported lie in no folder of a date.
    dates = bodies.select(pl.coalesce(named, pl.col("body_fetch_time").dt.date())).to_series().unique().drop_nulls()
    nights = [Partition(day, partition.domain) for day in sorted(dates)]
    captures = pl.from_arrow(tables.read_many(lake, "captures", nights, ["capture_id", "url", "payload_sha256"]))
    wanted = captures.join(bodies.select(capture_id="body_capture_id"), on="capture_id", how="semi")
    return {capture_id: (url, sha256) for capture_id, url, sha256 in wanted.iter_rows()}


def planned_urls(lake: Lake, partition: Partition, site: Site, history: pl.DataFrame | None) -> list[NewUrl]:
    """The plan in its order, else the seeds; then seeds that neither the plan nor the history knows, and the site's lists."""
    plan = pl.from_arrow(tables.read(lake, "crawl_plan", partition)).sort("rank")
    seeds = [url for url in (normalize_url(seed) for seed in site.seeds) if url]
    planned = list(_from_plan(plan, set(seeds)))
    known = {new.url for new in planned}
    if planned and history is not None:
        known.update(history.filter(pl.col("url").is_in(seeds))["url"])
    planned += [NewUrl(url, origin_of(url), priority=SEED, is_seed=True) for url in seeds if url not in known]
    lists = [("feed", url) for url in site.feeds] + [
        ("sitemap", url) for url in (site.sitemaps if isinstance(site.sitemaps, tuple) else ())
    ]
    named = ((kind, normalize_url(url)) for kind, url in lists)
    return planned + [NewUrl(url, origin_of(url), kind, LISTS) for kind, url in named if url]


def _from_plan(plan: pl.DataFrame, seeds: set[str]) -> Iterator[NewUrl]:
    for row in plan.iter_rows(named=True):
        url = normalize_url(row["url"])
        if url is None:
            continue
        yield NewUrl(
            url,
            origin_of(url),
            priority=planned_priority(row["rank"], plan.height),
            depth=row["depth"] or 0,
            is_seed=url in seeds,
            etag=row["etag"],
            last_modified=row["last_modified"],
            body_capture_id=row["body_capture_id"],
            from_link=row["reason"] == "new",
        )


def recent_media(lake: Lake, partition: Partition, max_age_days: float) -> Iterator[tuple[str, str]]:
    """(url, origin) of the media that earlier nights within that time got a lasting answer for: a page that shows them fetches nothing.

    What was answered by an HTML page is left out, for it may be one.
    """
    since = partition.crawl_date - timedelta(days=min(max_age_days, MOST_DAYS_OF_MEDIA))
    nights = [Partition(day, partition.domain) for day in tables.dates_of(lake, "captures", partition.domain, before=partition.crawl_date)]
    for night in nights:
        if night.crawl_date > since:
            captures = pl.from_arrow(
                tables.read(lake, "captures", night, ["url", "kind", "outcome", "fetch_status", "content_mime_detected"])
            )
            media = captures.filter((pl.col("kind") == "media") & (pl.col("content_mime_detected").fill_null("") != "text/html"))
            for url, outcome, status in media.select("url", "outcome", "fetch_status").iter_rows():
                if stored_outcome(outcome, status) in ("ok", "not_modified", "http_error"):
                    yield url, origin_of(url)


def known_urls(history: pl.DataFrame) -> Iterable[tuple[str, str, int]]:
    """(url, origin, depth) of what the history knows and may be due another night."""
    for url, depth in history.filter(pl.col("state").is_in(["active", "gone"])).select("url", "depth").iter_rows():
        yield url, origin_of(url), depth or 0
