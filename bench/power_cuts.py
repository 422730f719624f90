"""Power cuts in the middle of crawls, then `trawl repair`: every row leads to its bytes, every file is whole, nothing durable is lost.

`python -m bench.power_cuts [--quick]` makes 200 of them (40 with --quick): each kills a crawl of a site on loopback with SIGKILL, at a
random request, or just before or behind one of its syncs, renames and commits, and takes away what was not durable (bench.lost_power).
Every third home suffers two or three cuts, the crawl going on between them. At the end of each home the crawl is finished, and must hold
every page with its bytes.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.compute as pc

from bench.lost_power import TAILS, cut
from bench.measure import Bar, print_rows, report
from trawl_core.clock import SystemClock
from trawl_core.demo import DemoServer, SiteContent
from trawl_core.demo.content import Answer
from trawl_core.errors import TrawlError
from trawl_core.fetch.recovery import recover
from trawl_core.fetch.state import NightState
from trawl_core.lake import Lake, tables
from trawl_core.lake.beside import sweep
from trawl_core.warc.reader import iter_records, payload_of_capture, read_payload
from trawl_core.warc.verify import verify

CUTS, QUICK_CUTS = 200, 40
PAGES = 150
DOMAIN = "127.0.0.8"
_MOST_MOMENTS = 60

# Imports once and forks a crawl for each line that it reads; its pid, then its status, come back as lines.
_MOTHER = """
import json, os, sys
from pathlib import Path
from bench.lost_power import watch
from trawl_core.clock import SystemClock, crawl_date
from trawl_core.fetch.crawl import CrawlJob, crawl
from trawl_core.lake import Lake, Partition
from trawl_core.sites import parse_sites
for line in sys.stdin:
    order = json.loads(line)
    pid = os.fork()
    if not pid:
        folder, config, clock = Path(order["folder"]), parse_sites(order["sites"]), SystemClock()
        watch(folder / "journal", folder / "vault", order["die_at"])
        jobs = [CrawlJob(Partition(crawl_date(clock), site.domain), site) for site in config.sites]
        outcomes = crawl(jobs, lake=Lake(folder / "home" / "lake"), work=folder / "home" / "work", config=config, clock=clock)
        errors = [str(outcome.error) for outcome in outcomes.values() if outcome.error]
        print(*errors, sep="\\n", end="", file=sys.stderr, flush=True)
        os._exit(len(errors))
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class CutSite(DemoServer):
    """Page n links to 2n + 1 and 2n + 2; a third of the leaves share one body. `on_request` is called with the number of each request."""

    def __init__(self, host: str = DOMAIN, pages: int = PAGES) -> None:
        self.asked = 0
        self.on_request: Callable[[int], None] = lambda number: None
        self.bodies = {_path(number): _page(number, pages) for number in range(pages)}
        super().__init__(
            host, 0, lambda night, origin: SiteContent("tree", night, {path: Answer(body=body) for path, body in self.bodies.items()})
        )

    def answer(self, path: str) -> Answer:
        self.asked += 1
        self.on_request(self.asked)
        return super().answer(path)

    @property
    def sites(self) -> str:
        network = {"allow_networks": ["127.0.0.0/8"], "allow_ports": [self.port]}
        site = {"domain": self.host, "seeds": [f"{self.origin}/"], "delay_s": 0, "network": network}
        return json.dumps({"user_agent": "TrawlBot/1.0 (+https://example.org/bot)", "sites": [site]})

    def missing(self, lake: Lake) -> set[str]:
        """Paths of pages that no good capture holds with its bytes."""
        truth = {(f"{self.origin}{path}", base64.b32encode(hashlib.sha1(body).digest()).decode()) for path, body in self.bodies.items()}
        captures = tables.read_many(lake, "captures", lake.partitions("captures"), ["url", "content_digest", "outcome"])
        good = captures.filter(pc.equal(captures["outcome"], "ok"))
        return {url for url, _ in truth - set(zip(good["url"].to_pylist(), good["content_digest"].to_pylist(), strict=True))}


def _path(number: int) -> str:
    return f"/{number}" if number else "/"


def _page(number: int, pages: int) -> bytes:
    children = [child for child in (2 * number + 1, 2 * number + 2) if child < pages]
    own = (
        ""
        if number % 3 == 2 and not children
        else f"<p>page {number} " + " ".join(f"w{(number * 7919 + step) % 4999}" for step in range(200))
    )
    return ("<!doctype html><title>page</title>" + "".join(f'<a href="{_path(child)}">{child}</a>' for child in children) + own).encode()


@dataclass
class Crawls:
    """Crawls in processes that can be killed."""

    site: CutSite
    mother: subprocess.Popen[str]

    def run(self, folder: Path, *, die_at: int | None = None, at_request: int | None = None) -> bool:
        """Whether the crawl was killed, at that moment (see bench.lost_power) or that many requests from now."""
        pids: list[int] = []
        last = self.site.asked + (at_request or 0)

        def on_request(number: int) -> None:
            if at_request and number == last:
                os.kill(pids[0], signal.SIGKILL)

        assert self.mother.stdin and self.mother.stdout
        self.mother.stdin.write(json.dumps({"folder": str(folder), "sites": self.site.sites, "die_at": die_at}) + "\n")
        self.mother.stdin.flush()
        pids.append(int(self.mother.stdout.readline()))
        self.site.on_request = on_request
        status = int(self.mother.stdout.readline())
        self.site.on_request = lambda number: None
        if status not in (0, -signal.SIGKILL):
            raise SystemExit(f"a crawl in {folder} ended with status {status}; what it said stands above.")
        return status != 0


@contextmanager
def crawls(site: CutSite) -> Iterator[Crawls]:
    root = str(Path(__file__).resolve().parents[1])
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])}
    with subprocess.Popen([sys.executable, "-c", _MOTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ) as mother:
        yield Crawls(site, mother)
        assert mother.stdin
        mother.stdin.close()


@dataclass
class Found:
    """What was wrong after `trawl repair`, summed up; `told` has the first lines of each kind."""

    cuts: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    told: list[str] = field(default_factory=list)

    def add(self, kind: str, line: str) -> None:
        self.counts[kind] += 1
        if self.counts[kind] <= 5:
            self.told.append(f"{kind}: {line[:300]}")


def one_home(crawls: Crawls, folder: Path, chance: random.Random, cuts: int, found: Found) -> None:
    """A new home that suffers up to `cuts` power cuts (fewer when the crawl ends before), is repaired, looked at, and finished."""
    home = folder / "home"
    for name in ("lake", "work"):
        (home / name).mkdir(parents=True)
    lake = Lake(home / "lake")
    for _ in range(cuts):
        at_request = chance.randint(1, PAGES) if chance.random() < 0.4 else None
        die_at = None if at_request else chance.randint(1, _MOST_MOMENTS)
        if not crawls.run(folder, die_at=die_at, at_request=at_request):
            break
        how = {"tail": chance.choice(TAILS), "folders_too": chance.random() < 0.5}
        cut(home, folder / "journal", **how, chance=chance)
        found.cuts += 1
        moment = f"cut {found.cuts} ({'request' if at_request else 'moment'} {at_request or die_at}, {how})"
    else:
        durable = _durable_rows(home / "work")
        list(recover(lake, home / "work"))
        list(sweep(home))
        _look(lake, durable, moment, found)
    crawls.run(folder)
    for url in crawls.site.missing(lake):
        found.add("missing_pages", f"{url} in {folder}")
    for problem in verify(lake):
        found.add("problems_at_the_end", str(problem))


def _durable_rows(work: Path) -> int:
    """Captures that the surviving crawl state knows."""
    rows = 0
    for path in work.glob("*/*.sqlite"):
        state = NightState(path)
        rows += state.db.execute("SELECT count(*) FROM captures").fetchone()[0]
        state.close()
    return rows


def _look(lake: Lake, durable: int, moment: str, found: Found) -> None:
    for name in lake.files("warc"):
        try:
            for _ in iter_records(lake, name):
                pass
        except TrawlError as error:
            found.add("unreadable_files", f"{moment}: {error}")
        if name.endswith(".open"):
            found.add("unreadable_files", f"{moment}: {name} is not sealed")
    captures = tables.read_many(lake, "captures", lake.partitions("captures")).to_pylist()
    for row in captures:
        if row["warc_filename"] is not None and (fault := _unresolved(lake, row)):
            found.add("unresolvable_rows", f"{moment}: {fault}")
    if len(captures) < durable:
        found.add("durable_rows_lost", f"{moment}: {durable} were durable, {len(captures)} are in captures")
    for problem in verify(lake):
        found.add("problems", f"{moment}: {problem}")


def _unresolved(lake: Lake, row: Mapping) -> str | None:
    try:
        record = read_payload(lake, row["warc_filename"], row["warc_record_offset"], row["warc_record_length"])
        payload = payload_of_capture(lake, row).payload
    except TrawlError as error:
        return str(error)
    if record.capture_id != row["capture_id"]:
        return f"{row['capture_id']} leads to {record.capture_id}"
    return None if hashlib.sha256(payload).hexdigest() == row["payload_sha256"] else f"{row['capture_id']} leads to another payload"


KINDS = ("unresolvable_rows", "unreadable_files", "durable_rows_lost", "problems", "missing_pages", "problems_at_the_end")


def make_cuts(cuts: int, folder: Path, seed: int) -> Found:
    """At least `cuts` power cuts over as many homes as it takes."""
    chance, found = random.Random(seed), Found()
    with CutSite() as site, crawls(site) as running:
        number = 0
        while found.cuts < cuts:
            home = folder / f"{number:04d}"
            one_home(running, home, chance, 1 if number % 3 else chance.randint(2, 3), found)
            shutil.rmtree(home)
            number += 1
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.power_cuts", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_CUTS} cuts")
    parser.add_argument("--seed", type=int, default=4, help="of the moments and of what is lost")
    args = parser.parse_args()
    started = SystemClock().monotonic()
    with tempfile.TemporaryDirectory() as folder:
        found = make_cuts(QUICK_CUTS if args.quick else CUTS, Path(folder), args.seed)
    for line in found.told:
        print(line)
    row = {"power cuts": found.cuts, **{kind.replace("_", " "): found.counts[kind] for kind in KINDS}}
    print_rows("Power cuts, each followed by trawl repair", [row])
    bars = {"power_cuts": Bar(found.cuts, at_least=QUICK_CUTS if args.quick else CUTS)}
    bars |= {kind: Bar(found.counts[kind], at_most=0) for kind in KINDS}
    return report("power_cuts", bars, {"seconds": round(SystemClock().monotonic() - started, 1), "seed": args.seed})


if __name__ == "__main__":
    sys.exit(main())
