"""One place that turns stage results into Dagster's events, for a run over one partition or over a range.

Finished partitions are shown as materialized, each with its own metadata; failed ones as failed, each with its reason;
neither hides the other.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import dagster as dg

from trawl_assets import progress
from trawl_assets.checks import Check
from trawl_assets.cost import Cost, Meter
from trawl_assets.partitions import SEPARATOR, Key
from trawl_assets.preview import stage_metadata
from trawl_assets.resources import Trawl
from trawl_core.errors import TrawlError
from trawl_core.lake import Partition
from trawl_core.lake.tables import StageResult

SHOWN_PROBLEMS = 50


@dataclass
class Outcomes:
    """Per partition key: the stage results that it got, the reasons why it failed, and what it cost."""

    results: dict[str, list[StageResult]] = field(default_factory=dict)
    reasons: dict[str, list[str]] = field(default_factory=dict)
    costs: dict[str, Cost] = field(default_factory=dict)

    def add(self, key: str, result: StageResult) -> None:
        self.results.setdefault(key, []).append(result)

    def fail(self, key: str, reason: str) -> None:
        self.reasons.setdefault(key, []).append(reason)

    def finished(self) -> list[str]:
        return [key for key in self.results if key not in self.reasons]


def per_partition(
    context: dg.AssetExecutionContext, trawl: Trawl, work: Callable[[Partition], StageResult], checks: Sequence[Check] = ()
) -> dg.MaterializeResult:
    """Run `work` for each partition of this run and report each on its own; raises Failure when one failed."""
    outcomes = Outcomes()
    for text in context.partition_keys:
        meter = Meter(trawl.clock)
        with caught(context, outcomes, text):
            for partition in Key.parse(text).partitions(trawl.config):
                with caught(context, outcomes, text, partition):
                    outcomes.add(text, work(partition))
        outcomes.costs[text] = meter.cost()
    return report(context, trawl, outcomes, checks)


def per_date(
    context: dg.AssetExecutionContext, trawl: Trawl, work: Callable[[date], StageResult], checks: Sequence[Check] = ()
) -> dg.MaterializeResult:
    """Like `per_partition`, for an asset of one crawl date."""
    outcomes = Outcomes()
    for text in context.partition_keys:
        meter = Meter(trawl.clock)
        with caught(context, outcomes, text):
            outcomes.add(text, work(date.fromisoformat(text)))
        outcomes.costs[text] = meter.cost()
    return report(context, trawl, outcomes, checks)


class caught:
    """Turns what went wrong for one partition into its reason; a programming error also leaves its traceback in the log."""

    def __init__(self, context: dg.AssetExecutionContext, outcomes: Outcomes, key: str, partition: Partition | None = None) -> None:
        self._context, self._outcomes, self._key = context, outcomes, key
        self._where = f"{partition.domain}: " if partition and Key.parse(key).domain_key != partition.domain else ""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, Exception):
            return False
        if isinstance(error, TrawlError):
            self._outcomes.fail(self._key, f"{self._where}{error}")
        else:
            self._context.log.error("".join(traceback.format_exception(error)))
            self._outcomes.fail(self._key, f"{self._where}{type(error).__name__}: {error}")
        return True


def report(context: dg.AssetExecutionContext, trawl: Trawl, outcomes: Outcomes, checks: Sequence[Check] = ()) -> dg.MaterializeResult:
    """Dagster's events for `outcomes`: metadata for each finished partition; where one failed, a Failure that names each reason.

    What a blocking check finds fails its partition; what another one finds is shown as a warning.
    """
    found = [_run_check(trawl, outcomes, check) for check in checks]
    _tell(context, outcomes)
    if outcomes.reasons:
        for key in outcomes.finished():
            context.log_event(dg.AssetMaterialization(context.asset_key, partition=key, metadata=_metadata(trawl, key, outcomes)))
        for check, result in zip(checks, found, strict=True):
            context.log_event(_evaluation(context, check, result))
        raise _failure(outcomes, len(context.partition_keys))
    for key in outcomes.finished():
        context.add_asset_metadata(_metadata(trawl, key, outcomes), partition_key=key)
    return dg.MaterializeResult(check_results=found)


def _tell(context: dg.AssetExecutionContext, outcomes: Outcomes) -> None:
    done = outcomes.finished()
    if not done:
        return
    rows = sum(result.committed[0].rows for key in done for result in outcomes.results[key] if result.committed)
    seconds = sum(outcomes.costs[key].seconds for key in done if key in outcomes.costs)
    progress.built(context.asset_key.to_user_string(), len(done), rows, seconds)


def _run_check(trawl: Trawl, outcomes: Outcomes, check: Check) -> dg.AssetCheckResult:
    problems: list[str] = []
    for key in outcomes.finished():
        own = [problem for partition in _partitions(trawl, key) for problem in _problems(trawl, check, partition)]
        if own and check.blocking:
            outcomes.fail(key, f"check {check.name}: {own[0]}" + (f" (and {len(own) - 1} more)" if len(own) > 1 else ""))
        problems += [f"{key}: {problem}" for problem in own]
    hidden = len(problems) - SHOWN_PROBLEMS
    lines = [f"- {problem}" for problem in problems[:SHOWN_PROBLEMS]] + ([f"- and {hidden} more"] if hidden > 0 else [])
    return dg.AssetCheckResult(
        passed=not problems,
        check_name=check.name,
        severity=dg.AssetCheckSeverity.ERROR if check.blocking else dg.AssetCheckSeverity.WARN,
        metadata={"problems": dg.MetadataValue.md("\n".join(lines) or "none")},
    )


def _problems(trawl: Trawl, check: Check, partition: Partition) -> Iterator[str]:
    try:
        yield from check.look(trawl, partition)
    except TrawlError as error:
        yield str(error)


def _evaluation(context: dg.AssetExecutionContext, check: Check, result: dg.AssetCheckResult) -> dg.AssetCheckEvaluation:
    return dg.AssetCheckEvaluation(
        asset_key=context.asset_key,
        check_name=check.name,
        passed=result.passed,
        severity=result.severity,
        metadata=result.metadata,
        blocking=check.blocking,
    )


def _failure(outcomes: Outcomes, keys: int) -> dg.Failure:
    lines = [f"{key}: {'; '.join(reasons)}" for key, reasons in outcomes.reasons.items()]
    head = f"{len(lines)} of {keys} partitions failed" if keys > 1 else "the partition failed"
    return dg.Failure(
        description=f"{head}. " + "\n".join(lines),
        metadata={"failed": dg.MetadataValue.md("\n".join(f"- {line}" for line in lines))},
        allow_retries=False,
    )


def _partitions(trawl: Trawl, key: str) -> list[Partition]:
    return Key.parse(key).partitions(trawl.config) if SEPARATOR in key else [Partition(date.fromisoformat(key))]


def _metadata(trawl: Trawl, key: str, outcomes: Outcomes) -> dict[str, Any]:
    cost = outcomes.costs.get(key)
    return {**stage_metadata(trawl.lake, outcomes.results[key], _partitions(trawl, key)), **(cost.metadata() if cost else {})}
