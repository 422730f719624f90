"""The fetch stage: `crawl` takes domains through one night.

Reads: sites, `crawl_plan`, the newest `url_history` before the date. Writes: WARC files, `captures`, `frontier_log`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from trawl_core.clock import Clock, SystemClock, crawl_date
from trawl_core.errors import PastDateError
from trawl_core.fetch.guard import Resolver
from trawl_core.fetch.processes import run_apart
from trawl_core.fetch.progress import CrawlProgress
from trawl_core.fetch.run import Assignment, run_here
from trawl_core.fetch.session import CrawlJob, CrawlOutcome
from trawl_core.fetch.spread import processes_for, spread
from trawl_core.lake import Lake, tables
from trawl_core.lake.layout import Partition
from trawl_core.lake.tables import Committed, StageResult
from trawl_core.sites import SitesConfig
from trawl_core.warc.imported import archived_files

__all__ = ["CrawlJob", "CrawlOutcome", "CrawlProgress", "crawl"]


def crawl(
    jobs: Sequence[CrawlJob],
    *,
    lake: Lake,
    work: Path,
    config: SitesConfig,
    clock: Clock,
    threads: int = 16,
    processes: int | Literal["auto"] | None = None,
    refetch: bool = False,
    resolver: Resolver | None = None,
    on_progress: Callable[[CrawlProgress], None] | None = None,
    stop: threading.Event | None = None,
) -> dict[Partition, CrawlOutcome]:
    """Crawl the domains of `jobs` together and commit each when it is done; a domain's failure is in its outcome.

    Called again the same day it resumes, and fetches what the plan still wants; `refetch` begins a new pass. A job of
    an earlier date with archived WARC is a no-op that says so. `stop`, when set, ends the nights with what they have.
    `work` holds the live state. Raises PastDateError when every job is of another day and none has an archive.

    `processes` spreads the domains over so many processes with `threads` each (spread.py); None for what the configuration
    says. Its `auto` is what is worth while, and this process alone when a resolver or a clock of another class than SystemClock
    is given. With more than one, both must be picklable, and of classes that another process can import; raises UsageError
    when they are not.
    """
    outcomes: dict[Partition, CrawlOutcome] = {}
    today = []
    for job in jobs:
        if job.partition.crawl_date == crawl_date(clock):
            today.append(job)
        else:
            outcomes[job.partition] = _other_day(job.partition, lake, clock)
    refusals = [outcome.error for outcome in outcomes.values() if isinstance(outcome.error, PastDateError)]
    if refusals and len(refusals) == len(jobs):
        raise refusals[0]
    processes = processes or config.processes
    if processes == "auto":
        processes = processes_for(today) if resolver is None and isinstance(clock, SystemClock) else 1
    assignment = Assignment(today, lake, work, config, clock, threads, refetch, resolver)
    shares = spread(today, processes)
    stop = stop or threading.Event()
    if len(shares) > 1:
        outcomes |= run_apart(assignment, shares, stop=stop, on_progress=on_progress)
    elif shares:
        outcomes |= run_here(assignment, stop=stop, on_progress=on_progress)
    return {job.partition: outcomes[job.partition] for job in jobs}


def _other_day(partition: Partition, lake: Lake, clock: Clock) -> CrawlOutcome:
    """Fetching is for today only: an archived night stays as it is, another one is refused."""
    day, today = partition.crawl_date, crawl_date(clock)
    archived = archived_files(lake, partition)
    if archived:
        note = f"{day} is over: its {len(archived)} WARC files stay as they are, nothing was fetched."
        committed = tuple(_existing(lake, table, partition) for table in ("captures", "frontier_log") if tables.has(lake, table, partition))
        return CrawlOutcome(partition, StageResult(committed, {"note": note, "fetched": 0, "warc_files": len(archived)}))
    when = "is over" if day < today else "has not come yet"
    error = PastDateError(
        f"crawling {partition.domain} for {day}: that day {when} and has no archived WARC, and fetching can only be done today ({today}). "
        "Import WARC files of that day with `trawl import-warc`, or run only the assets after warc_snapshot."
    )
    return CrawlOutcome(partition, None, error)


def _existing(lake: Lake, table: str, partition: Partition) -> Committed:
    name = lake.table_name(table, partition)
    return Committed(name, tables.count(lake, table, partition) or 0, lake.size(name) or 0)
