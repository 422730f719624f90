"""`kill -9` of `trawl crawl` in the middle of the first night, then the same command again, or `trawl repair`."""

from __future__ import annotations

import base64
import hashlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import dagster as dg
import psutil
import pytest

PAGES = 90
DURABLE = 75  # 64 exchanges make a batch: at this request the first one is on disk
PATIENCE_S = 120


@pytest.fixture
def tree(serve):
    """Page n links to 2n + 1 and 2n + 2; each has a paragraph of its own."""
    site = serve()
    for number in range(PAGES):
        links = [f"/{child}" for child in (2 * number + 1, 2 * number + 2) if child < PAGES]
        text = " ".join(f"word{(number * 7919 + step * 31) % 5000}" for step in range(12))
        site.routes[f"/{number or ''}"] = (
            site.page(*links) + f"<main><h1>Page {number}</h1><p>Page {number} tells of {text}.</main>".encode()
        )
    return site


@pytest.fixture
def home(new_home, tree):
    home = new_home()
    home.write_sites({tree.host: f"{tree.root}/"})
    return home


def _truth(site) -> set[tuple[str, str]]:
    """What a night that nothing interrupts archives."""
    return {(site.root + path, base64.b32encode(hashlib.sha1(body).digest()).decode()) for path, body in site.routes.items()}


def _archived(home) -> set[tuple[str, str]]:
    rows = home.table("captures")
    return {(row["url"], row["content_digest"]) for row in rows if row["kind"] == "page" and row["outcome"] == "ok"}


def _kill(child: subprocess.Popen[str]) -> None:
    os.kill(child.pid, signal.SIGKILL)
    assert child.wait(PATIENCE_S) == -signal.SIGKILL


def _killed_at_request(home, site, number: int) -> None:
    """A crawl that dies while the site is answering its request `number`."""
    reached, dead = threading.Event(), threading.Event()

    def on_request(count: int) -> None:
        if count == number:
            reached.set()
        if count >= number:
            dead.wait(PATIENCE_S)

    site.asked.clear()
    site.on_request = on_request
    child = home.start("crawl")
    assert reached.wait(PATIENCE_S)
    _kill(child)
    site.on_request = lambda count: None
    dead.set()


def _killed_when(home, reached: Callable[[], bool]) -> None:
    """A crawl that dies as soon as `reached` says so of its files."""
    child = home.start("crawl")
    while not reached():
        assert child.poll() is None, "the crawl ended before that moment came"
        threading.Event().wait(0.005)
    _kill(child)


def _no_process_is_left(home) -> bool:
    """The children of killed crawls follow them."""
    groups = {child.pid for child in home.started}
    left = [process for process in psutil.process_iter() if _group_of(process.pid) in groups]
    return not psutil.wait_procs(left, timeout=PATIENCE_S)[1]


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def _remains(home) -> Iterator[Path]:
    """Files that only a dead process leaves."""
    for path in home.root.rglob("*"):
        if path.name.endswith((".open", ".tmp", ".partial")):
            yield path


def _statuses(home) -> list[str]:
    with dg.DagsterInstance.from_config(str(home.root / "dagster_home")) as instance:
        return [run.status.value for run in instance.get_runs()]


def test_the_same_command_again_completes_the_night(home, tree) -> None:
    _killed_at_request(home, tree, DURABLE)
    assert list(home.root.rglob("*.open"))
    _killed_when(home, (home.root / "work" / "embeddings.sqlite").exists)
    assert _no_process_is_left(home)
    assert "Traceback" not in home.stderr_of_started.read_text()
    home.passes("crawl")
    assert _archived(home) == _truth(tree)
    assert "sound" in home.passes("verify")
    assert list(_remains(home)) == []
    assert sorted(_statuses(home)) == ["FAILURE", "FAILURE", "SUCCESS", "SUCCESS", "SUCCESS"]
    assert {row["extract_status"] for row in home.table("pages")} == {"ok"}
    assert {row["url"] for row in home.table("pages")} == {row["url"] for row in home.table("chunks")} == {url for url, _ in _truth(tree)}


def test_repair_finishes_what_was_fetched(home, tree) -> None:
    _killed_at_request(home, tree, DURABLE)
    told = home.passes("repair")
    assert f"{tree.host} " in told
    assert "sealed 1 file(s)" in told
    assert list(_remains(home)) == []
    assert len(_archived(home)) >= 60
    assert _archived(home) < _truth(tree)
    assert "sound" in home.passes("verify")
    assert home.passes("repair") == "nothing was left unfinished.\n"
