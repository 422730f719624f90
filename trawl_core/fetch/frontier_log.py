"""The rows of `frontier_log`: what a night knew of and did not fetch, each URL under one reason.

frontier: WAITING, DELAYED → budget    EVICTED → evicted    LEFT → attempts, put_off, robots    HELD → trap
          KNOWN → not_due              DONE without a request → network (refused address)
ledger:   never entered, or denied when their turn came → scope, robots, nofollow, depth, trap, javascript_redirect
          fetched, but not rendered → browser, the only rows whose URLs were fetched
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from trawl_core.fetch.frontier import DELAYED, EVICTED, HELD, KNOWN, LEFT, WAITING, Frontier
from trawl_core.fetch.ledger import SAMPLES, Ledger

# By outcome: the reason for what was left for another night.
_LEFT_FOR = {"robots_unavailable": "robots", "put_off": "put_off"}


def frontier_log(frontier: Frontier, ledger: Ledger, mazes: Mapping[str, datetime], ended_by: str, now: datetime) -> list[dict[str, Any]]:
    """One row for each reason and detail. `mazes` are those known, as `detail` has them, and since when; `ended_by` is the exhausted
    budget or what else ended the night before its work was done."""
    rows = [
        _row("budget", ended_by, now, *frontier.sample(WAITING)),
        _row("budget", ended_by, now, *frontier.sample(DELAYED)),
        _row("evicted", f"frontier {frontier.cap}", now, *frontier.sample(EVICTED)),
        _row("not_due", "in the history, not in the plan of tonight", now, *frontier.sample(KNOWN)),
        _row("network", "blocked_address", now, *frontier.failed("blocked_address")),
    ]
    rows += [
        _row(_LEFT_FOR.get(outcome, "attempts"), f"{outcome}, left for another night", now, count, samples)
        for outcome, count, samples in frontier.left(LEFT)
    ]
    rows += [_row("trap", maze, mazes.get(maze, now), count, samples) for maze, count, samples in frontier.left(HELD)]
    told = _added_up([*ledger.held(), *(row for row in rows if row["count"])])
    # A maze that nothing led into tonight is one still: the next night takes it over from here.
    named = {row["detail"] for row in told if row["reason"] == "trap"}
    return told + [_row("trap", maze, since, 0, []) for maze, since in mazes.items() if maze not in named]


def _row(reason: str, detail: str, first_seen: datetime, count: int, samples: list[str]) -> dict[str, Any]:
    return {"reason": reason, "detail": detail, "count": count, "samples": samples, "first_seen": first_seen}


def _added_up(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for rows of the same reason and detail."""
    whole: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        key = row["reason"], row["detail"]
        known = whole.get(key)
        if known is None:
            whole[key] = row
        else:
            known["count"] += row["count"]
            known["samples"] = sorted({*known["samples"], *row["samples"]})[:SAMPLES]
            known["first_seen"] = min(known["first_seen"], row["first_seen"])
    return list(whole.values())
