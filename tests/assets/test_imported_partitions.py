"""What an import brought is a partition, whether sites.yaml names it or not."""

from __future__ import annotations

from datetime import date
from typing import Any

import dagster as dg
import pytest

from trawl_assets.partitions import first_crawl_date, imported_keys
from trawl_assets.resources import Trawl
from trawl_assets.sensors import site_registry
from trawl_core.warc.imported import ImportedFile, write_manifest

IMPORTED = ImportedFile(
    source="crawl.warc.gz",
    sha256="ab" * 32,
    bytes=1,
    name="warc/imported/abababababababab/crawl.warc.gz",
    form="as it is",
    stored_sha256="ab" * 32,
    imported_at="2026-11-30T00:00:00+00:00",
    crawl_date=None,
    only=None,
    records={},
    passed_over={},
    partitions=(("2013-02-03", "old.example.org"), ("2014-02-03", "127.0.43.1"), ("2014-02-03", "127.0.43.2")),
)


def test_imported_domains_and_days_are_partitions(place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    place.write_sites(place.site("127.0.43.1", group="small"), place.site("127.0.43.2", enabled=False))
    write_manifest(place.lake, IMPORTED)
    assert imported_keys(place.lake, place.config) == ["127.0.43.2", "@small", "old.example.org"]
    assert first_crawl_date(place.home, place.config) == date(2013, 2, 3)
    monkeypatch.setenv("TRAWL_NOW", place.moment(0, "03:00:00"))
    with dg.build_sensor_context(instance=place.instance, resources={"trawl": Trawl()}) as context:
        found = site_registry.evaluate_tick(context)
    [request] = found.dynamic_partitions_requests
    assert set(request.partition_keys) >= {"127.0.43.2", "old.example.org"}
