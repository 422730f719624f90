"""Warning checks: each is seen to fail, and fails nothing else."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from trawl_assets.alerts import cluster_share, error_rate, index_holds_chunks, oldest_page, page_count
from trawl_core.lake import Lake, Partition, tables
from trawl_core.search.manifest import manifest_name
from trawl_core.sites import parse_sites

DAY = date(2024, 3, 2)
DOMAIN = "docs.example.org"
CONFIG = parse_sites(
    "user_agent: 'TrawlBot/1.0 (+https://example.org/bot)'\n"
    f"sites: [{{domain: {DOMAIN}, seeds: ['https://{DOMAIN}/'], recrawl: {{max_age_days: 7}}}}]"
)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


def commit_report(lake: Lake, **values: object) -> None:
    tables.commit(lake, "crawl_report", Partition(DAY), [{"domain": DOMAIN, "origin": None, **values}])


def test_error_rate(lake: Lake) -> None:
    commit_report(lake, error_rate=0.5, errors_by_kind=[("timeout", 5)])
    assert error_rate(lake, DAY) == []
    commit_report(lake, error_rate=0.75, errors_by_kind=[("dns_error", 1), ("timeout", 5)])
    assert error_rate(lake, DAY) == [f"{DOMAIN}: 75% of the attempts failed (5 × timeout, 1 × dns_error)"]


def test_oldest_page(lake: Lake) -> None:
    commit_report(lake, oldest_page_days=8.9)
    assert oldest_page(lake, DAY, CONFIG) == []
    commit_report(lake, oldest_page_days=9.1)
    [problem] = oldest_page(lake, DAY, CONFIG)
    assert "9.1 days ago, max_age_days is 7" in problem


def test_the_age_of_a_page_of_a_site_that_was_taken_out_has_the_usual_limit(lake: Lake) -> None:
    tables.commit(lake, "crawl_report", Partition(DAY), [{"domain": "old.example.org", "origin": None, "oldest_page_days": 31.0}])
    assert oldest_page(lake, DAY, CONFIG) == []


def commit_history(lake: Lake, day: date, pages: int) -> None:
    seen = datetime.combine(day, datetime.min.time(), UTC)
    rows = [{"url": f"https://{DOMAIN}/{number}", "last_ok_at": seen, "state": "active"} for number in range(pages)]
    tables.commit(lake, "url_history", Partition(day, DOMAIN), rows)


@pytest.mark.parametrize(("before", "now", "problems"), [(100, 80, 0), (100, 79, 1), (5, 1, 0), (5, 0, 1), (100, 120, 0), (0, 0, 0)])
def test_page_count(lake: Lake, before: int, now: int, problems: int) -> None:
    commit_history(lake, DAY - timedelta(days=3), before)
    commit_history(lake, DAY, now)
    found = page_count(lake, Partition(DAY, DOMAIN))
    assert found == [f"{DOMAIN}: {now} pages are left of {before} on its previous night"][:problems]


def test_the_first_night_lost_nothing(lake: Lake) -> None:
    commit_history(lake, DAY, 3)
    assert page_count(lake, Partition(DAY, DOMAIN)) == []


def commit_corpus(lake: Lake, pages: int, copies: int) -> None:
    urls = [f"https://{DOMAIN}/{number}" for number in range(pages)]
    seen = datetime.combine(DAY, datetime.min.time(), UTC)
    tables.commit(
        lake, "pages", Partition(DAY, DOMAIN), [{"url": url, "capture_id": url, "fetch_time": seen, "fetch_status": 200} for url in urls]
    )
    members = [
        {"url": url, "domain": DOMAIN, "cluster_id": "c", "representative_url": urls[0], "relation": "exact"} for url in urls[:copies]
    ]
    tables.commit(lake, "duplicates", Partition(DAY), members)


@pytest.mark.parametrize(("pages", "copies", "problems"), [(30, 6, 0), (30, 7, 1), (8, 4, 0), (8, 5, 1)])
def test_cluster_share(lake: Lake, pages: int, copies: int, problems: int) -> None:
    commit_corpus(lake, pages, copies)
    assert cluster_share(lake, DAY) == [f"{DOMAIN}: {copies} of {pages} pages are copies of https://{DOMAIN}/0"][:problems]


def test_an_index_without_a_chunk_of_the_corpus(crawled) -> None:
    assert index_holds_chunks(crawled.lake, crawled.night) == []
    manifest = crawled.lake.local_path(manifest_name(crawled.night))
    fields = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**fields, "chunks": fields["chunks"] - 1}))
    [problem] = index_holds_chunks(crawled.lake, crawled.night)
    assert f"holds {fields['chunks'] - 1} of {fields['chunks']} chunks" in problem


def test_chunks_that_were_never_built_are_a_warning_in_dagster(crawled) -> None:
    host = crawled.hosts[0]
    crawled.lake.local_path(crawled.lake.table_name("chunks", Partition(crawled.night, host))).unlink()
    result = crawled.run("daily", assets=["faiss_index"], partition_key=str(crawled.night))
    assert result.success
    shown = crawled.checks(result)["faiss_index.index_holds_chunks"]
    assert (shown.passed, shown.blocking, shown.severity) == (False, False, dg.AssetCheckSeverity.WARN)
    assert f"{host}: chunks of {crawled.night} were not built" in shown.metadata["problems"].value


def test_the_report_warns_of_the_site_that_was_down(crawled) -> None:
    shown = crawled.last_check("crawl_report", "error_rate")
    assert (shown.passed, shown.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert f"{crawled.down}: 100% of the attempts failed" in shown.metadata["problems"].value
    assert crawled.last_check("crawl_report", "oldest_page").passed
