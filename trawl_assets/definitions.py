"""The code location that workspace.yaml names."""

from __future__ import annotations

import dagster as dg

from trawl_assets.assets import catalog, changes, crawl, duplicates, extraction, search
from trawl_assets.jobs import daily, nightly, refresh_catalog, reprocess
from trawl_assets.resources import Trawl
from trawl_assets.schedules import nightly_recrawl
from trawl_assets.sensors import automation, carry_on, recrawl_sensor, site_registry

defs = dg.Definitions(
    assets=dg.load_assets_from_modules([crawl, extraction, duplicates, changes, search, catalog]),
    jobs=[nightly, reprocess, daily, refresh_catalog],
    schedules=[nightly_recrawl],
    sensors=[site_registry, recrawl_sensor, carry_on, automation],
    resources={"trawl": Trawl()},
    executor=dg.in_process_executor,
)
