"""Links that a night found and no crawl has fetched yet, so that what a budget cut off comes up on a later night."""

from __future__ import annotations

import polars as pl

from trawl_core.recrawl.history import conform_history
from trawl_core.sites import Site
from trawl_core.urls.scope import Scope
from trawl_core.urls.traps import TrapCounter


def add_unfetched(history: pl.DataFrame, pages: pl.DataFrame, site: Site, lists: pl.Series) -> pl.DataFrame:
    """`history` with a row for each in-scope link of `pages` (url, outlinks) that it does not have, sorted by URL.

    `lists` are the URLs known as feeds, sitemaps or robots.txt: the crawl reads those on its own account, they are no pages.

    A link lies one deeper than the page that shows it; beyond the site's depth, and where its family of never-ending
    URLs has had its sample, it is left out.
    """
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
    wanted = [scope.check(url) is None and traps.admit(url) is None for url in new["url"]]
    added = conform_history(new.filter(pl.Series(wanted, dtype=pl.Boolean)).with_columns(domain=pl.lit(site.domain)))
    return pl.concat([history, added.select(history.columns)]).sort("url")
