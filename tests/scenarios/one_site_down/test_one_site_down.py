"""Sites that nobody serves beside good ones, in one `trawl crawl`."""

from __future__ import annotations

import socket

import dagster as dg
import pytest
from dagster._core.storage.partition_status_cache import AssetPartitionStatus

from trawl_core.clock import SystemClock, crawl_date

PER_DOMAIN = ("warc_snapshot", "pages", "structured_data", "fingerprints", "changes", "url_history", "chunks")
PER_DATE = ("duplicates", "faiss_index", "crawl_report")


@pytest.fixture
def closed_port():
    """A port of every loopback address on which nobody listens, held so that nobody else takes it."""
    with socket.socket() as holder:
        holder.bind(("0.0.0.0", 0))
        yield holder.getsockname()[1]


def _fill(site) -> None:
    for path, other in (("/", "/other"), ("/other", "/")):
        site.routes[path] = (
            site.page(other) + f"<main><h1>On {path}</h1><p>The page {path} of {site.host} says what it says.</main>".encode()
        )


def _instance(home) -> dg.DagsterInstance:
    return dg.DagsterInstance.from_config(str(home.root / "dagster_home"))


def _built(instance: dg.DagsterInstance, asset: str) -> set[str]:
    return set(instance.get_materialized_partitions(dg.AssetKey(asset)))


def _reasons(instance: dg.DagsterInstance) -> str:
    """What a person reads in the UI below the failed steps."""
    events = [
        record.event_log_entry.dagster_event
        for run in instance.get_runs()
        for record in instance.get_records_for_run(run.run_id, of_type=dg.DagsterEventType.STEP_FAILURE).records
    ]
    return "\n".join(event.step_failure_data.user_failure_data.description for event in events)


def test_all_others_are_complete(serve, new_home, closed_port) -> None:
    good = [serve(), serve()]
    for site in good:
        _fill(site)
    # First, in the middle and last in the order of the partitions.
    down = [f"127.0.1.{number}" for number in (1, 2, 3)]
    dead_seeds = {host: f"http://{host}:{closed_port}/" for host in down}
    seeds = {down[0]: dead_seeds[down[0]], good[0].host: f"{good[0].root}/", down[1]: dead_seeds[down[1]], good[1].host: f"{good[1].root}/"}
    home = new_home()
    home.write_sites({**seeds, down[2]: dead_seeds[down[2]]})
    done = home.trawl("crawl")
    assert done.returncode == 1
    told = done.stderr[done.stderr.index("failed: ") :]
    for host in down:
        assert host in told
    assert told.count("refused") == len(down)
    today = crawl_date(SystemClock())
    complete = {f"{today}|{site.host}" for site in good}
    failed = {f"{today}|{host}" for host in down}
    with _instance(home) as instance:
        for asset in PER_DOMAIN:
            assert _built(instance, asset) == complete, asset
        for asset in PER_DATE:
            assert _built(instance, asset) == {str(today)}, asset
        assert instance.get_latest_materialization_event(dg.AssetKey("catalog"))
        shown = instance.get_status_by_partition(dg.AssetKey("warc_snapshot"), sorted(complete | failed), _date_domain(instance, today))
        assert {key for key, status in shown.items() if status == AssetPartitionStatus.MATERIALIZED} == complete
        assert {key for key, status in shown.items() if status == AssetPartitionStatus.FAILED} == failed
        reasons = _reasons(instance)
        assert all(host in reasons for host in down)
        assert "refused" in reasons
    pages = home.table("pages")
    assert {row["url"] for row in pages} == {site.root + path for site in good for path in site.routes}
    assert {row["url"] for row in home.table("chunks")} == {row["url"] for row in pages}
    assert {row["event"] for row in home.table("changes")} == {"new"}
    assert "sound" in home.passes("verify")


def test_a_night_on_which_every_site_is_down_ends_with_a_reason_for_each(new_home, closed_port) -> None:
    hosts = ["127.0.1.4", "127.0.1.5"]
    home = new_home()
    home.write_sites({host: f"http://{host}:{closed_port}/" for host in hosts})
    done = home.trawl("crawl")
    assert done.returncode == 1
    told = done.stderr[done.stderr.index("failed: ") :]
    assert [line.split()[1] for line in told.splitlines() if line.startswith("failed: ")] == ["warc_snapshot:"]
    assert all(host in told for host in hosts)
    assert told.count("refused") == len(hosts)
    with _instance(home) as instance:
        for asset in PER_DATE:
            assert len(_built(instance, asset)) == 1, asset
    assert home.passes("verify")


def _date_domain(instance: dg.DagsterInstance, today) -> dg.MultiPartitionsDefinition:
    dates = dg.DailyPartitionsDefinition(start_date=today.isoformat(), timezone="UTC", end_offset=1)
    return dg.MultiPartitionsDefinition({"crawl_date": dates, "domain": dg.DynamicPartitionsDefinition(name="domain")})
