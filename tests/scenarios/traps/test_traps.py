"""Sites whose URLs never end, each in its own way, beside pages that only look so."""

from __future__ import annotations

from itertools import product
from urllib.parse import parse_qsl, urlsplit
from zlib import crc32

import polars as pl
import pytest

FILTERS = {"color": ["red", "blue"], "size": ["s", "m", "l"], "brand": ["a", "b", "c", "d"], "sort": ["up", "down"]}


def _trap_rows(run, site) -> list[dict]:
    return run.table("frontier_log", site.host).filter(pl.col("reason") == "trap").to_dicts()


def _filtered(asked) -> bytes:
    """A shop's list: each filter adds itself to the query or takes another's place; the goods are on every page."""
    chosen = dict(parse_qsl(urlsplit(asked.path).query))
    links = []
    for name, values in FILTERS.items():
        for value in values:
            query = "&".join(f"{key}={chosen_value}" for key, chosen_value in sorted({**chosen, name: value}.items()))
            links.append(f'<a href="/shoes?{query}">{value}</a>')
    goods = "".join(f'<a href="/product/{n}">shoe {n}</a>' for n in range(20))
    return f"<title>shoes</title><p>{chosen}{''.join(links)}{goods}".encode()


def _session(asked) -> bytes:
    links = "".join(f'<a href="/page/{n}?PHPSESSID={crc32(f"{asked.path}{n}".encode()):08x}">p</a>' for n in range(3))
    return f"<p>{asked.path}{links}".encode()


def _stacked(asked) -> bytes:
    return f'<p>{len(asked.path)}<a href="wiki/help/">on</a>'.encode()


def _growing(asked) -> bytes:
    return f'<p>{len(asked.path)}<a href="{asked.path}&back=1">on</a>'.encode()


def test_combinations_of_filters_end_and_the_goods_are_reached(serve, run_crawl) -> None:
    site = serve()
    site.routes["/"] = site.page("/shoes")
    site.routes.update({f"/product/{n}": f"<p>shoe number {n}".encode() for n in range(20)})
    site.fallback = lambda asked: _filtered(asked) if asked.path.startswith("/shoes") else {"status": 404}
    settings = {"traps": {"sample": 40}, "budget": {"pages": 1_000}}
    run = run_crawl(site, settings=settings)
    asked = [path for path in site.paths() if path.startswith("/shoes?")]
    possible = list(product(*([None, *values] for values in FILTERS.values())))
    assert 40 <= len(asked) < 60 < len(possible)
    assert {f"/product/{n}" for n in range(20)} <= set(site.paths())
    for name, values in FILTERS.items():
        assert all(any(f"{name}={value}" in path for path in asked) for value in values)
    (row,) = _trap_rows(run, site)
    assert row["detail"] == f"facets {site.root}/shoes"
    assert row["count"] >= 10
    assert row["samples"][0].startswith(f"{site.root}/shoes?")


@pytest.mark.parametrize(
    ("start", "reply", "kind", "most"),
    [
        ("/page/1?PHPSESSID=0123abcd", _session, "session", 3 * 3 + 1),
        ("/wiki/help/", _stacked, "repeated", 8),
        ("/go?back=1", _growing, "growing", 12),
    ],
)
def test_each_kind_stops_after_its_sample(serve, run_crawl, start: str, reply, kind: str, most: int) -> None:
    site = serve()
    site.routes["/"] = site.page(start)
    site.fallback = lambda asked: reply(asked) if asked.path.startswith(start[:3]) else {"status": 404}
    traps = {"sample": 5, "session_sample": 3, "repeated_sample": 4}
    run = run_crawl(site, settings={"traps": traps, "budget": {"pages": 200, "depth": 1_000}})
    fetched = [path for path in site.paths() if path.startswith(start[:3])]
    assert 3 <= len(fetched) <= most
    rows = _trap_rows(run, site)
    assert {row["detail"].split(" ")[0] for row in rows} == {kind}
    assert all(row["count"] >= 1 and row["samples"] for row in rows)


def test_a_person_lets_a_family_through(serve, run_crawl) -> None:
    months = [f"/calendar/2025/{month:02}" for month in range(1, 13)]
    site = serve({month: month.encode() for month in months})
    site.routes["/"] = site.page(*months)
    held = run_crawl(site, settings={"traps": {"calendar_sample": 3}})
    assert [row["count"] for row in _trap_rows(held, site)] == [9]
    free = run_crawl(site, settings={"traps": {"calendar_sample": 3, "allow": ["/calendar/2025/"]}}, refetch=True)
    assert set(months) <= set(site.paths())
    assert _trap_rows(free, site) == []


def test_pages_that_a_number_names_are_all_fetched(serve, run_crawl) -> None:
    paths = [f"{form}{n}" for form in ("/product/", "/docs/page-", "/list?page=", "/view?lang=en&id=") for n in range(60)]
    site = serve({path: f"<p>the page {path}".encode() for path in paths})
    site.routes["/"] = site.page(*paths)
    run = run_crawl(site, settings={"traps": dict.fromkeys(("sample", "calendar_sample", "repeated_sample", "session_sample"), 5)})
    assert set(paths) <= set(site.paths())
    assert _trap_rows(run, site) == []


@pytest.mark.parametrize("title", ["Sorry", "No page {path}"])
def test_a_maze_of_equal_pages_ends_and_its_neighbours_do_not(serve, run_crawl, title: str) -> None:
    site = serve()
    good = [f"/shop/{n}" for n in range(30)]
    site.routes["/"] = site.page("/lost/start/", *good)
    site.routes.update({path: f'<p>the goods of {path} weigh {n} g<a href="/">home</a>'.encode() for n, path in enumerate(good, 1_000)})
    onward = "".join(f'<a href="{word}/">on</a>' for word in ("ash", "bee", "cat", "doe", "elm", "fig", "gnu", "hop"))
    site.fallback = lambda asked: (
        f"<h1>{title.format(path=asked.path)}</h1>{onward}".encode() if asked.path.startswith("/lost/") else {"status": 404}
    )
    run = run_crawl(site, settings={"traps": {"sample": 10}, "budget": {"pages": 600}})
    assert set(good) <= set(site.paths())
    assert 10 <= len([path for path in site.paths() if path.startswith("/lost/")]) < 150
    rows = _trap_rows(run, site)
    assert f"maze {site.root}/lost/" in [row["detail"] for row in rows]
    assert all("/lost/" in sample for row in rows for sample in row["samples"])
