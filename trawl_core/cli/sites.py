"""`trawl sites check|list|add`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click

from trawl_core.cli.options import json_option
from trawl_core.cli.output import print_json, print_rows
from trawl_core.home import Home
from trawl_core.sites import Site, load_sites
from trawl_core.sites_edit import add_site
from trawl_core.urls.normalize import normalize_url
from trawl_core.urls.scope import Scope

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
    for site, seed, rule in _seeds_out_of_scope(config.enabled):
        click.echo(f"{site.domain}: its seed {seed} will not be fetched, it is out of scope ({rule}); see domain, origins and allow_ports.")
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
            "seeds": list(site.seeds),
            "delay_s": site.delay_s,
            "pages": site.budget.pages,
            "max_age_days": site.recrawl.max_age_days,
            "group": site.group,
            "enabled": site.enabled,
        }
        for site in config.sites
    ]
    if as_json:
        print_json(rows)
    else:
        shown = [{**row, "seeds": len(row["seeds"]), "enabled": "yes" if row["enabled"] else "no"} for row in rows]
        print_rows(shown, empty="no site yet: `trawl sites add URL` adds one")


@sites.command()
@click.argument("url")
def add(url: str) -> None:
    """Add a site whose crawl starts at URL; comments in sites.yaml stay.

    Example: trawl sites add https://docs.example.org/
    """
    home = Home.from_env().prepare()
    site = add_site(home.sites_file, url)
    click.echo(f"added {site.domain}. `trawl plan` shows what a crawl would fetch, `trawl crawl` fetches it.")


def _seeds_out_of_scope(sites: Iterable[Site]) -> Iterator[tuple[Site, str, str]]:
    """Each seed that its own site's rules hold back, with the rule."""
    for site in sites:
        scope = Scope(site)
        for seed in site.seeds:
            if rule := scope.check(normalize_url(seed) or seed):
                yield site, seed, rule


def _is_local(site: Site) -> bool:
    return bool(site.network.allow_networks)
