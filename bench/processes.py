"""A crawl of 24 domains by one process and by two: wall and CPU seconds, pages lost.

`python -m bench.processes [--quick]` serves one generated site of 150 pages (30 to 200 kB) at 24 loopback addresses, half of them by each
of two nginx, and crawls all of them in one run, by one process and by two in turns; the quicker run of each counts. `--quick`
takes 40 pages and one run. How much quicker two are depends on the cores that the servers leave.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from bench.generated_site import make_site
from bench.measure import Bar, Spent, measure_call, print_rows, report
from bench.nginx import nginx

CACHE = Path(__file__).parent / ".cache" / "processes"
FIRST = "/p/0.html"
PAGES, QUICK_PAGES = 150, 40
RUNS = 2
HOSTS = tuple(f"127.0.7.{number}" for number in range(1, 25))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.processes", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_PAGES} pages a domain, one run")
    quick = parser.parse_args().quick
    pages, runs = (QUICK_PAGES, 1) if quick else (PAGES, RUNS)
    site, half = make_site(CACHE, pages), len(HOSTS) // 2
    spent: dict[int, list[Spent]] = {1: [], 2: []}
    with (
        nginx(site, CACHE / "nginx-1", HOSTS[0], HOSTS[1:half]) as one,
        nginx(site, CACHE / "nginx-2", HOSTS[half], HOSTS[half + 1 :]) as other,
    ):
        ports = [origin.rpartition(":")[2] for origin in (one, other)]
        origins = [f"http://{host}:{ports[place >= half]}" for place, host in enumerate(HOSTS)]
        for turn in range(1, runs + 1):
            for processes, took in spent.items():
                print(f"run {turn} of {runs}, {processes} process(es) …", file=sys.stderr, flush=True)
                took.append(_crawl(origins, processes))
    best = {processes: min(took, key=lambda run: run.wall_s) for processes, took in spent.items()}
    rows = [_row(processes, run) for processes, run in best.items()]
    print_rows(f"{len(HOSTS)} domains of {pages} pages each, the quicker of {runs}", rows)
    bars = {
        "wall_of_1_vs_2": Bar(round(best[1].wall_s / best[2].wall_s, 2)),
        "pages_missing": Bar(len(HOSTS) * pages - min(run.value for took in spent.values() for run in took), at_most=0),
    }
    return report("processes", bars, {"crawls": rows})


def _crawl(origins: list[str], processes: int) -> Spent:
    home = CACHE / "home"
    shutil.rmtree(home, ignore_errors=True)
    try:
        spent = measure_call("bench.processes:crawl_all", origins, processes, str(home))
    finally:
        shutil.rmtree(home, ignore_errors=True)
    if spent.status:
        raise SystemExit(f"the crawl ended with status {spent.status}; what it said stands above.")
    return spent


def crawl_all(origins: list[str], processes: int, folder: str) -> int:
    """The fetch stage over all domains; returns the pages with a WARC record."""
    from bench.crawlers import AGENT
    from trawl_core.clock import SystemClock, crawl_date
    from trawl_core.fetch.crawl import CrawlJob, crawl
    from trawl_core.lake import Lake, Partition, tables
    from trawl_core.sites import SitesConfig

    places = [origin.removeprefix("http://").split(":") for origin in origins]
    network = {"allow_networks": ["127.0.0.0/8"], "allow_ports": sorted({int(port) for _, port in places})}
    settings = {"delay_s": 0, "concurrency": 2, "network": network}
    sites = [{"domain": host, "seeds": [f"{origin}{FIRST}"], **settings} for origin, (host, _) in zip(origins, places, strict=True)]
    config = SitesConfig.model_validate({"user_agent": AGENT, "sites": sites})
    clock, lake = SystemClock(), Lake(Path(folder, "lake"))
    jobs = [CrawlJob(Partition(crawl_date(clock), site.domain), site) for site in config.sites]
    pages = 0
    for partition, outcome in crawl(jobs, lake=lake, work=Path(folder, "work"), config=config, clock=clock, processes=processes).items():
        if outcome.error is not None:
            raise outcome.error
        rows = tables.read(lake, "captures", partition, ["kind", "fetch_status", "warc_type"]).to_pylist()
        pages += sum(row["kind"] == "page" and row["fetch_status"] == 200 and row["warc_type"] is not None for row in rows)
    return pages


def _row(processes: int, spent: Spent) -> dict[str, int | float]:
    return {
        "processes": processes,
        "pages": spent.value,
        "wall s": round(spent.wall_s, 1),
        "cpu s": round(spent.cpu_s, 1),
        "pages/s": round(spent.value / spent.wall_s, 1),
        "rss mb": round(spent.peak_rss_mb),
    }


if __name__ == "__main__":
    sys.exit(main())
