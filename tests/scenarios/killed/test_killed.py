"""kill -9 in the middle of a crawl, again and again, then the same command once more."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter

import polars as pl
import pytest

from trawl_core.lake import tables
from trawl_core.warc.verify import verify

PAGES = 300
BATCH = 64

# Imports once and forks a crawl for each line that it reads: its pid, then its wait status, come back as lines.
_MOTHER = """
import os, sys
from pathlib import Path
from trawl_core.clock import SystemClock, crawl_date
from trawl_core.fetch.crawl import CrawlJob, crawl
from trawl_core.lake import Lake, Partition
from trawl_core.sites import parse_sites
folder, text = Path(sys.argv[1]), sys.argv[2]
for line in sys.stdin:
    pid = os.fork()
    if not pid:
        config, clock = parse_sites(text), SystemClock()
        jobs = [CrawlJob(Partition(crawl_date(clock), site.domain), site) for site in config.sites]
        crawl(jobs, lake=Lake(folder / "lake"), work=folder / "work", config=config, clock=clock)
        os._exit(0)
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


@pytest.fixture
def tree(serve):
    """Page n links to 2n + 1 and 2n + 2; a third of the leaves share one body."""
    site = serve()
    for number in range(PAGES):
        links = [f"/{child}" for child in (2 * number + 1, 2 * number + 2) if child < PAGES]
        own = b"" if number % 3 == 2 and not links else b"<p>page %d" % number
        site.routes[f"/{number or ''}"] = site.page(*links) + own
    return site


@pytest.fixture
def kill_after(tree, tmp_path):
    """Runs a crawl in another process and kills it at the server's next request so many from now, or `later_s` after that.

    False when the crawl was over before.
    """
    text = json.dumps(
        {
            "user_agent": "TrawlBot/1.0 (+https://example.org/bot)",
            "sites": [
                {
                    "domain": tree.host,
                    "seeds": [f"{tree.root}/"],
                    "delay_s": 0,
                    "network": {"allow_networks": ["127.0.0.0/8"], "allow_ports": [tree.port]},
                }
            ],
        }
    )
    command = [sys.executable, "-c", _MOTHER, str(tmp_path), text]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as mother:

        def kill_after(requests: int, later_s: float = 0.0) -> bool:
            pids = []
            last = len(tree.asked) + requests

            def on_request(number: int) -> None:
                if number == last and later_s:
                    threading.Timer(later_s, os.kill, (pids[0], signal.SIGKILL)).start()
                elif number == last:
                    os.kill(pids[0], signal.SIGKILL)

            mother.stdin.write("\n")
            mother.stdin.flush()
            pids.append(int(mother.stdout.readline()))
            tree.on_request = on_request
            status = int(mother.stdout.readline())
            # On a busy machine the server may read the last request of a dead process when the next one asks already.
            tree.wait_until_left()
            tree.on_request = lambda number: None
            assert status in (0, -signal.SIGKILL)
            return status != 0

        yield kill_after
        mother.stdin.close()


def _good(run, site) -> set[tuple[str, str]]:
    pages = run.captures(site.host).filter(pl.col("outcome") == "ok")
    return {(url.removeprefix(site.root), digest) for url, digest in pages.select("url", "content_digest").iter_rows()}


def _truth(site) -> set[tuple[str, str]]:
    return {(path, base64.b32encode(hashlib.sha1(body).digest()).decode()) for path, body in site.routes.items()}


def _asked(site) -> Counter[str]:
    return Counter(path for path in site.paths() if path in site.routes)


@pytest.mark.parametrize(("kills", "widest"), [(11, 40), (14, 25)], ids=["far apart", "close together"])
def test_nothing_is_lost_and_no_page_is_fetched_more_than_twice(tree, kill_after, run_crawl, tmp_path, kills, widest) -> None:
    # 25 kills in all. The first falls into the first batch or behind it, the others follow after two requests or more.
    chance = random.Random(f"{kills} kills")
    moments = [(chance.randint(2, widest), chance.choice((0.0, 0.002, 0.01))) for _ in range(kills)]
    assert all([kill_after(*moment) for moment in moments])
    resumed = run_crawl(tree)
    assert _good(resumed, tree) == _truth(tree)
    assert set(_asked(tree)) == set(tree.routes)
    assert [page for page, times in _asked(tree).items() if times > 2] == []
    # The records that the dead processes left and the rows that were committed fit together.
    assert verify(resumed.lake) == []
    assert list((tmp_path / "lake").rglob("*.open")) == []


def test_what_was_durable_is_not_asked_for_again(tree, kill_after, run_crawl) -> None:
    assert kill_after(BATCH + 40)
    run_crawl(tree)
    asked = _asked(tree)
    assert sum(times - 1 for times in asked.values()) <= BATCH + 1


def test_the_next_night_makes_the_killed_one_whole(tree, kill_after, run_crawl, tmp_path) -> None:
    assert kill_after(BATCH + 40)
    assert list((tmp_path / "lake").rglob("*.open"))
    tomorrow = run_crawl(tree, night=1)
    assert list((tmp_path / "lake").rglob("*.open")) == []
    nights = [partition for partition in tomorrow.lake.partitions("captures") if partition.domain == tree.host]
    assert len(nights) == 2
    assert tables.count(tomorrow.lake, "captures", nights[0]) >= BATCH
    (left,) = tables.read(tomorrow.lake, "frontier_log", nights[0]).to_pylist()
    assert (left["reason"], left["detail"]) == ("budget", "the run was broken off")
    fetched = set(tables.read(tomorrow.lake, "captures", nights[0], ["url"])["url"].to_pylist())
    assert 1 <= left["count"] <= len(tree.routes) - len(fetched & {tree.root + path for path in tree.routes})
    assert verify(tomorrow.lake) == []
