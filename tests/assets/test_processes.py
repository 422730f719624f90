"""A night whose domains are spread over several processes, as sites.yaml says."""

from __future__ import annotations

import json

from trawl_core.lake import Partition, tables


def test_processes_of_sites_yaml_are_used_by_a_run(place, servers) -> None:
    place.write_sites(*(place.site(host, server.port) for host, server in servers.items()))
    place.home.sites_file.write_text(json.dumps({**json.loads(place.home.sites_file.read_text()), "processes": 2}))
    result = place.run("nightly", *place.hosts, assets=["crawl_plan", "warc_snapshot"])
    assert result.success
    assert place.built("warc_snapshot") == set(place.hosts)
    for host in place.hosts:
        assert place.metadata("warc_snapshot", host)["dagster/row_count"] == tables.count(
            place.lake, "captures", Partition(place.night, host)
        )
        assert place.metadata("warc_snapshot", host)["fetched"] == 6
    # A WARC file has its process in its name.
    assert len({place.warc_file(host).name.split("-")[3].partition("~")[0] for host in place.hosts}) == 2
