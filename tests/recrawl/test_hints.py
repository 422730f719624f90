from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from trawl_core.clock import SystemClock
from trawl_core.lake import tables
from trawl_core.recrawl.stage import preview_plan, update_url_history
from trawl_core.warc.captures import capture_row
from trawl_core.warc.exchange import Exchange
from trawl_core.warc.writer import WarcWriter

HOME, PAGE, OTHER = "https://a.test/home", "https://a.test/page", "https://a.test/other"


def _urlset(**dates: str) -> bytes:
    entries = (f"<url><loc>https://a.test/{name}</loc><lastmod>{date}</lastmod></url>" for name, date in dates.items())
    return b"<urlset>" + "".join(entries).encode() + b"</urlset>"


@pytest.fixture
def archived(night, tmp_path):
    """`archived(2, document)`: a night of a.test with the pages HOME, PAGE and OTHER, and one sitemap in a real WARC file."""

    def write(number: int, document: bytes, pages=(HOME, PAGE, OTHER), **broken) -> None:
        fetched = night.moment(number)
        partition = night.partition(number)
        exchange = Exchange(
            url="https://a.test/sitemap.xml",
            started_at=fetched,
            request_bytes=b"GET /sitemap.xml HTTP/1.1\r\nHost: a.test\r\n\r\n",
            response_bytes=(head := b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(document)) + document,
            head_length=len(head),
            payload=document,
            status=200,
            reason="OK",
            headers=(("Content-Length", str(len(document))),),
            outcome="ok",
        )
        writer = WarcWriter(
            night.lake, partition, software="trawl/0", user_agent="t", config_hash="0", clock=SystemClock(), work=tmp_path / "work"
        )
        capture_id = f"00000000-0000-0000-0000-{number:012}"
        written = writer.write(exchange, capture_id, revisit=None)
        writer.close()
        row = capture_row(
            exchange,
            capture_id=capture_id,
            partition=partition,
            written=written,
            revisit=None,
            kind="sitemap",
            depth=0,
            is_seed=False,
            attempt=1,
        )
        row = {name: value for name, value in row.items() if name not in ("crawl_date", "domain")}
        night.captures(number, *[{"url": url} for url in pages], {**row, **broken})

    return write


def test_lastmod_becomes_the_hint_and_leads_the_next_plan(night, site, archived):
    moment = night.moment(1) - timedelta(hours=4)
    archived(1, _urlset(home=moment.isoformat(), page="2026-10-20", other="2026-11-01"))
    result = update_url_history(night.lake, night.partition(1), site())
    hints = {url: row["hint_at"] for url, row in night.history(1).items()}
    # A date alone means its whole day, but nothing after the sitemap was read.
    assert hints == {HOME: moment, PAGE: datetime(2026, 10, 21, tzinfo=UTC), OTHER: night.moment(1)}
    assert (result.facts["hinted"], "sitemaps_unread" in result.facts) == (0, False)


def test_a_page_that_the_sitemap_tells_of_is_planned_for_it(night, site, archived):
    archived(1, _urlset(home="2026-10-01", page="2026-10-01"))
    archived(2, _urlset(home="2026-10-01", page=night.moment(1, 3600).isoformat()), pages=(HOME,))
    update_url_history(night.lake, night.partition(1), site())
    assert update_url_history(night.lake, night.partition(2), site()).facts["hinted"] == 1
    plan = {row["url"]: row["reason"] for row in preview_plan(night.lake, night.partition(3), site()).iter_rows(named=True)}
    assert (plan[PAGE], plan[HOME]) == ("hint", "index")


def test_bad_and_future_dates_are_no_hint_and_an_older_one_takes_none_back(night, site, archived):
    archived(1, _urlset(home="2026-10-05", page="yesterday", other="2031-01-01"))
    archived(2, _urlset(home="2026-10-01", page="0000-00-00", other="2026-11-09T00:00:01+00:00"))
    update_url_history(night.lake, night.partition(2), site())
    hints = {url: row["hint_at"] for url, row in night.history(2).items()}
    assert hints == {HOME: datetime(2026, 10, 6, tzinfo=UTC), PAGE: None, OTHER: None}


def test_the_history_is_the_same_however_it_was_built(night, site, archived):
    archived(1, _urlset(home="2026-10-05"))
    archived(2, _urlset(home="2026-10-07", page="2026-10-08"))
    update_url_history(night.lake, night.partition(2), site())
    at_once = tables.read(night.lake, "url_history", night.partition(2))
    update_url_history(night.lake, night.partition(1), site())
    update_url_history(night.lake, night.partition(2), site())
    assert tables.read(night.lake, "url_history", night.partition(2)).equals(at_once)


def test_a_sitemap_that_cannot_be_read_costs_no_history(night, site, archived):
    archived(1, _urlset(home="2026-10-05"), warc_filename="warc/lost.warc.gz")
    facts = update_url_history(night.lake, night.partition(1), site()).facts
    assert facts["urls"] == 3
    assert facts["sitemaps_unread"].startswith("1: ")
    assert night.history(1)[HOME]["hint_at"] is None


def test_links_of_pages_that_were_built_later_make_no_difference(night, site, archived):
    archived(1, _urlset(other="2026-10-05"), pages=(HOME,))
    archived(2, _urlset(home="2026-10-07"), pages=(HOME, OTHER))
    update_url_history(night.lake, night.partition(2), site())
    at_once = tables.read(night.lake, "url_history", night.partition(2))
    night.pages(1, {"url": HOME, "outlinks": [{"url": OTHER, "rel": "", "text": "", "in_scope": True}]})
    update_url_history(night.lake, night.partition(1), site())
    assert night.history(1)[OTHER]["hint_at"] is None
    update_url_history(night.lake, night.partition(2), site())
    assert tables.read(night.lake, "url_history", night.partition(2)).equals(at_once)
