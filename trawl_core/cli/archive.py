"""`trawl show`, `trawl verify`, `trawl repair`: back to the archived bytes, and proof that they are sound."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import date
from itertools import chain
from pathlib import Path

import click
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from trawl_core.cli.options import date_option, domain_option, json_option, known_domains, open_home
from trawl_core.cli.output import console, print_json, print_rows
from trawl_core.fetch.recovery import recover
from trawl_core.lake import Lake, Partition
from trawl_core.lake.beside import sweep
from trawl_core.search.verify import index_problems
from trawl_core.warc.reader import payload_of_capture
from trawl_core.warc.show import decoded_body, find_captures, show_headers, show_rendered, show_text
from trawl_core.warc.verify import Problem
from trawl_core.warc.verify import verify as find_problems
from trawl_core.warc.verify_imported import known_faults


@click.command()
@click.argument("url")
@date_option("Its captures of that crawl date; the newest of all dates by default.")
@click.option("--headers", "what", flag_value="headers", help="The HTTP head as it was sent.")
@click.option("--body", "what", flag_value="body", help="The body, content coding removed.")
@click.option("--rendered", "what", flag_value="rendered", help="The DOM that a browser made of it.")
@click.option("--text", "what", flag_value="text", help="The extracted main text.")
@click.option("--history", "what", flag_value="history", default=True, help="Each capture, newest first (the default).")
@json_option
@click.pass_context
def show(ctx: click.Context, url: str, crawl_date: date | None, what: str, as_json: bool) -> None:
    """What is archived of URL.

    \b
    Example: trawl show https://docs.example.org/
             trawl show https://docs.example.org/ --date 2026-11-30 --body > page.html
    """
    _, lake = open_home()
    rows = find_captures(lake, url, crawl_date)
    if not rows:
        click.echo(f"trawl: {url} was never captured" + (f" on {crawl_date}." if crawl_date else "."), err=True)
        ctx.exit(1)
    if what in (None, "history") or as_json:
        _history(rows, as_json)
        return
    archived = next((row for row in rows if row["warc_type"]), rows[0])
    if what == "headers":
        click.echo(show_headers(lake, archived).rstrip())
    elif what == "body":
        _body(lake, archived)
    elif what == "rendered":
        _rendered(ctx, lake, rows, url)
    elif text := next((text for row in rows if (text := show_text(lake, row))), None):
        click.echo(text)
    else:
        click.echo(
            f"trawl: no text was extracted from {url}; `trawl sql` tells why: select extract_status, extract_error from pages.", err=True
        )
        ctx.exit(1)


def _body(lake: Lake, row: dict) -> None:
    """The body alone on standard output; what should be known of it on standard error."""
    document, fault = decoded_body(payload_of_capture(lake, row))
    click.get_binary_stream("stdout").write(document)
    when, status = f"{row['fetch_time']:%Y-%m-%d %H:%M:%S}", row["fetch_status"]
    if status not in (200, 304, None):
        leads = f" that leads to {row['fetch_redirect']}" if row["fetch_redirect"] else ""
        click.echo(f"trawl: this is the body of an answer {status}{leads}, of {when}; --date takes that of another crawl date.", err=True)
    if row["content_truncated"]:
        click.echo(f"trawl: this answer of {when} is not whole ({row['content_truncated']}): {row['error']}", err=True)
    elif fault:
        click.echo(f"trawl: {fault}", err=True)


def _rendered(ctx: click.Context, lake: Lake, rows: list[dict], url: str) -> None:
    document = next((found for row in rows if (found := show_rendered(lake, row)) is not None), None)
    if document is None:
        click.echo(
            f"trawl: no browser rendered {url}. `browser: when-needed` in sites.yaml lets one do so where scripts build the page.", err=True
        )
        ctx.exit(1)
    click.get_binary_stream("stdout").write(document)


def _history(rows: list[dict], as_json: bool) -> None:
    columns = (
        "crawl_date",
        "fetch_time",
        "fetch_status",
        "outcome",
        "revisit_profile",
        "content_digest",
        "payload_bytes",
        "warc_filename",
        "warc_record_offset",
        "error",
    )
    table = [{name: row[name] for name in columns} for row in rows]
    if as_json:
        print_json(table)
        return
    for row in table:
        row["fetch_time"] = row["fetch_time"].strftime("%Y-%m-%d %H:%M:%S")
        row["warc_filename"] = (row["warc_filename"] or "").rpartition("/")[2]
    print_rows(table)


@click.command()
@date_option("Only this crawl date.")
@domain_option()
@json_option
@click.pass_context
def verify(ctx: click.Context, crawl_date: date | None, domains: tuple[str, ...], as_json: bool) -> None:
    """Prove archive, captures and tables against each other; one line a problem, exit 1 when there is one.

    Large archives are read by a process a core. What was wrong with imported files when they came is a note, not a problem.

    Example: trawl verify --date 2026-11-30
    """
    home, lake = open_home()
    dates = [crawl_date] if crawl_date else None
    wanted = known_domains(home, lake, domains) or None
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(), transient=True, disable=not sys.stdout.isatty()) as progress:
        task = progress.add_task("verifying", total=None)
        problems = find_problems(lake, dates, wanted, progress=lambda done, total: progress.update(task, completed=done, total=total))
    problems += [Problem(where, what) for where, what in index_problems(lake, dates)]
    asked = list(_asked(lake, dates, wanted))
    known = [Problem(where, what) for where, what in known_faults(lake, asked)]
    if as_json:
        print_json([{"where": one.where, "what": one.what, "known": one in known} for one in (*problems, *known)])
    else:
        for one in problems:
            click.echo(str(one))
        for one in known:
            click.echo(f"note: {one}")
        click.echo(_verdict(len(problems), bool(asked)))
    ctx.exit(1 if problems else 0)


def _asked(lake: Lake, dates: list[date] | None, domains: list[str] | None) -> Iterator[Partition]:
    """Crawled partitions that a verification looks at."""
    for partition in lake.partitions("captures"):
        if (not dates or partition.crawl_date in dates) and (not domains or partition.domain in domains):
            yield partition


def _verdict(problems: int, archived: bool) -> str:
    if problems:
        return f"{problems} problem{'' if problems == 1 else 's'} found."
    return "the archive and all that leads to it is sound." if archived else "nothing is archived there yet: there is nothing to verify."


@click.command()
@domain_option()
def repair(domains: tuple[str, ...]) -> None:
    """Finish what a killed run left: salvage and seal its WARC files, complete its captures, remove half-written tables.

    Example: trawl repair
    """
    home, lake = open_home()
    home.prepare().check_writable()
    wanted = set(known_domains(home, lake, domains))
    folders = [home.root, Path(lake.root)] if lake.is_local else [home.root]
    removed = (f"removed {path}, which a dead process had not finished" for folder in folders for path in sweep(folder))
    done = 0
    for line in chain(removed, recover(lake, home.work, wanted or None)):
        click.echo(line)
        done += 1
    if not done:
        click.echo("nothing was left unfinished.")
