"""How the commands print: a table on a terminal, tab-separated text when piped, JSON when asked."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text


def console() -> Console:
    """Standard output; no colours and no wrapping at 80 columns when it is not a terminal."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else 160, soft_wrap=not sys.stdout.isatty())


def print_rows(rows: Sequence[Mapping[str, Any]], *, title: str | None = None, empty: str = "nothing to show") -> None:
    """Rows with equal keys as a table; right-aligned numbers."""
    if not rows:
        click.echo(empty)
        return
    if not sys.stdout.isatty():
        if title:
            click.echo(title)
        click.echo("\t".join(rows[0]))
        for row in rows:
            click.echo("\t".join(_plain(value) for value in row.values()))
        return
    print_table(rows, title=title)


def print_table(rows: Sequence[Mapping[str, Any]], *, title: str | None = None) -> None:
    """Rows as a drawn table, also when piped."""
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    for name, value in rows[0].items():
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        table.add_column(name, justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_plain(value)) for value in row.values()))
    console().print(table)


def print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def _plain(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    return " ".join(str(value).split())
