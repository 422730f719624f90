"""The archive's writer: against warcio's, with everything on the disk, and what capturing costs a fetch.

`python -m bench.warc [--quick] [--pages FOLDER]` makes pages of 1 to 200 kB once (or takes the HTML files of a folder), writes
the same exchanges with Trawl and with warcio, plain and gzipped by the server, each in a process of its own and the better of
the runs; records them as a crawl does, in batches of 64 that are synced and committed before the next; and fetches pages from
nginx on loopback with and without capture. `--quick` takes fewer of everything.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.fetchers import WAYS
from bench.measure import Bar, measure_call, print_rows, report
from bench.nginx import nginx
from bench.text_pages import make_pages
from bench.writers import AGENT, RECORDS_AN_EXCHANGE, exchange_of, wires
from trawl_core.warc.exchange import Exchange

CACHE = Path(__file__).parent / ".cache" / "warc"
PAGES, QUICK_PAGES = 1_500, 300
FETCHED_PAGES = 200
FETCHES, QUICK_FETCHES = 3_000, 600
RUNS = 5


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.warc", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_PAGES} pages, {QUICK_FETCHES} fetches")
    parser.add_argument("--pages", type=Path, help="a folder whose HTML files are the bodies, instead of generated ones")
    options = parser.parse_args()
    print("making pages …", file=sys.stderr, flush=True)
    pages = options.pages or make_pages(CACHE, QUICK_PAGES if options.quick else PAGES)
    written = {coded: _compare_writers(pages, coded) for coded in (False, True)}
    durable = _durable(pages)
    fetched = _compare_fetches(pages, QUICK_FETCHES if options.quick else FETCHES)
    bars = {
        "records_per_cpu_s_vs_warcio": Bar(_ratio(written[False], written[True]), at_least=5.0),
        "records_per_cpu_s_vs_warcio_plain": Bar(_ratio(written[False]), at_least=5.0),
        "records_per_cpu_s_vs_warcio_gzip": Bar(_ratio(written[True])),
        "file_size_vs_warcio_plain": Bar(_size_ratio(written[False]), at_most=1.12),
        "file_size_vs_warcio_gzip": Bar(_size_ratio(written[True]), at_most=1.12),
        "durable_exchanges_per_s": Bar(durable["per_s"], at_least=3_000),
        "capture_ms_a_fetch_over_requests": Bar(round(fetched["trawl, archived"] - fetched["requests"], 4), at_most=0.15),
        "capture_ms_a_fetch_over_urllib3": Bar(round(fetched["trawl, archived"] - fetched["urllib3"], 4), at_most=0.15),
    }
    return report("warc", bars, {"writers": [*written[False].values(), *written[True].values()], "durable": durable, "fetch_ms": fetched})


@contextmanager
def _emptied(name: str) -> Iterator[Path]:
    folder = CACHE / name
    shutil.rmtree(folder, ignore_errors=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _call(function: str, *arguments: Any) -> Any:
    spent = measure_call(function, *arguments)
    if spent.status:
        raise SystemExit(f"{function} ended with status {spent.status}; what it said stands above.")
    return spent.value


def _compare_writers(pages: Path, coded: bool) -> dict[str, dict[str, Any]]:
    """By writer: the run with the least CPU time, in turns so that both have the same machine."""
    best: dict[str, dict[str, Any]] = {}
    for turn in range(1, RUNS + 1):
        for name in ("trawl", "warcio"):
            with _emptied(name) as folder:
                run = _call(f"bench.writers:{name}", str(pages), coded, str(folder))
            print(
                f"{name}, {'gzip' if coded else 'plain'}, run {turn} of {RUNS}: {run['cpu_s']:.2f} CPU seconds", file=sys.stderr, flush=True
            )
            if name not in best or run["cpu_s"] < best[name]["cpu_s"]:
                best[name] = run
    rows = {name: _row(name, coded, run) for name, run in best.items()}
    print_rows(f"{best['trawl']['exchanges']} exchanges, bodies {'gzipped' if coded else 'plain'}, best of {RUNS}", list(rows.values()))
    return rows


def _row(name: str, coded: bool, run: Mapping[str, Any]) -> dict[str, Any]:
    records = run["exchanges"] * RECORDS_AN_EXCHANGE
    return {
        "writer": name,
        "bodies": "gzip" if coded else "plain",
        "records": records,
        "cpu_s": round(run["cpu_s"], 4),
        "records/cpu_s": round(records / run["cpu_s"]),
        "us/exchange": round(run["cpu_s"] / run["exchanges"] * 1e6),
        "mb": round(run["mb"], 3),
    }


def _ratio(*comparisons: Mapping[str, Mapping[str, Any]]) -> float:
    """Records per CPU second of Trawl to those of warcio, all comparisons taken together: both wrote the same records."""
    trawl_s, warcio_s = (sum(rows[name]["cpu_s"] for rows in comparisons) for name in ("trawl", "warcio"))
    return round(warcio_s / trawl_s, 2)


def _size_ratio(rows: Mapping[str, Mapping[str, Any]]) -> float:
    return round(rows["trawl"]["mb"] / rows["warcio"]["mb"], 4)


def _durable(pages: Path) -> dict[str, Any]:
    with _emptied("durable") as folder:
        runs = [_call("bench.warc:record_durably", str(pages), str(folder / str(turn))) for turn in range(RUNS)]
    best = max(runs, key=lambda run: run["per_s"])
    best["disk"] = _disk_of(CACHE)
    print_rows("Recorded as a crawl does, fdatasync and SQLite commit for each batch", [best])
    return best


def record_durably(pages: str, folder: str) -> dict[str, Any]:
    """Record the pages and make every batch durable: WARC append, fdatasync, SQLite commit.

    Every second body comes gzipped.
    """
    from trawl_core.clock import SystemClock
    from trawl_core.fetch.ledger import Ledger
    from trawl_core.fetch.recording import BATCH_EXCHANGES, Recorder
    from trawl_core.fetch.state import NightState, state_file
    from trawl_core.lake import Lake, Partition
    from trawl_core.sites import Site

    site = Site(domain="docs.example.org", seeds=["https://docs.example.org/"])
    pairs = zip(wires(pages, False), wires(pages, True), strict=True)
    exchanges = [exchange_of(coded if number % 2 else plain) for number, (plain, coded) in enumerate(pairs)]
    partition, work, clock = Partition(exchanges[0].started_at.date(), site.domain), Path(folder, "work"), SystemClock()
    state = NightState(state_file(work, partition))
    recorder = Recorder(
        Lake(Path(folder, "lake")), partition, site, state=state, ledger=Ledger(state), user_agent=AGENT, clock=clock, work=work
    )
    state.commit()
    synced_s = 0.0

    def record_all(batches: list[list[Exchange]]) -> None:
        nonlocal synced_s
        for batch in batches:
            for exchange in batch:
                recorder.record(exchange, kind="page", depth=1, is_seed=False, attempt=1)
            before = time.perf_counter()
            recorder.make_durable()
            synced_s += time.perf_counter() - before

    first, *batches = [exchanges[start : start + BATCH_EXCHANGES] for start in range(0, len(exchanges), BATCH_EXCHANGES)]
    record_all([first])  # what is loaded once a process
    synced_s = 0.0
    started, cpu_started = time.perf_counter(), time.process_time()
    record_all(batches)
    wall_s, cpu_s = time.perf_counter() - started, time.process_time() - cpu_started
    recorded = len(exchanges) - len(first)
    recorder.seal()
    state.close()
    return {
        "exchanges": recorded,
        "per_s": round(recorded / wall_s),
        "cpu_us/exchange": round(cpu_s / recorded * 1e6),
        "ms/batch made durable": round(synced_s / len(batches) * 1000, 2),
    }


def _disk_of(folder: Path) -> str:
    """Device and filesystem of a folder: what `durable` means depends on them."""
    mounts = (line.split() for line in Path("/proc/mounts").read_text().splitlines())
    lies_below = [(point, device, kind) for device, point, kind, *_ in mounts if folder.resolve().is_relative_to(point)]
    _, device, kind = max(lies_below, key=lambda mount: len(mount[0]))
    return f"{device}, {kind}"


def _compare_fetches(pages: Path, fetches: int) -> dict[str, float]:
    """CPU milliseconds of one fetch by its way, the best run of each; SystemExit when one of them did not get all bytes."""
    files = sorted(pages.glob("**/*.html"))[:FETCHED_PAGES]
    best: dict[str, float] = {}
    sizes = set()
    with _emptied("site") as site, _emptied("fetched") as folder:
        site.mkdir(parents=True)
        for number, file in enumerate(files):
            (site / f"{number}.html.gz").write_bytes(gzip.compress(file.read_bytes(), 6, mtime=0))
        with nginx(site, CACHE / "nginx") as origin:
            urls = [f"{origin}/{number % len(files)}.html" for number in range(fetches)]
            for _ in range(RUNS):
                for way in WAYS:
                    run = _call("bench.fetchers:fetch", way, urls, str(folder))
                    best[way] = min(run["each_ms"], best.get(way, run["each_ms"]))
                    sizes.add(run["bytes"])
    if len(sizes) != 1:
        raise SystemExit(f"the ways to fetch got different documents, bytes in all: {sorted(sizes)}.")
    print_rows(f"{fetches} fetches of {len(files)} pages, best of {RUNS}", [{"fetched by": way, "cpu ms": ms} for way, ms in best.items()])
    return {way: round(ms, 4) for way, ms in best.items()}


if __name__ == "__main__":
    sys.exit(main())
