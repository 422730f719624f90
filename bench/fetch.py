"""Trawl's crawl against Scrapy's: pages per CPU-second over the same 2,000 pages (30 to 200 kB, about 190 links each, gzip).

`python -m bench.fetch [--quick]` makes the site once, serves it with nginx on loopback and crawls it with both in turns, each
in a process of its own; the better run of each counts. `--quick` takes 150 pages and one run.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import sys
from pathlib import Path

from bench.generated_site import PAGES, QUICK_PAGES, make_site
from bench.measure import Bar, Spent, measure_call, print_rows, report
from bench.nginx import nginx

CACHE = Path(__file__).parent / ".cache" / "fetch"
FIRST = "/p/0.html"
RUNS = 2
AT_LEAST = 5.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.fetch", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_PAGES} pages, one run")
    quick = parser.parse_args().quick
    pages, runs = (QUICK_PAGES, 1) if quick else (PAGES, RUNS)
    print(f"making {pages} pages …", file=sys.stderr, flush=True)
    site = make_site(CACHE, pages)
    trawl_runs, scrapy_runs = [], []
    with nginx(site, CACHE / "nginx") as origin:
        for turn in range(1, runs + 1):
            print(f"run {turn} of {runs} …", file=sys.stderr, flush=True)
            trawl_runs.append(_trawl(origin))
            scrapy_runs.append(_finished("scrapy", measure_call("bench.crawlers:scrapy", origin, FIRST)))
    trawl, scrapy = (min(spent, key=lambda run: run.cpu_s) for spent in (trawl_runs, scrapy_runs))
    rows = [_row("Trawl", trawl), _row("Scrapy", scrapy)]
    print_rows(f"{pages} pages of {_mean_kb(site):.0f} kB in the mean, the best of {runs}", rows)
    ratio = (trawl.value / trawl.cpu_s) / (scrapy.value / scrapy.cpu_s)
    bars = {
        "pages_per_cpu_s_vs_scrapy": Bar(round(ratio, 2), at_least=_at_least(quick)),
        "pages_missing": Bar(pages - min(run.value for run in trawl_runs), at_most=0),
        "pages_missing_scrapy": Bar(pages - min(run.value for run in scrapy_runs), at_most=0),
    }
    return report("fetch", bars, {"crawls": rows})


def _at_least(quick: bool) -> float | None:
    """On a few pages the start of Python is most of what both spend."""
    return None if quick else AT_LEAST


def _trawl(origin: str) -> Spent:
    home = CACHE / "home"
    shutil.rmtree(home, ignore_errors=True)
    try:
        return _finished("trawl", measure_call("bench.crawlers:trawl", origin, FIRST, str(home)))
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _finished(name: str, spent: Spent) -> Spent:
    if spent.status:
        raise SystemExit(f"{name}: the crawl ended with status {spent.status}; what it said stands above.")
    print(f"{name}: {spent.value} pages in {spent.cpu_s:.2f} CPU seconds", file=sys.stderr, flush=True)
    return spent


def _row(name: str, spent: Spent) -> dict[str, str | int | float]:
    return {
        "crawler": name,
        "pages": spent.value,
        "cpu_s": round(spent.cpu_s, 2),
        "wall_s": round(spent.wall_s, 2),
        "pages/cpu_s": round(spent.value / spent.cpu_s, 1),
        "ms/page": round(1000 * spent.cpu_s / spent.value, 2),
        "rss_mb": round(spent.peak_rss_mb),
    }


def _mean_kb(site: Path) -> float:
    files = sorted((site / "p").glob("*.gz"))[:200]
    return sum(len(gzip.decompress(file.read_bytes())) for file in files) / len(files) / 1000


if __name__ == "__main__":
    sys.exit(main())
