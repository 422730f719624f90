"""bench.measure counts the work of a whole process tree."""

from __future__ import annotations

import json
import sys

from bench.measure import Bar, Spent, best_of, measure, measure_call, report

BURN = "import time\nwhile time.process_time() < 0.3: pass\n"


def test_children_count_too():
    parent = f"import subprocess, sys\nfor _ in range(2): subprocess.run([sys.executable, '-c', {BURN!r}], check=True)\n{BURN}print('done')"
    spent = measure([sys.executable, "-c", parent])
    assert spent.cpu_s >= 0.9
    assert (spent.status, spent.output) == (0, "done\n")


def test_memory_of_the_tree_is_seen():
    spent = measure([sys.executable, "-c", f"block = bytearray(80_000_000)\n{BURN}"])
    assert spent.peak_rss_mb >= 80


def test_the_status_and_the_environment_go_through():
    spent = measure([sys.executable, "-c", "import os, sys; sys.exit(int(os.environ['STATUS']))"], env={"STATUS": "3"})
    assert spent.status == 3


def test_a_function_runs_in_a_process_of_its_own():
    assert measure_call("math:hypot", 3, 4).value == 5.0
    assert measure_call("os:getpid").value != measure_call("os:getpid").value


def test_the_cheapest_run_is_the_best():
    runs = iter([Spent(1, 3, 1, 0, ""), Spent(9, 2, 1, 0, ""), Spent(1, 4, 1, 0, "")])
    assert best_of(3, lambda: next(runs)).cpu_s == 2


def test_a_report_ends_with_one_json_line_and_says_whether_a_bar_was_missed(capsys):
    assert report("x", {"fast": Bar(5.1, at_least=5), "small": Bar(9, at_most=10), "free": Bar(1)}, {"n": 1}) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {
        "bench": "x",
        "bars": {
            "fast": {"value": 5.1, "bar": 5, "ok": True},
            "small": {"value": 9, "bar": 10, "ok": True},
            "free": {"value": 1, "bar": None, "ok": True},
        },
        "figures": {"n": 1},
    }
    assert report("x", {"fast": Bar(4.9, at_least=5)}, {}) == 1
