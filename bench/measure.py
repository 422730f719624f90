"""What a program costs: CPU seconds of its whole process tree, wall seconds, peak resident memory; and how a bench reports.

    spent = measure([sys.executable, "-m", "trawl_core.cli", "crawl"], env={...})
    spent.cpu_s, spent.wall_s, spent.peak_rss_mb, spent.status, spent.output

`measure_call("bench.fetch:with_scrapy", "folder")` does the same for a module-level function in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

POLL_S = 0.05
_CALL = """
import importlib, json, sys
module, _, name = sys.argv[1].partition(":")
print(json.dumps(getattr(importlib.import_module(module), name)(*json.loads(sys.argv[2]))))
"""


@dataclass(frozen=True)
class Spent:
    """`cpu_s` is user plus system time of the process and all its descendants. `peak_rss_mb` is the largest sum of their
    resident sets seen at any poll, in MB of 10^6 bytes; pages that two processes share count twice. `output` is standard output."""

    wall_s: float
    cpu_s: float
    peak_rss_mb: float
    status: int
    output: str

    @property
    def value(self) -> Any:
        """What the last line of the output says in JSON: the function's result after `measure_call`."""
        return json.loads(self.output.splitlines()[-1])


def measure(command: Sequence[str], env: Mapping[str, str] | None = None, cwd: str | os.PathLike[str] | None = None) -> Spent:
    """Run `command` to its end; `env` comes on top of this process's environment. Standard error passes through."""
    with tempfile.TemporaryFile() as output:
        started = time.monotonic()
        process = subprocess.Popen(command, env={**os.environ, **(env or {})}, cwd=cwd, stdout=output)
        tree = _Tree(process.pid)
        while (ended := _wait(process.pid)) is None:
            tree.look()
            time.sleep(POLL_S)
        wall_s = time.monotonic() - started
        status, usage = ended
        process.returncode = status
        output.seek(0)
        # The kernel's sum lacks descendants that nobody waited for, the polled one lacks what ran after the last poll.
        cpu_s = max(usage.ru_utime + usage.ru_stime, tree.cpu_s)
        return Spent(
            wall_s, cpu_s, max(tree.peak_rss_bytes, usage.ru_maxrss * 1024) / 1e6, status, output.read().decode("utf-8", "replace")
        )


def measure_call(function: str, *arguments: Any, env: Mapping[str, str] | None = None) -> Spent:
    """`function` is `module:name`; arguments and result travel as JSON."""
    return measure([sys.executable, "-c", _CALL, function, json.dumps(arguments)], env=env)


def best_of(times: int, run: Callable[[], Spent]) -> Spent:
    """The run with the least CPU time."""
    return min((run() for _ in range(times)), key=lambda spent: spent.cpu_s)


def _wait(pid: int) -> tuple[int, Any] | None:
    """(exit status, usage with ended children) once the process has ended; negative status for a signal."""
    ended, status, usage = os.wait4(pid, os.WNOHANG)
    return (os.waitstatus_to_exitcode(status), usage) if ended else None


class _Tree:
    """A process and its descendants, watched from outside."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._cpu_s: dict[tuple[int, float], float] = {}
        self.peak_rss_bytes = 0

    def look(self) -> None:
        rss_bytes = 0
        try:
            family = [self._root, *self._root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return
        for process in family:
            try:
                with process.oneshot():
                    spent = process.cpu_times()
                    rss_bytes += process.memory_info().rss
                    self._cpu_s[process.pid, process.create_time()] = spent.user + spent.system
            except psutil.NoSuchProcess:
                continue
        self.peak_rss_bytes = max(self.peak_rss_bytes, rss_bytes)

    @property
    def cpu_s(self) -> float:
        return sum(self._cpu_s.values())


@dataclass(frozen=True)
class Bar:
    """A figure with the bar that it must reach: `at_least` or `at_most`."""

    value: float
    at_least: float | None = None
    at_most: float | None = None

    @property
    def ok(self) -> bool:
        return (self.at_least is None or self.value >= self.at_least) and (self.at_most is None or self.value <= self.at_most)

    @property
    def as_json(self) -> dict[str, Any]:
        return {"value": self.value, "bar": self.at_least if self.at_least is not None else self.at_most, "ok": self.ok}


def print_rows(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows with the same keys as a table for people."""
    table = Table(title=title, title_justify="left")
    for name in rows[0] if rows else ():
        numeric = all(isinstance(row[name], (int, float)) or row[name] is None for row in rows)
        table.add_column(name, justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(_shown(value) for value in row.values()))
    Console().print(table)


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def report(bench: str, bars: Mapping[str, Bar], figures: Mapping[str, Any]) -> int:
    """Print the bars and, as the last line, the JSON object; the exit status is 1 when a bar is missed."""
    rows = [
        {"bar": name, "value": bar.value, "at least": bar.at_least, "at most": bar.at_most, "": "ok" if bar.ok else "MISSED"}
        for name, bar in bars.items()
    ]
    print_rows("Bars", rows)
    print(json.dumps({"bench": bench, "bars": {name: bar.as_json for name, bar in bars.items()}, "figures": figures}), flush=True)
    return 0 if all(bar.ok for bar in bars.values()) else 1
