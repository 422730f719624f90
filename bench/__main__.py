"""`python -m bench [NAME …] [--quick]` runs every bench, or those named, and rewrites their rows of bench/README.md's last results."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

BENCHES = ("fetch", "real_docs", "frontier", "crawl_memory", "processes", "warc", "replay", "power_cuts", "hostile", "gate")
README = Path(__file__).with_name("README.md")
START, END = "<!-- results -->", "<!-- end of results -->"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHES)}; none means all")
    parser.add_argument("--quick", action="store_true", help="the small version of each; README.md is left as it is")
    arguments = parser.parse_args()
    quick = arguments.quick
    if unknown := set(arguments.names) - set(BENCHES):
        parser.error(f"there is no bench {', '.join(sorted(unknown))}; they are {', '.join(BENCHES)}")
    results = [_run(name, quick) for name in arguments.names or BENCHES]
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
    """README.md with the rows of `results` between its two marks made anew, in the order of BENCHES; raises ValueError when a mark is
    missing."""
    before, rest = text[: text.index(START)] + START, text[text.index(START) + len(START) :]
    table, after = rest[: rest.index(END)], rest[rest.index(END) :]
    rows: dict[str, list[str]] = {}
    for row in table.strip().splitlines()[2:]:
        rows.setdefault(row.split("|")[1].strip(), []).append(row)
    rows.update({result["bench"]: _rows(result, day) for result in results})
    order = sorted(rows, key=lambda name: BENCHES.index(name) if name in BENCHES else len(BENCHES))
    lines = ["| bench | figure | value | bar | | command | date |", "| --- | --- | --- | --- | --- | --- | --- |"]
    return "\n".join([before, *lines, *(row for name in order for row in rows[name]), after])


def _rows(result: dict, day: date) -> list[str]:
    command = f"`python -m bench.{result['bench']}`"
    rows = []
    for name, bar in result["bars"].items():
        limit, verdict = ("–", "") if bar["bar"] is None else (bar["bar"], "ok" if bar["ok"] else "missed")
        rows.append(f"| {result['bench']} | {name} | {bar['value']} | {limit} | {verdict} | {command} | {day} |")
    return rows


if __name__ == "__main__":
    sys.exit(main())
