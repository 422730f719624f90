"""Sensors: sites.yaml → partitions, plans → run requests, finished domains of a failed batch → the rest of their night."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time

import dagster as dg

from trawl_assets.carry_on import names, rest_of
from trawl_assets.jobs import nightly, reprocess
from trawl_assets.partitions import Key, covered, domain_keys, domains, domains_of, imported_keys, keys_behind, ranges, register
from trawl_assets.resources import Trawl
from trawl_core.clock import crawl_date
from trawl_core.lake import Partition
from trawl_core.recrawl.stage import due_tonight

NIGHT_STARTS = time(2, 30, tzinfo=UTC)
ATTEMPTS = 2
MOST_RUNS = 6
REASON = "dagster/failure_reason"
NEWEST_RUNS = 500
UNFINISHED = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


@dg.sensor(
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Makes each site of sites.yaml, and each domain of imported WARC files, a partition. A site that was taken out keeps "
    "its partition and is not crawled.",
)
def site_registry(context: dg.SensorEvaluationContext, trawl: Trawl) -> dg.SensorResult | dg.SkipReason:
    known = set(context.instance.get_dynamic_partitions("domain"))
    new = [key for key in dict.fromkeys([*domain_keys(trawl.config), *imported_keys(trawl.lake, trawl.config)]) if key not in known]
    if not new:
        return dg.SkipReason("every site of sites.yaml is a partition.")
    return dg.SensorResult(
        dynamic_partitions_requests=[domains.build_add_request(new)],
        skip_reason=dg.SkipReason(f"new partitions: {', '.join(new)}."),
    )


@dg.sensor(
    job=nightly,
    minimum_interval_seconds=300,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Asks for today's crawl of each domain of which something is due and which no run has taken yet: new sites, "
    "nights that the machine slept through, and crawls that failed.",
)
def recrawl_sensor(context: dg.SensorEvaluationContext, trawl: Trawl) -> dg.SensorResult | dg.SkipReason:
    now = trawl.clock.now()
    today = crawl_date(trawl.clock)
    if now < datetime.combine(today, NIGHT_STARTS):
        return dg.SkipReason(f"the nightly schedule comes first; this sensor looks after {NIGHT_STARTS:%H:%M} UTC.")
    register(context.instance, trawl.config)
    runs = runs_of(context.instance, today)
    requested: dict[str, int] = {}
    reasons = []
    for key in domain_keys(trawl.config):
        partition_key = str(Key(today, key))
        due = sum(due_tonight(trawl.lake, Partition(today, domain), trawl.config.site(domain)) for domain in domains_of(key, trawl.config))
        if partition_key in runs.taken:
            reasons.append(f"{key}: a run is at it")
        elif _crawled(context.instance, partition_key):
            reasons.append(f"{key}: crawled today")
        elif partition_key in runs.canceled:
            reasons.append(f"{key}: a person canceled it today; launch it by hand, or wait for tomorrow")
        elif runs.failed[partition_key] >= ATTEMPTS:
            reasons.append(f"{key}: failed {runs.failed[partition_key]} times today, tomorrow again")
        elif runs.ended[partition_key] >= MOST_RUNS:
            reasons.append(f"{key}: stopped {runs.ended[partition_key]} times today, tomorrow again")
        elif not due:
            reasons.append(f"{key}: nothing is due")
        else:
            requested[key] = runs.ended[partition_key]
    if not requested:
        return dg.SkipReason("; ".join(reasons) or "sites.yaml names no site yet.")
    requests = []
    for tags in ranges(context.instance, list(requested), today):
        attempt = max(requested[key.domain_key] for key in keys_behind(context.instance, tags))
        run_key = f"recrawl|{covered(tags)}|{attempt}"  # Dagster never takes a key twice
        requests.append(dg.RunRequest(run_key=run_key, tags={**tags, "trawl/crawl_date": today.isoformat()}))
    return dg.SensorResult(run_requests=requests)


def _crawled(instance: dg.DagsterInstance, partition_key: str) -> bool:
    return bool(
        instance.fetch_materializations(
            dg.AssetRecordsFilter(asset_key=dg.AssetKey("warc_snapshot"), asset_partitions=[partition_key]), limit=1
        ).records
    )


@dataclass
class RunsOfToday:
    """By partition key: those of unfinished runs, how many nightly runs ended without success, how many of these for a
    reason of their own (the others were killed, or stopped with `make dev`), and those that a person canceled."""

    taken: set[str] = field(default_factory=set)
    ended: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    canceled: set[str] = field(default_factory=set)


def runs_of(instance: dg.DagsterInstance, today: date) -> RunsOfToday:
    runs = RunsOfToday()
    for run in instance.get_runs(dg.RunsFilter(statuses=UNFINISHED)):
        runs.taken.update(str(key) for key in keys_behind(instance, run.tags))
    over = dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED], job_name=nightly.name)
    for run in instance.get_runs(over, limit=NEWEST_RUNS):
        keys = [str(key) for key in keys_behind(instance, run.tags) if key.crawl_date == today]
        runs.ended.update(keys)
        if run.status == dg.DagsterRunStatus.CANCELED:
            runs.canceled.update(keys)
        elif run.tags.get(REASON) == "STEP_FAILURE":
            runs.failed.update(keys)
    return runs


@dg.run_failure_sensor(
    request_jobs=[nightly, reprocess],
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=15,
    description="Carries on with the finished domains of a batch in which another one failed.",
)
def carry_on(context: dg.RunFailureSensorContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
    rest = rest_of(context.instance, context.dagster_run)
    if not rest:
        yield dg.SkipReason("nothing of the failed run is left to carry on with.")
    for number, one in enumerate(rest):
        context.log.info(f"carrying on with {names([one])}: {', '.join(one.assets)}")
        yield dg.RunRequest(
            run_key=f"carry-on|{context.dagster_run.run_id}|{number}",
            job_name=one.job,
            tags=one.tags,
            asset_selection=[dg.AssetKey(name) for name in one.assets],
        )


automation = dg.AutomationConditionSensorDefinition(
    "automation",
    target=dg.AssetSelection.all(),
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=30,
    description="Builds the daily assets and the catalog once the domains they depend on have settled.",
)
