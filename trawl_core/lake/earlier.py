"""Derived partitions may be built in any order: what a partition reads of earlier dates is built first where it is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from trawl_core.lake import tables
from trawl_core.lake.layout import Lake, Partition
from trawl_core.lake.tables import StageResult


def missing_before(lake: Lake, table: str, source: str, partition: Partition) -> list[Partition]:
    """Partitions of the same domain, before that date, that `source` has and `table` has not; oldest first."""
    have = set(tables.dates_of(lake, table, partition.domain, before=partition.crawl_date))
    days = tables.dates_of(lake, source, partition.domain, before=partition.crawl_date)
    return [Partition(day, partition.domain) for day in days if day not in have]


def build_after_earlier(
    lake: Lake, table: str, source: str, partition: Partition, build: Callable[[Partition], StageResult]
) -> StageResult:
    """`build(partition)`, after `build` of each earlier partition that its `source` has and `table` lacks.

    Without this, a page that was archived before would seem new to a later date that happens to be built first. The fact
    `built_earlier` names those dates; it is there only when there are some.
    """
    earlier = missing_before(lake, table, source, partition)
    for one in earlier:
        build(one)
    result = build(partition)
    if not earlier:
        return result
    return replace(result, facts={**result.facts, "built_earlier": [str(one.crawl_date) for one in earlier]})
