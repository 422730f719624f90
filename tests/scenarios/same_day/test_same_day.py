"""A partition run again: the same day it resumes, another day it is refused or left alone."""

from __future__ import annotations

from datetime import timedelta

import pytest

from trawl_core.clock import SystemClock, crawl_date
from trawl_core.errors import PastDateError
from trawl_core.fetch.crawl import CrawlJob, crawl
from trawl_core.lake import Partition


def _site(serve):
    site = serve()
    site.routes = {"/": site.page("/a"), "/a": b"<p>a"}
    return site


def test_the_second_call_fetches_nothing_and_keeps_the_tables(serve, run_crawl, tmp_path) -> None:
    site = _site(serve)
    run_crawl(site)
    tables = {path: path.read_bytes() for path in (tmp_path / "lake").rglob("*.parquet")}
    archive = sorted((tmp_path / "lake" / "warc").rglob("*.*"))
    before = len(site.asked)
    again = run_crawl(site)
    assert len(site.asked) == before
    assert again.outcome(site.host).result.committed[0].rows == 4
    assert {path: path.read_bytes() for path in (tmp_path / "lake").rglob("*.parquet")} == tables
    assert sorted((tmp_path / "lake" / "warc").rglob("*.*")) == archive


def test_a_lost_state_file_is_made_up_from_the_lake(serve, run_crawl, tmp_path) -> None:
    site = _site(serve)
    first = run_crawl(site).table("captures", site.host)
    for file in (tmp_path / "work").rglob("*.sqlite*"):
        file.unlink()
    again = run_crawl(site).table("captures", site.host)
    assert site.paths().count("/a") == 1
    kept = again.join(first.select("capture_id"), on="capture_id", how="semi")
    assert kept.equals(first)


def test_refetch_begins_a_new_pass(serve, run_crawl) -> None:
    site = _site(serve)
    run_crawl(site)
    run = run_crawl(site, refetch=True)
    assert site.paths().count("/a") == 2
    assert run.captures(site.host).height == 4
    assert run.captures(site.host)["warc_type"].to_list() == ["response", "response", "revisit", "revisit"]


def _crawl_other_day(site, run_crawl, tmp_path, days: int):
    run = run_crawl(site)
    config_site = next(iter(run.outcomes))
    from trawl_core.sites import Site, SitesConfig

    entry = Site(
        domain=config_site.domain,
        seeds=(f"{site.root}/",),
        delay_s=0,
        network={"allow_networks": ("127.0.0.0/8",), "allow_ports": (site.port,)},
    )
    config = SitesConfig(user_agent="TrawlBot/1.0 (+https://example.org/bot)", sites=(entry,))
    later = SystemClock(timedelta(days=days))
    job = CrawlJob(config_site, entry)
    return run, crawl([job], lake=run.lake, work=tmp_path / "work", config=config, clock=later), config, entry


def test_an_archived_day_is_left_as_it_is(serve, run_crawl, tmp_path) -> None:
    site = _site(serve)
    run, outcomes, _, _ = _crawl_other_day(site, run_crawl, tmp_path, 1)
    before = len(site.asked)
    outcome = outcomes[next(iter(run.outcomes))]
    assert outcome.error is None
    assert "nothing was fetched" in outcome.result.facts["note"]
    assert outcome.result.committed[0].rows == 4
    assert len(site.asked) == before


@pytest.mark.parametrize("days", [-1, 1])
def test_another_day_without_archive_is_refused(serve, run_crawl, tmp_path, days) -> None:
    site = _site(serve)
    run, _, config, entry = _crawl_other_day(site, run_crawl, tmp_path, 0)
    day = crawl_date(SystemClock()) + timedelta(days=days)
    with pytest.raises(PastDateError, match=str(day)):
        crawl([CrawlJob(Partition(day, entry.domain), entry)], lake=run.lake, work=tmp_path, config=config, clock=SystemClock())


def test_state_files_of_nights_long_past_are_removed(serve, run_crawl, tmp_path) -> None:
    site = _site(serve)
    run_crawl(site)
    run_crawl(site, night=3)
    assert len(list((tmp_path / "work").rglob("*.sqlite"))) == 2
    run_crawl(site, night=9)
    assert len(list((tmp_path / "work").rglob("*.sqlite"))) == 2


def test_urls_that_left_the_scope_meanwhile_are_not_fetched(serve, run_crawl) -> None:
    site = serve()
    site.routes = {"/": site.page("/a", "/b"), "/a": b"<p>a", "/b": b"<p>b"}
    run_crawl(site, settings={"budget": {"pages": 1}})
    run = run_crawl(site, settings={"exclude": ["/b$"]})
    assert "/a" in site.paths()
    assert "/b" not in site.paths()
    assert run.table("frontier_log", site.host)["reason"].to_list() == ["scope"]
