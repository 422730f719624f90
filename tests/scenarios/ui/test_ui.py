"""What a person sees and does in the Dagster UI of `make dev`: one test, since the UI takes its time to start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trawl_assets.jobs import DAILY, NIGHTLY, REPROCESS
from trawl_core.lake import Lake

ASSETS = (*NIGHTLY, *DAILY, "catalog")
BACKFILL = """
mutation ($params: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $params) { ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } }
}"""
BACKFILL_STATUS = "query ($id: String!) { partitionBackfillOrError(backfillId: $id) { ... on PartitionBackfill { status } } }"
LAUNCH = """
mutation ($params: ExecutionParams!) {
  launchRun(executionParams: $params) { ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } }
}"""
RUN_STATUS = "query ($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"
REPOSITORY = {"repositoryLocationName": "trawl", "repositoryName": "__repository__"}
TICKS = """
query ($in: RepositorySelector!) {
  sensorsOrError(repositorySelector: $in) {
    ... on Sensors { results { name sensorState { status ticks(limit: 20) { status error { message } } } } }
  }
  schedulesOrError(repositorySelector: $in) { ... on Schedules { results { name scheduleState { status } } } }
}"""


def partition_of(ui: Any) -> tuple[str, str]:
    [partition] = Lake(ui.root / "lake").partitions("pages")
    return str(partition.crawl_date), str(partition.domain)


def test_the_ui(ui, browse, tmp_path: Path) -> None:
    a_launched_night_and_a_backfill_turn_green(ui)
    schedule_and_sensors_run_without_error_or_noise(ui)
    with browse() as page:
        every_asset_is_in_the_graph(ui, page, tmp_path)
        a_partition_shows_its_rows(ui, page, tmp_path)


def every_asset_is_in_the_graph(ui: Any, page: Any, tmp_path: Path) -> None:
    page.goto(f"{ui.url}/asset-groups")
    page.get_by_text("extraction", exact=True).first.wait_for()
    page.keyboard.press("Alt+KeyE")  # opens every group
    page.wait_for_url("**expanded=**")
    for name in ASSETS:
        page.get_by_text(name, exact=True).first.wait_for()
    page.screenshot(path=tmp_path / "asset-graph.png")
    assert (tmp_path / "asset-graph.png").stat().st_size > 20_000


def a_partition_shows_its_rows(ui: Any, page: Any, tmp_path: Path) -> None:
    day, domain = partition_of(ui)
    page.goto(f"{ui.url}/assets/pages?view=partitions&partition={day}%7C{domain}")
    page.get_by_text("dagster/row_count").wait_for()
    row = page.locator("tr", has_text="dagster/row_count")
    assert row.inner_text().split()[-1] == "4"
    for title in ("Harbour", "Pier 0", "Pier 2"):
        page.locator("td", has_text=title).last.wait_for()
    assert page.get_by_text("Materialized (1)").count() == 1
    page.screenshot(path=tmp_path / "pages.png")
    page.goto(f"{ui.url}/assets/pages?view=checks")
    page.get_by_text("pages_lead_to_records").first.wait_for()


def a_launched_night_and_a_backfill_turn_green(ui: Any) -> None:
    day, domain = partition_of(ui)
    tags = {"dagster/partition": f"{day}|{domain}", "dagster/partition/crawl_date": day, "dagster/partition/domain": domain}
    params = {
        "selector": {**REPOSITORY, "jobName": "nightly"},
        "mode": "default",
        "runConfigData": {},
        "executionMetadata": {"tags": [{"key": key, "value": value} for key, value in tags.items()]},
    }
    run = ui.graphql(LAUNCH, params=params)["launchRun"]["run"]["runId"]
    selection = {"assetSelection": [{"path": [name]} for name in REPROCESS], "partitionNames": [f"{day}|{domain}"], "tags": []}
    backfill = ui.graphql(BACKFILL, params=selection)["launchPartitionBackfill"]["backfillId"]

    def run_ended() -> str | None:
        status = ui.graphql(RUN_STATUS, id=run)["runOrError"]["status"]
        return status if status in ("SUCCESS", "FAILURE", "CANCELED") else None

    def backfill_ended() -> str | None:
        status = ui.graphql(BACKFILL_STATUS, id=backfill)["partitionBackfillOrError"]["status"]
        return None if status == "REQUESTED" else status

    assert ui.wait_for("the end of the run", run_ended) == "SUCCESS"
    assert ui.wait_for("the end of the backfill", backfill_ended) == "COMPLETED_SUCCESS"


def schedule_and_sensors_run_without_error_or_noise(ui: Any) -> None:
    def all_ticked() -> list[dict[str, Any]] | None:
        sensors = ui.graphql(TICKS, **{"in": REPOSITORY})["sensorsOrError"]["results"]
        return sensors if all(sensor["sensorState"]["ticks"] for sensor in sensors) else None

    sensors = ui.wait_for("a tick of each sensor", all_ticked)
    assert {sensor["name"] for sensor in sensors} == {"site_registry", "recrawl_sensor", "carry_on", "automation"}
    assert [tick["error"] for sensor in sensors for tick in sensor["sensorState"]["ticks"] if tick["status"] == "FAILURE"] == []
    [schedule] = ui.graphql(TICKS, **{"in": REPOSITORY})["schedulesOrError"]["results"]
    assert (schedule["name"], schedule["scheduleState"]["status"]) == ("nightly_recrawl", "RUNNING")
    printed = ui.log.read_text()
    assert "Ctrl-C stops it" in printed
    assert not [word for word in ("Warning", "WARNING", "ERROR", "Traceback", "DEBUG") if word in printed], printed
