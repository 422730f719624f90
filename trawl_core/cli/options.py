"""Options and arguments that several commands share, and the home they work on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import click

from trawl_core.errors import ConfigError
from trawl_core.home import Home
from trawl_core.lake import Lake
from trawl_core.sites import check_domain_or_explain, load_sites


class CrawlDate(click.ParamType):
    """A crawl date: 2026-11-30."""

    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> date:
        if isinstance(value, date):
            return value
        try:
            return date.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is not a date; write it like 2026-11-30", param, ctx)


def date_option(help_text: str) -> Callable[..., Any]:
    return click.option("--date", "crawl_date", type=CrawlDate(), default=None, metavar="YYYY-MM-DD", help=help_text)


def domain_option(help_text: str = "Only this site; may be given more than once.", multiple: bool = True) -> Callable[..., Any]:
    return click.option("--domain", "domains" if multiple else "domain", multiple=multiple, metavar="HOST", help=help_text)


json_option = click.option("--json", "as_json", is_flag=True, help="JSON, for a program.")


def open_home() -> tuple[Home, Lake]:
    """The home that the environment names, and its lake; nothing is made.

    Raises ConfigError when neither exists: a misspelt TRAWL_HOME is no empty archive.
    """
    home = Home.from_env()
    lake = Lake(home.lake_url)
    if not home.root.exists() and lake.is_local and not Path(lake.root).exists():
        raise ConfigError(
            f"there is no Trawl home at {home.root}. Set TRAWL_HOME to the folder that holds sites.yaml, or begin one there: "
            "`trawl sites add URL`."
        )
    return home, lake


def known_domains(home: Home, lake: Lake, names: Sequence[str]) -> list[str]:
    """`names` as partition keys, in order: sites of sites.yaml, or sites taken out of it that are still in the lake.

    Raises UnknownDomainError for any other, ConfigError when sites.yaml can't tell.
    """
    wanted = [check_domain_or_explain(name) for name in names]
    archived = {partition.domain for table in ("captures", "warc") for partition in lake.partitions(table)} if wanted else set()
    return [domain if domain in archived else load_sites(home.sites_file).site(domain).domain for domain in wanted]
