"""The age guard: which pages must be fetched tonight so that none grows older than the maximum age.

A page is due when its age comes within a night (and its own jitter, up to a tenth of the age) of the maximum. Waiting for that day
is not enough: pages that were first seen in one night fall due in one night. So the guard looks ahead: with a share of
the budget set aside on each coming night, the pages due within k nights must fit into those nights; what does not fit
is fetched now. It takes the most valuable of the pages concerned, and the oldest first where not even the due ones fit.
"""

from __future__ import annotations

import numpy as np
import polars as pl

GUARD_SHARE = 0.6
_JITTER_SHARE = 0.1
LONGEST_NIGHTS = 4000


def nights_left(days: pl.Series, jitter: pl.Series, max_age_days: float) -> np.ndarray:
    """Whole nights that each page can still wait, 0 when it is due; `days` is its age, `jitter` its own number in [0, 1)."""
    due_at = np.maximum(max_age_days * (1 - _JITTER_SHARE * jitter.to_numpy()) - 1.0, max_age_days / 2)
    return np.clip(np.floor(due_at - days.to_numpy()) + 1, 0, LONGEST_NIGHTS).astype(np.int64)


def must_fetch(nights: np.ndarray, days: np.ndarray, domain: pl.Series, cap: np.ndarray, budget: int, guarded: np.ndarray) -> np.ndarray:
    """For each row its turn (0 first) among the pages forced tonight, -1 when it may wait.

    Rows come most valuable first, each cap is at least 1. Only `guarded` ones take part. A capped domain is guarded within its cap first.
    """
    chosen = np.zeros(len(nights), bool)
    reachable = nights.copy()
    for rows, room in _capped_domains(domain, cap, guarded):
        chosen[rows] = _choose(nights[rows], chosen[rows], room)
        # The j-th of them by urgency can't be fetched before night j // room, so it asks for no earlier one.
        by_urgency = rows[np.argsort(nights[rows], kind="stable")]
        reachable[by_urgency] = np.maximum(nights[by_urgency], np.arange(len(rows)) // room)
    pool = np.flatnonzero(guarded)
    chosen[pool] = _choose(reachable[pool], chosen[pool], budget)
    picked = np.flatnonzero(chosen)
    turn = np.full(len(nights), -1, np.int64)
    late = nights[picked] == 0
    by_age = np.lexsort((np.arange(len(picked)), -days[picked], ~late))
    turn[picked[by_age]] = np.arange(len(picked))
    return turn


def _capped_domains(domain: pl.Series, cap: np.ndarray, guarded: np.ndarray) -> list[tuple[np.ndarray, int]]:
    """Row numbers, ascending, and cap of each domain whose cap is below its number of guarded pages."""
    frame = pl.DataFrame({"row": np.arange(len(cap)), "domain": domain, "cap": cap}).filter(pl.Series(guarded))
    groups = (
        frame.group_by("domain", maintain_order=True).agg("row", pl.col("cap").first()).filter(pl.col("row").list.len() > pl.col("cap"))
    )
    return [(np.asarray(rows), room) for rows, room in zip(groups["row"].to_list(), groups["cap"].to_list(), strict=True)]


def _choose(nights: np.ndarray, chosen: np.ndarray, room: int) -> np.ndarray:
    """`chosen` and what else must go tonight so that for each k those that can wait k nights or less fit into k later nights."""
    chosen = chosen | (nights == 0)
    waiting = np.bincount(nights, minlength=1).cumsum()
    needed = waiting - np.floor(GUARD_SHARE * room * np.arange(len(waiting)))
    for k in np.flatnonzero(needed > 0):
        within = nights <= k
        missing = int(needed[k]) - int((chosen & within).sum())
        if missing > 0:
            chosen[np.flatnonzero(within & ~chosen)[:missing]] = True
    return chosen
