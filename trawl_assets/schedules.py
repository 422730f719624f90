"""The nightly schedule: at 02:00 UTC one run for each batch of domains, for the crawl date that has just begun."""

import dagster as dg

from trawl_assets.jobs import nightly
from trawl_assets.partitions import domain_keys, ranges, register
from trawl_assets.resources import Trawl


@dg.schedule(
    job=nightly,
    cron_schedule="0 2 * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Crawls every enabled site of sites.yaml, many domains a run.",
)
def nightly_recrawl(context: dg.ScheduleEvaluationContext, trawl: Trawl) -> list[dg.RunRequest] | dg.SkipReason:
    keys = domain_keys(trawl.config)
    if not keys:
        return dg.SkipReason("sites.yaml names no site yet: `trawl sites add URL` adds one.")
    register(context.instance, trawl.config)
    crawl_date = context.scheduled_execution_time.date()
    return [
        dg.RunRequest(run_key=f"nightly|{crawl_date}|{number}", tags={**tags, "trawl/crawl_date": crawl_date.isoformat()})
        for number, tags in enumerate(ranges(context.instance, keys, crawl_date))
    ]
