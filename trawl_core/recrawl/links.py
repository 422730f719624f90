"""Links that a night found and no crawl has fetched yet, so that what a budget cut off comes up on a later night."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from trawl_core.recrawl.history import conform_history
from trawl_core.sites import Site
from trawl_core.urls.mazes import maze_family
from trawl_core.urls.scope import Scope
from trawl_core.urls.traps import TrapCounter


def add_unfetched(history: pl.DataFrame, pages: pl.DataFrame, site: Site, lists: pl.Series, mazes: Collection[str] = ()) -> pl.DataFrame:
    """`history` with a row for each in-scope link of `pages` (url, outlinks) that it does not have, sorted by URL.

    `lists` are the URLs known as feeds, sitemaps or robots.txt: the crawl reads those on its own account, they are no pages.

    A link lies one deeper than the page that shows it; beyond the site's depth, and where its family of never-ending
    URLs has had its sample, it is left out. So is what leads into one of the `mazes` (families that the night held back),
    also where an earlier night had put it in and it was never fetched: should the maze prove to be none, the pages show it again.
    """
    history = history.filter(_leads_into(history, mazes, site).not_())
    links = (
        pages.select("url", "outlinks").explode("outlinks", empty_as_null=True, keep_nulls=True).filter(pl.col("outlinks").is_not_null())
    )
    shown = links.select(parent="url", url=pl.col("outlinks").struct.field("url"), rel=pl.col("outlinks").struct.field("rel"))
    if not site.follow_nofollow:
        shown = shown.filter(pl.col("rel").fill_null("").str.contains("nofollow").not_())
    new = (
        shown.join(history.select(parent="url", above="depth"), on="parent", how="left")
        .with_columns(depth=(pl.col("above").fill_null(0) + 1).cast(pl.Int32))
        .filter(pl.col("depth") <= site.budget.depth)
        .join(history.select("url"), on="url", how="anti")
        .filter(pl.col("url").is_in(lists.implode()).not_())
        .group_by("url")
        .agg(pl.col("depth").min())
        .sort("depth", "url")
    )
    if new.is_empty():
        return history
    scope, traps = Scope(site), TrapCounter(site.traps)
    for url in history["url"]:
        traps.admit(url)
    new = new.filter(_leads_into(new, mazes, site).not_())
    wanted = [scope.check(url) is None and traps.admit(url) is None for url in new["url"]]
    added = conform_history(new.filter(pl.Series(wanted, dtype=pl.Boolean)).with_columns(domain=pl.lit(site.domain)))
    return pl.concat([history, added.select(history.columns)]).sort("url")


def _leads_into(urls: pl.DataFrame, mazes: Collection[str], site: Site) -> pl.Series:
    """Which rows are URLs that were never fetched and belong to a maze, but for those that a person lets through."""
    if not mazes:
        return pl.repeat(False, urls.height, dtype=pl.Boolean, eager=True)
    traps = TrapCounter(site.traps)
    never = urls["last_fetched_at"].is_null() if "last_fetched_at" in urls.columns else [True] * urls.height
    inside = [unseen and maze_family(url) in mazes and not traps.is_free(url) for url, unseen in zip(urls["url"], never, strict=True)]
    return pl.Series(inside, dtype=pl.Boolean)
