"""What nights do on the disk, beside the deciding thread or several at once: a sync takes as long as fetching a page.

File systems commit what many ask for at one time nearly as fast as what one asks for, so three hundred domains can be made
durable every two seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trawl_core.fetch.session import Session

THREADS = 8


class DiskWork:
    """`notify` is called, in a thread of its own, whenever a night was finished."""

    def __init__(self, notify: Callable[[], None]) -> None:
        self._notify = notify
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="trawl-disk")
        self._finished: SimpleQueue[tuple[Session, BaseException | None]] = SimpleQueue()
        # Those that were begun and not taken.
        self.finishing: dict[Session, None] = {}

    def make_durable(self, sessions: Sequence[Session]) -> list[BaseException | None]:
        """Make what waits in these nights durable, and wait for it; what went wrong with each, None where nothing did."""
        if len(sessions) == 1:
            return [_failure_of(sessions[0].make_durable)]
        under_way: list[Future[BaseException | None]] = [self._threads.submit(_failure_of, session.make_durable) for session in sessions]
        try:
            wait(under_way)
        except BaseException:
            # Nobody else may touch a night before its thread has let go of it.
            wait(under_way)
            raise
        return [future.result() for future in under_way]

    def finish(self, session: Session) -> None:
        """Begin to finish a night, which is nobody else's from now on until it is taken."""
        self.finishing[session] = None
        self._threads.submit(self._finish, session)

    def take(self) -> list[tuple[Session, BaseException | None]]:
        """The nights that were finished since the last call, and what went wrong; does not wait."""
        taken: list[tuple[Session, BaseException | None]] = []
        while True:
            try:
                taken.append(self._finished.get_nowait())
            except Empty:
                return taken
            self.finishing.pop(taken[-1][0])

    def close(self) -> None:
        """Wait for what was begun."""
        self._threads.shutdown(wait=True)

    def _finish(self, session: Session) -> None:
        self._finished.put((session, _failure_of(session.finish)))
        self._notify()


def _failure_of(step: Callable[[], None]) -> BaseException | None:
    try:
        step()
    except BaseException as failure:  # noqa: BLE001 - told by the deciding thread, as the failure of this domain
        return failure
    return None
