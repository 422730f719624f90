"""Runs whose process is gone are marked failed, and no other."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import uuid
from typing import Any

import dagster as dg
import pytest

from trawl_assets.jobs import nightly
from trawl_assets.lost_runs import PROCESS_TAG, bury_lost_runs, process_tag

FAILURE, STARTED = dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.STARTED


def add_run(place: Any, tags: dict[str, str]) -> str:
    run = dg.DagsterRun(job_name=nightly.name, run_id=str(uuid.uuid4()), status=STARTED, tags=tags)
    place.instance.add_run(run)
    return run.run_id


def status(place: Any, run_id: str) -> dg.DagsterRunStatus:
    return place.instance.get_run_by_id(run_id).status


@pytest.fixture
def dead() -> int:
    """The number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_a_command_that_was_killed_leaves_no_run_behind(place, dead: int) -> None:
    alive = add_run(place, process_tag())
    ours = json.loads(process_tag()[PROCESS_TAG])
    gone = add_run(place, {PROCESS_TAG: json.dumps({**ours, "pid": dead})})
    reused = add_run(place, {PROCESS_TAG: json.dumps({**ours, "started": "1"})})
    elsewhere = add_run(place, {PROCESS_TAG: json.dumps({**ours, "host": socket.gethostname() + "x", "pid": dead})})
    assert set(bury_lost_runs(place.instance)) == {gone, reused}
    assert [status(place, run) for run in (alive, gone, reused, elsewhere)] == [STARTED, FAILURE, FAILURE, STARTED]
    assert bury_lost_runs(place.instance) == []


def begin(place: Any, pid: int, timestamp: float) -> str:
    """A run of the daemon that process `pid` began at that moment."""
    run_id = add_run(place, {})
    event = dg.DagsterEvent("PIPELINE_START", nightly.name, pid=pid, message="Started execution of run")
    place.instance.store_event(
        dg.EventLogEntry(
            error_info=None, level=10, user_message="", run_id=run_id, timestamp=timestamp, dagster_event=event, job_name=nightly.name
        )
    )
    return run_id


def test_a_run_of_the_daemon_is_lost_with_its_process(place, dead: int) -> None:
    now = place.instance.get_run_record_by_id(add_run(place, {})).create_timestamp.timestamp()
    gone = begin(place, dead, now)
    alive = begin(place, os.getpid(), now)
    # Before this process: its number was another one's then, as after a restart of the machine.
    reused = begin(place, os.getpid(), now - 86_400)
    not_begun = add_run(place, {})
    assert set(bury_lost_runs(place.instance)) == {gone, reused}
    assert [status(place, run) for run in (gone, alive, reused, not_begun)] == [FAILURE, STARTED, FAILURE, STARTED]
