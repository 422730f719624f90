"""Pages made to break extractors, each through a real worker process: its time, its memory, its row and its reason.

`python -m bench.hostile [--quick]`: a lake with the pages in its archive, an ExtractorPool as the `pages` asset has one. `--quick`
leaves out 50 MB pages, and takes 500 mutations and 1,000 pages for the flat memory.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from statistics import mean
from typing import Any

import psutil

from bench.hostile_pages import MARK, cut_pages, hostile_pages, mutated_pages, ordinary_page
from bench.measure import Bar, print_rows, report
from trawl_core.clock import SystemClock
from trawl_core.extract.html import extract_html
from trawl_core.extract.page import Page
from trawl_core.extract.pool import ExtractorPool
from trawl_core.extract.worker import Job
from trawl_core.lake import Lake, Partition
from trawl_core.warc.captures import capture_row
from trawl_core.warc.exchange import Exchange
from trawl_core.warc.writer import WarcWriter

DOMAIN = "hostile.example.org"
PARTITION = Partition(date(2026, 11, 29), DOMAIN)
MUTATIONS, QUICK_MUTATIONS = 10_000, 500
FLAT_PAGES, QUICK_FLAT_PAGES = 5_000, 1_000
MAX_S, MAX_MB = 10.0, 1000.0
POLL_S = 0.02
_SHOWN = ("page", "s", "peak mb", "status", "extractor", "chars", "")


@dataclass(frozen=True)
class Trial:
    page: Page
    seconds: float
    peak_mb: float


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.hostile", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="nothing of 50 MB, fewer mutations")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            _row(name, wants_text, _try(Path(folder), name, body))
            for name, body, wants_text in hostile_pages((2, 10) if quick else (2, 9, 10, 50))
        ]
        cuts = _cuts(Path(folder))
        flat = _flat(Path(folder), QUICK_FLAT_PAGES if quick else FLAT_PAGES)
    count = QUICK_MUTATIONS if quick else MUTATIONS
    raised = _mutations(count)
    print_rows("Hostile pages, each in a worker of its own", [{key: row[key] for key in _SHOWN} for row in rows])
    bars = {
        "slowest_s": Bar(max(row["s"] for row in rows), at_most=MAX_S),
        "peak_rss_mb": Bar(max(row["peak mb"] for row in rows), at_most=MAX_MB),
        "pages_without_their_text_or_reason": Bar(sum(not row["ok"] for row in rows), at_most=0),
        "cuts_without_text_or_reason": Bar(cuts, at_most=0),
        f"exceptions_of_{count}_mutated_pages": Bar(raised, at_most=0),
        "worker_rss_drift_mb": Bar(flat["drift mb"], at_most=50),
    }
    print_rows("Memory of one worker over many pages", [flat])
    return report("hostile", bars, {"pages": rows, "flat": flat})


def _row(name: str, wants_text: bool, trial: Trial) -> dict[str, Any]:
    page = trial.page
    ok = MARK in page.text if wants_text else bool(page.text or page.extract_error)
    return {
        "page": name,
        "s": round(trial.seconds, 2),
        "peak mb": round(trial.peak_mb),
        "status": page.extract_status,
        "extractor": page.extractor,
        "chars": page.text_chars,
        "blocks": len(page.blocks),
        "links": len(page.outlinks),
        "reason": page.extract_error,
        "ok": ok,
        "": "ok" if ok else "MISSED",
    }


def archive(folder: Path, bodies: Iterable[tuple[str, bytes]]) -> tuple[Lake, list[Job]]:
    """A lake with one record for each (name, body), and the jobs to extract them."""
    lake = Lake(folder / "lake")
    writer = WarcWriter(
        lake, PARTITION, software="trawl/bench", user_agent="BenchBot/1.0", config_hash="0", clock=SystemClock(), work=folder / "work"
    )
    jobs = []
    for number, (name, body) in enumerate(bodies):
        url = f"https://{DOMAIN}/{number}"
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
        exchange = Exchange(
            url=url,
            started_at=datetime(2026, 11, 29, 2, tzinfo=UTC),
            request_bytes=f"GET {url} HTTP/1.1\r\n\r\n".encode(),
            response_bytes=head + body,
            head_length=len(head),
            payload=body,
            status=200,
            reason="OK",
            headers=(("Content-Type", "text/html"),),
            outcome="ok",
        )
        written = writer.write(exchange, f"00000000-0000-0000-0000-{number:012}")
        row = capture_row(
            exchange,
            capture_id=f"00000000-0000-0000-0000-{number:012}",
            partition=PARTITION,
            written=written,
            revisit=None,
            kind="page",
            depth=0,
            is_seed=False,
            attempt=1,
        )
        jobs.append(Job(name, row, 100 * 2**20))
    writer.close()
    return lake, jobs


def _try(folder: Path, name: str, body: bytes) -> Trial:
    """The page alone, by a worker that has read an ordinary one before."""
    with tempfile.TemporaryDirectory(dir=folder) as own:
        lake, (first, job) = archive(Path(own), [("first", ordinary_page(0)), (name, body)])
        with ExtractorPool(1) as pool:
            list(pool.run(lake, [first]))
            watch = _Watch(pool._workers[0].process.pid)
            started = time.monotonic()
            (answer,) = pool.run(lake, [job])
            seconds = time.monotonic() - started
            peak_mb = watch.end()
    print(f"{name}: {seconds:.1f} s, {peak_mb:.0f} MB", flush=True)
    return Trial(_page_of(answer), seconds, peak_mb)


class _Watch:
    """The largest resident set of a process, from now on; what it says itself (VmHWM) where it is still alive."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._peak = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.wait(POLL_S):
            self._look()

    def _look(self) -> None:
        try:
            status = Path(f"/proc/{self._pid}/status").read_text()
        except OSError:
            return
        for line in status.splitlines():
            if line.startswith("VmHWM:"):
                self._peak = max(self._peak, int(line.split()[1]) * 1024 / 1e6)

    def end(self) -> float:
        self._over.set()
        self._thread.join()
        self._look()
        return self._peak


def _cuts(folder: Path) -> int:
    """How many of the cuts of one page gave neither text nor reason."""
    with tempfile.TemporaryDirectory(dir=folder) as own, ExtractorPool(1) as pool:
        lake, jobs = archive(Path(own), cut_pages())
        pages = [_page_of(answer) for answer in pool.run(lake, jobs)]
    return len(jobs) - sum(bool(page.text) or bool(page.extract_error) for page in pages)


def _mutations(count: int) -> int:
    """How many mutated pages an exception came out of."""
    raised = 0
    for number, body in enumerate(mutated_pages(count)):
        try:
            extract_html(body, f"https://{DOMAIN}/", "text/html")
        except Exception as error:  # noqa: BLE001 - counting them is what this is for
            raised += 1
            print(f"mutated page {number}: {type(error).__name__}: {error}", flush=True)
    return raised


def _flat(folder: Path, count: int) -> dict[str, Any]:
    """The resident set of one worker that is never replaced: the mean of the last tenth of its pages less that of the second."""
    with tempfile.TemporaryDirectory(dir=folder) as own, ExtractorPool(1, pages_per_worker=count + 1) as pool:
        lake, jobs = archive(Path(own), ((str(number), ordinary_page(number)) for number in range(count)))
        sizes = []
        for _ in pool.run(lake, jobs):
            sizes.append(psutil.Process(pool._workers[0].process.pid).memory_info().rss / 1e6)
    tenth = count // 10
    early, late = mean(sizes[tenth : 2 * tenth]), mean(sizes[-tenth:])
    return {
        "pages": count,
        "early mb": round(early, 1),
        "late mb": round(late, 1),
        "most mb": round(max(sizes), 1),
        "drift mb": round(late - early, 1),
    }


def _page_of(answer: Any) -> Page:
    if answer.page is None:
        raise SystemExit(f"bench.hostile: the page {answer.key} turned out to be empty; the archive was written wrongly.")
    return answer.page


if __name__ == "__main__":
    sys.exit(main())
