"""Two nights over real documentation: SQLAlchemy's HTML of releases 2.0.40 and 2.0.43, from its source distributions.

`python -m bench.real_docs [--quick]` serves them on loopback, runs `trawl crawl` for night 1, night 2 and night 2 once
more, prints per stage rows, seconds, CPU seconds and peak memory, and checks what came out. `--quick` takes a dozen pages.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from bench.get_sdist import fetch_sdists, unpack
from bench.measure import Bar, Spent, measure, print_rows, report
from bench.stages import stage_rows
from bench.static_site import folder_site, pages_of
from trawl_core.demo import DemoServer, SiteContent
from trawl_core.lake import Lake, Partition, tables

CACHE = Path(__file__).parent / ".cache" / "real_docs"
DOMAIN = "127.0.0.5"
RELEASES = (("2.0.40", datetime(2025, 3, 27, tzinfo=UTC)), ("2.0.43", datetime(2025, 8, 11, tzinfo=UTC)))
NIGHTS = (date(2026, 11, 1), date(2026, 11, 2))
QUICK = r"^/($|index\.html|robots\.txt|sitemap\.xml|faq/|core/(pooling|engines)\.)"
QUERY, WANTED = "connection pool pre ping", "/core/pooling.html"
PAGES_AT_LEAST = 236
TRAWL = [sys.executable, "-c", "import sys; from trawl_core.cli import main; sys.exit(main())"]


@dataclass(frozen=True)
class Night:
    """One run of `trawl crawl`."""

    label: str
    spent: Spent
    stages: list[dict[str, Any]]


def main() -> int:
    quick = _arguments().quick
    home = CACHE / ("home-quick" if quick else "home")
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    include = re.compile(QUICK) if quick else None
    with DemoServer(DOMAIN, 0, _content(_releases())) as server:
        (home / "sites.yaml").write_text(_sites_yaml(server.port, quick))
        nights = [_night(home, "night 1", NIGHTS[0], 2)]
        served = [pages_of(server.content, include)]
        server.set_night(1)
        nights.append(_night(home, "night 2", NIGHTS[1], 2))
        served.append(pages_of(server.content, include))
        nights.append(_night(home, "night 2 again", NIGHTS[1], 3))
    for night in nights:
        print_rows(f"{night.label}: what each stage took", [*night.stages, _rest(night)])
    figures = {"nights": [_figures(night) for night in nights], "stages": {night.label: night.stages for night in nights}}
    print_rows("The whole command", figures["nights"])
    return report("real_docs", _bars(home, nights, served, quick), figures)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.real_docs", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a dozen pages instead of all")
    return parser.parse_args()


def _releases() -> list[Path]:
    pins = [f"sqlalchemy=={release}" for release, _ in RELEASES]
    return [unpack(archive, CACHE) / "doc" for archive in fetch_sdists(CACHE / "sdist", pins)]


def _content(folders: list[Path]) -> Callable[[int, str], SiteContent]:
    """doc/build holds the sources of the documentation, the HTML stands beside it."""
    return lambda night, origin: folder_site(folders[night], night, origin, RELEASES[night][1], leave_out=("build",))


def _sites_yaml(port: int, quick: bool) -> str:
    origin = f"http://{DOMAIN}:{port}"
    include = f"\n    include: ['{re.escape(origin)}{QUICK.removeprefix('^')}']" if quick else ""
    return f"""user_agent: "TrawlBot/1.0 (+https://example.org/bot; crawl@example.org)"
first_crawl_date: {NIGHTS[0].isoformat()}
sites:
  - domain: {DOMAIN}
    seeds: [{origin}/]{include}
    delay_s: 0
    concurrency: 8
    host_concurrency: 8
    network: {{allow_networks: [127.0.0.0/8], allow_ports: [{port}]}}
"""


def _environment(home: Path, day: date, hour: int) -> dict[str, str]:
    return {"TRAWL_HOME": str(home), "TRAWL_NOW": f"{day.isoformat()}T{hour:02d}:00:00Z", "DAGSTER_HOME": str(home / "dagster_home")}


def _night(home: Path, label: str, day: date, hour: int) -> Night:
    print(f"{label} …", file=sys.stderr, flush=True)
    since = time.time()
    spent = measure([*TRAWL, "crawl"], env=_environment(home, day, hour))
    if spent.status:
        print(spent.output, file=sys.stderr)
        raise SystemExit(f"{label}: `trawl crawl` ended with status {spent.status}; what it said stands above.")
    return Night(label, spent, stage_rows(home / "dagster_home", since, time.time()))


def _figures(night: Night) -> dict[str, Any]:
    spent = night.spent
    return {"run": night.label, "wall_s": round(spent.wall_s, 1), "cpu_s": round(spent.cpu_s, 1), "peak_rss_mb": round(spent.peak_rss_mb)}


def _rest(night: Night) -> dict[str, Any]:
    """What the stages do not account for: the start of Python and Dagster, and pool processes that end with the command."""
    seconds, cpu_s = (sum(stage[column] or 0.0 for stage in night.stages) for column in ("seconds", "cpu_s"))
    spent = night.spent
    return {"stage": "(the rest)", "rows": None, "seconds": spent.wall_s - seconds, "cpu_s": spent.cpu_s - cpu_s, "peak_rss_mb": None}


def _bars(home: Path, nights: list[Night], served: list[set[str]], quick: bool) -> dict[str, Bar]:
    lake = Lake(home / "lake")
    bars = {}
    for number, day in enumerate(NIGHTS):
        archived, rows = _archived(lake, day)
        bars[f"night_{number + 1}_pages_archived"] = Bar(len(archived & served[number]), at_least=_least(served[number], quick))
        bars[f"night_{number + 1}_pages_rows_missing"] = Bar(abs(rows - _html_responses(lake, day)), at_most=0)
    bars["pooling_rank"] = Bar(_rank(home), at_most=3)
    bars["verify_status"] = Bar(_trawl(home, "verify").returncode, at_most=0)
    bars["warcio_complaints"] = Bar(_warcio_complaints(lake), at_most=0)
    again = nights[2].spent.cpu_s / nights[1].spent.cpu_s
    bars["night_2_again_cpu_share_of_night_1"] = Bar(round(nights[2].spent.cpu_s / nights[0].spent.cpu_s, 3), at_most=_again(quick))
    bars["night_2_again_cpu_share_of_night_2"] = Bar(round(again, 3))
    return bars


def _least(served: set[str], quick: bool) -> int:
    return len(served) if quick else max(PAGES_AT_LEAST, len(served))


def _again(quick: bool) -> float:
    """Starting Python and Dagster is most of a second run; on a dozen pages it is a large part of the first one too."""
    return 0.5 if quick else 0.1


def _archived(lake: Lake, day: date) -> tuple[set[str], int]:
    """Paths of the pages with a response or revisit record that night, and how many rows `pages` has for HTML."""
    captures = tables.read(lake, "captures", Partition(day, DOMAIN), ["url_path", "kind", "fetch_status", "warc_type"]).to_pylist()
    paths = {row["url_path"] for row in captures if row["kind"] == "page" and row["warc_type"] and row["fetch_status"] in (200, 304)}
    kinds = tables.read(lake, "pages", Partition(day, DOMAIN), ["mime_detected"]).column("mime_detected").to_pylist()
    return paths, kinds.count("text/html")


def _html_responses(lake: Lake, day: date) -> int:
    """HTML documents that the archive of that night holds or refers to: what `pages` must have a row for each."""
    columns = ["kind", "fetch_status", "warc_type", "content_mime_type", "content_mime_detected"]
    rows = tables.read(lake, "captures", Partition(day, DOMAIN), columns).to_pylist()
    return sum(
        row["kind"] == "page"
        and row["warc_type"] is not None
        and (row["fetch_status"] == 304 or (row["fetch_status"] not in range(300, 400) and _is_html(row)))
        for row in rows
    )


def _is_html(row: dict[str, Any]) -> bool:
    return "html" in (row["content_mime_detected"] or row["content_mime_type"] or "")


def _trawl(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **_environment(home, NIGHTS[1], 4)}
    done = subprocess.run([*TRAWL, *arguments], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout[-2000:] + done.stderr[-2000:], file=sys.stderr)
    return done


def _rank(home: Path) -> int:
    """Place of the wanted page among the hits, from 1; 99 when it is not there."""
    hits = json.loads(_trawl(home, "search", QUERY, "-k", "10", "--json").stdout or "[]")
    print_rows(f"search: {QUERY}", [{"url": hit["url"], "heading": hit["heading"], "score": hit["score"]} for hit in hits[:3]])
    return next((rank for rank, hit in enumerate(hits, start=1) if hit["url"].endswith(WANTED)), 99)


def _warcio_complaints(lake: Lake) -> int:
    """Lines of `warcio check` that name a problem; nothing is sent in chunks, so there is no expected one."""
    files = [lake.path(name) for name in lake.files("warc", ".warc.gz")]
    done = subprocess.run([sys.executable, "-m", "warcio.cli", "check", *files], capture_output=True, text=True, check=False)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip() and line.strip() not in files]
    if done.returncode or lines:
        print("\n".join(lines[:20]), file=sys.stderr)
    return len(lines) or done.returncode


if __name__ == "__main__":
    sys.exit(main())
