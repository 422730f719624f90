"""Control-C or a polite kill in the middle of a crawl: what was fetched is committed, nothing is salvaged later."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading

import polars as pl
import pytest

from trawl_core.warc.verify import verify

_CHILD = """
import sys
from pathlib import Path
from trawl_core.clock import SystemClock, crawl_date
from trawl_core.fetch.crawl import CrawlJob, crawl
from trawl_core.lake import Lake, Partition
from trawl_core.sites import parse_sites
folder, text = Path(sys.argv[1]), sys.argv[2]
config, clock = parse_sites(text), SystemClock()
jobs = [CrawlJob(Partition(crawl_date(clock), site.domain), site) for site in config.sites]
crawl(jobs, lake=Lake(folder / "lake"), work=folder / "work", config=config, clock=clock)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_was_fetched_is_committed(serve, run_crawl, tmp_path, number) -> None:
    site = serve()
    site.routes = {"/": site.page(*[f"/p{n}" for n in range(200)]), **{f"/p{n}": b"<p>%d" % n for n in range(200)}}
    entry = {
        "domain": site.host,
        "seeds": [f"{site.root}/"],
        "delay_s": 0,
        "network": {"allow_networks": ["127.0.0.0/8"], "allow_ports": [site.port]},
    }
    text = json.dumps({"user_agent": "TrawlBot/1.0 (+https://example.org/bot)", "sites": [entry]})
    child = subprocess.Popen([sys.executable, "-c", _CHILD, str(tmp_path), text], stderr=subprocess.DEVNULL)
    site.on_request = lambda count: os.kill(child.pid, number) if count == 40 else None
    # The signal takes its usual course once the night is committed.
    assert child.wait(timeout=60) == -number
    seen = len(site.asked)
    assert 40 <= seen < 200
    assert list((tmp_path / "lake").rglob("*.open")) == []
    site.on_request = lambda count: None
    rest = run_crawl(site)
    assert rest.outcome(site.host).result.facts["salvaged_files"] == 0
    assert rest.captures(site.host).filter(pl.col("outcome") == "ok")["url"].n_unique() == 201
    assert len(site.paths()) == len(set(site.paths()))
    assert verify(rest.lake) == []


def test_a_second_signal_does_not_wait_for_a_slow_server(serve, run_crawl) -> None:
    asked, ended, answered, ended_first = threading.Event(), threading.Event(), threading.Event(), []
    site = serve()

    def slow(request):
        asked.set()
        ended_first.append(ended.wait(timeout=10))
        answered.set()
        return b"<p>at last"

    site.routes = {"/robots.txt": b"", "/": slow}

    class SecondSignal(threading.Event):
        def is_set(self) -> bool:
            if asked.is_set():
                raise KeyboardInterrupt
            return False

    with pytest.raises(KeyboardInterrupt):
        run_crawl(site, stop=SecondSignal(), settings={"sitemaps": "none"})
    ended.set()
    answered.wait(timeout=10)
    assert ended_first == [True]
