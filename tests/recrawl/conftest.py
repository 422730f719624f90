"""Fetches, histories and captures written as short rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from trawl_core.lake import Lake, Partition, tables
from trawl_core.recrawl.history import conform_history
from trawl_core.sites import Site

START = datetime(2026, 11, 1, 2, tzinfo=UTC)
FETCH_SCHEMA = {
    "url": pl.String,
    "domain": pl.String,
    "fetched_at": pl.Datetime("us", "UTC"),
    "outcome": pl.String,
    "changed": pl.Boolean,
    "server_last_modified": pl.Datetime("us", "UTC"),
    "bytes": pl.Int64,
    "validator_kind": pl.String,
}


def day(number: float) -> datetime:
    return START + timedelta(days=number)


@pytest.fixture(name="day", scope="session")
def _day() -> Callable[[float], datetime]:
    return day


@pytest.fixture(scope="session")
def fetches() -> Callable[..., pl.DataFrame]:
    """`fetches((day, outcome, changed), …, url=…)` of one URL, or rows with the URL as a fourth item."""

    def build(*rows: tuple[Any, ...], url: str = "https://a.test/") -> pl.DataFrame:
        return pl.DataFrame(
            [
                {
                    "url": row[3] if len(row) > 3 else url,
                    "domain": "a.test",
                    "fetched_at": day(row[0]),
                    "outcome": row[1],
                    "changed": row[2],
                }
                for row in rows
            ],
            schema=FETCH_SCHEMA,
        )

    return build


@pytest.fixture(scope="session")
def known() -> Callable[..., pl.DataFrame]:
    """`known([{"url": …, column: value}, …])` as a complete history; without `last_ok_at` a URL was never fetched."""

    def build(rows: list[dict[str, Any]]) -> pl.DataFrame:
        return conform_history(pl.DataFrame([{"domain": "a.test", **row} for row in rows]))

    return build


DOMAIN = "a.test"
NIGHTS_BEGIN = datetime(2026, 11, 1, 2, tzinfo=UTC)


class Night:
    """Commits tables of a crawl date of a.test from short rows. Night 1 is 2026-11-01."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake

    def partition(self, number: int) -> Partition:
        return Partition((NIGHTS_BEGIN + timedelta(days=number - 1)).date(), DOMAIN)

    def moment(self, number: int, seconds: int = 0) -> datetime:
        return NIGHTS_BEGIN + timedelta(days=number - 1, seconds=seconds)

    def captures(self, number: int, *rows: dict[str, Any]) -> None:
        """Rows need `url`; by default they are 200 responses with a record and a digest of their own."""
        complete = []
        for place, row in enumerate(rows):
            complete.append(
                {
                    "capture_id": f"c{number}-{place}",
                    "kind": "page",
                    "fetch_time": self.moment(number, place),
                    "fetch_status": 200,
                    "outcome": "ok",
                    "warc_type": "response",
                    "warc_filename": f"warc/{number}.warc.gz",
                    "warc_record_offset": 1000 * place,
                    "warc_record_length": 500,
                    "content_digest": f"D{number}-{place}",
                    "wire_bytes": 2000,
                    "payload_bytes": 1800,
                    "depth": 1,
                    **row,
                }
            )
        tables.commit(self.lake, "captures", self.partition(number), complete)

    def failed(self, url: str, outcome: str = "timeout", status: int | None = None, **more: Any) -> dict[str, Any]:
        nothing = dict.fromkeys(("warc_type", "warc_filename", "warc_record_offset", "warc_record_length", "content_digest"))
        return {"url": url, "outcome": outcome, "fetch_status": status, "wire_bytes": 0, "payload_bytes": None, **nothing, **more}

    def unchanged(self, url: str, of: str, **more: Any) -> dict[str, Any]:
        """A 304 revisit of the capture `of`, like c1-0."""
        night, place = of.removeprefix("c").split("-")
        return {
            "url": url,
            "outcome": "not_modified",
            "fetch_status": 304,
            "warc_type": "revisit",
            "content_digest": f"D{night}-{place}",
            "refers_to_id": of,
            "refers_to_date": self.moment(int(night), int(place)),
            "refers_to_warc_filename": f"warc/{night}.warc.gz",
            "refers_to_warc_offset": 1000 * int(place),
            "refers_to_warc_length": 500,
            "wire_bytes": 200,
            "payload_bytes": 0,
            **more,
        }

    def changes(self, number: int, **events: str) -> None:
        """`changes(2, home="content")` for https://a.test/home."""
        rows = [{"url": f"https://{DOMAIN}/{name}", "event": event} for name, event in events.items()]
        tables.commit(self.lake, "changes", self.partition(number), rows)

    def pages(self, number: int, *rows: dict[str, Any]) -> None:
        tables.commit(
            self.lake, "pages", self.partition(number), [{"capture_id": f"c{number}-{place}", **row} for place, row in enumerate(rows)]
        )

    def history(self, number: int) -> dict[str, dict[str, Any]]:
        return {row["url"]: row for row in tables.read(self.lake, "url_history", self.partition(number)).to_pylist()}

    def plan(self, number: int) -> list[dict[str, Any]]:
        return tables.read(self.lake, "crawl_plan", self.partition(number)).to_pylist()


@pytest.fixture
def night(tmp_path: Path) -> Night:
    return Night(Lake(tmp_path / "lake"))


@pytest.fixture
def site() -> Callable[..., Site]:
    def build(**settings: Any) -> Site:
        return Site.model_validate({"domain": DOMAIN, "seeds": [f"https://{DOMAIN}/"], **settings})

    return build


@dataclass
class StandingClock:
    moment: datetime
    moved: bool = True

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


@pytest.fixture
def clock_at(night: Night) -> Callable[..., StandingClock]:
    return lambda number, seconds=0: StandingClock(night.moment(number, seconds))
