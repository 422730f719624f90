"""One engine for all domains of a run: worker threads that fetch, and one thread that decides.

The deciding thread owns every frontier, ledger and WARC writer, so none of them is locked: it waits while they are made
durable, several at once, and gives a night away that is over. Its loop: make durable what is due, promote retries, give
work to the origins whose turn it is, take results. A domain that fails leaves the others alone.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from trawl_core.clock import Clock
from trawl_core.errors import TrawlError, explain_os_error
from trawl_core.fetch.address_slots import AddressSlots
from trawl_core.fetch.browser import Browser
from trawl_core.fetch.client import HttpClient
from trawl_core.fetch.disk_work import DiskWork
from trawl_core.fetch.guard import Resolver
from trawl_core.fetch.opener import Opener
from trawl_core.fetch.origins import Origin, Turns
from trawl_core.fetch.progress import CrawlProgress, ProgressMeter
from trawl_core.fetch.session import CrawlOutcome, Session, own_fault
from trawl_core.fetch.state import explain_sqlite_error
from trawl_core.fetch.work import Result, Task, work
from trawl_core.lake.layout import Partition
from trawl_core.urls.normalize import origin_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trawl_core.fetch.night import Night

_LONGEST_WAIT_S = 0.5
# Nights that are due so much later are made durable together with one that is due.
_TOGETHER_S = 1.0


class Engine:
    """Runs the nights that an Opener brings to their end; `stop` ends them early, with open exchanges finished.

    `outcomes` grows as domains end, and `on_outcome` is told of each.
    """

    def __init__(
        self,
        *,
        client: HttpClient,
        browser: Browser | None,
        resolver: Resolver,
        clock: Clock,
        threads: int,
        domains: int,
        addresses: AddressSlots,
        stop: threading.Event,
        on_progress: Callable[[CrawlProgress], None] | None,
        on_outcome: Callable[[CrawlOutcome], None] = lambda outcome: None,
    ) -> None:
        self.turns = Turns(threads if domains <= 1 else max(1, threads // 2), addresses)
        self.outcomes: dict[Partition, CrawlOutcome] = {}
        self._client = client
        self._browser = browser
        self._resolver = resolver
        self._clock = clock
        self._threads = threads
        self._stop = stop
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        # None only wakes the deciding thread.
        self._results: SimpleQueue[Result | None] = SimpleQueue()
        self._open: dict[Night, Session] = {}
        self._on_outcome = on_outcome
        self._workers: list[threading.Thread] = []
        self._in_flight = 0
        # The address whose budget a request under way counts against.
        self._charged: dict[Task, str] = {}
        self._meter = ProgressMeter(clock, on_progress)
        self._disk = DiskWork(lambda: self._results.put(None))

    def run(self, opener: Opener) -> None:
        """Every night that `opener` brings has its outcome when this returns."""
        self._opener = opener
        opener.start(lambda: self._results.put(None))
        try:
            while self._open or opener.is_busy or self._disk.finishing:
                self._turn()
        finally:
            self._disk.close()
            self._note_finished()
            # Only when something unforeseen ended the loop; the next call takes up what was durable.
            broken_off = list(self._open.values())
            for session in broken_off:
                self._fail(session, _broken_off(session))
            opener.close(_broken_off)
            for _ in self._workers:
                self._tasks.put(None)
            # A second Control-C acts at once: exchanges under way end with the process.
            for worker in self._workers if not broken_off else ():
                worker.join()

    def _turn(self) -> None:
        self._admit()
        now = self._clock.monotonic()
        if self._stop.is_set():
            for session in self._open.values():
                session.stop()
        self._make_durable(now)
        for session in list(self._open.values()):
            with self._guard(session):
                session.night.promote(self._clock.now().timestamp())
                session.night.watch_time()
        self._give_work(now)
        self._finish_those_over()
        if self._open or self._waits_for_others:
            self._take_results(self._patience(now))
            self._meter.tell([*self._open.values(), *self._disk.finishing], self._in_flight)
        self._note_finished()

    def _make_durable(self, now: float) -> None:
        waiting = [(due, session) for session in self._open.values() if (due := session.night.recorder.due_at()) is not None]
        if not waiting or min(due for due, _ in waiting) > now:
            return
        sessions = [session for due, session in waiting if due <= now + _TOGETHER_S]
        for session, failure in zip(sessions, self._disk.make_durable(sessions), strict=True):
            self._tell(session, failure)

    def _tell(self, session: Session, failure: BaseException | None) -> None:
        """Let what went wrong elsewhere end the domain's night as if it had happened here."""
        if failure is not None:
            with self._guard(session):
                raise failure

    def _admit(self) -> None:
        """Begin the nights that were opened meanwhile."""
        for opened in self._opener.take():
            if isinstance(opened, CrawlOutcome):
                self._note(opened)
                continue
            self._open[opened.night] = opened
            with self._guard(opened):
                opened.night.wake_all()

    def _give_work(self, now: float) -> None:
        while self._in_flight < self._threads:
            origin = self.turns.take(now)
            if origin is None:
                return
            session = self._open.get(origin.night)
            if session is None:
                continue
            task = None
            with self._guard(session):
                task = origin.night.next_task(origin)
            if task is not None:
                self._start(origin, task, now)

    def _start(self, origin: Origin, task: Task, now: float) -> None:
        self._in_flight += 1
        origin.night.in_flight += 1
        if task.kind == "resolve":
            origin.pace.in_flight += 1
        else:
            origin.pace.started(now)
            self._charged[task] = origin.address or origin.key
            self.turns.addresses.started(self._charged[task])
            self.turns.enter(origin)
        if len(self._workers) < min(self._threads, self._in_flight):
            arguments = (self._tasks, self._results, self._client, self._resolver, self._browser)
            self._workers.append(threading.Thread(target=work, args=arguments, name="trawl-fetch", daemon=True))
            self._workers[-1].start()
        self._tasks.put(task)

    def _take_results(self, patience_s: float) -> None:
        try:
            result = self._results.get(timeout=patience_s) if self._waits_for_others else self._idle(patience_s)
        except Empty:
            return
        while True:
            if result is not None:
                self._ended(result)
            if self._results.empty():
                return
            result = self._results.get()

    @property
    def _waits_for_others(self) -> bool:
        """Real time passes meanwhile, which a clock of a test does not know of."""
        return bool(self._in_flight or self._opener.is_busy or self._disk.finishing)

    def _idle(self, patience_s: float) -> None:
        self._clock.sleep(patience_s)

    def _ended(self, result: Result) -> None:
        task = result.task
        origin = task.origin
        self._in_flight -= 1
        origin.night.in_flight -= 1
        session = self._open.get(origin.night)
        pause = None
        if session is not None:
            with self._guard(session):
                if result.failure is not None:
                    what = f"{type(result.failure).__name__}: {result.failure}"
                    raise TrawlError(f"fetching {task.url}: {what}. This is a fault of Trawl, please report it.") from result.failure
                pause = origin.night.answered(result)
        now = self._clock.monotonic()
        exchange = result.exchange
        if task.kind == "resolve":
            origin.pace.in_flight -= 1
        else:
            self.turns.addresses.finished(self._charged[task])
            if exchange is not None and exchange.ip_address is not None and origin_of(exchange.url) == origin.key:
                # Not always the first answer: that one may be dead, or the name may stand for another by now.
                origin.address = exchange.ip_address
            status, outcome = (exchange.status, exchange.outcome) if exchange is not None else (None, "failed")
            latency_s, since_sent_s = (_seconds(exchange.ttfb_ms), _seconds(exchange.fetch_ms)) if exchange is not None else (None, None)
            origin.pace.finished(now, status, outcome, latency_s=latency_s, since_sent_s=since_sent_s, pause_s=pause)
        self.turns.wake(origin, self._charged.pop(task, None))

    def _finish_those_over(self) -> None:
        for session in list(self._open.values()):
            if session.night.is_over:
                with self._guard(session):
                    session.end()
                if self._open.pop(session.night, None) is not None:
                    self._disk.finish(session)

    def _note_finished(self) -> None:
        for session, failure in self._disk.take():
            self._tell(session, failure)
            if failure is None:
                self._meter.ended(session)
                self._note(session.outcome)

    def _patience(self, now: float) -> float:
        """Seconds until something is due without a result."""
        waits = [_LONGEST_WAIT_S]
        next_at = self.turns.next_at()
        if next_at is not None and self._in_flight < self._threads:
            waits.append(next_at - now)
        for session in self._open.values():
            due = session.night.recorder.due_at()
            if due is not None:
                waits.append(due - now)
            retry = session.night.frontier.next_delayed_s()
            if retry is not None:
                waits.append(retry - self._clock.now().timestamp())
        return max(0.0, min(waits))

    @contextmanager
    def _guard(self, session: Session) -> Iterator[None]:
        """What goes wrong inside ends this domain's night and no other."""
        try:
            yield
        except TrawlError as error:
            self._fail(session, error)
        except sqlite3.Error as error:
            self._fail(session, explain_sqlite_error(error, session.state.path))
        except OSError as error:
            self._fail(session, explain_os_error(error, "crawling", session.job.site.domain))
        except Exception as error:  # noqa: BLE001 - a fault of ours in one domain is told there and costs no other its night
            fault = own_fault(session.job.site.domain, error)
            fault.__cause__ = error
            self._fail(session, fault)

    def _fail(self, session: Session, error: TrawlError) -> None:
        self._open.pop(session.night, None)
        session.fail(error)
        self._meter.ended(session)
        self._note(session.outcome)

    def _note(self, outcome: CrawlOutcome | None) -> None:
        assert outcome is not None
        self.outcomes[outcome.partition] = outcome
        self._on_outcome(outcome)


def _broken_off(session: Session) -> TrawlError:
    return TrawlError(f"crawling {session.job.site.domain}: the run was broken off. Run the same command again.")


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
