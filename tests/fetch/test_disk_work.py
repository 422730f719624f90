"""What takes its time on the disk is done for several nights at once, and its failures are told."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import pytest

from trawl_core.fetch.disk_work import DiskWork


@dataclass(eq=False)
class _Session:
    """`together` is waited for by each, so that none ends before all have begun."""

    together: threading.Barrier
    fault: Exception | None = None
    threads: list[str] = field(default_factory=list)

    def make_durable(self) -> None:
        self.threads.append(threading.current_thread().name)
        self.together.wait(10)
        if self.fault is not None:
            raise self.fault

    finish = make_durable


@pytest.fixture
def notified() -> threading.Semaphore:
    return threading.Semaphore(0)


@pytest.fixture
def disk(notified):
    work = DiskWork(notified.release)
    yield work
    work.close()


def test_several_become_durable_at_once_and_each_failure_is_told(disk) -> None:
    together = threading.Barrier(4)
    fault = OSError("full")
    sessions = [_Session(together), _Session(together, fault), _Session(together), _Session(together)]
    assert disk.make_durable(sessions) == [None, fault, None, None]


def test_one_alone_stays_in_the_thread(disk) -> None:
    session = _Session(threading.Barrier(1))
    assert disk.make_durable([session]) == [None]
    assert session.threads == [threading.current_thread().name]


def test_nights_are_finished_beside_the_thread_that_gave_them_away(disk, notified) -> None:
    together = threading.Barrier(3)
    fault = OSError("full")
    sessions = [_Session(together), _Session(together, fault)]
    for session in sessions:
        disk.finish(session)
    assert list(disk.finishing) == sessions
    assert disk.take() == []
    together.wait(10)
    assert notified.acquire(timeout=10)
    assert notified.acquire(timeout=10)
    assert {session: failure for session, failure in disk.take()} == {sessions[0]: None, sessions[1]: fault}
    assert not disk.finishing
    assert threading.current_thread().name not in sessions[0].threads
