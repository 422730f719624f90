"""What every asset of the house shares: partitions, backfill policy, owners, column schemas, code versions."""

from collections.abc import Callable, Sequence
from typing import Any

import dagster as dg

from trawl_assets.checks import Check
from trawl_assets.partitions import crawl_dates, date_domain, fan_in
from trawl_assets.preview import column_schema
from trawl_core.lake.schemas import TABLES

BATCH = 25
OWNERS = ["team:trawl"]

# The daily assets follow their upstreams once those, and what those wait for, have settled: a batch that is half way through
# its assets builds no index twice. `eager()` would stop firing when a domain is added.
settled = (
    dg.AutomationCondition.any_deps_updated().since(dg.AutomationCondition.newly_requested() | dg.AutomationCondition.newly_updated())
    & ~dg.AutomationCondition.any_deps_in_progress()
    & ~dg.AutomationCondition.any_deps_match(dg.AutomationCondition.any_deps_in_progress())
    & ~dg.AutomationCondition.in_progress()
).with_label("settled")


def table_metadata(table: str) -> dict[str, Any]:
    return {"dagster/column_schema": column_schema(table), "dagster/table_name": table}


def domain_asset(
    table: str,
    *,
    group: str,
    kinds: set[str],
    deps: Sequence[dg.AssetsDefinition] = (),
    version: str = "1",
    checks: Sequence[Check] = (),
) -> Callable[..., dg.AssetsDefinition]:
    """Decorator for an asset of one crawl date × domain whose table is `table`; its body reports `checks`."""
    name = "warc_snapshot" if table == "captures" else table
    return dg.asset(
        name=name,
        description=TABLES[table].doc,
        partitions_def=date_domain,
        backfill_policy=dg.BackfillPolicy.multi_run(BATCH),
        group_name=group,
        kinds=kinds,
        owners=OWNERS,
        deps=list(deps),
        code_version=version,
        metadata=table_metadata(table),
        check_specs=[check.spec(name) for check in checks],
    )


def date_asset(
    name: str,
    *,
    group: str,
    kinds: set[str],
    table: str | None = None,
    description: str,
    per_domain: Sequence[dg.AssetsDefinition],
    same_date: Sequence[dg.AssetsDefinition] = (),
    version: str = "1",
    checks: Sequence[Check] = (),
) -> Callable[..., dg.AssetsDefinition]:
    """Decorator for an asset of one crawl date; `per_domain` upstreams fan in over their domains."""
    return dg.asset(
        name=name,
        description=description,
        partitions_def=crawl_dates,
        backfill_policy=dg.BackfillPolicy.multi_run(BATCH),
        group_name=group,
        kinds=kinds,
        owners=OWNERS,
        deps=[*(dg.AssetDep(asset, partition_mapping=fan_in) for asset in per_domain), *same_date],
        code_version=version,
        metadata=table_metadata(table) if table else {},
        check_specs=[check.spec(name) for check in checks],
        automation_condition=settled,
    )
