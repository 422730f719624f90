"""Options and arguments that several commands share, and the home they work on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import click

from trawl_core.home import Home
from trawl_core.lake import Lake


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
    """The home that the environment names, and its lake; nothing is made."""
    home = Home.from_env()
    return home, Lake(home.lake_url)
