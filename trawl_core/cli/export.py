"""`trawl export wacz`, `cdxj`, `jsonl`: what was archived, in the forms that other programs take."""

from __future__ import annotations

import contextlib
import gzip
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import Any, TextIO

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

from trawl_core.cli.options import CrawlDate, date_option, domain_option, known_domains, open_home
from trawl_core.clock import clock_from_env
from trawl_core.errors import UsageError, WarcError, explain_os_error
from trawl_core.lake.beside import beside
from trawl_core.lake.jsonl import page_lines
from trawl_core.lake.layout import sync_folder
from trawl_core.warc.cdxj import index_file, sort_lines
from trawl_core.warc.selection import Selection, select_archive, select_partitions, short_names
from trawl_core.warc.wacz import write_wacz


@click.group()
def export() -> None:
    """Give archive and pages to other programs.

    Example: trawl export wacz --date 2026-11-30 --output night.wacz
    """


def _which(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say which nights and sites."""
    options = (
        date_option("Only this crawl date; all dates by default."),
        click.option("--from", "first", type=CrawlDate(), default=None, metavar="YYYY-MM-DD", help="From this crawl date on."),
        click.option("--to", "last", type=CrawlDate(), default=None, metavar="YYYY-MM-DD", help="Up to this crawl date, itself included."),
        domain_option(),
    )
    for option in reversed(options):
        command = option(command)
    return command


_overwrite = click.option("--overwrite", is_flag=True, help="Replace the output file when it is there.")
_output = click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    help="A file, packed when its name ends in .gz; standard output by default.",
)


def _bounds(crawl_date: date | None, first: date | None, last: date | None) -> tuple[date | None, date | None]:
    if crawl_date is None:
        return first, last
    if first or last:
        raise UsageError("--date asks for one night, --from and --to for a range. Give one or the other.")
    return crawl_date, crawl_date


@export.command()
@_which
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="The WACZ file; needs the room of its WARC files.",
)
@click.option("--title", default=None, help="What players call the archive; its sites and dates by default.")
@click.option("--text/--no-text", "with_text", default=True, help="Put the pages' text in for the player's search (the default).")
@_overwrite
@click.pass_context
def wacz(
    ctx: click.Context,
    crawl_date: date | None,
    first: date | None,
    last: date | None,
    domains: tuple[str, ...],
    output: Path,
    title: str | None,
    with_text: bool,
    overwrite: bool,
) -> None:
    """One file that ReplayWeb.page and pywb play: WARC files, index and pages.

    Bodies that revisits refer to in nights outside the selection come along. Exit 1 when something is missing or
    damaged: each is named, the rest is written.

    Example: trawl export wacz --date 2026-11-30 --domain docs.example.org --output night.wacz
    """
    home, lake = open_home()
    selection = select_archive(lake, *_bounds(crawl_date, first, last), known_domains(home, lake, domains))
    _name_unsealed(selection)
    with _bar() as (progress, task):
        made = write_wacz(
            lake,
            selection,
            output,
            clock=clock_from_env(),
            title=title,
            with_text=with_text,
            overwrite=overwrite,
            progress=lambda done, total: progress.update(task, completed=done, total=total),
        )
    for fault in made.faults:
        click.echo(f"trawl: {fault}", err=True)
    click.echo(
        f"{output}: {made.bytes:,} bytes, {made.pages:,} pages, {made.index_lines:,} records of {made.files:,} WARC files"
        + (f", {made.originals:,} bodies of earlier nights." if made.originals else ".")
    )
    ctx.exit(1 if made.faults else 0)


@export.command()
@_which
@click.option("--paths", is_flag=True, help="Name WARC files by their path below the lake's root, not by their last part.")
@_output
@_overwrite
@click.pass_context
def cdxj(
    ctx: click.Context,
    crawl_date: date | None,
    first: date | None,
    last: date | None,
    domains: tuple[str, ...],
    paths: bool,
    output: Path | None,
    overwrite: bool,
) -> None:
    """A sorted CDXJ index of the archived records, as cdxj-indexer writes it.

    Example: trawl export cdxj --date 2026-11-30 > index.cdxj
    """
    home, lake = open_home()
    selection = select_archive(lake, *_bounds(crawl_date, first, last), known_domains(home, lake, domains))
    _name_unsealed(selection)
    called = {name: name if paths else name.rpartition("/")[2] for name in selection.names}
    if len(set(called.values())) < len(called):
        twice = next(short for name, short in short_names(selection.names).items() if short != called[name])
        raise UsageError(f"indexing {len(called)} WARC files: two of them have the same name ({twice}). Give --paths.")
    faults: list[WarcError] = []
    lines = (line for name in selection.names for line in index_file(lake, name, called[name], faults.append))
    _write(output, overwrite, sort_lines(lines))
    for fault in faults:
        click.echo(f"trawl: {fault}", err=True)
    ctx.exit(1 if faults else 0)


@export.command()
@_which
@click.option("--all", "without_text", is_flag=True, help="Pages without text too; their extract_status tells why.")
@_output
@_overwrite
def jsonl(
    crawl_date: date | None,
    first: date | None,
    last: date | None,
    domains: tuple[str, ...],
    without_text: bool,
    output: Path | None,
    overwrite: bool,
) -> None:
    """Pages with their text and metadata, one JSON object a line.

    Example: trawl export jsonl --date 2026-11-30 --output pages.jsonl.gz
    """
    home, lake = open_home()
    partitions = select_partitions(lake, ("pages",), *_bounds(crawl_date, first, last), known_domains(home, lake, domains))
    _write(output, overwrite, page_lines(lake, partitions, without_text=without_text))


def _name_unsealed(selection: Selection) -> None:
    for name in selection.unsealed:
        click.echo(f"trawl: {name} is left out: a run writes it, or has left it behind; then `trawl repair` seals it.", err=True)


@contextlib.contextmanager
def _bar() -> Iterator[tuple[Progress, Any]]:
    """On standard error, where it is a terminal."""
    columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        yield progress, progress.add_task("exporting", total=None)


def _write(output: Path | None, overwrite: bool, lines: Iterable[str]) -> None:
    if output is None:
        sys.stdout.flush()
        for line in lines:
            sys.stdout.buffer.write(line.encode())
        sys.stdout.buffer.flush()
        return
    if output.exists() and not overwrite:
        raise UsageError(f"writing {output}: there is such a file already. Name another, or give --overwrite.")
    unfinished = beside(output)
    try:
        with _opened(unfinished, output.name.endswith(".gz")) as file:
            file.writelines(lines)
        os.replace(unfinished, output)
        sync_folder(output.parent)
    except OSError as error:
        raise explain_os_error(error, "writing", output) from error
    finally:
        unfinished.unlink(missing_ok=True)


def _opened(path: Path, packed: bool) -> TextIO:
    return gzip.open(path, "xt", encoding="utf-8") if packed else path.open("x", encoding="utf-8", newline="\n")
