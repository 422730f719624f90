"""`trawl search`: the corpus by meaning and by keyword."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date

import click

from trawl_core.cli.options import CrawlDate, domain_option, json_option, known_domains, open_home
from trawl_core.cli.output import console, print_json
from trawl_core.search.query import Hit
from trawl_core.search.query import search as find


@click.command()
@click.argument("query")
@click.option("-k", default=10, show_default=True, type=click.IntRange(1, 1000), help="How many hits.")
@click.option("--mode", type=click.Choice(["hybrid", "semantic", "keyword"]), default="hybrid", show_default=True)
@domain_option("Only this site.", multiple=False)
@click.option("--as-of", type=CrawlDate(), default=None, metavar="YYYY-MM-DD", help="The corpus as it was on that date.")
@json_option
def search(query: str, k: int, mode: str, domain: str | None, as_of: date | None, as_json: bool) -> None:
    """Search the corpus for QUERY.

    Example: trawl search "how long does a connection stay in the pool" -k 3
    """
    home, lake = open_home()
    if domain is not None:
        (domain,) = known_domains(home, lake, [domain])
    hits = find(query, k, mode, domain, as_of, lake=lake)
    if as_json:
        print_json([asdict(hit) for hit in hits])
        return
    if not hits:
        click.echo("no hits")
    print_hits(hits)


def print_hits(hits: list[Hit]) -> None:
    out = console()
    for rank, hit in enumerate(hits, 1):
        out.print(f"{rank}. [bold]{_escape(hit.title or hit.url)}[/bold]  {hit.score:.3f}")
        out.print(f"   {hit.url}", style="cyan")
        out.print(f"   {_escape(hit.heading + ': ' if hit.heading else '')}{_escape(hit.snippet)}")
        for url in hit.also_at:
            out.print(f"   also at {url}", style="dim")


def _escape(text: str) -> str:
    return text.replace("[", "\\[")
