from __future__ import annotations

from pathlib import Path

import pytest

from trawl_core.clock import SystemClock
from trawl_core.fetch.discovery import Found
from trawl_core.fetch.frontier import Frontier, NewUrl
from trawl_core.fetch.gate import MAX_MEDIA_OF_A_PAGE, MAX_SITEMAP_DEPTH, MAX_SITEMAPS, Gate
from trawl_core.fetch.ledger import Ledger
from trawl_core.fetch.state import NightState
from trawl_core.fetch.trap_memory import TrapMemory
from trawl_core.sites import Site

ROOT = "https://docs.example.org"


@pytest.fixture
def gate():
    state = NightState(Path(":memory:"))

    def make(before: tuple[str, ...] = (), **settings) -> tuple[Gate, Ledger]:
        site = Site(domain="docs.example.org", seeds=(f"{ROOT}/",), **settings)
        frontier, ledger = Frontier(state, 1_000), Ledger(state)
        for url in before:
            frontier.add(NewUrl(url, f"{ROOT}:443"))
        return Gate(site, frontier, ledger, SystemClock(), TrapMemory(state)), ledger

    yield make
    state.close()


def _held(ledger: Ledger) -> list[tuple[str, str, int]]:
    return [(row["reason"], row["detail"], row["count"]) for row in ledger.held()]


def test_a_url_in_scope_enters_with_its_depth_and_way(gate) -> None:
    opened, ledger = gate()
    new = opened.offer(Found(f"{ROOT}/a"), depth=2, via_id="page")
    assert (new.origin, new.kind, new.depth, new.via_id, new.is_seed) == (f"{ROOT}:443", "page", 2, "page", False)
    assert _held(ledger) == []


def test_what_is_known_enters_no_more(gate) -> None:
    opened, _ = gate(before=(f"{ROOT}/a",))
    assert opened.offer(Found(f"{ROOT}/a"), depth=1, via_id=None) is None


def test_each_url_held_back_counts_once(gate) -> None:
    opened, ledger = gate(budget={"depth": 1}, follow_nofollow=False)
    for _ in range(3):
        assert opened.offer(Found("https://elsewhere.example.org/"), depth=1, via_id=None) is None
    assert opened.offer(Found(f"{ROOT}/no", nofollow=True), depth=1, via_id=None) is None
    assert opened.offer(Found(f"{ROOT}/deep"), depth=2, via_id=None) is None
    assert _held(ledger) == [("depth", "depth 1", 1), ("nofollow", "rel=nofollow", 1), ("scope", "host", 1)]


def test_a_url_held_for_its_depth_may_come_by_a_shorter_way(gate) -> None:
    opened, _ = gate(budget={"depth": 1})
    assert opened.offer(Found(f"{ROOT}/a"), depth=2, via_id=None) is None
    assert opened.offer(Found(f"{ROOT}/a"), depth=1, via_id=None) is not None


def test_sitemaps_need_no_include_pattern(gate) -> None:
    opened, _ = gate(include=("^https://docs\\.example\\.org/guide/",))
    assert opened.offer(Found(f"{ROOT}/sitemap.xml", kind="sitemap", from_page=False), depth=0, via_id=None).kind == "sitemap"
    assert opened.offer(Found(f"{ROOT}/other"), depth=1, via_id=None) is None


def test_the_sample_of_a_trap_is_counted_over_calls(gate) -> None:
    months = [f"{ROOT}/calendar/{year}/{month:02}" for year in range(2000, 2030) for month in range(1, 13)]
    opened, ledger = gate(before=tuple(months[:200]))
    assert opened.offer(Found(months[300]), depth=1, via_id=None) is None
    assert _held(ledger)[0][0] == "trap"
    assert opened.offer(Found(months[300], from_page=False), depth=1, via_id=None) is not None


def test_priority_follows_depth_patterns_and_keywords(gate) -> None:
    opened, _ = gate(priorities=({"pattern": "/news/", "weight": 3.0},), keywords={"Pooling": 2.0})

    def priority(url: str, depth: int, text: str = "") -> float:
        return opened.offer(Found(f"{ROOT}{url}", text=text), depth=depth, via_id=None).priority

    assert priority("/a", 1) > priority("/b", 3)
    assert priority("/news/a", 1) == pytest.approx(3 * priority("/c", 1))
    assert priority("/d", 1, "about pooling") > priority("/e", 1, "about nothing")


def test_a_keyword_outweighs_depth_wherever_it_stands(gate) -> None:
    opened, _ = gate(keywords={"Zürich": 1.0, "ferry": 2.0})

    def priority(path: str, depth: int, text: str = "", context: str = "") -> float:
        return opened.offer(Found(ROOT + path, text=text, context=context), depth=depth, via_id=None).priority

    plain = priority("/plain", 1)
    in_title = priority("/t", 7, context="About Zürich")
    in_text = priority("/u", 7, text="zürich")
    in_url = priority("/z%C3%BCrich", 7)
    assert plain < in_title < in_text == in_url < priority("/ferry", 7)
    assert priority("/ferry-zürich", 1, "ferry " * 9) <= 900


def test_sitemaps_are_capped_by_number_over_calls(gate) -> None:
    opened, ledger = gate()
    for number in range(MAX_SITEMAPS + 5):
        new = opened.offer(Found(f"{ROOT}/s{number}.xml", kind="sitemap", from_page=False), depth=1, via_id=None)
        assert (new is None) == (number >= MAX_SITEMAPS)
    assert _held(ledger) == [("trap", f"more than {MAX_SITEMAPS} sitemaps", 5)]


def test_sitemaps_of_earlier_calls_count(gate) -> None:
    opened, _ = gate()
    for number in range(MAX_SITEMAPS):
        opened._frontier.add(NewUrl(f"{ROOT}/s{number}.xml", f"{ROOT}:443", "sitemap"))
    again = Gate(opened._site, opened._frontier, opened._ledger, SystemClock(), opened._memory)
    assert again.offer(Found(f"{ROOT}/more.xml", kind="sitemap", from_page=False), depth=1, via_id=None) is None


def test_a_sitemap_nested_too_deep_is_named(gate) -> None:
    opened, ledger = gate()
    deep = Found(f"{ROOT}/deep.xml", kind="sitemap", from_page=False)
    assert opened.offer(deep, depth=MAX_SITEMAP_DEPTH + 1, via_id=None) is None
    assert _held(ledger) == [("trap", f"sitemap indexes more than {MAX_SITEMAP_DEPTH} deep", 1)]
    assert opened.offer(deep, depth=MAX_SITEMAP_DEPTH, via_id=None).depth == MAX_SITEMAP_DEPTH


def test_the_target_of_a_script_is_told_and_not_fetched(gate) -> None:
    opened, ledger = gate()
    assert opened.offer(Found(f"{ROOT}/there", kind="script_redirect", context=f"{ROOT}/old/{{n}}"), depth=1, via_id=None) is None
    assert _held(ledger) == [("javascript_redirect", f"{ROOT}/old/{{n}}", 1)]
    assert opened.offer(Found(f"{ROOT}/there"), depth=1, via_id=None) is not None


def test_only_what_entered_or_lies_outside_is_settled(gate) -> None:
    opened, _ = gate(budget={"depth": 1}, follow_nofollow=False, exclude=["/out/"])
    offers = [
        Found("https://elsewhere.example.org/"),
        Found(f"{ROOT}:8443/port"),
        Found(f"{ROOT}/out/page"),  # may enter as a sitemap
        Found(f"{ROOT}/no", nofollow=True),  # may be followed from another page
    ]
    assert [opened.has_settled(found.url) for found in offers] == [False] * 4
    assert [opened.offer(found, depth=1, via_id=None) for found in offers] == [None] * 4
    assert opened.offer(Found(f"{ROOT}/deep"), depth=2, via_id=None) is None
    assert [opened.has_settled(found.url) for found in offers] == [True, True, False, False]
    assert not opened.has_settled(f"{ROOT}/deep")


def test_what_a_page_shows_enters_whatever_its_depth_and_the_include_patterns(gate) -> None:
    opened, ledger = gate(media="fetch", budget={"depth": 1}, include=["/docs/"], exclude=["/ads/"])
    new = opened.offer(Found(f"{ROOT}/i.png", kind="media"), depth=7, via_id="page")
    assert (new.kind, new.depth, new.via_id, new.from_link) == ("media", 7, "page", False)
    for url in (f"{ROOT}/ads/i.png", "https://cdn.example.org/i.png"):
        assert opened.offer(Found(url, kind="media"), depth=1, via_id="page") is None
    assert _held(ledger) == [("scope", "exclude /ads/", 1), ("scope", "host", 1)]


def test_of_one_page_so_many_media_enter_and_no_more(gate) -> None:
    opened, ledger = gate(media="fetch")
    for via in ("a", "b"):
        offered = [opened.offer(Found(f"{ROOT}/{via}{n}", kind="media"), depth=1, via_id=via) for n in range(MAX_MEDIA_OF_A_PAGE + 3)]
        assert [new is None for new in offered] == [False] * MAX_MEDIA_OF_A_PAGE + [True] * 3
    assert _held(ledger) == [("trap", f"more than {MAX_MEDIA_OF_A_PAGE} media of one page", 6)]


def test_a_link_to_what_waits_as_media_makes_it_a_page(gate) -> None:
    opened, _ = gate(media="fetch", budget={"depth": 1})
    shown = Found(f"{ROOT}/x", kind="media")
    opened._frontier.add(opened.offer(shown, depth=1, via_id="page"))
    assert opened.has_settled_media(shown.url)
    assert not opened.has_settled(shown.url)
    assert opened.offer(shown, depth=1, via_id="page") is None
    # A link that may not enter takes nothing away.
    assert opened.offer(Found(shown.url), depth=2, via_id="page") is None
    assert opened._frontier.waiting == 1
    new = opened.offer(Found(shown.url), depth=1, via_id="page")
    assert (new.kind, opened._frontier.waiting) == ("page", 0)
