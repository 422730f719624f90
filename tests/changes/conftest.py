"""Nights as the crawl and the extraction write them: captures, pages, blocks and structured data of one domain."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
import xxhash

from trawl_core.changes.stage import detect_changes
from trawl_core.lake import Lake, Partition, tables
from trawl_core.lake.comparison import text_sha256

FIRST = date(2026, 11, 1)
DOMAIN = "a.test"


@dataclass(frozen=True)
class Answer:
    """What the server said for a path; `body` names the payload, by default it follows from the blocks."""

    blocks: Sequence[str] = ()
    status: int | None = 200
    aside: Sequence[str] = ()
    title: str | None = "Title"
    canonical: str | None = None
    items: Sequence[dict[str, Any]] | None = None
    redirect: str | None = None
    outcome: str = "ok"
    etag: str | None = None
    body: str | None = None
    extractor_version: str = "1"
    truncated: str | None = None
    body_of: int | None = None
    """Number of the night whose capture holds the body (a revisit)."""


def url(path: str) -> str:
    return f"https://{DOMAIN}{path}"


@pytest.fixture
def answer() -> type[Answer]:
    return Answer


@pytest.fixture
def lake(tmp_path) -> Lake:
    return Lake(tmp_path / "lake")


@pytest.fixture
def write_night(lake) -> Callable[..., Partition]:
    """write_night(number, {path: Answer}, structured=True): the tables of night `number` (0 is the first)."""

    def write(number: int, answers: dict[str, Answer], structured: bool = True) -> Partition:
        day = FIRST + timedelta(days=number)
        partition = Partition(day, DOMAIN)
        captures, pages, blocks, items = [], [], [], []
        for place, (path, said) in enumerate(answers.items()):
            row = {
                "capture_id": f"{number}{path}",
                "url": url(path),
                "fetch_time": datetime(day.year, day.month, day.day, 2, tzinfo=UTC) + timedelta(seconds=place),
                "fetch_status": said.status,
            }
            digest = said.body or repr((said.blocks, said.aside, said.items, said.title, said.canonical))
            captures.append(
                {
                    **row,
                    "kind": "page",
                    "outcome": said.outcome,
                    "payload_sha256": None if said.status == 304 else digest,
                    "fetch_redirect": said.redirect and url(said.redirect),
                    "etag": said.etag,
                    "content_truncated": said.truncated,
                }
            )
            if said.status is None or said.redirect:
                continue
            body = row["capture_id"] if said.body_of is None else f"{said.body_of}{path}"
            text = "\n".join(said.blocks)
            page = {"body_capture_id": body, "final_url": row["url"], "title": said.title, "canonical_hint": said.canonical}
            pages.append({**row, **page, "text": text, "text_sha256": text_sha256(text), "extractor_version": said.extractor_version})
            head = {"url": row["url"], "capture_id": row["capture_id"]}
            for position, (block, main) in enumerate([(block, True) for block in said.blocks] + [(block, False) for block in said.aside]):
                blocks.append(
                    {**head, "position": position, "hash": xxhash.xxh3_64_intdigest(block.encode()), "text": block, "in_main": main}
                )
            for position, item in enumerate(said.items or ()):
                fields = json.dumps(item, sort_keys=True)
                items.append({**head, "position": position, "syntax": "json-ld", "type": item["@type"], "fields": fields, "valid": True})
        tables.commit(lake, "captures", partition, captures)
        tables.commit(lake, "pages", partition, pages)
        tables.commit(lake, "page_blocks", partition, blocks)
        if structured:
            tables.commit(lake, "structured_data", partition, items)
        return partition

    return write


@pytest.fixture
def changes_of(lake, write_night) -> Callable[..., dict[str, dict[str, Any]]]:
    """changes_of([{path: Answer}, …]): writes the nights, detects each, gives the last one's rows by path."""

    def detect(nights: Sequence[dict[str, Answer]]) -> dict[str, dict[str, Any]]:
        partitions = [write_night(number, answers) for number, answers in enumerate(nights)]
        for partition in partitions:
            detect_changes(lake, partition)
        rows = tables.read(lake, "changes", partitions[-1]).to_pylist()
        found = {row["url"].removeprefix(url("")): row for row in rows}
        assert len(found) == len(rows)
        return found

    return detect
