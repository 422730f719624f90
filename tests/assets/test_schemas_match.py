"""A selector schema that finds nothing on its pages is a warning in the UI; nothing stops for it."""

from __future__ import annotations

import dagster as dg


def test_a_schema_that_matches_nothing_warns_with_its_pages(crawled, servers, monkeypatch) -> None:
    monkeypatch.setenv("TRAWL_NOW", crawled.moment(1, "02:00:00"))
    stale, fine = crawled.hosts
    schema = {"pattern": "/page-", "page_type": "page", "selectors": {"title": {"css": "h1.renamed"}}}
    found = {**schema, "selectors": {"title": {"css": "h1"}}}
    crawled.write_sites(
        *(crawled.site(host, servers[host].port, extraction=[one]) for host, one in ((stale, schema), (fine, found))),
        crawled.site(crawled.down),
    )
    result = crawled.run("reprocess", stale, fine, assets=["structured_data"])
    assert result.success
    check = crawled.last_check("structured_data", "schemas_match")
    assert (check.passed, check.blocking, check.severity) == (False, False, dg.AssetCheckSeverity.WARN)
    told = check.metadata["problems"].value
    assert f"{crawled.night}|{stale}: schema page (/page-): no selector matched on any of its pages: http://{stale}" in told
    assert fine not in told
