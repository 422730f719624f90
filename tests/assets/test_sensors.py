"""site_registry, recrawl_sensor and carry_on, tick by tick."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import dagster as dg
import pytest

from trawl_assets.jobs import REPROCESS, nightly
from trawl_assets.partitions import ranges
from trawl_assets.resources import Trawl
from trawl_assets.sensors import carry_on, recrawl_sensor, site_registry

Tick = Callable[..., Any]


@pytest.fixture
def tick(monkeypatch: pytest.MonkeyPatch) -> Tick:
    """Evaluates a sensor once, at a UTC time of the night's day."""

    def evaluate(place: Any, sensor: dg.SensorDefinition, time: str = "03:30:00") -> Any:
        monkeypatch.setenv("TRAWL_NOW", place.moment(0, time))
        with dg.build_sensor_context(instance=place.instance, resources={"trawl": Trawl()}) as context:
            return sensor.evaluate_tick(context)

    return evaluate


def add_run(place: Any, domains: list[str], status: dg.DagsterRunStatus, reason: str = "STEP_FAILURE") -> None:
    [tags] = ranges(place.instance, domains, place.night)
    if status == dg.DagsterRunStatus.FAILURE:
        tags["dagster/failure_reason"] = reason
    place.instance.add_run(dg.DagsterRun(job_name=nightly.name, run_id=str(uuid.uuid4()), status=status, tags=tags))


def test_site_registry_makes_partitions_and_never_deletes_one(place, tick: Tick) -> None:
    place.write_sites(place.site("127.0.43.1"))
    assert tick(place, site_registry).skip_message == "every site of sites.yaml is a partition."
    text = place.home.sites_file.read_text()
    place.home.sites_file.write_text(text.replace("127.0.43.1", "127.0.43.2"))
    found = tick(place, site_registry)
    [request] = found.dynamic_partitions_requests
    assert (request.partitions_def_name, request.partition_keys) == ("domain", ["127.0.43.2"])
    assert found.skip_message == "new partitions: 127.0.43.2."


def test_before_half_past_two_the_schedule_comes_first(place, tick: Tick) -> None:
    place.write_sites(place.site("127.0.43.1"))
    assert "the nightly schedule comes first" in tick(place, recrawl_sensor, "02:29:59").skip_message
    assert tick(place, recrawl_sensor, "02:30:00").run_requests


def test_a_slept_through_night_is_caught_up_with(place, tick: Tick) -> None:
    place.write_sites(*(place.site(f"127.0.43.{number}") for number in range(1, 4)))
    [request] = tick(place, recrawl_sensor).run_requests
    assert request.tags == {
        "dagster/asset_partition_range_start": f"{place.night}|127.0.43.1",
        "dagster/asset_partition_range_end": f"{place.night}|127.0.43.3",
        "trawl/crawl_date": str(place.night),
        "dagster/sensor_name": "recrawl_sensor",
    }
    assert request.run_key.endswith("|0")


def test_each_domain_has_its_own_reason(place, tick: Tick) -> None:
    names = [f"127.0.43.{number}" for number in range(1, 7)]
    running, twice, once, canceled, off, new = names
    place.write_sites(*(place.site(name, enabled=name != off) for name in names))
    add_run(place, [running], dg.DagsterRunStatus.STARTED)
    for _ in range(2):
        add_run(place, [twice], dg.DagsterRunStatus.FAILURE)
    add_run(place, [once], dg.DagsterRunStatus.FAILURE)
    add_run(place, [canceled], dg.DagsterRunStatus.CANCELED)
    found = {request.tags["dagster/partition/domain"]: request.run_key for request in tick(place, recrawl_sensor).run_requests}
    assert found == {once: f"recrawl|{place.night}|{once}|1", new: f"recrawl|{place.night}|{new}|0"}
    for name in (once, new):
        add_run(place, [name], dg.DagsterRunStatus.NOT_STARTED)
    assert tick(place, recrawl_sensor).skip_message == "; ".join(
        [
            f"{running}: a run is at it",
            f"{twice}: failed 2 times today, tomorrow again",
            f"{once}: a run is at it",
            f"{canceled}: a person canceled it today; launch it by hand, or wait for tomorrow",
            f"{new}: a run is at it",
        ]
    )


def test_a_run_that_was_stopped_resumes_but_not_for_ever(place, tick: Tick) -> None:
    place.write_sites(place.site("127.0.43.1"))
    for number in range(6):
        [request] = tick(place, recrawl_sensor).run_requests
        assert request.run_key == f"recrawl|{place.night}|127.0.43.1|{number}"
        add_run(place, ["127.0.43.1"], dg.DagsterRunStatus.FAILURE, "UNEXPECTED_TERMINATION")
    assert tick(place, recrawl_sensor).skip_message == "127.0.43.1: stopped 6 times today, tomorrow again"


def test_yesterdays_failures_do_not_count(place, tick: Tick, monkeypatch: pytest.MonkeyPatch) -> None:
    place.write_sites(place.site("127.0.43.1"))
    for _ in range(2):
        add_run(place, ["127.0.43.1"], dg.DagsterRunStatus.FAILURE)
    assert tick(place, recrawl_sensor).skip_message
    monkeypatch.setenv("TRAWL_NOW", place.moment(1, "03:00:00"))
    with dg.build_sensor_context(instance=place.instance, resources={"trawl": Trawl()}) as context:
        [request] = recrawl_sensor.evaluate_tick(context).run_requests
    assert request.run_key.endswith("|0")


def test_after_a_night_only_the_site_that_was_down_is_asked_for(crawled, tick: Tick) -> None:
    [request] = tick(crawled, recrawl_sensor).run_requests
    assert request.tags["dagster/partition/domain"] == crawled.down
    assert request.run_key.endswith("|1")
    assert not crawled.run("nightly", crawled.down).success
    message = tick(crawled, recrawl_sensor).skip_message
    assert (
        message
        == f"{crawled.hosts[0]}: crawled today; {crawled.hosts[1]}: crawled today; {crawled.down}: failed 2 times today, tomorrow again"
    )


def failure_tick(place: Any, result: dg.ExecuteInProcessResult) -> list[dg.RunRequest]:
    """What carry_on asks for after a failed run."""
    [event] = [event for event in result.all_events if event.event_type == dg.DagsterEventType.RUN_FAILURE]
    run = place.instance.get_run_by_id(result.run_id)
    with dg.build_run_status_sensor_context(carry_on.name, event, place.instance, run) as context:
        return [request for request in carry_on(context.for_run_failure()) if isinstance(request, dg.RunRequest)]


def test_the_finished_domains_of_a_failed_batch_are_carried_on(place, servers) -> None:
    place.write_sites(*(place.site(host, servers[host].port) for host in place.hosts), place.site(place.down))
    [request] = failure_tick(place, place.run("nightly", *place.hosts, place.down, assets=["crawl_plan", "warc_snapshot", *REPROCESS]))
    assert request.job_name == "reprocess"
    assert {key.to_user_string() for key in request.asset_selection} == set(REPROCESS)
    assert request.tags == {
        "dagster/asset_partition_range_start": f"{place.night}|{place.hosts[0]}",
        "dagster/asset_partition_range_end": f"{place.night}|{place.hosts[1]}",
    }
    assert place.run("reprocess", *place.hosts, assets=["pages"]).success


def test_a_plan_that_fails_holds_back_no_other_domain(place) -> None:
    bad, good = "127.0.43.1", "127.0.43.2"
    place.write_sites(place.site(bad), place.site(good))
    folder = place.lake.local_path(f"url_history/crawl_date=2020-01-01/domain={bad}")
    folder.mkdir(parents=True)
    (folder / "part.parquet").write_bytes(b"PAR1 no more")
    result = place.run("nightly", bad, good)
    assert place.built("crawl_plan") == {good}
    [request] = failure_tick(place, result)
    assert request.job_name == "nightly"
    assert {key.to_user_string() for key in request.asset_selection} == {"warc_snapshot", *REPROCESS}
    assert request.tags["dagster/partition"] == f"{place.night}|{good}"


def test_a_single_failed_domain_leaves_nothing_to_carry_on(place) -> None:
    place.write_sites(place.site(place.down))
    assert failure_tick(place, place.run("nightly", place.down)) == []
