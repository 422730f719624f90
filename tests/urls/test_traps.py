from collections.abc import Iterator
from datetime import date, timedelta
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.sites import Traps
from trawl_core.urls.normalize import normalize_url
from trawl_core.urls.traps import TrapCounter, pattern_of, trap_pattern

HOST = "http://shop.test"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/calendar/2026/05", "calendar"),
        ("/calendar/2026/05/12", "calendar"),
        ("/events/2026-05-12/list", "calendar"),
        ("/news/2026/may/", "calendar"),
        ("/cal?month=2026-05", "calendar"),
        ("/cal?year=2026&month=5", "calendar"),
        ("/plan/2026-W05", "calendar"),
        ("/a/b/a/b/a", "repeated"),
        ("/www.b.test/p/www.b.test/p/www.b.test/p/", "repeated"),
        ("/search.php?PHPSESSID=1a2b3c4d5e6f", "session"),
        ("/list;jsessionid=AB12?x=1", "session"),
        ("/(S(lit3py55t21z5v55vlm25s55))/orders.aspx", "session"),
        ("/list?sid=0f3a9bc1d2e4", "session"),
        ("/f?c=1&c=2&c=3", "growing"),
        ("/f?a=1&b=1&c=1&d=1&e=1&f=1&g=1", "growing"),
        ("/r?next=" + "x" * 500, "growing"),
    ],
)
def test_families_that_never_end(path: str, kind: str) -> None:
    assert (trap_pattern(HOST + path) or "").split(" ")[0] == kind


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/product/123",
        "/docs/page-7",
        "/archive/2024/post",
        "/2026/05/12/an-article",
        "/blog/2026-05-12-an-article.html",
        "/news?page=3",
        "/docs/20.04/install",
        "/s?s=iphone14pro",
        "/schedule?session=spring2026",
        "/stop?sid=10400231",
        "/a/a/b",
    ],
)
def test_plain_pages_are_no_trap(path: str) -> None:
    assert trap_pattern(HOST + path) is None


def test_pages_of_one_template_share_a_pattern() -> None:
    assert pattern_of(HOST + "/product/123?page=7") == HOST + "/product/{n}?page={n}"
    assert pattern_of(HOST + "/on/2026-05-12/x%20y") == HOST + "/on/{date}/x%20y"
    assert pattern_of("http://127.0.0.1:8080/9") == "http://127.0.0.1:8080/{n}"


def test_an_endless_calendar_is_sampled() -> None:
    counter = TrapCounter(Traps(calendar_sample=10))
    urls = [f"{HOST}/calendar/{year}/{month:02}" for year in range(2000, 2100) for month in range(1, 13)]
    refused = [url for url in urls if counter.admit(url)]
    assert len(urls) - len(refused) == 10
    assert counter.admit(urls[0]) is None, "an admitted URL stays admitted"
    assert counter.admit(refused[0]) == "trap calendar http://shop.test/calendar/{date}"


def test_each_page_gets_a_few_session_ids() -> None:
    counter = TrapCounter()
    admitted = [n for page in range(3) for n in range(50) if counter.admit(f"{HOST}/p{page}?phpsessid={n:032x}") is None]
    assert len(admitted) == 3 * 5


def test_stacked_segments_stop() -> None:
    counter = TrapCounter()
    path, admitted = "/", 0
    for _ in range(100):
        path += "www.b.test/p/"
        admitted += counter.admit(HOST + path) is None
    assert admitted < 25


def test_plain_numbered_pages_are_never_held_back() -> None:
    counter = TrapCounter(Traps(sample=1, calendar_sample=1, repeated_sample=1, session_sample=1))
    assert all(counter.admit(f"{HOST}/product/{n}") is None for n in range(500))


FILTERS = {"color": ["red", "blue", "green"], "size": ["s", "m", "l", "xl"], "brand": [f"b{n}" for n in range(12)], "sort": ["up", "down"]}


def _facets(names: tuple[str, ...] = tuple(FILTERS)) -> Iterator[str]:
    """Every choice of the filters of `names`, each of them set or not."""
    for choice in product(*([None, *FILTERS[name]] for name in names)):
        chosen = "&".join(f"{name}={value}" for name, value in zip(names, choice, strict=True) if value)
        yield f"{HOST}/shoes?{chosen}" if chosen else f"{HOST}/shoes"


def test_combinations_of_filters_are_sampled_and_every_value_is_seen() -> None:
    counter = TrapCounter(Traps(sample=150))
    urls = list(_facets())
    admitted = [url for url in urls if counter.admit(url) is None]
    assert len(urls) == 780
    assert 150 <= len(admitted) < 180
    assert counter.admit(admitted[-1]) is None, "an admitted URL stays admitted"
    assert counter.admit(next(url for url in urls if url not in admitted and url.count("&") > 1)) == f"trap facets {HOST}/shoes"
    for name, values in FILTERS.items():
        assert all(any(f"{name}={value}" in url for url in admitted) for value in values)
    assert counter.admit(f"{HOST}/shoes?color=red&size=s&brand=new&sort=up") is None, "a new value is no combination"
    assert counter.admit(f"{HOST}/hats?color=red&size=s&brand=b1&sort=up") is None, "another path has a sample of its own"


@pytest.mark.parametrize(
    "urls",
    [
        [f"/list?page={n}" for n in range(900)],
        [f"/list?cat={n % 9}&page={n // 9}" for n in range(900)],
        [f"/view.php?id={n}" for n in range(900)],
        [f"/index.php?option=content&view={'ab'[n % 2]}&id={n}&Itemid={n % 40}&lang={n % 3}" for n in range(900)],
        [f"/viewtopic.php?f={topic % 7}&t={topic}&start={start * 20}" for topic in range(100) for start in range(1 + topic % 15)],
        [f"/table?row={n // 30}&column={n % 30}" for n in range(900)],
        [f"/w/index.php?title=Page_{n}&action={action}&section={n % 5}" for n in range(300) for action in ("edit", "history", "raw")],
    ],
)
def test_pages_named_by_a_query_are_never_held_back(urls: list[str]) -> None:
    counter = TrapCounter(Traps(sample=20))
    assert [url for url in urls if counter.admit(HOST + url)] == []


def test_a_person_overrules_the_detection() -> None:
    allowed = TrapCounter(Traps(calendar_sample=1, sample=1, allow=(r"^http://shop\.test/(calendar|shoes)",)))
    off = TrapCounter(Traps(calendar_sample=1, sample=1, enabled=False))
    months = [f"{HOST}/calendar/2026/{month:02}" for month in range(1, 13)]
    for counter in (allowed, off):
        assert all(counter.admit(url) is None for url in [*months, *_facets()])
    assert allowed.admit(f"{HOST}/plan/2026/01") is None
    assert allowed.admit(f"{HOST}/plan/2026/02") == "trap calendar http://shop.test/plan/{date}"


@given(st.text(max_size=60))
def test_any_url_has_a_verdict(tail: str) -> None:
    url = normalize_url(HOST + "/" + tail)
    if url is not None:
        pattern = trap_pattern(url)
        assert pattern is None or pattern.split(" ")[0] in ("calendar", "repeated", "session", "growing")
        assert pattern_of(pattern_of(url)) == pattern_of(url)


_PART = st.sampled_from(
    ["a", "b", "2026", "2026-05", "20260512", "202605", "12026", "1", "calendar", "x;sid=1", "(S(abcdefghijklmnopqrstuvwx))"]
)


@given(st.lists(_PART, max_size=6), st.sampled_from(["", "?", "?a=1", "?year=7", "?a&b&c&d&e&f&g", "?sid=0123456789abcdef"]))
def test_the_quick_look_misses_none(parts: list[str], query: str) -> None:
    url = f"{HOST}/{'/'.join(parts)}{query}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trawl_core.urls.traps._may_be_one", lambda url: True)
        whole = trap_pattern(url)
    assert trap_pattern(url) == whole


class _Kept:
    """Samples as a night keeps them."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str]] = []
        self.entered: list[str] = []

    def of(self, family: str) -> set[str]:
        return {url for name, url in self.rows if name == family}

    def add(self, family: str, url: str) -> None:
        self.rows.append((family, url))

    def queries_at(self, path: str) -> list[str]:
        return [url for url in self.entered if url.startswith(f"{path}?")]


def test_another_counter_goes_on_from_the_samples_kept() -> None:
    kept = _Kept()
    months = [f"{HOST}/calendar/{year}/{month:02}" for year in (2025, 2026) for month in range(1, 13)]
    rules = Traps(calendar_sample=4, sample=20)
    facets = list(_facets())
    first = TrapCounter(rules, kept)
    assert [first.admit(url) is None for url in months[:3]] == [True] * 3
    kept.entered += [url for url in facets[:500] if first.admit(url) is None]
    again = TrapCounter(rules, kept)
    assert [again.admit(url) is None for url in months[:6]] == [True] * 4 + [False] * 2
    assert [again.admit(url) for url in facets[500:]] == [first.admit(url) for url in facets[500:]]
    assert again.admit(kept.entered[-1]) is None
    assert len(kept.rows) == len(set(kept.rows)) == 4


def test_urls_of_the_history_are_part_of_the_sample() -> None:
    months = [f"{HOST}/calendar/2026/{month:02}" for month in range(1, 13)]
    counter = TrapCounter(Traps(calendar_sample=4), _Kept())
    counter.count(months)
    assert [counter.admit(url) is None for url in months] == [True] * 4 + [False] * 8


def test_a_family_is_looked_at_again_on_one_night_in_thirty() -> None:
    months = [f"{HOST}/calendar/{year}/{month:02}" for year in range(2000, 2030) for month in range(1, 13)]
    more = []
    for night in range(60):
        counter = TrapCounter(Traps(calendar_sample=60, recheck_days=30), None, date(2026, 11, 1) + timedelta(days=night))
        more.append(sum(counter.admit(url) is None for url in months) - 60)
    assert sorted(more) == [0] * 58 + [6] * 2
    assert more[: more.index(6) + 30].count(6) == 1
