"""Nights are opened beside the engine, and none is left open."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import date

from trawl_core.errors import TrawlError
from trawl_core.fetch.opener import Opener
from trawl_core.fetch.session import CrawlJob, CrawlOutcome
from trawl_core.fetch.state import state_file
from trawl_core.lake import Partition


@dataclass
class _Session:
    job: CrawlJob
    failures: list[TrawlError] = field(default_factory=list)

    def fail(self, error: TrawlError) -> None:
        self.failures.append(error)


def _job(name: str) -> CrawlJob:
    return CrawlJob(Partition(date(2026, 11, 30), name), None)


def _take_all(opener: Opener, notified: threading.Semaphore) -> list:
    taken = []
    while opener.is_busy:
        assert notified.acquire(timeout=10)
        taken += opener.take()
    return taken


def test_those_with_the_least_state_come_first(tmp_path) -> None:
    jobs = [_job(name) for name in ("large.test", "new.test", "small.test")]
    for job, size in zip(jobs, (5000, 0, 50), strict=True):
        if size:
            state_file(tmp_path, job.partition).parent.mkdir(exist_ok=True)
            state_file(tmp_path, job.partition).write_bytes(b"x" * size)
    notified = threading.Semaphore(0)
    opener = Opener(jobs, tmp_path, _Session, threads=1)
    opener.start(notified.release)
    assert [session.job.partition.domain for session in _take_all(opener, notified)] == ["new.test", "small.test", "large.test"]


def test_the_first_is_there_while_the_next_is_being_opened(tmp_path) -> None:
    first_taken, notified = threading.Event(), threading.Semaphore(0)
    waited = []

    def open_one(job: CrawlJob) -> _Session:
        if job.partition.domain == "b.test":
            waited.append(first_taken.wait(10))
        return _Session(job)

    opener = Opener([_job("a.test"), _job("b.test")], tmp_path, open_one)
    opener.start(notified.release)
    assert notified.acquire(timeout=10)
    assert [session.job.partition.domain for session in opener.take()] == ["a.test"]
    assert opener.is_busy
    first_taken.set()
    assert [session.job.partition.domain for session in _take_all(opener, notified)] == ["b.test"]
    assert waited == [True]


def test_several_are_opened_at_once(tmp_path) -> None:
    together = threading.Barrier(4)

    def open_one(job: CrawlJob) -> _Session:
        together.wait(10)
        return _Session(job)

    notified = threading.Semaphore(0)
    opener = Opener([_job(f"{name}.test") for name in "abcdefgh"], tmp_path, open_one, threads=4)
    opener.start(notified.release)
    assert sorted(session.job.partition.domain[0] for session in _take_all(opener, notified)) == list("abcdefgh")


def test_a_domain_that_can_not_be_opened_is_given_as_its_outcome(tmp_path) -> None:
    notified = threading.Semaphore(0)
    opener = Opener([_job("a.test")], tmp_path, lambda job: CrawlOutcome(job.partition, None, TrawlError("locked")))
    opener.start(notified.release)
    [outcome] = _take_all(opener, notified)
    assert str(outcome.error) == "locked"


def test_what_nobody_took_is_given_up(tmp_path) -> None:
    opening, go_on, failed = threading.Event(), threading.Event(), threading.Semaphore(0)
    sessions = []

    class Session(_Session):
        def fail(self, error: TrawlError) -> None:
            super().fail(error)
            failed.release()

    def open_one(job: CrawlJob) -> Session:
        if sessions:
            opening.set()
            go_on.wait(10)
        sessions.append(Session(job))
        return sessions[-1]

    opener = Opener([_job("a.test"), _job("b.test"), _job("c.test")], tmp_path, open_one, threads=1)
    opener.start(lambda: None)
    assert opening.wait(10)
    opener.close(lambda session: TrawlError(f"{session.job.partition.domain} was broken off"))
    go_on.set()
    assert failed.acquire(timeout=10)
    assert failed.acquire(timeout=10)
    assert [str(session.failures[0]) for session in sessions] == ["a.test was broken off", "b.test was broken off"]
