"""nightly_recrawl: which runs it asks for at 02:00 UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import dagster as dg

from trawl_assets.definitions import defs
from trawl_assets.jobs import nightly
from trawl_assets.resources import Trawl
from trawl_assets.schedules import nightly_recrawl


def evaluate(place: Any, when: datetime) -> Any:
    with dg.build_schedule_context(
        instance=place.instance, scheduled_execution_time=when, repository_def=defs.get_repository_def(), resources={"trawl": Trawl()}
    ) as context:
        return nightly_recrawl.evaluate_tick(context)


def test_it_runs_at_two_utc_from_the_start() -> None:
    assert (nightly_recrawl.cron_schedule, nightly_recrawl.execution_timezone) == ("0 2 * * *", "UTC")
    assert nightly_recrawl.default_status == dg.DefaultScheduleStatus.RUNNING
    assert nightly_recrawl.job_name == nightly.name


def test_it_asks_for_every_enabled_site_in_as_few_runs_as_possible(place) -> None:
    place.write_sites(*(place.site(f"127.0.42.{number}") for number in range(1, 5)))
    place.write_sites(
        place.site("127.0.42.9"),
        *(place.site(f"127.0.42.{number}", enabled=number != 2) for number in range(4, 0, -1)),
    )
    when = datetime(2024, 3, 1, 2, tzinfo=UTC)
    requests = evaluate(place, when).run_requests
    assert [covers(request) for request in requests] == [
        ("2024-03-01|127.0.42.1", "2024-03-01|127.0.42.1"),
        ("2024-03-01|127.0.42.3", "2024-03-01|127.0.42.9"),
    ]
    assert {request.tags["trawl/crawl_date"] for request in requests} == {"2024-03-01"}
    assert len({request.run_key for request in requests}) == 2
    assert [request.run_key for request in evaluate(place, when).run_requests] == [request.run_key for request in requests]


def covers(request: dg.RunRequest) -> tuple[str, str]:
    tags = request.tags
    single = tags.get("dagster/partition")
    return (single, single) if single else (tags["dagster/asset_partition_range_start"], tags["dagster/asset_partition_range_end"])


def test_many_sites_are_cut_into_batches(place) -> None:
    place.write_sites(*(place.site(f"127.0.42.{number}") for number in range(1, 41)))
    requests = evaluate(place, datetime(2024, 3, 1, 2, tzinfo=UTC)).run_requests
    assert [covers(request)[1].rpartition(".")[2] for request in requests] == ["25", "40"]


def test_a_new_site_is_registered_and_crawled_the_same_night(place) -> None:
    place.home.sites_file.write_text(
        place.home.sites_file.read_text().replace("sites: []", "sites: [{domain: a.test, seeds: ['https://a.test/']}]")
    )
    [request] = evaluate(place, datetime(2024, 3, 1, 2, tzinfo=UTC)).run_requests
    assert covers(request) == ("2024-03-01|a.test", "2024-03-01|a.test")
    assert place.instance.get_dynamic_partitions("domain") == ["a.test"]


def test_without_a_site_it_says_how_to_add_one(place) -> None:
    tick = evaluate(place, datetime(2024, 3, 1, 2, tzinfo=UTC))
    assert not tick.run_requests
    assert "trawl sites add" in tick.skip_message
