"""Runs whose process is gone without a word: killed, or the machine went down. Dagster alone would wait hours for them."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import dagster as dg

from trawl_core.lake.beside import is_alive

PROCESS_TAG = ".dagster/trawl-process"  # Dagster hides tags with this prefix from people
UNFINISHED = [
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.CANCELING,
]
SLACK_S = 5.0


def process_tag() -> dict[str, str]:
    """The run tag that names this process."""
    return {PROCESS_TAG: json.dumps({"host": socket.gethostname(), "pid": os.getpid(), "started": _start_ticks(os.getpid())})}


def bury_lost_runs(instance: dg.DagsterInstance) -> list[str]:
    """Mark runs failed whose process on this machine is gone; returns their ids.

    A run of the command line names its process in a tag, a run of the daemon in its first event.
    """
    buried = []
    for run in instance.get_runs(dg.RunsFilter(statuses=UNFINISHED)):
        owner = run.tags.get(PROCESS_TAG)
        if _is_lost(json.loads(owner)) if owner else _worker_is_lost(instance, run):
            instance.report_run_failed(run, "The process of this run is gone. The same crawl started again resumes it.")
            buried.append(run.run_id)
    return buried


def _is_lost(owner: dict[str, str | int]) -> bool:
    if owner["host"] != socket.gethostname():
        return False
    return _start_ticks(int(owner["pid"])) != owner["started"]


def _worker_is_lost(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Whether the process that wrote a run's first event is gone, or its number belongs to a younger process.

    A run that wrote none has not begun: run monitoring looks after it.
    """
    records = instance.get_records_for_run(run.run_id, of_type=dg.DagsterEventType.RUN_START, limit=1).records
    entry = records[0].event_log_entry if records else None
    pid = entry.dagster_event.pid if entry and entry.dagster_event else None
    if entry is None or pid is None:
        return False
    started_at = _start_timestamp(pid)
    return not is_alive(pid) or (started_at is not None and started_at > entry.timestamp + SLACK_S)


def _start_ticks(pid: int) -> str:
    """A process's start in clock ticks since boot (proc(5), field 22), empty when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return "" if not is_alive(pid) else "alive"


def _start_timestamp(pid: int) -> float | None:
    """A process's start in seconds since the epoch; None where the system does not tell."""
    try:
        boot = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime "))
    except OSError:
        return None
    ticks = _start_ticks(pid)
    return float(boot.split()[1]) + int(ticks) / os.sysconf("SC_CLK_TCK") if ticks.isdecimal() else None
