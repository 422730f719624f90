"""kill -9 in the middle of a crawl, then the same command again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import polars as pl
import pytest

from trawl_core.lake import tables
from trawl_core.warc.verify import verify

PAGES = 120

_CHILD = """
import json, sys
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


def _tree(serve):
    """Page n links to 2n + 1 and 2n + 2; a third of the pages share one body."""
    site = serve()

    def answer(asked):
        number = int(asked.path[1:] or 0) if asked.path[1:].isdigit() or asked.path == "/" else None
        if number is None or number >= PAGES:
            return {"status": 404}
        if number % 3 == 2 and number > PAGES // 2:
            return b"<p>one and the same"
        return site.page(*[f"/{child}" for child in (2 * number + 1, 2 * number + 2) if child < PAGES]) + b"<p>page %d" % number

    site.fallback = answer
    return site


def _kill_after(site, folder, requests: int) -> None:
    """Run a crawl in another process and kill it when the server has seen so many requests."""
    text = json.dumps(
        {
            "user_agent": "TrawlBot/1.0 (+https://example.org/bot)",
            "sites": [
                {
                    "domain": site.host,
                    "seeds": [f"{site.root}/"],
                    "delay_s": 0,
                    "network": {"allow_networks": ["127.0.0.0/8"], "allow_ports": [site.port]},
                }
            ],
        }
    )
    child = subprocess.Popen([sys.executable, "-c", _CHILD, str(folder), text])
    site.on_request = lambda number: os.kill(child.pid, signal.SIGKILL) if number == requests else None
    assert child.wait(timeout=60) == -signal.SIGKILL
    site.on_request = lambda number: None


def _good(run, site) -> set[tuple[str, str]]:
    pages = run.captures(site.host).filter(pl.col("outcome") == "ok")
    return {(url.removeprefix(site.root), digest) for url, digest in pages.select("url", "content_digest").iter_rows()}


@pytest.mark.parametrize("requests", [2, 70, 90])
def test_nothing_is_lost(serve, run_crawl, tmp_path, requests) -> None:
    site = _tree(serve)
    _kill_after(site, tmp_path, requests)
    resumed = run_crawl(site)
    found = _good(resumed, site)
    assert len(found) == PAGES
    # The records that the dead process left and the rows that were committed fit together.
    assert verify(resumed.lake) == []
    assert list((tmp_path / "lake").rglob("*.open")) == []
    whole = _tree(serve)
    assert _good(run_crawl(whole), whole) == found


def test_no_page_is_fetched_more_than_twice(serve, run_crawl, tmp_path) -> None:
    site = _tree(serve)
    _kill_after(site, tmp_path, 100)
    run_crawl(site)
    pages = [path for path in site.paths() if path != "/robots.txt"]
    assert max(pages.count(path) for path in set(pages)) <= 2
    # 64 exchanges make a batch: what was durable before the kill is not asked for again.
    assert len(pages) - len(set(pages)) <= 66


def test_the_next_night_makes_the_killed_one_whole(serve, run_crawl, tmp_path) -> None:
    site = _tree(serve)
    _kill_after(site, tmp_path, 100)
    assert list((tmp_path / "lake").rglob("*.open"))
    tomorrow = run_crawl(site, night=1)
    assert list((tmp_path / "lake").rglob("*.open")) == []
    nights = [partition for partition in tomorrow.lake.partitions("captures") if partition.domain == site.host]
    assert len(nights) == 2
    assert tables.count(tomorrow.lake, "captures", nights[0]) >= 64
    assert verify(tomorrow.lake) == []
