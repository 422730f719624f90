"""A server that answers every path below a folder with the same page, whose links lead deeper: what is learnt of it lasts."""

from __future__ import annotations

import polars as pl
import pytest

WORDS = ("ash", "bee", "cat", "doe", "elm", "fig", "gnu", "hop")
SAMPLE = 10
SETTINGS = {"traps": {"sample": SAMPLE, "recheck_days": 30}, "budget": {"pages": 600, "depth": 100}}


@pytest.fixture
def maze(serve):
    """/lost/ is the maze; /shop/ has pages of its own."""
    site = serve()
    site.routes["/"] = site.page("/lost/start/", *(f"/shop/{n}" for n in range(5)))
    site.routes.update({f"/shop/{n}": b"<p>the goods of shelf %d" % n for n in range(5)})
    onward = "".join(f'<a href="{word}/">on</a>' for word in WORDS)
    site.fallback = lambda asked: f"<h1>Sorry</h1>{onward}".encode() if asked.path.startswith("/lost/") else {"status": 404}
    return site


def _lost(site) -> int:
    return len({path for path in site.paths() if path.startswith("/lost/")})


def _maze_rows(run, site) -> list[dict]:
    log = run.table("frontier_log", site.host).filter((pl.col("reason") == "trap") & pl.col("detail").str.starts_with("maze "))
    return log.to_dicts()


def test_what_waits_in_the_frontier_is_held_back_too(maze, run_crawl) -> None:
    run = run_crawl(maze, settings=SETTINGS)
    assert _lost(maze) == SAMPLE
    (row,) = _maze_rows(run, maze)
    # Each of the pages named eight, and one page is the first.
    assert row["count"] == SAMPLE * len(WORDS) + 1 - SAMPLE
    assert (row["detail"], len(row["samples"])) == (f"maze {maze.root}/lost/", 10)
    assert run.table("frontier_log", maze.host)["reason"].to_list() == ["trap"]


@pytest.mark.parametrize("pages", [5, 12, 16])
def test_a_call_that_goes_on_does_not_sample_it_anew(maze, run_crawl, pages) -> None:
    run_crawl(maze, settings={**SETTINGS, "budget": {"pages": pages, "depth": 100}})
    before = _lost(maze)
    run = run_crawl(maze, settings=SETTINGS)
    # One page makes no run yet.
    sample = SAMPLE + (before == 1)
    assert _lost(maze) == sample
    assert _maze_rows(run, maze)[0]["count"] == sample * (len(WORDS) - 1) + 1


def test_the_next_nights_know_it(maze, run_crawl) -> None:
    since = _maze_rows(run_crawl(maze, settings=SETTINGS), maze)[0]["first_seen"]
    for night in (1, 2):
        maze.asked.clear()
        run = run_crawl(maze, settings=SETTINGS, night=night)
        assert _lost(maze) == 0
        assert [(row["count"], row["first_seen"]) for row in _maze_rows(run, maze)] == [(1, since)]
    maze.routes["/"] = maze.page("/shop/1")
    quiet = run_crawl(maze, settings=SETTINGS, night=3)
    assert [(row["count"], row["samples"], row["first_seen"]) for row in _maze_rows(quiet, maze)] == [(0, [], since)]
    maze.routes["/"] = maze.page("/lost/start/")
    maze.asked.clear()
    run_crawl(maze, settings=SETTINGS, night=4)
    assert _lost(maze) == 0


def test_it_is_known_although_the_state_file_was_lost(maze, run_crawl, tmp_path) -> None:
    run_crawl(maze, settings=SETTINGS)
    for file in (tmp_path / "work").rglob("*.sqlite*"):
        file.unlink()
    run_crawl(maze, settings=SETTINGS, refetch=True)
    assert _lost(maze) == SAMPLE


def test_it_is_looked_at_again_with_a_tenth_of_its_sample(maze, run_crawl) -> None:
    first = _maze_rows(run_crawl(maze, settings=SETTINGS), maze)[0]["first_seen"]
    maze.asked.clear()
    again = run_crawl(maze, settings=SETTINGS, night=31)
    # One to know what the pages are like now, and one that is equal.
    assert _lost(maze) == 2
    assert _maze_rows(again, maze)[0]["first_seen"] > first
    maze.asked.clear()
    run_crawl(maze, settings=SETTINGS, night=32)
    assert _lost(maze) == 0


def test_a_folder_that_is_none_any_more_is_fetched_from_then_on(maze, run_crawl) -> None:
    run_crawl(maze, settings=SETTINGS)
    maze.asked.clear()
    maze.routes["/"] = maze.page("/lost/1/", "/lost/2/")
    maze.routes.update({"/lost/1/": b"<p>one<a href=/lost/3/>on</a>", "/lost/2/": b"<p>two<a href=/>on</a>", "/lost/3/": b"<p>three"})
    run = run_crawl(maze, settings=SETTINGS, night=31)
    assert {"/lost/1/", "/lost/2/", "/lost/3/"} <= set(maze.paths())
    assert _maze_rows(run, maze) == []


def test_a_different_page_lets_all_that_was_held_back_wait_again(maze, run_crawl) -> None:
    run_crawl(maze, settings=SETTINGS)
    maze.routes["/lost/real/"] = b"<p>a page of its own<a href=/>home</a>"
    seeds = [f"{maze.root}/", f"{maze.root}/lost/real/"]
    run = run_crawl({"domain": maze.host, "seeds": seeds}, settings=SETTINGS)
    assert _lost(maze) == 2 * SAMPLE + 1
    assert _maze_rows(run, maze)[0]["count"] == 2 * SAMPLE * (len(WORDS) - 1) + 1


def test_a_person_lets_it_through(maze, run_crawl) -> None:
    run_crawl(maze, settings=SETTINGS)
    free = {"traps": {"sample": SAMPLE, "allow": ["/lost/"]}, "budget": {"pages": 60, "depth": 100}}
    run = run_crawl(maze, settings=free)
    assert _lost(maze) > 40
    assert _maze_rows(run, maze) == []
    assert _maze_rows(run_crawl(maze, settings=free, night=1), maze) == []


def test_a_seed_below_it_is_fetched(maze, run_crawl) -> None:
    run_crawl(maze, settings=SETTINGS)
    maze.asked.clear()
    seeds = [f"{maze.root}/", f"{maze.root}/lost/bee/"]
    run_crawl({"domain": maze.host, "seeds": seeds}, settings=SETTINGS, night=1)
    assert [path for path in maze.paths() if path.startswith("/lost/")] == ["/lost/bee/"]
