"""`trawl status`: health of each site."""

from __future__ import annotations

import click

from trawl_core.cli.options import json_option, open_home
from trawl_core.cli.output import print_json, print_rows
from trawl_core.clock import clock_from_env
from trawl_core.recrawl.health import overdue, status_table
from trawl_core.sites import load_sites


@click.command()
@json_option
@click.pass_context
def status(ctx: click.Context, as_json: bool) -> None:
    """Health of each site: last crawl, freshness, errors, oldest page. Exit 1 when something is overdue.

    Example: trawl status
    """
    home, lake = open_home()
    config, clock = load_sites(home.sites_file), clock_from_env()
    rows, problems = status_table(lake, config, clock), overdue(lake, config, clock)
    if as_json:
        print_json({"sites": rows, "overdue": problems})
    else:
        print_rows(rows, empty="no site yet: `trawl sites add URL` adds one")
        for problem in problems:
            click.echo(f"overdue: {problem}", err=True)
    ctx.exit(1 if problems else 0)
