"""The fetch stage: `crawl` takes domains through one night.

Reads: sites, `crawl_plan`, the newest `url_history` before the date. Writes: WARC files, `captures`, `frontier_log`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from trawl_core.clock import Clock, crawl_date
from trawl_core.errors import PastDateError, TrawlError
from trawl_core.fetch.browser import Browser
from trawl_core.fetch.client import HttpClient
from trawl_core.fetch.engine import Engine
from trawl_core.fetch.guard import Resolver
from trawl_core.fetch.progress import CrawlProgress
from trawl_core.fetch.resolver import DnsResolver
from trawl_core.fetch.session import CrawlJob, CrawlOutcome, open_session
from trawl_core.fetch.signals import finishing_on_signals
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
    refetch: bool = False,
    resolver: Resolver | None = None,
    on_progress: Callable[[CrawlProgress], None] | None = None,
    stop: threading.Event | None = None,
) -> dict[Partition, CrawlOutcome]:
    """Crawl the domains of `jobs` together and commit each when it is done; a domain's failure is in its outcome.

    Called again the same day it resumes, and fetches what the plan still wants; `refetch` begins a new pass. A job of
    an earlier date with archived WARC is a no-op that says so. `stop`, when set, ends the nights with what they have.
    `work` holds the live state. Raises PastDateError when every job is of another day and none has an archive.
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
    if today:
        resolver = resolver or DnsResolver.of_machine(clock)
        stop = stop or threading.Event()
        client = HttpClient(user_agent=config.user_agent, clock=clock, resolver=resolver)
        wanted = any(job.site.browser != "off" for job in today)
        browser = Browser(user_agent=config.user_agent, resolver=resolver, clock=clock) if wanted else None
        try:
            engine = Engine(
                client=client,
                browser=browser,
                resolver=resolver,
                clock=clock,
                threads=threads,
                domains=len(today),
                stop=stop,
                on_progress=on_progress,
            )
            sessions = []
            for job in today:
                try:
                    sessions.append(
                        open_session(job, lake=lake, work=work, config=config, clock=clock, refetch=refetch, turns=engine.turns)
                    )
                except TrawlError as error:
                    outcomes[job.partition] = CrawlOutcome(job.partition, None, error)
            with finishing_on_signals(stop):
                engine.run(sessions)
        finally:
            client.close()
            if browser is not None:
                browser.close()
        for session in sessions:
            assert session.outcome is not None
            outcomes[session.job.partition] = session.outcome
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
