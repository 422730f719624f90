"""A real night in this process: what is built, what is shown, what one broken site costs the others."""

from __future__ import annotations

import dagster as dg

from trawl_assets.jobs import DAILY, NIGHTLY, REPROCESS
from trawl_core.lake import Partition, tables


def test_a_site_that_is_down_fails_alone(crawled) -> None:
    for asset in REPROCESS:
        assert crawled.built(asset) == set(crawled.hosts), asset
    assert crawled.built("warc_snapshot") == set(crawled.hosts)
    for asset in DAILY:
        assert crawled.instance.get_materialized_partitions(dg.AssetKey(asset)) == {str(crawled.night)}, asset
    assert crawled.instance.get_latest_materialization_event(dg.AssetKey("catalog"))


def test_metadata_says_what_a_partition_holds(crawled) -> None:
    host = crawled.hosts[0]
    shown = crawled.metadata("pages", host)
    assert shown["dagster/row_count"] == tables.count(crawled.lake, "pages", Partition(crawled.night, host)) == 6
    assert shown["bytes"] > 0
    assert shown["stage_seconds"] > 0
    assert "| url | title |" in shown["sample"]
    assert "page-3" in shown["sample"]
    assert crawled.metadata("warc_snapshot", host)["dagster/row_count"] >= 6


def test_a_backfill_builds_the_same_bytes(crawled) -> None:
    host = crawled.hosts[1]
    names = [crawled.lake.table_name(table, Partition(crawled.night, host)) for table in REPROCESS]
    before = {name: crawled.lake.local_path(name).read_bytes() for name in names}
    assert crawled.run("reprocess", host).success
    assert {name: crawled.lake.local_path(name).read_bytes() for name in names} == before


def test_a_past_date_without_archive_fails_with_what_to_do(crawled, monkeypatch) -> None:
    monkeypatch.setenv("TRAWL_NOW", crawled.moment(4, "02:00:00"))
    crawled.write_sites(crawled.site("127.0.41.8"))
    result = crawled.run("nightly", "127.0.41.8")
    assert not result.success
    [failure] = [event for event in result.all_events if event.is_step_failure]
    assert "Pages can only be fetched today" in failure.step_failure_data.user_failure_data.description


def test_a_past_date_with_archive_is_left_as_it_is(crawled, monkeypatch) -> None:
    monkeypatch.setenv("TRAWL_NOW", crawled.moment(4, "02:00:00"))
    host = crawled.hosts[0]
    archive = crawled.warc_file(host).read_bytes()
    assert crawled.run("nightly", host, assets=["crawl_plan", "warc_snapshot"]).success
    assert crawled.warc_file(host).read_bytes() == archive
    assert "nothing was fetched" in crawled.metadata("warc_snapshot", host)["note"]


def test_a_group_is_one_partition_of_many_domains(place, servers) -> None:
    place.write_sites(*(place.site(host, server.port, group="nets") for host, server in servers.items()))
    assert place.instance.get_dynamic_partitions("domain") == ["@nets"]
    result = place.run("nightly", "@nets")
    assert result.success
    for asset in NIGHTLY:
        assert place.built(asset) == {"@nets"}
    assert place.metadata("pages", "@nets")["dagster/row_count"] == 12
    for host in place.hosts:
        assert tables.count(place.lake, "pages", Partition(place.night, host)) == 6


def test_a_group_fails_with_the_name_of_the_domain(place, servers) -> None:
    host = place.hosts[0]
    place.write_sites(place.site(host, servers[host].port, group="nets"), place.site(place.down, group="nets"))
    result = place.run("nightly", "@nets")
    [failure] = [event for event in result.all_events if event.is_step_failure]
    assert failure.step_key == "warc_snapshot"
    assert f"@nets: {place.down}: " in failure.step_failure_data.user_failure_data.description
