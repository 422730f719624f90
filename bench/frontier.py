"""The frontier at the size of a large site: a million URLs in, leased and completed, and a cap that pushes some out.

`python -m bench.frontier [--quick]` measures, each in a process of its own, what entering, leasing and completing a URL
costs with everything made durable in the crawl's batches, the peak memory, what opening the file again costs, and that
every URL pushed out by a cap is accounted for. `--quick` takes a twentieth of the URLs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.measure import Bar, Spent, measure_call, print_rows, report
from trawl_core.fetch.frontier import DONE, EVICT_SHARE, EVICTED, WAITING, Frontier, NewUrl
from trawl_core.fetch.night import LEASE_BATCH
from trawl_core.fetch.recording import BATCH_EXCHANGES
from trawl_core.fetch.state import NightState

URLS, QUICK_URLS = 1_000_000, 50_000
CYCLES_SHARE = 10
LINKS_PER_PAGE = 50
ORIGINS = 4
NOW_S = 1_800_000_000.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.frontier", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a twentieth of the URLs")
    urls = QUICK_URLS if parser.parse_args().quick else URLS
    with tempfile.TemporaryDirectory() as folder:
        filled, cycled, capped = (
            measure_call(f"bench.frontier:{name}", f"{folder}/{file}.sqlite", urls)
            for name, file in (("fill", "whole"), ("cycle", "whole"), ("overfill", "capped"))
        )
    rows = [_row(name, spent) for name, spent in (("enter", filled), ("lease and complete", cycled), ("enter under a cap", capped))]
    print_rows(f"{urls:,} URLs", rows)
    bars = {
        "urls_entered": Bar(filled.value["urls"], at_least=urls),
        "cycle_ms": Bar(cycled.value["each_ms"], at_most=0.2),
        "peak_rss_mb": Bar(round(max(spent.peak_rss_mb for spent in (filled, cycled, capped)), 1), at_most=300),
        "open_again_s": Bar(cycled.value["open_s"], at_most=1.0),
        "evicted": Bar(capped.value["evicted"], at_least=urls // 2),
        "evicted_unaccounted": Bar(capped.value["unaccounted"], at_most=0),
        "evicted_though_among_the_best": Bar(capped.value["wronged"], at_most=0),
    }
    return report("frontier", bars, {"rows": rows, "file_mb": filled.value["file_mb"], "open_s": cycled.value["open_s"]})


def _row(name: str, spent: Spent) -> dict[str, Any]:
    figures = spent.value
    return {
        "step": name,
        "urls": figures["urls"],
        "each ms": figures["each_ms"],
        "cpu s": round(spent.cpu_s, 2),
        "peak rss mb": round(spent.peak_rss_mb, 1),
    }


def fill(path: str, urls: int) -> dict[str, Any]:
    """Let URLs in as pages name them, a commit for each batch of pages."""
    state = NightState(Path(path))
    frontier = Frontier(state, cap=2 * urls)
    each_ms = _enter_all(frontier, state, urls)
    entered = frontier.waiting
    state.close()
    return {"urls": entered, "each_ms": each_ms, "file_mb": round(Path(path).stat().st_size / 1e6, 1)}


def cycle(path: str, urls: int) -> dict[str, Any]:
    """Lease a share of the URLs, in the crawl's batches and origin by origin, and complete them."""
    started = time.perf_counter()
    state = NightState(Path(path))
    frontier = Frontier(state, cap=2 * urls)
    open_s = time.perf_counter() - started
    started = time.perf_counter()
    done = 0
    while done < urls // CYCLES_SHARE:
        for number in range(ORIGINS):
            for lease in frontier.lease(_origin(number), LEASE_BATCH, NOW_S):
                frontier.finish(lease, "ok")
                done += 1
                if done % BATCH_EXCHANGES == 0:
                    state.commit()
    state.commit()
    each_ms = (time.perf_counter() - started) / done * 1000
    assert frontier.sample(DONE)[0] == done
    state.close()
    return {"urls": done, "each_ms": round(each_ms, 4), "open_s": round(open_s, 2)}


def overfill(path: str, urls: int) -> dict[str, Any]:
    """Twice as many URLs as the cap lets wait. `wronged` counts those pushed out though they are among the best of all that
    entered, as many as wait when a share was just pushed out."""
    cap = urls // 2
    state = NightState(Path(path))
    frontier = Frontier(state, cap)
    each_ms = _enter_all(frontier, state, urls)
    waiting, evicted = frontier.sample(WAITING)[0], frontier.sample(EVICTED)[0]
    best = "SELECT priority FROM urls ORDER BY priority DESC LIMIT 1 OFFSET ?"
    least_of_best = state.db.execute(best, (int(cap * (1 - EVICT_SHARE)),)).fetchone()[0]
    wronged = state.db.execute("SELECT count(*) FROM urls WHERE state = ? AND priority > ?", (EVICTED, least_of_best)).fetchone()[0]
    state.close()
    return {"urls": urls, "each_ms": each_ms, "unaccounted": urls - waiting - evicted, "wronged": wronged, "evicted": evicted}


def _enter_all(frontier: Frontier, state: NightState, urls: int) -> float:
    started = time.perf_counter()
    for number, new in enumerate(_urls(urls), start=1):
        frontier.add(new)
        if number % (LINKS_PER_PAGE * BATCH_EXCHANGES) == 0:
            state.commit()
    state.commit()
    return round((time.perf_counter() - started) / urls * 1000, 4)


def _urls(urls: int) -> Iterator[NewUrl]:
    """In an order unlike that of the alphabet, with priorities spread as link depth and keywords spread them."""
    for step in range(urls):
        number = step * 7_919 % urls
        origin = _origin(number % ORIGINS)
        url = f"{origin}/section-{number % 997}/an-article-of-this-name-{number}.html"
        yield NewUrl(url, origin, priority=1 / (1 + number % 50), depth=number % 9, via_id=f"{number:032x}")


def _origin(number: int) -> str:
    return f"https://docs{number}.example.org"


if __name__ == "__main__":
    sys.exit(main())
