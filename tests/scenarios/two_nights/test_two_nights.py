"""The whole path: what was served on two nights, and what a user finds in the tables, in SQL, in search and in the commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from trawl_core.demo import HOSTS

if TYPE_CHECKING:
    from conftest import World

pytestmark = pytest.mark.xdist_group("two_nights")
SITES = sorted(HOSTS)
GOOD = ("ok", "not_modified")


def _good(world: World, site: str, night: int) -> dict[str, dict]:
    """The last good capture of each page."""
    rows = [
        row for row in world.rows("captures", site, night) if row["kind"] == "page" and row["outcome"] in GOOD and not row["fetch_redirect"]
    ]
    return {row["url"]: row for row in rows}


def _beside_the_calendar(urls: set[str], endless: str | None) -> set[str]:
    return {url for url in urls if not (endless and url.startswith(endless))}


@pytest.mark.parametrize("night", [0, 1])
@pytest.mark.parametrize("site", SITES)
def test_every_page_that_can_be_reached_is_archived_and_nothing_else(world: World, site: str, night: int) -> None:
    truth = world.truth(site, night)
    assert _beside_the_calendar(set(_good(world, site, night)), truth.endless) == truth.ok


@pytest.mark.parametrize("site", SITES)
def test_unchanged_pages_with_a_validator_cost_a_304(world: World, site: str) -> None:
    truth = world.truth(site, 1)
    captures = _good(world, site, 1)
    assert {url for url in truth.not_modified if captures[url]["fetch_status"] != 304} == set()
    assert {captures[url]["revisit_profile"] for url in truth.not_modified} <= {"server-not-modified"}
    assert {captures[url]["revisit_profile"] for url in truth.identical} <= {"identical-payload-digest"}
    assert {captures[url]["revisit_profile"] for url in truth.same_bytes} <= {"identical-payload-digest"}
    changed = (truth.content | truth.structured | truth.template | truth.metadata | truth.data | truth.new) - truth.same_bytes
    assert {captures[url]["warc_type"] for url in changed} <= {"response"}


@pytest.mark.parametrize("site", SITES)
def test_each_change_is_told_as_what_it_is(world: World, site: str) -> None:
    truth = world.truth(site, 1)
    told = {row["url"]: row["event"] for row in world.rows("changes", site, 1)}
    told = {url: event for url, event in told.items() if not (truth.endless and url.startswith(truth.endless))}
    wanted = (
        dict.fromkeys(truth.new, "new")
        | dict.fromkeys(truth.content | truth.data, "content")
        | dict.fromkeys(truth.structured, "structured")
        | dict.fromkeys(truth.metadata, "metadata")
        | dict.fromkeys(truth.moved, "moved")
        | dict.fromkeys(truth.gone, "gone")
    )
    stamped = {url for url, event in told.items() if event == "template"}
    assert stamped <= truth.template
    assert {url: event for url, event in told.items() if event != "template"} == wanted


@pytest.mark.parametrize("site", SITES)
def test_the_first_night_is_all_new(world: World, site: str) -> None:
    truth = world.truth(site, 0)
    told = {row["url"] for row in world.rows("changes", site, 0) if row["event"] == "new"}
    assert _beside_the_calendar(told, truth.endless) == truth.ok


@pytest.mark.parametrize("night", [0, 1])
@pytest.mark.parametrize("site", SITES)
def test_what_was_not_fetched_has_its_reason(world: World, site: str, night: int) -> None:
    truth = world.truth(site, night)
    outcomes: dict[str, set[str]] = {}
    for row in world.rows("captures", site, night):
        outcomes.setdefault(row["url"], set()).add(row["outcome"])
    if night == 0:
        assert all(outcomes[url] == {"robots_denied"} for url in truth.denied)
        assert all(outcomes[url] == {"http_error"} for url in truth.missing)
        assert all("redirect_loop" in set().union(*(outcomes[other] for other in truth.loop)) for _ in truth.loop)
        assert all(outcomes[url] == {"http_error"} for url in truth.unavailable)
        assert all(outcomes[url] == {"http_error", "ok"} for url in truth.busy_first)
    denied_with_record = [
        row["url"] for row in world.rows("captures", site, night) if row["outcome"] == "robots_denied" and row["warc_type"]
    ]
    assert denied_with_record == []
    assert not truth.outside & set(outcomes)


def test_the_endless_calendar_ends(world: World) -> None:
    endless = world.truth("shop", 0).endless
    fetched = [url for url in _good(world, "shop", 0) if url.startswith(endless)]
    assert 0 < len(fetched) < 200
    held = [row for row in world.rows("frontier_log", "shop", 0) if row["reason"] == "trap"]
    assert held
    assert any(endless in sample for row in held for sample in row["samples"])


@pytest.mark.parametrize("night", [0, 1])
@pytest.mark.parametrize("site", SITES)
def test_text_is_decoded_and_extracted(world: World, site: str, night: int) -> None:
    pages = {row["url"]: row for row in world.rows("pages", site, night)}
    for url, phrase in world.truth(site, night).phrases.items():
        assert phrase in pages[url]["text"], url
    assert {row["extract_status"] for row in pages.values() if row["fetch_status"] in (200, 304)} <= {"ok", "carried"}


@pytest.mark.parametrize("night", [0, 1])
@pytest.mark.parametrize("site", SITES)
def test_each_archived_page_has_a_row_that_leads_to_its_record(world: World, site: str, night: int) -> None:
    captures = {
        row["capture_id"]
        for row in world.rows("captures", site, night)
        if row["kind"] == "page"
        and row["warc_type"]
        and row["fetch_status"] is not None
        and (row["fetch_status"] == 304 or row["fetch_status"] // 100 != 3)
    }
    pages = world.rows("pages", site, night)
    assert {row["capture_id"] for row in pages} == captures
    assert all(row["warc_filename"] and row["warc_record_length"] for row in pages)


def test_one_broken_block_of_structured_data_loses_no_other(world: World) -> None:
    rows = world.rows("structured_data", "shop", 0)
    for url in world.truth("shop", 0).broken_json_ld:
        kinds = {(row["type"], row["valid"]) for row in rows if row["url"] == url and row["syntax"] == "json-ld"}
        assert ("Product", True) in kinds
        assert any(not valid for _, valid in kinds)


def test_duplicates_are_found_with_their_relation(world: World) -> None:
    truth = world.truth("blog", 1)
    clusters: dict[str, dict[str, str]] = {}
    for row in world.rows("duplicates", None, 1):
        clusters.setdefault(row["cluster_id"], {})[row["url"]] = row["relation"]
    for pair in truth.exact:
        found = next(members for members in clusters.values() if set(pair) <= set(members))
        assert sorted(found[url] for url in pair)[0] in ("exact", "near")
    for pair in truth.near:
        assert any(set(pair) <= set(members) for members in clusters.values()), pair


@pytest.mark.parametrize("site", SITES)
def test_search_finds_by_meaning(world: World, site: str) -> None:
    for query, url in world.truth(site, 1).searches.items():
        hits = world.json("search", query, "-k", "3", "--json")
        assert url in [hit["url"] for hit in hits], query


def test_sql_answers_over_every_view(world: World) -> None:
    rows = world.json("sql", "select domain, count(*) as n from pages group by all order by all", "--format", "json")
    assert [row["domain"] for row in rows] == sorted(HOSTS.values())
    hits = world.json("sql", "select url from trawl_search('messages that keep failing', 3)", "--format", "json")
    assert world.demo.origins["docs"] + "/guide/dead-letters" in [row["url"] for row in hits]
    assert world.trawl("sql", "select url from pages order by url limit 1", "--format", "csv").stdout.splitlines()[0] == '"url"'


def test_a_wrong_query_is_one_paragraph(world: World) -> None:
    done = world.trawl("sql", "select nothing from nowhere", check=False)
    assert done.returncode == 2
    assert "nowhere" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_archive_verifies(world: World) -> None:
    assert "sound" in world.trawl("verify").stdout


def test_show_leads_back_to_the_bytes(world: World) -> None:
    url = world.demo.origins["docs"] + "/guide/durability"
    history = world.json("show", url, "--json")
    assert len(history) == 2
    assert "fdatasync" in world.trawl("show", url, "--body").stdout
    assert world.trawl("show", url, "--headers").stdout.startswith("HTTP/1.1 ")
    assert "fdatasync" in world.trawl("show", url, "--text").stdout
    assert world.trawl("show", url + "/nothing", check=False).returncode == 1


@pytest.mark.parametrize("form", ["text", "md", "html", "atom", "json"])
def test_changes_are_told_in_every_format(world: World, form: str) -> None:
    truth = world.truth("docs", 1)
    told = world.trawl("changes", "--domain", HOSTS["docs"], "--format", form).stdout
    assert sorted(truth.content)[0] in told


def test_plan_and_status(world: World) -> None:
    plan = world.json("plan", "--domain", HOSTS["docs"], "--json")
    assert {row["reason"] for row in plan} <= {"seed", "index", "forced_age", "retry", "probe", "new", "hint", "priority"}
    status = world.trawl("status", "--json", check=False)
    assert status.returncode in (0, 1)
    assert HOSTS["docs"] in status.stdout


def test_a_night_run_again_asks_only_for_what_failed(world: World) -> None:
    before, files = world.asked(), _lake_files(world)
    world.trawl("crawl")
    again = {
        world.demo.origins[name] + path
        for name, counts in world.asked().items()
        for path, count in counts.items()
        if count != before[name].get(path, 0)
    }
    failed = world.truth("blog", 1).unavailable
    assert again == failed
    after = _lake_files(world)
    lost = set(files) - set(after)
    changed = {path for path in files.keys() & after.keys() if files[path] != after[path]}
    # Each try of the page that is always unavailable is one more capture, a new WARC file beside the old ones; nothing else differs by a byte.
    assert lost == set()
    assert {path for path in changed if HOSTS["blog"] not in path} <= {"crawl_report/crawl_date=2026-03-02/part.parquet"}
    assert {path.split("/")[0] for path in changed} <= {
        "captures",
        "frontier_log",
        "pages",
        "page_blocks",
        "structured_data",
        "url_history",
        "crawl_report",
    }


def _lake_files(world: World) -> dict[str, bytes]:
    lake = world.home.root / "lake"
    return {
        str(path.relative_to(lake)): path.read_bytes()
        for path in sorted(lake.rglob("*"))
        if path.is_file() and path.suffix in (".parquet", ".gz")
    }
