"""What was learnt of a domain's traps: kept in the night's SQLite file, and taken over from the `frontier_log` of an earlier night.

A call that takes a night up again goes on where the one before stopped. The next night knows the samples of URL families by
their URLs, which are in the history, and a maze by its row in `frontier_log`. That row keeps its `first_seen` from night to
night, so a maze is looked at again when it is `recheck_days` old: some of its URLs are fetched, and equal answers renew it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import datetime, timedelta

from trawl_core.fetch.ledger import from_us, to_us
from trawl_core.fetch.state import NightState
from trawl_core.lake import Lake, tables
from trawl_core.lake.layout import Partition
from trawl_core.sites import Traps
from trawl_core.urls.mazes import MAZE, Run, mazes_in_log
from trawl_core.urls.traps import recheck_size

_COUNTED = "families_counted"
_RECALLED = "mazes_recalled"
_LISTS_RECALLED = "lists_recalled"


class TrapMemory:
    """Works inside the open transaction of the NightState; the Samples of a TrapCounter."""

    def __init__(self, state: NightState) -> None:
        self._state = state
        self._db = state.db

    # families ------------------------------------------------------------------------------------------------

    @property
    def is_counted(self) -> bool:
        """True when the URLs that the frontier began with are in the samples."""
        return bool(self._state.number(_COUNTED))

    def counted(self) -> None:
        self._state.set_number(_COUNTED, 1)

    def of(self, family: str) -> set[str]:
        return {url for (url,) in self._db.execute("SELECT url FROM trap_samples WHERE family = ?", (family,))}

    def add(self, family: str, url: str) -> None:
        self._db.execute("INSERT OR IGNORE INTO trap_samples VALUES (?, ?)", (family, url))

    def queries_at(self, path: str) -> Iterator[str]:
        # In the order of the index all of them lie between these two.
        query = "SELECT url FROM urls WHERE url > ? AND url < ? AND state != 7"
        return (url for (url,) in self._db.execute(query, (f"{path}?", f"{path}@")))

    # lists ---------------------------------------------------------------------------------------------------

    def page_number(self, url: str) -> int:
        """Which page of a list that a schema follows a URL is; 1 for one that none led to."""
        row = self._db.execute("SELECT number FROM list_pages WHERE url = ?", (url,)).fetchone()
        return row[0] if row else 1

    def number_page(self, url: str, number: int) -> None:
        """The least number wins: a page may be reached from several."""
        statement = "INSERT INTO list_pages VALUES (?, ?) ON CONFLICT (url) DO UPDATE SET number = min(number, excluded.number)"
        self._db.execute(statement, (url, number))

    def recall_lists(self) -> None:
        """Take over the numbers of the newest earlier night whose state file is still there; once a night."""
        if self._state.number(_LISTS_RECALLED):
            return
        self._state.set_number(_LISTS_RECALLED, 1)
        path = self._state.path
        earlier = [file for file in path.parent.parent.glob(f"crawl_date=*/{path.name}") if file.parent.name < path.parent.name]
        if not earlier:
            return
        # Without it a list may grow by its most pages once more, so a file that can't be read is none.
        with suppress(sqlite3.Error), closing(sqlite3.connect(f"{max(earlier).resolve().as_uri()}?mode=ro", uri=True)) as before:
            self._db.executemany("INSERT OR IGNORE INTO list_pages VALUES (?, ?)", before.execute("SELECT url, number FROM list_pages"))

    # mazes ---------------------------------------------------------------------------------------------------

    def runs(self) -> dict[str, Run]:
        rows = self._db.execute("SELECT family, signatures, length, since_us FROM mazes")
        return {
            family: Run(frozenset(signatures.split()), length, None if since is None else from_us(since))
            for family, signatures, length, since in rows
        }

    def mazes(self) -> dict[str, datetime]:
        """As `frontier_log.detail` has them, and since when."""
        return {MAZE + family: run.since for family, run in self.runs().items() if run.since is not None}

    def keep(self, family: str, run: Run) -> None:
        since = None if run.since is None else to_us(run.since)
        values = (family, " ".join(sorted(run.signatures)), run.length, since)
        self._db.execute("INSERT OR REPLACE INTO mazes VALUES (?, ?, ?, ?)", values)

    def forget(self, family: str) -> None:
        self._db.execute("DELETE FROM mazes WHERE family = ?", (family,))

    def recall(self, lake: Lake, partition: Partition, rules: Traps, now: datetime) -> None:
        """Take over the mazes of the newest night, which is this one where its state file was lost; once a night."""
        if self._state.number(_RECALLED):
            return
        self._state.set_number(_RECALLED, 1)
        nights = tables.dates_of(lake, "frontier_log", partition.domain, upto=partition.crawl_date)
        if not nights:
            return
        log = tables.read(lake, "frontier_log", Partition(nights[-1], partition.domain), ["reason", "detail", "first_seen"])
        for family, since in mazes_in_log(log.to_pylist()).items():
            is_due = since <= now - timedelta(days=rules.recheck_days)
            length = max(1, rules.sample - recheck_size(rules.sample)) if is_due else rules.sample
            self._db.execute("INSERT OR IGNORE INTO mazes VALUES (?, '', ?, ?)", (family, length, to_us(since)))
