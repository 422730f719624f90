"""Worker processes that outlive partitions: a page that takes too long is killed, one that kills its worker costs itself only.

A signal handler can't interrupt a C parser, so the limit is enforced from outside: the parent kills the process and starts
another. Workers are replaced after a number of pages, since parsers keep memory.
"""

from __future__ import annotations

import os
import subprocess
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Self

from trawl_core.child import describe_status, start_child
from trawl_core.clock import Clock, SystemClock
from trawl_core.errors import ExtractError
from trawl_core.extract.page import failed_page
from trawl_core.extract.worker import MEMORY_LIMIT_BYTES, OUT_OF_MEMORY, READY, Answer, Job
from trawl_core.lake import Lake

PAGE_LIMIT_S = 9.5
"""A page is done or given up within ten seconds; what is given up is tried again when the stage runs again."""
PAGES_PER_WORKER = 500
JOBS_PER_NEW_WORKER = 8
START_LIMIT_S = 120.0
_QUEUED = 2  # the next job waits in the worker, so that it never waits for its parent


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    connection: Connection
    deadline: float
    ready: bool = False
    done: int = 0
    jobs: deque[Job] = field(default_factory=deque)


class ExtractorPool:
    """Extracts jobs in up to `workers` processes (None: one a core). A context manager; processes start when they are needed.

    `page_limit_s` is the time of one page, from when its worker turned to it. Not thread-safe.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        page_limit_s: float = PAGE_LIMIT_S,
        pages_per_worker: int = PAGES_PER_WORKER,
        clock: Clock | None = None,
    ) -> None:
        self.size = workers or len(os.sched_getaffinity(0))
        self.page_limit_s = page_limit_s
        self._pages_per_worker = pages_per_worker
        self._clock = clock or SystemClock()
        self._workers: list[_Worker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        for worker in self._workers:
            _end(worker)
        self._workers.clear()

    def run(self, lake: Lake, jobs: Iterable[Job]) -> Iterator[Answer]:
        """One answer for each job, in the order in which they are done.

        A page over the limit is answered with status `timeout`, one whose process died with `error`. Raises ExtractError
        when processes can't be started at all.
        """
        pending = deque(jobs)
        try:
            while pending or any(worker.jobs for worker in self._workers):
                self._start_workers(len(pending))
                self._hand_out(lake, pending)
                yield from self._collect(pending)
        except BaseException:
            self.close()  # answers of this run must not reach the next one
            raise

    def _start_workers(self, pending: int) -> None:
        busy = sum(bool(worker.jobs) for worker in self._workers)
        wanted = min(self.size, busy + -(-pending // JOBS_PER_NEW_WORKER))
        while len(self._workers) < wanted:
            self._workers.append(self._start())

    def _start(self) -> _Worker:
        process, connection = start_child("trawl_core.extract.worker")
        return _Worker(process, connection, self._clock.monotonic() + START_LIMIT_S)

    def _hand_out(self, lake: Lake, pending: deque[Job]) -> None:
        # Every worker gets its first job before any gets its second.
        for queued in range(1, _QUEUED + 1):
            for worker in list(self._workers):
                if not pending:
                    return
                if len(worker.jobs) < queued and worker.done + len(worker.jobs) < self._pages_per_worker:
                    job = pending.popleft()
                    try:
                        worker.connection.send((lake.location, job))
                    except OSError:
                        pending.appendleft(job)  # it died while idle; its end is seen when its connection is read
                        continue
                    worker.jobs.append(job)
                    if worker.ready and len(worker.jobs) == 1:
                        worker.deadline = self._clock.monotonic() + self.page_limit_s

    def _collect(self, pending: deque[Job]) -> Iterator[Answer]:
        """Answers that are there, after waiting for the next answer or deadline."""
        active = [worker for worker in self._workers if worker.jobs or not worker.ready or worker.connection.poll()]
        nearest = min((worker.deadline for worker in active if worker.jobs or not worker.ready), default=self._clock.monotonic())
        ready = set(wait([worker.connection for worker in active], max(0.0, nearest - self._clock.monotonic())))
        for worker in active:
            if worker.connection in ready:
                yield from self._receive(worker, pending)
            elif (worker.jobs or not worker.ready) and self._clock.monotonic() >= worker.deadline:
                if not worker.ready:
                    raise ExtractError("error", f"starting an extraction process: it was not ready after {START_LIMIT_S:.0f} s. Run again.")
                job = worker.jobs[0]
                self._drop(worker, pending, finished=1)
                yield _failed(job, "timeout", f"extraction took longer than {self.page_limit_s:g} s and was stopped")

    def _receive(self, worker: _Worker, pending: deque[Job]) -> Iterator[Answer]:
        try:
            message = worker.connection.recv()
        except (EOFError, OSError):
            status = worker.process.wait()
            if not worker.ready:
                self._drop(worker, pending, finished=0)
                raise ExtractError(
                    "error", f"starting an extraction process: it ended with status {status}. Its message stands above this one."
                ) from None
            job = worker.jobs[0] if worker.jobs else None
            self._drop(worker, pending, finished=1 if job else 0)
            if job and status == OUT_OF_MEMORY:
                limit_mb = MEMORY_LIMIT_BYTES // 1_000_000
                yield _failed(job, "too_large", f"extraction needed more than {limit_mb:,} MB of memory and was stopped")
            elif job:
                yield _failed(job, "error", f"the extraction process died on this page ({describe_status(status)})")
            return
        worker.deadline = self._clock.monotonic() + self.page_limit_s
        if message == READY:
            worker.ready = True
            return
        worker.jobs.popleft()
        worker.done += 1
        yield message
        if worker.done >= self._pages_per_worker and not worker.jobs and worker in self._workers:
            self._drop(worker, pending, finished=0)

    def _drop(self, worker: _Worker, pending: deque[Job], finished: int) -> None:
        """End a worker; its jobs but the first `finished` go back to the front of the queue."""
        self._workers.remove(worker)
        _end(worker)
        pending.extendleft(reversed(list(worker.jobs)[finished:]))
        worker.jobs.clear()


def _end(worker: _Worker) -> None:
    worker.process.kill()
    worker.process.wait()
    worker.connection.close()


def _failed(job: Job, status: str, reason: str) -> Answer:
    return Answer(job.key, failed_page(b"", "application/octet-stream", "other", status, reason))
