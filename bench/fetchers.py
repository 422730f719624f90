"""The ways to fetch that bench.warc compares, each run in a process of its own: the same pages, one after the other, over one
kept connection. CPU seconds are those of the client's fetches alone.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench.writers import AGENT

ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
HEADERS = {"User-Agent": AGENT, "Accept": ACCEPT, "Accept-Encoding": "gzip, deflate"}
_WARM_UP = 50


def fetch(way: str, urls: list[str], folder: str) -> dict[str, Any]:
    """Fetch `urls` by one of WAYS. Returns the CPU milliseconds of one fetch and the bytes of all documents."""
    with WAYS[way](urls[0], Path(folder)) as get:
        for url in urls[:_WARM_UP]:
            get(url)
        started = time.process_time()
        size = sum(map(get, urls))
        cpu_s = time.process_time() - started
    return {"each_ms": cpu_s / len(urls) * 1000, "bytes": size}


@contextmanager
def _urllib3(first: str, folder: Path) -> Iterator[Callable[[str], int]]:
    import urllib3

    with urllib3.PoolManager(headers=HEADERS) as pool:
        yield lambda url: len(pool.request("GET", url).data)


@contextmanager
def _requests(first: str, folder: Path) -> Iterator[Callable[[str], int]]:
    import requests

    with requests.Session() as session:
        session.headers.update(HEADERS)
        session.trust_env = False
        yield lambda url: len(session.get(url).content)


@contextmanager
def _trawl(first: str, folder: Path) -> Iterator[Callable[[str], int]]:
    """Guard, deadline and capture, the exchange then dropped."""
    with ExitStack() as held:
        client, site = _client(first, held)

        def get(url: str) -> int:
            exchange = client.fetch(url, site)
            return len(exchange.document or b"")

        yield get


@contextmanager
def _trawl_archived(first: str, folder: Path) -> Iterator[Callable[[str], int]]:
    """The same, and the exchange written as three WARC records."""
    from trawl_core.clock import SystemClock, crawl_date
    from trawl_core.lake import Lake, Partition
    from trawl_core.warc.writer import WarcWriter

    clock = SystemClock()
    with ExitStack() as held:
        client, site = _client(first, held)
        partition = Partition(crawl_date(clock), site.domain)
        writer = held.enter_context(
            WarcWriter(Lake(folder), partition, software="trawl", user_agent=AGENT, config_hash=site.config_hash, clock=clock, work=folder)
        )

        def get(url: str) -> int:
            exchange = client.fetch(url, site)
            writer.write(exchange, str(uuid.uuid4()))
            return len(exchange.document or b"")

        yield get


def _client(first: str, held: ExitStack) -> tuple[Any, Any]:
    from trawl_core.clock import SystemClock
    from trawl_core.fetch.client import HttpClient
    from trawl_core.sites import NetworkAccess, Site
    from trawl_core.urls.normalize import host_and_port

    host, port = host_and_port(first)
    site = Site(domain=host, seeds=[first], delay_s=0, network=NetworkAccess(allow_networks=["127.0.0.0/8"], allow_ports=[port]))
    client = HttpClient(user_agent=AGENT, clock=SystemClock())
    held.callback(client.close)
    return client, site


WAYS = {"urllib3": _urllib3, "requests": _requests, "trawl": _trawl, "trawl, archived": _trawl_archived}
