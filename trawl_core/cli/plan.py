"""`trawl plan`: what would be fetched tonight, and why."""

from __future__ import annotations

from datetime import date

import click
import polars as pl

from trawl_core.cli.options import date_option, domain_option, json_option, open_home
from trawl_core.cli.output import print_json, print_rows
from trawl_core.clock import clock_from_env
from trawl_core.clock import crawl_date as today_of
from trawl_core.lake import Lake, Partition, tables
from trawl_core.recrawl.stage import preview_plan
from trawl_core.sites import Site, load_sites

COLUMNS = ["domain", "rank", "url", "reason", "score", "rate_per_day", "staleness_days"]


@click.command()
@date_option("The plan of that crawl date; today's by default.")
@domain_option()
@click.option("-n", "limit", default=20, show_default=True, type=click.IntRange(1), help="Rows a site.")
@json_option
def plan(crawl_date: date | None, domains: tuple[str, ...], limit: int, as_json: bool) -> None:
    """What would be fetched, in which order, and why. Links found on the way come on top, within the budget.

    Example: trawl plan --domain docs.example.org -n 50
    """
    home, lake = open_home()
    config = load_sites(home.sites_file)
    day = crawl_date or today_of(clock_from_env())
    plans = [_plan_of(lake, Partition(day, site.domain), site) for site in config.select(domains)]
    rows = [row for one in plans for row in one.head(limit).select(COLUMNS).to_dicts()]
    if as_json:
        print_json(rows)
        return
    print_rows(rows, empty=f"nothing is planned for {day}: `trawl sites add URL` adds a site")
    for one in plans:
        if one.height > limit:
            click.echo(f"… and {one.height - limit} more of {one['domain'][0]}")


def _plan_of(lake: Lake, partition: Partition, site: Site) -> pl.DataFrame:
    """The stored plan of that night, or what it would be."""
    if tables.has(lake, "crawl_plan", partition):
        return pl.from_arrow(tables.read(lake, "crawl_plan", partition)).sort("rank")
    return preview_plan(lake, partition, site)
