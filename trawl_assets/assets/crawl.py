"""Group crawl: what to fetch tonight, and the fetch itself."""

import dagster as dg
from pydantic import Field

from trawl_assets.assets.specs import domain_asset
from trawl_assets.batches import Outcomes, caught, per_partition, report
from trawl_assets.checks import ARCHIVE_VERIFIES, matches_schema
from trawl_assets.cost import Meter
from trawl_assets.partitions import Key
from trawl_assets.progress import ProgressLog
from trawl_assets.resources import Trawl
from trawl_core.fetch.crawl import CrawlJob, crawl
from trawl_core.lake import Partition
from trawl_core.recrawl.stage import build_plan

CHECKS = (ARCHIVE_VERIFIES, matches_schema("captures"))


class CrawlConfig(dg.Config):
    """What a person may set for one run in the launchpad."""

    refetch: bool = Field(default=False, description="Fetch everything again although it was fetched today; earlier captures stay.")
    threads: int = Field(default=16, ge=1, le=64, description="Threads that fetch; politeness per site does not depend on it.")
    processes: int | None = Field(
        default=None,
        ge=1,
        le=64,
        description="Processes with so many threads each, among which the domains are spread; None: as sites.yaml says.",
    )


@domain_asset("crawl_plan", group="crawl", kinds={"polars", "parquet"})
def crawl_plan(context: dg.AssetExecutionContext, trawl: Trawl) -> dg.MaterializeResult:
    return per_partition(
        context, trawl, lambda partition: build_plan(trawl.lake, partition, trawl.config.site(partition.domain), trawl.clock)
    )


@domain_asset("captures", group="crawl", kinds={"python", "warc", "parquet"}, deps=[crawl_plan], checks=CHECKS)
def warc_snapshot(context: dg.AssetExecutionContext, config: CrawlConfig, trawl: Trawl) -> dg.MaterializeResult:
    outcomes = Outcomes()
    jobs: dict[Partition, tuple[str, CrawlJob]] = {}
    meter = Meter(trawl.clock)
    for text in context.partition_keys:
        with caught(context, outcomes, text):
            for partition in Key.parse(text).partitions(trawl.config):
                jobs[partition] = (text, CrawlJob(partition, trawl.config.site(partition.domain)))
    finished = crawl(
        [job for _, job in jobs.values()],
        lake=trawl.lake,
        work=trawl.home.work,
        config=trawl.config,
        clock=trawl.clock,
        threads=config.threads,
        processes=config.processes,
        refetch=config.refetch,
        on_progress=ProgressLog(context.log, trawl.clock),
    )
    for partition, outcome in finished.items():
        key = jobs[partition][0]
        if outcome.result is not None:
            outcomes.add(key, outcome.result)
        with caught(context, outcomes, key, partition):
            if outcome.error is not None:
                raise outcome.error
    whole = meter.cost()
    outcomes.costs = {key: whole.share(1 / len(outcomes.results)) for key in outcomes.results}
    return report(context, trawl, outcomes, CHECKS)
