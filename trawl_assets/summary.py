"""The night in one row a site: fetched, 304, changed, duplicates, chunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date
from typing import Any

from trawl_core.lake import Lake, Partition, tables

USEFUL = {"new", "content", "structured", "metadata", "reappeared", "reverted"}


def night_summary(lake: Lake, crawl_date: date, domains: Sequence[str]) -> list[dict[str, Any]]:
    """Counts of one crawl date, read from the tables."""
    clusters = tables.read(lake, "duplicates", Partition(crawl_date), ["domain", "relation"]).to_pylist()
    members = Counter(row["domain"] for row in clusters if row["relation"] != "representative")
    return [_row(lake, Partition(crawl_date, domain), members[domain]) for domain in domains]


def _row(lake: Lake, partition: Partition, duplicates: int) -> dict[str, Any]:
    captures = tables.read(lake, "captures", partition, ["outcome", "kind", "fetch_status"]).to_pylist()
    events = Counter(tables.read(lake, "changes", partition, ["event"]).column("event").to_pylist())
    pages = [row for row in captures if row["kind"] == "page"]
    return {
        "site": partition.domain,
        "fetched": sum(row["outcome"] in ("ok", "truncated") for row in pages),
        "304": sum(row["outcome"] == "not_modified" for row in pages),
        "denied": sum(row["outcome"] == "robots_denied" for row in pages),
        "errors": sum(row["outcome"] not in ("ok", "truncated", "not_modified", "robots_denied") for row in pages),
        "new": events["new"],
        "changed": sum(count for event, count in events.items() if event in USEFUL - {"new"}),
        "template": events["template"],
        "moved": events["moved"],
        "gone": events["gone"] + events["soft_gone"],
        "duplicates": duplicates,
        "chunks": tables.count(lake, "chunks", partition) or 0,
    }
