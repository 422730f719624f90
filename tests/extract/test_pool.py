import os
import time

import pytest

from trawl_core.extract.pool import ExtractorPool
from trawl_core.extract.worker import Job, extract_job

URL = "https://docs.example.org/"


class Deadly:
    """A job that ends the process which receives it, as a crash in a C parser would."""

    def __reduce__(self):
        return os._exit, (7,)


class Endless:
    """A job that no signal handler of Python gets out of."""

    def __reduce__(self):
        return time.sleep, (3600,)


@pytest.fixture
def jobs(lake, night):
    first = night(0)
    captures = [first.get(f"{URL}{number}", f"<p>page number {number} tells of rivers</p>".encode()) for number in range(6)]
    first.commit()
    return [Job(capture["url"], capture, 10**6) for capture in captures]


def statuses(answers):
    return {answer.key: answer.page.extract_status for answer in answers}


def test_every_job_is_answered_as_it_would_be_here(lake, jobs):
    with ExtractorPool(2) as pool:
        answers = {answer.key: answer.page for answer in pool.run(lake, jobs)}
    assert {key: page.text for key, page in answers.items()} == {job.key: extract_job(lake, job).page.text for job in jobs}


def test_a_crash_costs_one_page(lake, jobs):
    with ExtractorPool(1) as pool:
        answers = list(pool.run(lake, [*jobs[:3], Job("deadly", Deadly(), 1), *jobs[3:]]))
        assert statuses(answers) == {**{job.key: "ok" for job in jobs}, "deadly": "error"}
        dead = next(answer.page for answer in answers if answer.key == "deadly")
        assert "exit status 7" in dead.extract_error
        assert statuses(pool.run(lake, jobs[:1])) == {jobs[0].key: "ok"}


def test_a_page_over_the_limit_is_stopped_and_the_rest_goes_on(lake, jobs):
    with ExtractorPool(1, page_limit_s=2) as pool:
        answers = list(pool.run(lake, [jobs[0], Job("endless", Endless(), 1), *jobs[1:]]))
    assert statuses(answers) == {**{job.key: "ok" for job in jobs}, "endless": "timeout"}
    assert "2 s" in next(answer.page.extract_error for answer in answers if answer.key == "endless")


def test_workers_are_replaced_after_their_pages(lake, jobs):
    with ExtractorPool(1, pages_per_worker=3) as pool:
        seen = set()
        for answer in pool.run(lake, jobs):
            assert answer.page.extract_status == "ok"
            seen.update(worker.process.pid for worker in pool._workers)
    assert len(seen) == 2


def test_no_jobs_start_no_process(lake):
    with ExtractorPool(2) as pool:
        assert list(pool.run(lake, [])) == []
        assert pool._workers == []


def test_an_unfinished_run_leaves_nothing_for_the_next(lake, jobs):
    with ExtractorPool(1) as pool:
        run = pool.run(lake, jobs)
        next(run)
        run.close()
        assert [answer.key for answer in pool.run(lake, jobs[-1:])] == [jobs[-1].key]
