"""`python -m bench [--quick]` runs every bench and rewrites the table of last results in bench/README.md."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

BENCHES = ("real_docs",)
README = Path(__file__).with_name("README.md")
START, END = "<!-- results -->", "<!-- end of results -->"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the small version of each; README.md is left as it is")
    quick = parser.parse_args().quick
    results = [_run(name, quick) for name in BENCHES]
    if not quick:
        text = README.read_text()
        head, tail = text[: text.index(START)], text[text.index(END) :]
        README.write_text(f"{head}{START}\n{_table(results)}\n{tail}")
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


def _table(results: list[dict]) -> str:
    day = datetime.now(UTC).date().isoformat()  # a program, not a stage: nothing is derived from this date
    rows = ["| bench | figure | value | bar | | command | date |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for result in results:
        for name, bar in result["bars"].items():
            limit = "–" if bar["bar"] is None else bar["bar"]
            verdict = "" if bar["bar"] is None else "ok" if bar["ok"] else "missed"
            rows.append(
                f"| {result['bench']} | {name} | {bar['value']} | {limit} | {verdict} | `python -m bench.{result['bench']}` | {day} |"
            )
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
