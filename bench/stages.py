"""What each stage of a night cost, read from the materializations that its assets left in the home's Dagster instance."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

COLUMNS = {"rows": "dagster/row_count", "seconds": "stage_seconds", "cpu_s": "stage_cpu_seconds", "peak_rss_mb": "stage_peak_rss_mb"}


def stage_rows(dagster_home: Path, since: float, until: float) -> list[dict[str, Any]]:
    """One row per asset materialized between two moments (seconds since 1970), in the order in which they ended.

    Partitions of one asset are summed, memory is their largest; None where an asset gave no such figure.
    """
    import dagster as dg

    os.environ["DAGSTER_HOME"] = str(dagster_home)
    rows: dict[str, dict[str, Any]] = {}
    with dg.DagsterInstance.get() as instance:
        found = []
        for key in instance.get_asset_keys():
            wanted = dg.AssetRecordsFilter(asset_key=key, after_timestamp=since, before_timestamp=until)
            found += instance.fetch_materializations(wanted, limit=1000).records
        for record in sorted(found, key=lambda record: record.timestamp):
            if (made := record.asset_materialization) is not None:
                name = made.asset_key.to_user_string()
                figures = {column: _number(made.metadata.get(source)) for column, source in COLUMNS.items()}
                rows[name] = {"stage": name, **_sum(rows.get(name), figures)}
    return list(rows.values())


def _number(value: Any) -> float | int | None:
    return getattr(value, "value", value)


def _sum(before: dict[str, Any] | None, figures: dict[str, Any]) -> dict[str, Any]:
    if before is None:
        return figures
    pairs = {name: [value for value in (before[name], figures[name]) if value is not None] for name in COLUMNS}
    return {name: (max if name == "peak_rss_mb" else sum)(values) if values else None for name, values in pairs.items()}
