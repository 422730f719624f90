"""`trawl changes`: what changed, from the stored rows."""

from __future__ import annotations

from datetime import date

import click

from trawl_core.changes.report import render_changes
from trawl_core.cli.options import date_option, domain_option, known_domains, open_home
from trawl_core.lake import tables


@click.command()
@date_option("The crawl date; the newest one with changes by default.")
@domain_option()
@click.option("--url", "url", metavar="URL", help="Only this page.")
@click.option("--format", "form", type=click.Choice(["text", "md", "html", "atom", "json"]), default="text", show_default=True)
def changes(crawl_date: date | None, domains: tuple[str, ...], url: str | None, form: str) -> None:
    """What changed on a crawl date, compared with each page's previous good capture.

    Example: trawl changes --date 2026-11-30 --domain docs.example.org --format md
    """
    home, lake = open_home()
    wanted = set(known_domains(home, lake, domains))
    known = lake.partitions("changes")
    day = crawl_date or max((partition.crawl_date for partition in known), default=None)
    partitions = [part for part in known if part.crawl_date == day and (not wanted or part.domain in wanted)]
    if day is None or not partitions:
        click.echo("no changes are stored for that date and site; `trawl crawl` makes them.", err=form != "text")
        if form == "text":
            return
    rows = tables.read_many(lake, "changes", partitions).to_pylist()
    click.echo(render_changes([row for row in rows if url in (None, row["url"])], form))
