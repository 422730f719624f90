"""The processes of a crawl, seen from the one that started them: it hands out domains, gathers outcomes and adds up progress.

A domain belongs to one process. How the budget of an address holds over all of them is told in address_slots.py.
"""

from __future__ import annotations

import pickle
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait

from trawl_core.child import describe_status, start_child
from trawl_core.clock import Clock
from trawl_core.errors import TrawlError, UsageError
from trawl_core.fetch.process import STOP, Unfit
from trawl_core.fetch.progress import CrawlProgress, ProgressSum
from trawl_core.fetch.run import Assignment
from trawl_core.fetch.session import CrawlJob, CrawlOutcome
from trawl_core.fetch.signals import finishing_on_signals
from trawl_core.lake.layout import Partition

_LOOK_S = 0.05
_END_S = 10.0
_NAMED = 5


@dataclass(eq=False)
class _Crawler:
    """`left` are its jobs without an outcome so far."""

    process: subprocess.Popen[bytes]
    connection: Connection
    left: dict[Partition, CrawlJob]
    unfit: str | None = None

    def tell(self, packed: bytes) -> None:
        """Send a pickled message; to one that has died it is lost, which is seen when its connection is read."""
        with suppress(OSError):
            self.connection.send_bytes(packed)


def run_apart(
    assignment: Assignment,
    shares: Sequence[Sequence[CrawlJob]],
    *,
    stop: threading.Event,
    on_progress: Callable[[CrawlProgress], None] | None,
) -> dict[Partition, CrawlOutcome]:
    """Crawl each share of the assignment's jobs in a process of its own; a process that dies fails the domains that it had not finished.

    Raises UsageError when the clock or the resolver can't be handed to another process. None of the processes lives
    when this returns or raises.
    """
    packed = [_pack(replace(assignment, jobs=share)) for share in shares]
    crew = _Crew(assignment.clock, on_progress)
    try:
        with finishing_on_signals(stop):
            # All are started before the first is told: a long message waits for its reader.
            begun = [crew.start(share) for share in shares]
            for crawler, message in zip(begun, packed, strict=True):
                if crawler is not None:
                    crawler.tell(message)
            crew.watch(stop)
    finally:
        crew.end()
    return crew.outcomes


class _Crew:
    def __init__(self, clock: Clock, on_progress: Callable[[CrawlProgress], None] | None) -> None:
        self.outcomes: dict[Partition, CrawlOutcome] = {}
        self._progress = ProgressSum(clock, on_progress)
        self._crawlers: list[_Crawler] = []

    def start(self, share: Sequence[CrawlJob]) -> _Crawler | None:
        """None when the system refuses; its domains have failed then."""
        left = {job.partition: job for job in share}
        try:
            process, connection = start_child("trawl_core.fetch.process", process_group=0)
        except OSError as error:
            self._fail(left, f"no process could be started for it ({error.strerror or error}). Free some memory, or use fewer processes")
            return None
        crawler = _Crawler(process, connection, left)
        self._crawlers.append(crawler)
        return crawler

    def watch(self, stop: threading.Event) -> None:
        """Until every process has ended."""
        told = False
        while self._crawlers:
            if stop.is_set() and not told:
                told = True
                for crawler in self._crawlers:
                    crawler.tell(pickle.dumps(STOP))
            ready = wait([crawler.connection for crawler in self._crawlers], _LOOK_S)
            for crawler in [crawler for crawler in self._crawlers if crawler.connection in ready]:
                self._receive(crawler)
            self._progress.tell()

    def end(self) -> None:
        """What still lives ends at once."""
        for crawler in self._crawlers:
            crawler.process.kill()
        for crawler in self._crawlers:
            crawler.process.wait()
            crawler.connection.close()
        self._crawlers.clear()

    def _receive(self, crawler: _Crawler) -> None:
        try:
            message = crawler.connection.recv()
        except (EOFError, OSError, pickle.UnpicklingError):  # also in the middle of a message
            self._ended(crawler)
            return
        if isinstance(message, CrawlOutcome):
            crawler.left.pop(message.partition, None)
            self.outcomes[message.partition] = message
        elif isinstance(message, CrawlProgress):
            self._progress.take(crawler, message)
        elif isinstance(message, Unfit):
            crawler.unfit = message.reason

    def _ended(self, crawler: _Crawler) -> None:
        self._crawlers.remove(crawler)
        crawler.connection.close()
        try:
            status = crawler.process.wait(_END_S)
        except subprocess.TimeoutExpired:
            crawler.process.kill()
            status = crawler.process.wait()
        self._progress.ended(crawler)
        if crawler.unfit is not None:
            self._fail(crawler.left, crawler.unfit.rstrip("."))
        else:
            why = "; was it out of memory?" if status == -9 else ""
            self._fail(crawler.left, f"the process that crawled {_names(crawler.left)} died ({describe_status(status)}{why})")

    def _fail(self, left: dict[Partition, CrawlJob], why: str) -> None:
        for partition in left:
            error = TrawlError(
                f"crawling {partition.domain}: {why}. What was stored is kept: run the same command again, and it goes on from there."
            )
            self.outcomes[partition] = CrawlOutcome(partition, None, error)


def _pack(assignment: Assignment) -> bytes:
    try:
        return pickle.dumps(assignment)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise UsageError(
            f"crawling with several processes: the clock or the resolver that was given can't be handed to another process ({error}). "
            "Give ones that can be pickled, or processes=1."
        ) from error


def _names(left: dict[Partition, CrawlJob]) -> str:
    domains = [partition.domain for partition in left]
    return ", ".join(domains[:_NAMED]) + (f" and {len(domains) - _NAMED} more" if len(domains) > _NAMED else "")
