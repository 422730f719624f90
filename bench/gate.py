"""What the extraction gate saves on a site's next release: SQLAlchemy's HTML documentation, 2.0.41 then 2.0.43.

`python -m bench.gate [--quick]` archives both releases as two nights, extracts the first, and the second once with the gate and once
without. CPU seconds are those of the stage and its workers, their start included. Each page whose text was carried over is compared
with what reading it in full gives; so is each page that was read by the extractor of the night before. `--quick` takes every eighth page.
"""

from __future__ import annotations

import argparse
import difflib
import os
import shutil
import sys
import uuid
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.get_sdist import fetch_sdists, unpack
from bench.measure import Bar, measure_call, print_rows, report
from bench.writers import AGENT, Wire, exchange_of
from trawl_core.clock import SystemClock
from trawl_core.extract.stage import ExtractorPool, extract_pages
from trawl_core.lake import Lake, Partition, tables
from trawl_core.sites import Site
from trawl_core.warc.captures import capture_row
from trawl_core.warc.writer import WarcWriter

CACHE = Path(__file__).parent / ".cache" / "gate"
DOMAIN = "docs.example.org"
RELEASES = ("2.0.41", "2.0.43")
NIGHTS = tuple(Partition(date(2026, 11, day), DOMAIN) for day in (1, 2))
RUNS = 2


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.gate", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="every eighth page instead of all")
    quick = parser.parse_args().quick
    home = CACHE / ("home-quick" if quick else "home")
    shutil.rmtree(home, ignore_errors=True)
    archives = fetch_sdists(CACHE / "sdist", [f"sqlalchemy=={release}" for release in RELEASES])
    for partition, archive in zip(NIGHTS, archives, strict=True):
        _archive(home / "lake", partition, unpack(archive, CACHE) / "doc", every=8 if quick else 1)
    extract(str(home / "lake"), 0, "on")
    runs = {gate: _cheapest(home, gate) for gate in ("on", "off")}
    rows = {gate: _rows(home / gate) for gate in runs}
    print_rows("The second night", [{"gate": gate, **_figures(run)} for gate, run in runs.items()])
    reasons = Counter(row["carried_because"] for row in rows["on"].values())
    carried = _other_texts(rows, "same_lines")
    read = _other_texts(rows, "same_reading")
    gated = reasons["same_lines"] + sum(row["gate_check"] is not None for row in rows["on"].values())
    bars = {
        "gated_share": Bar(round(gated / len(rows["on"]), 3), at_least=None if quick else 0.6),
        "cpu_of_all_to_cpu_gated": Bar(round(runs["off"]["cpu_s"] / runs["on"]["cpu_s"], 2), at_least=None if quick else 2.5),
        "carried_texts_that_reading_gives_otherwise": Bar(len(carried), at_most=0),
        "texts_read_as_before_that_all_extractors_give_otherwise": Bar(len(read)),
        "pages_missing": Bar(abs(len(rows["on"]) - len(rows["off"])), at_most=0),
    }
    figures = {
        "pages": len(rows["on"]),
        "by_reason": {str(name): count for name, count in reasons.items()},
        "carried": carried,
        "read": read,
    }
    return report("gate", bars, {**figures, **{f"gate_{gate}": run for gate, run in runs.items()}})


def _archive(folder: Path, partition: Partition, pages: Path, every: int) -> None:
    lake, rows = Lake(folder), []
    options = {"software": "trawl", "user_agent": AGENT, "config_hash": "0" * 16, "clock": SystemClock(), "work": folder.parent / "work"}
    with WarcWriter(lake, partition, **options) as writer:
        for wire in _wires(partition, pages, every):
            exchange, capture_id = exchange_of(wire), str(uuid.uuid5(uuid.NAMESPACE_URL, f"{partition} {wire.url}"))
            written = writer.write(exchange, capture_id)
            of_crawl: dict[str, Any] = {"revisit": None, "kind": "page", "depth": 0, "is_seed": False, "attempt": 1}
            rows.append(capture_row(exchange, capture_id=capture_id, partition=partition, written=written, **of_crawl))
    tables.commit(lake, "captures", partition, rows)


def _wires(partition: Partition, pages: Path, every: int) -> Iterator[Wire]:
    start = datetime(partition.crawl_date.year, partition.crawl_date.month, partition.crawl_date.day, 2, tzinfo=UTC)
    files = [file for file in sorted(pages.rglob("*.html")) if file.relative_to(pages).parts[0] != "build"]  # build holds the sources
    for number, file in enumerate(files[::every]):
        body = file.read_bytes()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        path = file.relative_to(pages).as_posix()
        request = f"GET /{path} HTTP/1.1\r\nHost: {DOMAIN}\r\nUser-Agent: {AGENT}\r\n\r\n".encode()
        yield Wire(f"https://{DOMAIN}/{path}", request, head + body, body, start + timedelta(seconds=number))


def extract(folder: str, night: int, gate: str) -> dict[str, Any]:
    """Run the stage over a night of a lake with one worker; CPU seconds with those of the worker, and the stage's facts."""
    site = Site.model_validate({"domain": DOMAIN, "seeds": [f"https://{DOMAIN}/"], "extraction_gate": gate})
    before = os.times()
    with ExtractorPool(1) as pool:
        facts = extract_pages(Lake(folder), NIGHTS[night], site, pool=pool).facts
    cpu_s = sum(os.times()[:4]) - sum(before[:4])
    return {"cpu_s": round(cpu_s, 2), **facts}


def _cheapest(home: Path, gate: str) -> dict[str, Any]:
    """The run with the least CPU time of some over fresh copies of the lake; the last copy stays as `home/gate`."""
    runs = []
    for _ in range(RUNS):
        shutil.rmtree(home / gate, ignore_errors=True)
        shutil.copytree(home / "lake", home / gate)
        spent = measure_call("bench.gate:extract", str(home / gate), 1, gate)
        runs.append(spent.value)
    return min(runs, key=lambda run: run["cpu_s"])


def _figures(run: dict[str, Any]) -> dict[str, Any]:
    return {name: run[name] for name in ("cpu_s", "rows", "gated", "read_as_before", "gate_checked", "gate_differed", "median_ms")}


def _rows(folder: Path) -> dict[str, dict[str, Any]]:
    names = ["url", "text", "extractor", "carried_because", "gate_check"]
    return {row["url"]: row for row in tables.read(Lake(folder), "pages", NIGHTS[1], names).to_pylist()}


def _other_texts(rows: dict[str, dict[str, dict[str, Any]]], because: str) -> list[str]:
    """URLs of the pages with that reason that reading in full gives another text, with the extractors; prints how they differ."""
    found = []
    for url, row in sorted(rows["on"].items()):
        full = rows["off"][url]
        if row["carried_because"] == because and row["text"] != full["text"]:
            found.append(f"{url}: {row['extractor']}, {full['extractor']}")
            print(f"{because}: {found[-1]}", file=sys.stderr)
            lines = difflib.unified_diff(row["text"].splitlines(), full["text"].splitlines(), "stored", "read in full", lineterm="", n=0)
            print("\n".join(line[:160] for _, line in zip(range(8), lines, strict=False)), file=sys.stderr)
    return found


if __name__ == "__main__":
    sys.exit(main())
