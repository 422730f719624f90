"""`python -m bench [--quick]` runs every bench and rewrites the table of last results in bench/README.md."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

BENCHES = ("fetch", "real_docs", "frontier", "crawl_memory")
README = Path(__file__).with_name("README.md")
START, END = "<!-- results -->", "<!-- end of results -->"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the small version of each; README.md is left as it is")
    quick = parser.parse_args().quick
    results = [_run(name, quick) for name in BENCHES]
    if not quick:
        today = datetime.now(UTC).date()  # a program, not a stage: nothing is derived from this date
        README.write_text(with_results(README.read_text(), results, today))
    return 0 if all(bar["ok"] for result in results for bar in result["bars"].values()) else 1


def _run(name: str, quick: bool) -> dict:
    print(f"== bench.{name}", flush=True)
    command = [sys.executable, "-m", f"bench.{name}", *(["--quick"] if quick else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        lines = []
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    try:
        return json.loads(lines[-1])
    except (IndexError, json.JSONDecodeError):
        raise SystemExit(f"bench.{name} ended with status {process.returncode} and without a result; what it said stands above.") from None


def with_results(text: str, results: list[dict], day: date) -> str:
    """README.md with the table between its two marks made anew; raises ValueError when a mark is missing."""
    rows = ["| bench | figure | value | bar | | command | date |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for result in results:
        command = f"`python -m bench.{result['bench']}`"
        for name, bar in result["bars"].items():
            limit, verdict = ("–", "") if bar["bar"] is None else (bar["bar"], "ok" if bar["ok"] else "missed")
            rows.append(f"| {result['bench']} | {name} | {bar['value']} | {limit} | {verdict} | {command} | {day} |")
    return "\n".join([text[: text.index(START)] + START, *rows, text[text.index(END) :]])


if __name__ == "__main__":
    sys.exit(main())
