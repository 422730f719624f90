"""Lakes with pages as the extraction writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime

import pytest

from trawl_core.lake import Lake, Partition, tables
from trawl_core.lake.comparison import text_sha256


@pytest.fixture
def lake(tmp_path) -> Lake:
    return Lake(tmp_path / "lake")


@pytest.fixture
def write_pages(lake) -> Callable[..., Partition]:
    """write_pages(date, domain, {path: text or None, …}, carried={path: body capture_id}, statuses={path: 404, …})."""

    def write(
        day: date,
        domain: str,
        texts: Mapping[str, str],
        carried: Mapping[str, str] | None = None,
        statuses: Mapping[str, int] | None = None,
    ) -> Partition:
        carried, statuses = carried or {}, statuses or {}
        partition = Partition(day, domain)
        pages, captures = [], []
        for place, (path, text) in enumerate(texts.items()):
            fetched = datetime(day.year, day.month, day.day, 2, 0, place % 60, tzinfo=UTC)
            row = {"capture_id": f"{day}{domain}{path}", "url": f"https://{domain}{path}", "fetch_time": fetched}
            status = statuses.get(path, 304 if path in carried else 200)
            body = carried.get(path, row["capture_id"])
            pages.append({**row, "body_capture_id": body, "fetch_status": status, "text": text, "text_sha256": text_sha256(text)})
            payload = None if path in carried else f"sha-of-{text}"
            captures.append({**row, "kind": "page", "fetch_status": status, "outcome": "ok", "payload_sha256": payload})
        tables.commit(lake, "pages", partition, pages)
        tables.commit(lake, "captures", partition, captures)
        return partition

    return write
