"""One place that turns stage results into Dagster's events, for a run over one partition or over a range.

Finished partitions are shown as materialized, each with its own metadata; failed ones as failed, each with its reason;
neither hides the other.
"""

from __future__ import annotations

import resource
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import dagster as dg
import pyarrow as pa

from trawl_assets import progress
from trawl_assets.partitions import SEPARATOR, Key
from trawl_assets.resources import Trawl
from trawl_core.clock import Clock
from trawl_core.errors import TrawlError
from trawl_core.lake import Lake, Partition, tables
from trawl_core.lake.schemas import TABLES
from trawl_core.lake.tables import StageResult

SAMPLE_ROWS = 5
SAMPLE_COLUMNS = 7
CELL_CHARS = 70


@dataclass(frozen=True)
class Cost:
    """What one piece of work took: wall and CPU seconds (ended child processes included), peak RSS so far in MB."""

    seconds: float
    cpu_seconds: float
    peak_rss_mb: float

    def metadata(self) -> dict[str, dg.MetadataValue]:
        return {
            "stage_seconds": dg.MetadataValue.float(round(self.seconds, 3)),
            "stage_cpu_seconds": dg.MetadataValue.float(round(self.cpu_seconds, 3)),
            "stage_peak_rss_mb": dg.MetadataValue.float(round(self.peak_rss_mb, 1)),
        }


class Meter:
    """Reads the process's meters: `Meter(clock).cost()` is what was spent since it was made."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wall = clock.monotonic()
        self._cpu = _cpu_seconds()

    def cost(self) -> Cost:
        peak_kb = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return Cost(self._clock.monotonic() - self._wall, _cpu_seconds() - self._cpu, peak_kb / 1024)


def _cpu_seconds() -> float:
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


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


Check = Callable[[Lake, Partition], list[str]]


def per_partition(
    context: dg.AssetExecutionContext, trawl: Trawl, work: Callable[[Partition], StageResult], checks: Mapping[str, Check] | None = None
) -> dg.MaterializeResult:
    """Run `work` for each partition of this run and report each on its own; raises Failure when one failed.

    `checks` are blocking asset checks by name: a problem that one of them names fails its partition.
    """
    outcomes = Outcomes()
    for text in context.partition_keys:
        meter = Meter(trawl.clock)
        with caught(context, outcomes, text):
            for partition in Key.parse(text).partitions(trawl.config):
                with caught(context, outcomes, text, partition):
                    outcomes.add(text, work(partition))
        outcomes.costs[text] = meter.cost()
    return report(context, trawl, outcomes, checks)


def per_date(context: dg.AssetExecutionContext, trawl: Trawl, work: Callable[[date], StageResult]) -> dg.MaterializeResult:
    """Like `per_partition`, for an asset of one crawl date."""
    outcomes = Outcomes()
    for text in context.partition_keys:
        meter = Meter(trawl.clock)
        with caught(context, outcomes, text):
            outcomes.add(text, work(date.fromisoformat(text)))
        outcomes.costs[text] = meter.cost()
    return report(context, trawl, outcomes)


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


def report(
    context: dg.AssetExecutionContext, trawl: Trawl, outcomes: Outcomes, checks: Mapping[str, Check] | None = None
) -> dg.MaterializeResult:
    """Dagster's events for `outcomes`: metadata for each finished partition; where one failed, a Failure that names each reason."""
    found = _run_checks(context, trawl, outcomes, checks or {})
    if outcomes.reasons:
        _tell(context, outcomes)
        for key in outcomes.finished():
            context.log_event(dg.AssetMaterialization(context.asset_key, partition=key, metadata=_metadata(context, trawl, key, outcomes)))
        for result in found:
            context.log_event(_evaluation(context, result))
        raise _failure(outcomes, len(context.partition_keys))
    _tell(context, outcomes)
    for key in outcomes.finished():
        context.add_asset_metadata(_metadata(context, trawl, key, outcomes), partition_key=key)
    return dg.MaterializeResult(check_results=found)


def _tell(context: dg.AssetExecutionContext, outcomes: Outcomes) -> None:
    done = outcomes.finished()
    rows = sum(result.committed[0].rows for key in done for result in outcomes.results[key] if result.committed)
    progress.built(
        context.asset_key.to_user_string(), len(done), rows, sum(outcomes.costs[key].seconds for key in done if key in outcomes.costs)
    )


def _run_checks(
    context: dg.AssetExecutionContext, trawl: Trawl, outcomes: Outcomes, checks: Mapping[str, Check]
) -> list[dg.AssetCheckResult]:
    found = []
    for name, check in checks.items():
        problems: list[str] = []
        for key in outcomes.finished():
            partitions = Key.parse(key).partitions(trawl.config)
            own = [f"{partition.domain}: {problem}" for partition in partitions for problem in check(trawl.lake, partition)]
            if own:
                outcomes.fail(key, f"check {name}: {own[0]}" + (f" (and {len(own) - 1} more)" if len(own) > 1 else ""))
            problems += own
        metadata = {"problems": dg.MetadataValue.md("\n".join(f"- {problem}" for problem in problems[:50]) or "none")}
        found.append(dg.AssetCheckResult(passed=not problems, check_name=name, metadata=metadata))
    return found


def _evaluation(context: dg.AssetExecutionContext, result: dg.AssetCheckResult) -> dg.AssetCheckEvaluation:
    return dg.AssetCheckEvaluation(
        asset_key=context.asset_key, check_name=result.check_name or "", passed=result.passed, metadata=result.metadata, blocking=True
    )


def _failure(outcomes: Outcomes, keys: int) -> dg.Failure:
    lines = [f"{key}: {'; '.join(reasons)}" for key, reasons in outcomes.reasons.items()]
    head = f"{len(lines)} of {keys} partitions failed" if keys > 1 else "the partition failed"
    return dg.Failure(
        description=f"{head}. " + "\n".join(lines),
        metadata={"failed": dg.MetadataValue.md("\n".join(f"- {line}" for line in lines))},
        allow_retries=False,
    )


def _metadata(context: dg.AssetExecutionContext, trawl: Trawl, key: str, outcomes: Outcomes) -> dict[str, Any]:
    partitions = Key.parse(key).partitions(trawl.config) if SEPARATOR in key else [Partition(date.fromisoformat(key))]
    cost = outcomes.costs.get(key)
    return {**stage_metadata(trawl.lake, outcomes.results[key], partitions), **(cost.metadata() if cost else {})}


def stage_metadata(lake: Lake, results: Iterable[StageResult], partitions: Iterable[Partition]) -> dict[str, Any]:
    """Row count, bytes, facts and sample rows of stage results for the UI."""
    results = list(results)
    metadata: dict[str, Any] = dict(_facts(results))
    main = [result.committed[0] for result in results if result.committed]
    if main:
        metadata["dagster/row_count"] = sum(committed.rows for committed in main)
        metadata["bytes"] = sum(committed.bytes for result in results for committed in result.committed)
        table = main[0].name.split("/", 1)[0]
        if table in TABLES:
            metadata["sample"] = dg.MetadataValue.md(sample_rows(lake, table, partitions))
        for committed in (extra for result in results for extra in result.committed[1:]):
            metadata[f"{committed.name.split('/', 1)[0]}_rows"] = committed.rows
    return metadata


def _facts(results: list[StageResult]) -> Iterator[tuple[str, Any]]:
    merged: dict[str, list[Any]] = {}
    for result in results:
        for name, value in result.facts.items():
            merged.setdefault(name, []).append(value)
    for name, values in merged.items():
        if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
            yield name, sum(values)
        elif len(values) == 1 and isinstance(values[0], (str, int, float)):
            yield name, values[0]
        elif len(values) == 1 and isinstance(values[0], Mapping):
            yield name, dg.MetadataValue.json({str(key): value for key, value in values[0].items()})
        else:
            yield name, dg.MetadataValue.md("\n".join(f"- {value}" for value in values))


def sample_rows(lake: Lake, table: str, partitions: Iterable[Partition]) -> str:
    """The first rows of the partitions as a Markdown table: the table's first columns with a value, long cells cut."""
    for partition in partitions:
        data = tables.read(lake, table, partition).slice(0, SAMPLE_ROWS)
        if data.num_rows:
            return markdown_table(data.drop_columns([name for name in ("crawl_date", "domain") if name in data.column_names]))
    return "no rows"


def markdown_table(data: pa.Table) -> str:
    columns = [
        name for name in data.column_names if data.column(name).null_count < data.num_rows and not _is_bulky(data.schema.field(name).type)
    ]
    columns = columns[:SAMPLE_COLUMNS]
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join(_cell(row[name]) for name in columns) + " |" for row in data.select(columns).to_pylist()]
    return "\n".join(lines)


def _is_bulky(kind: pa.DataType) -> bool:
    return pa.types.is_nested(kind) or pa.types.is_binary(kind)


def _cell(value: object) -> str:
    text = "" if value is None else " ".join(str(value).split()).replace("|", "\\|")
    return text if len(text) <= CELL_CHARS else f"{text[: CELL_CHARS - 1]}…"


def column_schema(table: str) -> dg.TableSchema:
    """A table's columns with their documentation, as Dagster shows them."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(field.name, str(field.type), (field.metadata or {}).get(b"doc", b"").decode()) for field in TABLES[table].schema
        ]
    )
