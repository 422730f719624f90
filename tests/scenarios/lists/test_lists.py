"""A list that goes over pages without end: a schema's `follow_next` leads from one to the next, no further than `max_pages`."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import polars as pl


def _endless(site, go_on: str = '<button class=next data-to="/list?page={next}">more</button>'):
    """Each page of the list shows two things and how to go on, which is no link."""

    def answer(asked):
        number = int(parse_qs(urlsplit(asked.path).query).get("page", ["1"])[0])
        things = "".join(f'<li><a href="/thing/{number}-{n}">thing</a>' for n in range(2))
        return f"<title>list {number}</title><ul>{things}</ul>{go_on.format(next=number + 1)}".encode()

    site.fallback = lambda asked: answer(asked) if asked.path.startswith("/list") else f"<p>{asked.path}".encode()
    site.routes["/"] = site.page("/list")
    site.routes["/robots.txt"] = b"User-agent: *\nDisallow: /list?page=9"


def _settings(most: int, selector: str = "button.next::attr(data-to)") -> dict:
    schema = {"pattern": "/list", "page_type": "list", "selectors": {"things": {"css": "li", "many": True}}}
    return {
        "sitemaps": "none",
        "budget": {"depth": 2},
        "extraction": [{**schema, "pagination": {"follow_next": selector, "max_pages": most}}],
    }


def _fetched(site, run, start: str) -> list[str]:
    urls = run.captures(site.host).filter(pl.col("fetch_status") == 200)["url"].to_list()
    return sorted(url.removeprefix(site.root) for url in urls if url.removeprefix(site.root).startswith(start))


def test_the_pages_of_a_list_and_what_they_name_are_fetched_up_to_its_most(serve, run_crawl) -> None:
    site = serve()
    _endless(site)
    run = run_crawl(site, settings=_settings(5))
    assert _fetched(site, run, "/list") == ["/list", *(f"/list?page={n}" for n in range(2, 6))]
    # Two steps from the seed by the list's first page, and by its fifth too.
    assert len(_fetched(site, run, "/thing")) == 10
    log = run.table("frontier_log", site.host).filter(pl.col("detail").str.contains("pagination")).to_dicts()
    assert [(row["reason"], row["detail"], row["samples"]) for row in log] == [
        ("trap", "pagination of more than 5 pages", [f"{site.root}/list?page=6"])
    ]


def test_a_later_night_begins_no_new_list_in_the_middle(serve, run_crawl, remember) -> None:
    site = serve()
    _endless(site)
    run_crawl(site, settings=_settings(4))
    remember(site, night=1, due=["/list?page=4", "/list?page=3"])
    run = run_crawl(site, settings=_settings(4), night=1)
    assert _fetched(site, run, "/list") == ["/list?page=3", "/list?page=4"]


def test_robots_and_scope_hold_for_the_pages_of_a_list(serve, run_crawl) -> None:
    site = serve()
    _endless(site)
    run = run_crawl(site, settings=_settings(20))
    assert _fetched(site, run, "/list")[-1] == "/list?page=8"
    assert "/list?page=9" not in site.paths()
    other = serve()
    _endless(other, '<a rel=next href="http://elsewhere.test/list?page={next}">more</a>')
    run = run_crawl(other, settings=_settings(20, "//a[@rel='next']"))
    assert _fetched(other, run, "/list") == ["/list"]
    assert run.table("frontier_log", other.host)["samples"].to_list() == [["http://elsewhere.test/list?page=2"]]
