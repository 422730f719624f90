import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    counter = TrapCounter(calendar_sample=10)
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
    counter = TrapCounter(1, 1, 1, 1)
    assert all(counter.admit(f"{HOST}/product/{n}") is None for n in range(500))


@given(st.text(max_size=60))
def test_any_url_has_a_verdict(tail: str) -> None:
    url = normalize_url(HOST + "/" + tail)
    if url is not None:
        pattern = trap_pattern(url)
        assert pattern is None or pattern.split(" ")[0] in ("calendar", "repeated", "session", "growing")
        assert pattern_of(pattern_of(url)) == pattern_of(url)
