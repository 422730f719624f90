"""After a batch in which some domains failed: which assets of the other domains are still to be built.

Dagster skips everything below a failed step. A domain that the failed step did finish is carried on in a run of its
own, so that one broken site holds back no other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import dagster as dg

from trawl_assets.jobs import NIGHTLY, nightly, reprocess
from trawl_assets.partitions import covered, keys_behind, ranges


@dataclass(frozen=True)
class Rest:
    """Run tags (a partition range) and the assets to build for it."""

    assets: tuple[str, ...]
    tags: dict[str, str]

    @property
    def job(self) -> str:
        return nightly.name if "warc_snapshot" in self.assets else reprocess.name


def rest_of(instance: dg.DagsterInstance, run: dg.DagsterRun) -> list[Rest]:
    """What to carry on after a failed run: nothing when nothing finished in its failed steps."""
    keys = keys_behind(instance, run.tags)
    built = _built(instance, run)
    failed = {
        record.event_log_entry.step_key
        for record in instance.get_records_for_run(run.run_id, of_type=dg.DagsterEventType.STEP_FAILURE).records
    }
    if len(keys) < 2 or not failed:
        return []
    selected = [name for name in NIGHTLY if not run.asset_selection or dg.AssetKey(name) in run.asset_selection]
    wanted: dict[tuple[tuple[str, ...], date], list[str]] = {}
    for key in keys:
        if not all(str(key) in built.get(step or "", set()) for step in failed):
            continue
        missing = tuple(name for name in selected if str(key) not in built.get(name, set()))
        if missing:
            wanted.setdefault((missing, key.crawl_date), []).append(key.domain_key)
    return [Rest(assets, tags) for (assets, day), domains in wanted.items() for tags in ranges(instance, domains, day)]


def _built(instance: dg.DagsterInstance, run: dg.DagsterRun) -> dict[str, set[str]]:
    built: dict[str, set[str]] = {}
    for record in instance.get_records_for_run(run.run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION).records:
        event = record.event_log_entry.dagster_event
        if event and event.asset_key and event.partition:
            built.setdefault(event.asset_key.to_user_string(), set()).add(event.partition)
    return built


def failures_of(instance: dg.DagsterInstance, run_id: str) -> list[str]:
    """Why a run failed: one entry for each failed step, for a person."""
    reasons: list[str] = []
    for record in instance.get_records_for_run(run_id, of_type=dg.DagsterEventType.STEP_FAILURE).records:
        event = record.event_log_entry.dagster_event
        data = event.step_failure_data if event else None
        if data and data.user_failure_data and data.user_failure_data.description:
            reasons.append(f"{event.step_key}: {data.user_failure_data.description}")
        elif data and data.error:
            cause = data.error.cause or data.error
            reasons.append(f"{event.step_key}: {cause.message.strip()}")
    return reasons


def names(rest: Sequence[Rest]) -> str:
    return ", ".join(covered(one.tags) for one in rest)
