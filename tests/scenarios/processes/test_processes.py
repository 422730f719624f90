"""The domains of a run spread over several processes: the same nights, the same politeness, and nobody left behind."""

from __future__ import annotations

import errno
import os
import signal
import socket
import sys
import threading
from collections import Counter
from itertools import count

import polars as pl
import psutil
import pytest

from trawl_core.errors import FetchError, UsageError
from trawl_core.fetch import processes
from trawl_core.warc.verify import verify

PAGES = 40
SUBSTANCE = [
    "url",
    "kind",
    "outcome",
    "fetch_status",
    "content_digest",
    "payload_sha256",
    "fetch_redirect",
    "redirect_hop",
    "depth",
    "is_seed",
    "attempt",
    "warc_type",
    "robots_digest",
    "config_hash",
]


def _tree(site, pages: int = PAGES) -> None:
    """Page n links to 2n + 1 and 2n + 2."""
    for number in range(pages):
        links = [f"/{child}" for child in (2 * number + 1, 2 * number + 2) if child < pages]
        site.routes[f"/{number or ''}"] = site.page(*links) + b"<p>page %d of %s" % (number, site.host.encode())


@pytest.fixture
def sites(serve):
    """Four sites, which two processes share by halves."""
    made = [serve() for _ in range(4)]
    for site in made:
        _tree(site)
    return made


def _pids(run, host: str) -> set[str]:
    """Process ids in the names of the domain's WARC files."""
    names = run.table("captures", host)["warc_filename"].drop_nulls().unique()
    return {name.rpartition("/")[2].split("-")[3].partition("~")[0] for name in names}


def _substance(run, host: str) -> list[tuple]:
    return sorted(run.table("captures", host).select(SUBSTANCE).rows(), key=repr)


def _children() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "trawl_core.fetch.process" in " ".join(child.cmdline())]


def test_the_nights_are_those_of_one_process(sites, run_crawl) -> None:
    with socket.create_server(("127.0.0.9", 0)) as closed:
        port = closed.getsockname()[1]
    down = {"domain": "127.0.0.9", "seeds": [f"http://127.0.0.9:{port}/"], "attempts": 1}
    for site in sites:
        site.routes |= {"/robots.txt": b"User-agent: *\nDisallow: /2\n", "/5": {"status": 301, "headers": {"Location": "/6"}}}
    alone = run_crawl(*sites, down, processes=1)
    complete = threading.Event()
    told = []

    def on_progress(progress) -> None:
        told.append(progress)
        if progress.domains >= len(sites) and progress.done >= len(sites):
            complete.set()

    def home(site):
        page = site.routes["/"]
        return lambda asked: page if complete.wait(20) else {"status": 500}

    for site in sites:
        site.routes["/"] = home(site)
    # The workers take the moved clock over.
    apart = run_crawl(*sites, down, night=1, processes=2, on_progress=on_progress)
    for site in sites:
        assert _substance(apart, site.host) == _substance(alone, site.host)
        assert len(_pids(apart, site.host)) == 1
        facts, before = (run.outcome(site.host).result.facts for run in (apart, alone))
        assert {key: facts[key] for key in ("fetched", "outcomes", "requests")} == {
            key: before[key] for key in ("fetched", "outcomes", "requests")
        }
    pids = {pid for site in sites for pid in _pids(apart, site.host)}
    assert len(pids) == 2
    assert str(os.getpid()) not in pids
    error = apart.outcome("127.0.0.9").error
    assert isinstance(error, FetchError)
    assert (error.outcome, str(error)) == ("robots_unavailable", str(alone.outcome("127.0.0.9").error))
    assert complete.is_set()
    assert verify(apart.lake) == []
    assert _children() == []


def test_a_killed_process_costs_its_own_domains_their_night_and_no_other(sites, run_crawl) -> None:
    busy, victims, numbers = threading.Event(), [], count(1)

    def on_request(number: int) -> None:
        # In the middle of every site, so that whichever process dies has begun and not finished.
        if number == PAGES // 2 and next(numbers) == len(sites):
            victims.append(_children()[0])
            victims[0].kill()
            busy.set()
        elif number >= PAGES // 2:
            busy.wait(20)

    for site in sites:
        site.on_request = on_request
    broken = run_crawl(*sites, processes=2)
    failed = [site for site in sites if broken.outcome(site.host).error]
    assert len(failed) == 2
    for site in failed:
        said = str(broken.outcome(site.host).error)
        assert said.startswith(f"crawling {site.host}: the process that crawled {failed[0].host}, {failed[1].host} died (signal 9; ")
        assert "run the same command again" in said
        assert broken.outcome(site.host).result is None
    for site in set(sites) - set(failed):
        assert broken.captures(site.host)["url"].n_unique() == PAGES
    assert _children() == []
    whole = run_crawl(*sites, processes=1)
    for site in sites:
        assert whole.captures(site.host).filter(pl.col("outcome") == "ok")["url"].n_unique() == PAGES
        assert max(Counter(site.paths()).values()) <= 2
    assert verify(whole.lake) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_to_the_first_process_ends_all_of_them(sites, run_crawl, start_crawl, tmp_path, number) -> None:
    numbers, sent, workers, never = count(1), threading.Event(), [], threading.Event()

    def on_request(asked: int) -> None:
        if asked == 10 and next(numbers) == len(sites):
            workers.extend(psutil.Process(child.pid).children())
            child.send_signal(number)
            sent.set()
        elif asked >= 10:
            sent.wait(20)
            # So slowly that no site is done before the signal is heeded.
            never.wait(0.1)

    for site in sites:
        site.on_request = on_request
    child = start_crawl(*sites, processes=2)
    assert child.wait(60) == -number
    assert len(workers) == 2
    psutil.wait_procs(workers, timeout=20)
    assert [worker for worker in workers if worker.is_running()] == []
    assert all(10 <= len(site.asked) < PAGES for site in sites)
    if number == signal.SIGTERM:
        assert list((tmp_path / "lake").rglob("*.open")) == []
    for site in sites:
        site.on_request = lambda asked: None
    rest = run_crawl(*sites, processes=1)
    for site in sites:
        assert rest.captures(site.host).filter(pl.col("outcome") == "ok")["url"].n_unique() == PAGES
        assert max(Counter(site.paths()).values()) <= (1 if number == signal.SIGTERM else 2)
        if number == signal.SIGTERM:
            assert rest.outcome(site.host).result.facts["salvaged_files"] == 0
    assert verify(rest.lake) == []


def test_an_interrupt_at_once_leaves_no_process_behind(sites, run_crawl) -> None:
    asked = threading.Event()
    for site in sites:
        site.on_request = lambda number: asked.set()

    class SecondSignal(threading.Event):
        def is_set(self) -> bool:
            if asked.is_set():
                raise KeyboardInterrupt
            return False

    with pytest.raises(KeyboardInterrupt):
        run_crawl(*sites, stop=SecondSignal(), processes=2)
    assert _children() == []


def test_a_machine_that_starts_no_process_is_named(sites, run_crawl, monkeypatch) -> None:
    def refuse(module, **how):
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr(processes, "start_child", refuse)
    run = run_crawl(*sites, processes=2)
    for site in sites:
        said = str(run.outcome(site.host).error)
        assert said.startswith(f"crawling {site.host}: no process could be started for it (Cannot allocate memory). Free some memory, ")
        assert site.asked == []


def test_a_work_folder_that_can_not_be_used_fails_every_domain(sites, run_crawl, tmp_path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "addresses.lock").mkdir()
    run = run_crawl(*sites[:2])
    for site in sites[:2]:
        assert str(run.outcome(site.host).error).startswith("preparing to share addresses among processes in ")
        assert site.asked == []


# Where the workers can import it too.
_NAMES = """
from dataclasses import dataclass
@dataclass
class Names:
    address: str
    def resolve(self, host, port):
        return [(2, self.address)]
"""


@pytest.fixture
def one_address(tmp_path, monkeypatch):
    """A resolver with one address for every name, which can be handed to another process."""
    folder = tmp_path / "names"
    folder.mkdir()
    (folder / "names_of_a_trial.py").write_text(_NAMES)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    from names_of_a_trial import Names

    yield Names
    del sys.modules["names_of_a_trial"]


def test_an_address_has_one_budget_in_all_processes(serve, run_crawl, one_address) -> None:
    site, limit = serve(), 2
    lock, too_many = threading.Lock(), threading.Event()
    under_way, most, order = Counter(), 0, []

    def page(asked):
        nonlocal most
        name = asked.headers["Host"].partition(":")[0]
        with lock:
            order.append(name)
            under_way[name] += 1
            most = max(most, under_way.total())
            if under_way.total() > limit:
                too_many.set()
        too_many.wait(0.02)
        with lock:
            under_way[name] -= 1
        return site.page(*[f"/{n}" for n in range(12)])

    site.fallback = page
    names = [f"n{n}.example.test" for n in range(2)]
    entries = [{"domain": name, "seeds": [f"http://{name}:{site.port}/"], "concurrency": 4} for name in names]
    run = run_crawl(*entries, settings={"host_concurrency": limit}, resolver=one_address(site.host), processes=2)
    assert most == limit
    assert not too_many.is_set()
    for name in names:
        assert set(run.captures(name).filter(pl.col("outcome") == "ok")["url_path"]) == {"/", *[f"/{n}" for n in range(12)]}
    assert len({pid for name in names for pid in _pids(run, name)}) == 2
    # While both had something to ask, neither was kept from its turn.
    begun = max(order.index(name) for name in names)
    ended = min(len(order) - order[::-1].index(name) for name in names)
    turns = Counter(order[begun:ended])
    assert min(turns[name] for name in names) >= 0.2 * turns.total() - 2


def test_what_can_not_be_handed_over_is_said(sites, run_crawl, one_address, monkeypatch) -> None:
    monkeypatch.delenv("PYTHONPATH")  # so that the workers can't import it
    with pytest.raises(UsageError, match=r"can't be handed to another process .* processes=1"):
        run_crawl(*sites, resolver=lambda: None, processes=2)
    run = run_crawl(*sites, resolver=one_address(sites[0].host), processes=2)
    for site in sites:
        assert str(run.outcome(site.host).error).startswith(f"crawling {site.host}: its process could not begin: ModuleNotFoundError: ")
    assert [site.asked for site in sites] == [[]] * 4
