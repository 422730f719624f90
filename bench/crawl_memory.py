"""The peak memory of a crawl of 20,000 small pages: WARC, durable frontier, tables and all.

`python -m bench.crawl_memory [--quick]` serves a generated site on loopback and crawls it in a process of its own.
`--quick` takes 1,000 pages.
"""

from __future__ import annotations

import argparse
import sys
import tempfile

from bench.measure import Bar, measure_call, print_rows, report
from trawl_core.demo import DemoServer, SiteContent
from trawl_core.demo.content import Answer

PAGES, QUICK_PAGES = 20_000, 1_000
DOMAIN = "127.0.0.6"
CHILDREN, CROSS_LINKS = 4, 12
AT_MOST_MB = 400


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.crawl_memory", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_PAGES} pages")
    pages = QUICK_PAGES if parser.parse_args().quick else PAGES
    content = SiteContent("small pages", 0, {_path(number): Answer(body=_page(number, pages)) for number in range(pages)})
    with tempfile.TemporaryDirectory() as folder, DemoServer(DOMAIN, 0, lambda night, origin: content) as server:
        spent = measure_call("bench.crawlers:trawl", server.origin, "/", folder)
    if spent.status:
        raise SystemExit(f"the crawl ended with status {spent.status}; what it said stands above.")
    row = {
        "pages": spent.value,
        "wall s": round(spent.wall_s, 1),
        "cpu s": round(spent.cpu_s, 1),
        "ms cpu/page": round(1000 * spent.cpu_s / spent.value, 2),
        "peak rss mb": round(spent.peak_rss_mb, 1),
    }
    print_rows(f"A crawl of {pages:,} small pages", [row])
    bars = {
        "peak_rss_mb": Bar(round(spent.peak_rss_mb, 1), at_most=AT_MOST_MB),
        "pages_missing": Bar(pages - spent.value, at_most=0),
    }
    return report("crawl_memory", bars, {"crawl": row})


def _path(number: int) -> str:
    return f"/articles/the-piece-of-number-{number}.html" if number else "/"


def _page(number: int, pages: int) -> bytes:
    """Links to its children in a tree, and across to pages far away; about 3 kB."""
    children = [child for child in range(number * CHILDREN + 1, (number + 1) * CHILDREN + 1) if child < pages]
    across = [(number * 7_919 + step * 104_729) % pages for step in range(1, CROSS_LINKS + 1)]
    links = "".join(f'<li><a href="{_path(target)}">Piece {target} of {pages}</a></li>' for target in (*children, *across))
    text = " ".join(f"word{(number * 31 + step * 17) % 9_973}" for step in range(150))
    return f"<!doctype html><title>Piece {number}</title><main><h1>Piece {number}</h1><p>{text}</p><ul>{links}</ul></main>".encode()


if __name__ == "__main__":
    sys.exit(main())
