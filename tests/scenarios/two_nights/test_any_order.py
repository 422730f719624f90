"""Derived tables thrown away and built again, the second night before the first: the same bytes as those of the nightly runs."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from trawl_core.changes.stage import detect_changes
from trawl_core.dedup.stage import find_duplicates, fingerprint_pages
from trawl_core.extract.stage import ExtractorPool, extract_pages
from trawl_core.extract.structured_stage import extract_structured
from trawl_core.lake import Lake, Partition
from trawl_core.recrawl.health import report_night
from trawl_core.recrawl.stage import update_url_history
from trawl_core.search.index import build_index
from trawl_core.search.stage import embed_chunks
from trawl_core.sites import SitesConfig, load_sites

if TYPE_CHECKING:
    from conftest import World

pytestmark = pytest.mark.xdist_group("two_nights")
ARCHIVED = ("warc", "captures", "frontier_log", "crawl_plan", "locks")


def _contents(root: Path) -> Iterator[tuple[str, str]]:
    """Name and digest of each derived file; of `pages` without the durations, which were measured anew."""
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_dir() or name.split("/")[0] in ARCHIVED:
            continue
        if name.startswith("pages/"):
            yield name, repr(pl.read_parquet(path, hive_partitioning=False).drop("extract_ms").rows())
        else:
            yield name, hashlib.sha256(path.read_bytes()).hexdigest()


def _build(lake: Lake, partition: Partition, config: SitesConfig, work: Path, pool: ExtractorPool) -> None:
    site = config.site(str(partition.domain))
    extract_pages(lake, partition, site, pool=pool)
    extract_structured(lake, partition, site)
    fingerprint_pages(lake, partition)
    detect_changes(lake, partition)
    update_url_history(lake, partition, site)
    embed_chunks(lake, partition, work=work)


def test_the_order_of_building_makes_no_difference(world: World, tmp_path: Path) -> None:
    made = Path(world.home.lake_url)
    copy = tmp_path / "lake"
    shutil.copytree(made, copy, ignore=lambda folder, names: [name for name in names if folder == str(made) and name not in ARCHIVED])
    lake, config = Lake(copy), load_sites(world.home.sites_file)
    captured = lake.partitions("captures")
    with ExtractorPool() as pool:
        for day in sorted({partition.crawl_date for partition in captured}, reverse=True):
            for partition in reversed(captured):
                if partition.crawl_date == day:
                    _build(lake, partition, config, world.home.work, pool)
            find_duplicates(lake, day)
            build_index(lake, day)
            report_night(lake, day, config, work=world.home.work)
    assert dict(_contents(copy)) == dict(_contents(made))
