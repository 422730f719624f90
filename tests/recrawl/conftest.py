"""Fetches, histories and captures written as short rows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from trawl_core.recrawl.history import conform_history

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
