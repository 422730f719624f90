"""A night in this process: the same jobs that the daemon runs, recorded in the same Dagster instance.

`run_night` runs `nightly` over the domains asked for, carries the finished domains on where others failed, then
builds the assets of the date and the catalog. A run that a killed process left behind is marked failed first, and the
crawl state on disk lets the new one resume.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date

import dagster as dg

from trawl_assets.carry_on import Rest, failures_of, rest_of
from trawl_assets.jobs import daily, nightly, refresh_catalog
from trawl_assets.lost_runs import bury_lost_runs, process_tag
from trawl_assets.partitions import first_crawl_date, key_of, ranges, register
from trawl_core.clock import Clock, crawl_date
from trawl_core.errors import ConfigError, PastDateError, UsageError
from trawl_core.home import Home
from trawl_core.lake import Lake, Partition
from trawl_core.sites import Site, SitesConfig, load_sites
from trawl_core.warc.imported import archived_files

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dataclass
class Night:
    """What became of a night: its run ids and, for each failure, a reason for a person."""

    crawl_date: date
    domains: tuple[str, ...]
    run_ids: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


@contextmanager
def open_instance(home: Home) -> Iterator[dg.DagsterInstance]:
    """The Dagster instance of this home."""
    os.environ["DAGSTER_HOME"] = str(home.dagster_home)
    with dg.DagsterInstance.get() as instance:
        yield instance


def run_night(
    home: Home,
    clock: Clock,
    *,
    day: date | None = None,
    domains: Sequence[str] = (),
    refetch: bool = False,
    threads: int = 16,
    processes: int | None = None,
) -> Night:
    """Crawl and derive one date for `domains` (all enabled sites when empty).

    Raises ConfigError, UnknownDomainError, PastDateError or UsageError before anything is started; what fails later is
    in `Night.failures`.
    """
    config = load_sites(home.sites_file)
    sites = config.select(domains)
    chosen = day or crawl_date(clock)
    _check_possible(home, config, sites, chosen, crawl_date(clock))
    night = Night(chosen, tuple(site.domain for site in sites))
    with open_instance(home) as instance:
        how = {"refetch": refetch, "threads": threads, "processes": processes}
        _run(instance, config, night, [key_of(site) for site in sites], how)
    return night


def _check_possible(home: Home, config: SitesConfig, sites: Sequence[Site], chosen: date, today: date) -> None:
    if not sites:
        raise UsageError(f"crawling: {home.sites_file} names no site that is enabled. `trawl sites add URL` adds one.")
    if chosen > today:
        raise PastDateError(f"crawling for {chosen}: that day has not come yet; today's crawl date is {today} (UTC).")
    if chosen < today:
        lake = Lake(home.lake_url)
        if not any(archived_files(lake, Partition(chosen, site.domain)) for site in sites):
            raise PastDateError(
                f"crawling for {chosen}: that day is over, and there is no archive of it for the sites asked for; pages can be fetched "
                f"for today ({today}, UTC) only. Leave --date out, or name a date that `trawl sql` finds in captures."
            )
    elif disabled := [site.domain for site in sites if not site.enabled]:
        raise UsageError(f"crawling {', '.join(disabled)}: disabled in {home.sites_file}. Set `enabled: true` there first.")
    if chosen < (first := first_crawl_date(home, config)):
        raise ConfigError(
            f"crawling for {chosen}: the crawl dates of this home begin on {first}. "
            f"Set `first_crawl_date: {chosen}` in {home.sites_file}, or TRAWL_NOW to a later day where the clock is moved."
        )


def _run(instance: dg.DagsterInstance, config: SitesConfig, night: Night, keys: Sequence[str], how: Mapping[str, object]) -> None:
    """`how` is the configuration of `warc_snapshot`."""
    from trawl_assets.definitions import defs

    bury_lost_runs(instance)
    register(instance, config, keys)
    crawl_config = {"ops": {"warc_snapshot": {"config": dict(how)}}}
    for tags in ranges(instance, keys, night.crawl_date):
        runs = [_execute(defs, instance, nightly.name, night, tags=tags, run_config={**QUIET, **crawl_config})]
        while runs:  # each rest leaves out what failed, so they come to an end
            runs += [_execute_rest(defs, instance, night, rest) for rest in rest_of(instance, runs.pop())]
    _execute(defs, instance, daily.name, night, partition_key=night.crawl_date.isoformat(), run_config=QUIET)
    _execute(defs, instance, refresh_catalog.name, night, run_config=QUIET)


def _execute_rest(defs: dg.Definitions, instance: dg.DagsterInstance, night: Night, rest: Rest) -> dg.DagsterRun:
    selection = [dg.AssetKey(name) for name in rest.assets]
    return _execute(defs, instance, nightly.name, night, tags=rest.tags, run_config=QUIET, asset_selection=selection)


def _execute(
    defs: dg.Definitions, instance: dg.DagsterInstance, job: str, night: Night, *, tags: dict[str, str] | None = None, **how: object
) -> dg.DagsterRun:
    own = {**process_tag(), "trawl/crawl_date": night.crawl_date.isoformat()}
    result = defs.resolve_job_def(job).execute_in_process(instance=instance, tags={**own, **(tags or {})}, raise_on_error=False, **how)
    night.run_ids.append(result.run_id)
    if not result.success:
        night.failures += failures_of(instance, result.run_id)
    run = instance.get_run_by_id(result.run_id)
    if run is None:
        raise dg.DagsterInvariantViolationError(f"the run {result.run_id} vanished from the instance")
    return run
