"""A small site on loopback and a crawl of it: what the end-to-end trials stand on."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from trawl_core.clock import Clock, SystemClock, crawl_date
from trawl_core.fetch.crawl import CrawlJob, CrawlOutcome, crawl
from trawl_core.lake import Lake, Partition, tables
from trawl_core.sites import SitesConfig, parse_sites

_HOSTS = count(20)


@dataclass(frozen=True)
class Answer:
    """What a route gives; `close` ends the connection without a byte."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    close: bool = False


@dataclass(frozen=True)
class Asked:
    path: str
    headers: Message


# Bytes of a good HTML page, or the keys of an Answer.
Reply = bytes | dict[str, Any]
Route = Reply | Callable[[Asked], Reply]


class LoopbackSite:
    """Routes by path; `asked` holds every request in order. A path without a route answers 404."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.routes: dict[str, Route] = {}
        self.fallback: Route = {"body": b"nothing here", "status": 404}
        self.asked: list[Asked] = []
        self.on_request: Callable[[int], None] = lambda number: None
        self._connections = 0
        self._changed = threading.Condition()
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                asked = Asked(self.path, self.headers)
                site.asked.append(asked)
                site.on_request(len(site.asked))
                route = site.routes.get(self.path, site.fallback)
                reply = route(asked) if callable(route) else route
                answer = Answer(reply) if isinstance(reply, bytes) else Answer(**reply)
                if answer.close:
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                for name, value in {"Content-Type": "text/html; charset=utf-8", **answer.headers}.items():
                    self.send_header(name, value)
                if answer.status != 304 and "Content-Length" not in answer.headers:
                    self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, *arguments: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def process_request(self, request: Any, client_address: Any) -> None:
                with site._changed:
                    site._connections += 1
                super().process_request(request, client_address)

            def shutdown_request(self, request: Any) -> None:
                super().shutdown_request(request)
                with site._changed:
                    site._connections -= 1
                    site._changed.notify_all()

            def handle_error(self, request: Any, client_address: Any) -> None:
                """A client that was killed is no news."""

        self._server = Server((host, 0), Handler)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    @property
    def root(self) -> str:
        return f"http://{self.host}:{self.port}"

    def paths(self) -> list[str]:
        return [asked.path for asked in self.asked]

    @staticmethod
    def page(*targets: str) -> bytes:
        """An HTML page with links to `targets`, its text made of them."""
        return b"<!doctype html><title>page</title>" + b"".join(f'<p><a href="{target}">{target}</a>'.encode() for target in targets)

    def wait_until_left(self) -> None:
        """Return when no client is connected any more: what a killed one had sent is in `asked` by then."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._connections == 0, timeout=30)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def serve() -> Iterator[Callable[..., LoopbackSite]]:
    """Makes a LoopbackSite at an address of its own."""
    sites: list[LoopbackSite] = []

    def make(routes: dict[str, Route] | None = None) -> LoopbackSite:
        site = LoopbackSite(f"127.0.0.{next(_HOSTS) % 200 + 20}")
        site.routes.update(routes or {})
        sites.append(site)
        return site

    yield make
    for site in sites:
        site.close()


@dataclass
class QuickClock:
    """Real time, but a sleep only turns the hands on."""

    skipped_s: float = 0.0
    moved: bool = True

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.skipped_s)

    def monotonic(self) -> float:
        return time.monotonic() + self.skipped_s

    def sleep(self, seconds: float) -> None:
        self.skipped_s += seconds


@pytest.fixture
def quick_clock() -> QuickClock:
    return QuickClock()


@dataclass
class CrawlRun:
    """One call of `crawl` and what it left."""

    lake: Lake
    outcomes: dict[Partition, CrawlOutcome]

    def outcome(self, domain: str) -> CrawlOutcome:
        return next(outcome for partition, outcome in self.outcomes.items() if partition.domain == domain)

    def table(self, name: str, domain: str) -> pl.DataFrame:
        partition = next(partition for partition in self.outcomes if partition.domain == domain)
        return pl.from_arrow(tables.read(self.lake, name, partition))

    def captures(self, domain: str, kind: str = "page") -> pl.DataFrame:
        return self.table("captures", domain).filter(pl.col("kind") == kind)


def configuration(sites: list[dict[str, Any]], ports: list[int], **keys: Any) -> str:
    """A sites.yaml of loopback sites: each entry is a site's keys, `keys` stand at the top."""
    return json.dumps(
        {
            "user_agent": "TrawlBot/1.0 (+https://example.org/bot)",
            "defaults": {"delay_s": 0, "network": {"allow_networks": ["127.0.0.0/8"], "allow_ports": ports}},
            "sites": sites,
            **keys,
        }
    )


def configure(sites: list[dict[str, Any]], ports: list[int]) -> SitesConfig:
    return parse_sites(configuration(sites, ports))


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


@pytest.fixture
def start_crawl(tmp_path: Path) -> Callable[..., subprocess.Popen[bytes]]:
    """Starts a crawl of loopback sites as a program of its own, into the lake of `run_crawl`; `keys` stand at the top of its sites.yaml."""

    def start(*sites: LoopbackSite, **keys: Any) -> subprocess.Popen[bytes]:
        entries = [{"domain": site.host, "seeds": [f"{site.root}/"]} for site in sites]
        text = configuration(entries, [site.port for site in sites], **keys)
        return subprocess.Popen([sys.executable, "-c", _CHILD, str(tmp_path), text], stderr=subprocess.DEVNULL)

    return start


@pytest.fixture
def run_crawl(tmp_path: Path) -> Callable[..., CrawlRun]:
    """Crawls loopback sites (or dicts of a site's keys with `domain` and `seeds`) `night` days from now into one lake."""
    lake = Lake(tmp_path / "lake")

    def run(
        *sites: LoopbackSite | dict[str, Any],
        night: int = 0,
        settings: dict[str, Any] | None = None,
        clock: Clock | None = None,
        **arguments: Any,
    ) -> CrawlRun:
        entries, ports = [], []
        for site in sites:
            entry = {"domain": site.host, "seeds": [f"{site.root}/"]} if isinstance(site, LoopbackSite) else dict(site)
            ports.append(int(entry["seeds"][0].split(":")[2].split("/")[0]))
            entries.append({**entry, **(settings or {})})
        config = configure(entries, ports)
        clock = clock or SystemClock(timedelta(days=night))
        jobs = [CrawlJob(Partition(crawl_date(clock), site.domain), site) for site in config.sites]
        return CrawlRun(lake, crawl(jobs, lake=lake, work=tmp_path / "work", config=config, clock=clock, **arguments))

    return run


@pytest.fixture
def remember(tmp_path: Path) -> Callable[..., None]:
    """Writes the url_history after a crawl and tonight's plan from it, as the recrawl stage does, for `due` paths."""
    lake = Lake(tmp_path / "lake")

    def write(site: LoopbackSite, *, night: int, due: list[str]) -> None:
        today = crawl_date(SystemClock())
        before, tonight = Partition(today, site.host), Partition(today + timedelta(days=night), site.host)
        good = pl.from_arrow(tables.read(lake, "captures", before)).filter(
            (pl.col("kind") == "page") & (pl.col("fetch_status") == 200) & (pl.col("warc_type") == "response")
        )
        history = [
            {
                "url": row["url"],
                "etag": row["etag"],
                "last_modified": row["last_modified"],
                "content_digest": row["content_digest"],
                "body_capture_id": row["capture_id"],
                "body_fetch_time": row["fetch_time"],
                "body_warc_filename": row["warc_filename"],
                "body_warc_offset": row["warc_record_offset"],
                "body_warc_length": row["warc_record_length"],
                "depth": row["depth"],
                "state": "active",
            }
            for row in good.iter_rows(named=True)
        ]
        tables.commit(lake, "url_history", before, history)
        known = {row["url"]: row for row in history}
        plan = []
        for rank, path in enumerate(due, start=1):
            row = known[site.root + path]
            validators = {name: row[name] for name in ("etag", "last_modified", "body_capture_id", "depth")}
            plan.append({"rank": rank, "url": row["url"], "score": 1.0, "reason": "index", **validators})
        tables.commit(lake, "crawl_plan", tonight, plan)

    return write
