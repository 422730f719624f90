"""`trawl import-warc`: WARC files that other programs wrote become captures."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

import click
from rich.progress import Progress

from trawl_core.cli.options import date_option, json_option
from trawl_core.cli.output import console, print_json
from trawl_core.clock import clock_from_env
from trawl_core.clock import crawl_date as today
from trawl_core.home import Home
from trawl_core.lake import Lake, Partition, tables
from trawl_core.sites import SitesConfig, check_domain_or_explain, load_sites
from trawl_core.sites_edit import add_site
from trawl_core.urls.normalize import origin_of
from trawl_core.warc.imported import MANIFEST, folder_of
from trawl_core.warc.importing import MAX_FAULTS, MAX_NEW_DOMAINS, ImportRequest, Outcome, import_warcs

SHOWN_FAULTS = 20
SHOWN_NIGHTS = 3
SHOWN_SITES = 20


@click.command(name="import-warc")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@date_option("The crawl date of every record; the UTC day of each record's WARC-Date by default.")
@click.option("--domain", "domains", multiple=True, metavar="HOST", help="Only captures of this domain; may be given more than once.")
@click.option("--add-sites", is_flag=True, help="Add domains that sites.yaml does not name to it, disabled: they are not crawled.")
@click.option("--link", is_flag=True, help="Hard-link the files into the lake instead of copying them; never write to them again.")
@click.option(
    "--max-new-domains",
    default=MAX_NEW_DOMAINS,
    show_default=True,
    type=click.IntRange(0),
    help="Refuse a file with more domains that sites.yaml does not name.",
)
@json_option
@click.pass_context
def import_warc(
    ctx: click.Context,
    files: tuple[Path, ...],
    crawl_date: date | None,
    domains: tuple[str, ...],
    add_sites: bool,
    link: bool,
    max_new_domains: int,
    as_json: bool,
) -> None:
    """Take in WARC files of wget, Heritrix, Browsertrix, Common Crawl and others, plain, gzip or zstd, and those inside a WACZ.

    Their records become captures of their domains and dates. What is wrong with a record is told and the others are imported; exit 1
    says that something was. The same file again changes nothing.

    \b
    Example: trawl import-warc crawl.warc.gz
             trawl import-warc *.warc.gz --domain docs.example.org --add-sites
    """
    home, clock = Home.from_env().prepare(), clock_from_env()
    home.check_writable()
    lake, config = Lake(home.lake_url), load_sites(home.sites_file)
    only = frozenset(check_domain_or_explain(name) for name in domains) or None
    request = ImportRequest(config.sites, crawl_date, only, link, max_new_domains)
    outcomes = []
    with Progress(console=console(), transient=True, disable=not sys.stdout.isatty()) as progress:
        task = progress.add_task("importing", total=None)

        def show(doing: str, done: int, total: int) -> None:
            progress.update(task, description=doing, completed=done, total=total)

        for outcome in import_warcs(files, request, lake=lake, work=home.work, clock=clock, progress=show):
            outcomes.append(outcome)
            if not as_json:
                for line in _report(outcome):
                    progress.console.print(line, markup=False)
    missing = _missing_sites(outcomes, config, lake)
    if add_sites:
        for seed in missing.values():
            add_site(home.sites_file, seed, enabled=False)
    if as_json:
        print_json({"files": [_as_json(outcome) for outcome in outcomes], "sites_added" if add_sites else "sites_missing": list(missing)})
    else:
        for line in (*_about_sites(missing, home.sites_file, add_sites), *_next_steps(outcomes, today(clock))):
            click.echo(line)
    ctx.exit(1 if any(outcome.has_problem for outcome in outcomes) else 0)


def _report(outcome: Outcome) -> Iterable[str]:
    imported = outcome.imported
    if imported is None:
        yield f"failed: {outcome.error}"
        return
    if outcome.status == "already":
        yield f"{outcome.source}: imported already on {imported.imported_at[:10]}; nothing was changed."
        return
    kept = f"{imported.form} in {imported.name}" if imported.name else "not kept: no capture leads into it"
    days = {day for day, _ in imported.partitions}
    hosts = {domain for _, domain in imported.partitions}
    yield (
        f"{outcome.source}: {_count(outcome.new, 'capture')} of {_count(len(hosts), 'domain')} on {_count(len(days), 'day')}, "
        f"{outcome.known} known before; {kept}."
    )
    for reason, count in imported.passed_over.items():
        yield f"{outcome.source}: {_count(count, 'record')} {reason}: no capture."
    for offset, fault in imported.faults[:SHOWN_FAULTS]:
        yield f"{outcome.source}: at byte {offset}: {fault}"
    if (more := imported.fault_count - SHOWN_FAULTS) > 0:
        yield f"{outcome.source}: and {more:,} more; {folder_of(imported.sha256)}/{MANIFEST} in the lake has the first {MAX_FAULTS:,}."
    if outcome.unresolved:
        yield (
            f"{_count(outcome.unresolved, 'revisit')} of these domains refer to records that are not archived here; "
            "importing the file that holds them completes them."
        )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _partitions(outcomes: Sequence[Outcome]) -> list[Partition]:
    found = {one for outcome in outcomes if outcome.imported for one in outcome.imported.partitions}
    return sorted(Partition(date.fromisoformat(day), domain) for day, domain in found)


def _missing_sites(outcomes: Sequence[Outcome], config: SitesConfig, lake: Lake) -> dict[str, str]:
    """Imported domains that sites.yaml does not name, each with a seed of the scheme and port that its captures have."""
    named = {site.domain for site in config.sites}
    newest = {partition.domain: partition for partition in _partitions(outcomes) if partition.domain not in named}
    seeds = {}
    for domain, partition in sorted(newest.items()):
        urls = tables.read(lake, "captures", partition, ["url"]).column("url").to_pylist()
        scheme, rest = origin_of(urls[-1]).split("://")
        port = rest.rpartition(":")[2]
        seeds[str(domain)] = f"{scheme}://{rest if port not in ('80', '443') else rest.rpartition(':')[0]}/"
    return seeds


def _about_sites(missing: dict[str, str], path: Path, added: bool) -> Iterable[str]:
    if not missing:
        return
    if added:
        yield f"added {', '.join(missing)} to {path}, disabled: their archive can be worked on, and nothing of them is fetched."
        return
    yield f"{path} does not name {_count(len(missing), 'domain')} of these. --add-sites adds them so, or write below its `sites:`"
    for domain, seed in list(missing.items())[:SHOWN_SITES]:
        yield f"  - domain: {domain}"
        yield f"    seeds: [{seed}]"
        yield "    enabled: false"
    if len(missing) > SHOWN_SITES:
        yield f"  and {len(missing) - SHOWN_SITES} more like these."


def _next_steps(outcomes: Sequence[Outcome], now: date) -> Iterable[str]:
    partitions = _partitions([outcome for outcome in outcomes if outcome.new])
    by_day: dict[date, list[str]] = {}
    for partition in partitions:
        if partition.crawl_date < now:
            by_day.setdefault(partition.crawl_date, []).append(str(partition.domain))
    if any(partition.crawl_date >= now for partition in partitions):
        yield "Captures of today become pages with today's crawl of their domain, or by the job `reprocess` in Dagster."
    if by_day:
        yield "Pages, changes and search of an imported day are built as those of any other:"
    for day, domains in list(by_day.items())[:SHOWN_NIGHTS]:
        shown = " ".join(f"--domain {domain}" for domain in domains[:SHOWN_NIGHTS])
        yield f"  trawl crawl --date {day} {shown}{' …' if len(domains) > SHOWN_NIGHTS else ''}"
    if len(by_day) > SHOWN_NIGHTS:
        yield f"  and so on for {len(by_day)} days, or a backfill of `reprocess` in Dagster."


def _as_json(outcome: Outcome) -> dict[str, Any]:
    return {
        "source": outcome.source,
        "status": outcome.status,
        "error": outcome.error,
        "new": outcome.new,
        "known": outcome.known,
        "revisits_resolved": outcome.resolved,
        "revisits_unresolved": outcome.unresolved,
        "imported": asdict(outcome.imported) if outcome.imported else None,
    }
