"""One process's part of a crawl: its domains together, under one engine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from trawl_core.clock import Clock
from trawl_core.errors import TrawlError
from trawl_core.fetch.address_slots import AddressSlots
from trawl_core.fetch.browser import Browser
from trawl_core.fetch.client import HttpClient
from trawl_core.fetch.engine import Engine
from trawl_core.fetch.guard import Resolver
from trawl_core.fetch.opener import Opener
from trawl_core.fetch.progress import CrawlProgress
from trawl_core.fetch.resolver import DnsResolver
from trawl_core.fetch.session import CrawlJob, CrawlOutcome, Session, open_session
from trawl_core.fetch.signals import finishing_on_signals
from trawl_core.lake import Lake
from trawl_core.lake.layout import Partition
from trawl_core.sites import SitesConfig


@dataclass(frozen=True)
class Assignment:
    """What a process is to crawl, and with what; `resolver` None stands for the machine's name servers.

    All of it can be handed to another process, if the clock and the resolver can.
    """

    jobs: Sequence[CrawlJob]
    lake: Lake
    work: Path
    config: SitesConfig
    clock: Clock
    threads: int
    refetch: bool
    resolver: Resolver | None


def run_here(
    assignment: Assignment,
    *,
    stop: threading.Event,
    on_progress: Callable[[CrawlProgress], None] | None,
    on_outcome: Callable[[CrawlOutcome], None] = lambda outcome: None,
) -> dict[Partition, CrawlOutcome]:
    """Crawl the domains of the assignment in this process; a domain's failure is in its outcome.

    `stop`, when set, ends the nights with what they have; so does SIGINT or SIGTERM.
    """
    jobs, clock, config = assignment.jobs, assignment.clock, assignment.config
    resolver = assignment.resolver or DnsResolver.of_machine(clock)
    # Over all sites, so that every process counts the same slots of an address.
    widest = max(site.host_concurrency for site in (*config.sites, *(job.site for job in jobs)))
    with ExitStack() as used:
        try:
            addresses = used.enter_context(closing(AddressSlots(assignment.work, widest, clock)))
        except TrawlError as error:
            outcomes = {job.partition: CrawlOutcome(job.partition, None, error) for job in jobs}
            for outcome in outcomes.values():
                on_outcome(outcome)
            return outcomes
        client = used.enter_context(closing(HttpClient(user_agent=config.user_agent, clock=clock, resolver=resolver)))
        browser = None
        if any(job.site.browser != "off" for job in jobs):
            slots = used.enter_context(closing(addresses.for_connections()))
            browser = used.enter_context(closing(Browser(user_agent=config.user_agent, resolver=resolver, clock=clock, slots=slots)))
        engine = Engine(
            client=client,
            browser=browser,
            resolver=resolver,
            clock=clock,
            threads=assignment.threads,
            domains=len(jobs),
            addresses=addresses,
            stop=stop,
            on_progress=on_progress,
            on_outcome=on_outcome,
        )

        def open_one(job: CrawlJob) -> Session | CrawlOutcome:
            try:
                return open_session(
                    job,
                    lake=assignment.lake,
                    work=assignment.work,
                    config=config,
                    clock=clock,
                    refetch=assignment.refetch,
                    turns=engine.turns,
                )
            except TrawlError as error:
                return CrawlOutcome(job.partition, None, error)

        with finishing_on_signals(stop):
            engine.run(Opener(jobs, assignment.work, open_one))
    return engine.outcomes
