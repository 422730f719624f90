"""The nights of a run are opened beside the engine, so that a large crawl state holds up nobody else's requests.

Several at once: most of the time goes by waiting for the disk.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from trawl_core.errors import TrawlError
from trawl_core.fetch.state import state_file

if TYPE_CHECKING:
    from trawl_core.fetch.session import CrawlJob, CrawlOutcome, Session


THREADS = 8


class Opener:
    """Calls `open_one` for each job in threads of its own, those with the least state on disk first.

    It gives a Session, or the outcome of a domain that could not be opened. What it gave belongs to whoever `take`s it.
    """

    def __init__(
        self, jobs: Sequence[CrawlJob], work: Path, open_one: Callable[[CrawlJob], Session | CrawlOutcome], threads: int = THREADS
    ) -> None:
        self._jobs = deque(sorted(jobs, key=lambda job: _size(state_file(work, job.partition))))
        self._open_one = open_one
        self._threads = threads
        self._opened: SimpleQueue[Session | CrawlOutcome] = SimpleQueue()
        self._left = len(jobs)
        self._closed = False
        self._lock = threading.Lock()

    @property
    def is_busy(self) -> bool:
        """Something is still to be taken."""
        return self._left > 0

    def start(self, notify: Callable[[], None]) -> None:
        """`notify` is called, in one of the opener's threads, whenever there is something to take."""
        for _ in range(min(self._threads, len(self._jobs))):
            threading.Thread(target=self._open_all, args=(notify,), name="trawl-open", daemon=True).start()

    def take(self) -> list[Session | CrawlOutcome]:
        """What was opened since the last call; does not wait."""
        taken: list[Session | CrawlOutcome] = []
        while True:
            try:
                taken.append(self._opened.get_nowait())
            except Empty:
                self._left -= len(taken)
                return taken

    def close(self, reason: Callable[[Session], TrawlError]) -> None:
        """Open no more, and fail what was opened but not taken; one that is being opened fails by itself when it is open."""
        with self._lock:
            self._closed = True
            self._reason = reason
        for session in self.take():
            _give_up(session, reason)

    def _open_all(self, notify: Callable[[], None]) -> None:
        while not self._closed:
            try:
                job = self._jobs.popleft()
            except IndexError:
                return
            opened = self._open_one(job)
            with self._lock:
                closed = self._closed
                if not closed:
                    self._opened.put(opened)
            if closed:
                _give_up(opened, self._reason)
            else:
                notify()


def _give_up(opened: Session | CrawlOutcome, reason: Callable[[Session], TrawlError]) -> None:
    if hasattr(opened, "fail"):
        opened.fail(reason(opened))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
