"""An archive in a temporary lake, filled through the real writer."""

import uuid
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

import pytest

from trawl_core.lake import Lake, Partition, tables
from trawl_core.warc.captures import capture_row
from trawl_core.warc.exchange import Exchange
from trawl_core.warc.http_message import parse_response
from trawl_core.warc.writer import WarcWriter

START = datetime(2026, 11, 30, 2, 0, 0, 123456, tzinfo=UTC)


@dataclass
class StandingClock:
    """Stands still until it is told to sleep."""

    moment: datetime = START
    moved: bool = False

    def now(self):
        return self.moment

    def monotonic(self):
        return self.moment.timestamp()

    def sleep(self, seconds):
        self.moment += timedelta(seconds=seconds)


def exchange_of(wire: bytes, url: str = "http://docs.example.org/", **changes) -> Exchange:
    """The Exchange that a server answering with exactly `wire` makes."""
    message = parse_response(wire)
    values = {
        "url": url,
        "started_at": START,
        "request_bytes": f"GET {url} HTTP/1.1\r\nHost: docs.example.org\r\n\r\n".encode(),
        "response_bytes": wire,
        "head_length": len(message.head),
        "payload": message.payload,
        "status": message.status,
        "reason": message.reason,
        "headers": message.headers,
        "outcome": "not_modified" if message.status == 304 else "ok" if (message.status or 0) < 400 else "http_error",
        "ip_address": "127.0.0.1",
        "http_version": "HTTP/1.1",
        "ttfb_ms": 3.0,
        "fetch_ms": 12.4,
    }
    return Exchange(**{**values, **changes})


def ok(body: bytes, *headers: bytes) -> bytes:
    lines = [b"HTTP/1.1 200 OK", b"Content-Type: text/html; charset=utf-8", *headers, b"Content-Length: %d" % len(body)]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def chunked(body: bytes, size: int) -> bytes:
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


@dataclass
class Archive:
    """Writes exchanges of one partition and commits their captures."""

    lake: Lake
    partition: Partition
    work: object
    clock: StandingClock
    rows: list = field(default_factory=list)

    def __post_init__(self):
        self.writer = self.new_writer()

    def new_writer(self, **changes):
        values = {"software": "trawl/0", "user_agent": "TestBot/1.0", "config_hash": "00ff", "clock": self.clock, "work": self.work}
        return WarcWriter(self.lake, self.partition, **{**values, **changes})

    def add(self, exchange, revisit=None, kind="page", depth=0, **columns):
        """Write one exchange; returns its captures row."""
        capture_id = str(uuid.uuid4())
        written = self.writer.write(exchange, capture_id, revisit=revisit) if exchange.has_response else None
        row = capture_row(
            exchange,
            capture_id=capture_id,
            partition=self.partition,
            written=written,
            revisit=revisit,
            kind=kind,
            depth=depth,
            is_seed=False,
            attempt=1,
            **columns,
        )
        self.rows.append(row)
        return row

    def finish(self):
        self.writer.close()
        tables.commit(self.lake, "captures", self.partition, self.rows)
        return self

    @property
    def warc_names(self):
        return self.lake.files(self.lake.warc_folder(self.partition))


@pytest.fixture
def lake(tmp_path):
    return Lake(tmp_path / "lake")


@pytest.fixture
def clock():
    return StandingClock()


@pytest.fixture
def new_archive(lake, clock, tmp_path):
    def make(day=date(2026, 11, 30), domain="docs.example.org", lake=lake):
        return Archive(lake, Partition(day, domain), tmp_path / "work", clock)

    return make


@pytest.fixture
def archive(new_archive):
    return new_archive()


@pytest.fixture
def make():
    """The builders of wire bytes and exchanges, for test modules (which can't import this file by name)."""

    class Make:
        exchange = staticmethod(exchange_of)
        ok = staticmethod(ok)
        chunked = staticmethod(chunked)
        start = START

    return Make
