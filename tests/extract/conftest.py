"""A lake with an archive written by the real WARC writer, a night at a time."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest

from trawl_core.lake import Lake, Partition, tables
from trawl_core.sites import Site
from trawl_core.warc.captures import capture_row, revisit_of
from trawl_core.warc.exchange import Exchange
from trawl_core.warc.writer import WarcWriter

DOMAIN = "docs.example.org"
FIRST_NIGHT = datetime(2026, 11, 29, 2, 0, tzinfo=UTC)


class StandingClock:
    moved = False

    def now(self):
        return FIRST_NIGHT

    def monotonic(self):
        return 0.0

    def sleep(self, seconds):
        raise AssertionError("nothing here waits")


class Night:
    """One partition: `get` and `unchanged` archive exchanges, `commit` writes the captures table."""

    def __init__(self, lake, work, number):
        self.lake = lake
        self.start = FIRST_NIGHT + timedelta(days=number)
        self.partition = Partition(self.start.date(), DOMAIN)
        self.writer = WarcWriter(
            lake, self.partition, software="trawl/test", user_agent="TestBot/1.0", config_hash="0", clock=StandingClock(), work=work
        )
        self.rows = []

    def get(self, url, body, content_type="text/html; charset=utf-8", status=200, kind="page", revisit=None, headers=()):
        lines = [f"HTTP/1.1 {status} X", *([f"Content-Type: {content_type}"] if content_type else []), *(f"{k}: {v}" for k, v in headers)]
        head = "\r\n".join([*lines, "", ""]).encode()
        values = tuple(tuple(line.split(": ", 1)) for line in lines[1:])
        exchange = Exchange(
            url=url,
            started_at=self.start + timedelta(seconds=len(self.rows)),
            request_bytes=f"GET {url} HTTP/1.1\r\n\r\n".encode(),
            response_bytes=head + body,
            head_length=len(head),
            payload=body,
            status=status,
            reason="X",
            headers=values,
            outcome="not_modified" if status == 304 else "ok" if status < 400 else "http_error",
        )
        capture_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.partition}{len(self.rows)}{url}"))
        written = self.writer.write(exchange, capture_id, revisit=revisit)
        row = capture_row(
            exchange,
            capture_id=capture_id,
            partition=self.partition,
            written=written,
            revisit=revisit,
            kind=kind,
            depth=0,
            is_seed=False,
            attempt=1,
        )
        self.rows.append(row)
        return row

    def not_modified(self, earlier):
        return self.get(earlier["url"], b"", None, 304, revisit=revisit_of(earlier, "server-not-modified"))

    def same_payload(self, earlier, body, url=None):
        return self.get(url or earlier["url"], body, revisit=revisit_of(earlier, "identical-payload-digest"))

    def commit(self):
        self.writer.close()
        tables.commit(self.lake, "captures", self.partition, self.rows)
        return self.partition


@pytest.fixture
def lake(tmp_path):
    return Lake(tmp_path / "lake")


@pytest.fixture
def night(lake, tmp_path):
    """`night(0)` is the first one."""
    return lambda number: Night(lake, tmp_path / "work", number)


@pytest.fixture
def site():
    return Site(domain=DOMAIN, seeds=[f"https://{DOMAIN}/"])
