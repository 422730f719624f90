"""`trawl sites check|list|add`."""

from __future__ import annotations

import click

from trawl_core.cli.options import json_option
from trawl_core.cli.output import print_json, print_rows
from trawl_core.home import Home
from trawl_core.sites import Site, load_sites
from trawl_core.sites_edit import add_site

LIVE_KEYS = 100_000
LIVE_DAYS = 365


@click.group()
def sites() -> None:
    """Check, list and add the sites of sites.yaml.

    Example: trawl sites add https://docs.example.org/
    """


@sites.command()
def check() -> None:
    """Read sites.yaml and say what is wrong, with file, line and the nearest valid key.

    Example: trawl sites check
    """
    home = Home.from_env()
    config = load_sites(home.sites_file)
    count = len(config.enabled)
    click.echo(f"{home.sites_file}: fine, {count} site{'' if count == 1 else 's'}, robots.txt is asked for {config.product_token}.")
    if "example.org" in config.user_agent and any(not _is_local(site) for site in config.enabled):
        click.echo("user_agent still names example.org: put a page or an address there where a webmaster can reach you.")
    keys = len({site.group or site.domain for site in config.enabled})
    if keys * LIVE_DAYS > LIVE_KEYS:
        click.echo(
            f"{keys} partition keys × {LIVE_DAYS} days pass {LIVE_KEYS:,}, where Dagster's UI becomes slow: "
            "give small sites a common `group: name`; a group is one partition."
        )


@sites.command(name="list")
@json_option
def list_sites(as_json: bool) -> None:
    """The sites, one a line.

    Example: trawl sites list
    """
    config = load_sites(Home.from_env().sites_file)
    rows = [
        {
            "domain": site.domain,
            "seeds": len(site.seeds),
            "delay_s": site.delay_s,
            "pages": site.budget.pages,
            "max_age_days": site.recrawl.max_age_days,
            "group": site.group or "",
            "enabled": "yes" if site.enabled else "no",
        }
        for site in config.sites
    ]
    if as_json:
        print_json(rows)
    else:
        print_rows(rows, empty="no site yet: `trawl sites add URL` adds one")


@sites.command()
@click.argument("url")
def add(url: str) -> None:
    """Add a site whose crawl starts at URL; comments in sites.yaml stay.

    Example: trawl sites add https://docs.example.org/
    """
    home = Home.from_env().prepare()
    site = add_site(home.sites_file, url)
    click.echo(f"added {site.domain}. `trawl plan` shows what a crawl would fetch, `trawl crawl` fetches it.")


def _is_local(site: Site) -> bool:
    return bool(site.network.allow_networks)
