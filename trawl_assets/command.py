"""`trawl crawl`: the nightly run, headless, recorded in the home's Dagster instance."""

from __future__ import annotations

import errno
from datetime import date

import click
from sqlalchemy.exc import DBAPIError

from trawl_core.cli.options import date_option, domain_option, json_option
from trawl_core.cli.output import print_json, print_rows
from trawl_core.clock import clock_from_env
from trawl_core.errors import LakeError, explain_os_error
from trawl_core.home import Home
from trawl_core.lake import Lake


@click.command()
@date_option("The crawl date; today (UTC) by default. Another day can only be derived again from its archive.")
@domain_option()
@click.option("--refetch", is_flag=True, help="Fetch everything again although it was fetched today.")
@click.option("--threads", default=16, show_default=True, type=click.IntRange(1, 64), help="Threads that fetch, in each process.")
@click.option(
    "--processes",
    type=click.IntRange(1, 64),
    help="Processes among which the domains are spread; by default what sites.yaml says (auto: one a core from sixteen domains on).",
)
@json_option
@click.pass_context
def crawl(
    ctx: click.Context,
    crawl_date: date | None,
    domains: tuple[str, ...],
    refetch: bool,
    threads: int,
    processes: int | None,
    as_json: bool,
) -> None:
    """Plan, fetch, archive, extract, compare, embed and index one night; the same command again resumes it.

    Example: trawl crawl --domain docs.example.org
    """
    from trawl_assets.night import run_night
    from trawl_assets.summary import night_summary
    from trawl_assets.terminal import NightView

    home, clock = Home.from_env().prepare(), clock_from_env()
    home.check_writable()
    with NightView():
        try:
            night = run_night(home, clock, day=crawl_date, domains=domains, refetch=refetch, threads=threads, processes=processes)
        except DBAPIError as error:
            if getattr(error.orig, "sqlite_errorname", "") == "SQLITE_FULL":
                raise explain_os_error(OSError(errno.ENOSPC, ""), "recording the run in", home.dagster_home) from error
            home.check_writable()  # a full disk says so itself
            raise LakeError(
                f"recording the run in {home.dagster_home}: {error.orig}. Is the disk full, or the home read-only? "
                "Nothing stored before was changed. Run the same command again when it can be written."
            ) from error
    rows = night_summary(Lake(home.lake_url), night.crawl_date, night.domains)
    if as_json:
        print_json({"crawl_date": night.crawl_date, "runs": night.run_ids, "failures": night.failures, "sites": rows})
    else:
        print_rows(rows, empty="no site yet: `trawl sites add URL` adds one")
        for failure in night.failures:
            click.echo(f"failed: {failure}", err=True)
    ctx.exit(1 if night.failures else 0)
