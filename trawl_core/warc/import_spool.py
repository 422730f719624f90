"""The rows of one import until they are committed: on disk, so that a file of many GB costs no memory; requests are paired here."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from trawl_core.lake import Partition

_TIMES = ("fetch_time", "refers_to_date")
_SCHEMA = """
CREATE TABLE main (seq INTEGER PRIMARY KEY, given INTEGER, day TEXT, domain TEXT, record_id TEXT, url TEXT, row TEXT);
CREATE TABLE names (seq INTEGER, target TEXT);
CREATE TABLE beside (seq INTEGER PRIMARY KEY, kind TEXT, record_id TEXT, names TEXT, url TEXT, offset INTEGER, length INTEGER, facts TEXT);
CREATE TABLE pairs (seq INTEGER, kind TEXT, offset INTEGER, length INTEGER, facts TEXT, PRIMARY KEY (seq, kind));
"""
_INDEXES = """
CREATE INDEX main_id ON main (record_id);
CREATE INDEX names_target ON names (target);
CREATE INDEX main_partition ON main (day, domain, seq);
"""


class Spool:
    """Records are numbered in the order of the file (`seq`), gaps and records without a row included."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.executescript(_SCHEMA)
        self._db.execute("BEGIN")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._db.close()
        self._path.unlink(missing_ok=True)

    def clear(self) -> None:
        """Forget everything: the file is read again."""
        for table in ("main", "names", "beside"):
            self._db.execute(f"DELETE FROM {table}")

    def add(self, seq: int, given: int, partition: Partition, record_id: str | None, names: Sequence[str], row: Mapping[str, Any]) -> None:
        """A capture; `given` is its offset in the file that was given, `names` what it is WARC-Concurrent-To."""
        text = json.dumps({name: value for name, value in row.items() if value is not None}, default=_plain)
        values = (seq, given, partition.crawl_date.isoformat(), partition.domain, record_id, row["url"], text)
        self._db.execute("INSERT INTO main VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        self._db.executemany("INSERT INTO names VALUES (?, ?)", ((seq, name) for name in names))

    def add_beside(
        self,
        seq: int,
        kind: str,
        record_id: str | None,
        names: Sequence[str],
        url: str | None,
        place: tuple[int, int],
        facts: Mapping[str, Any],
    ) -> None:
        """A request or metadata record; `names` are the records that it names as belonging to it."""
        values = (seq, kind, record_id, json.dumps(list(names)), url, *place, json.dumps(dict(facts)))
        self._db.execute("INSERT INTO beside VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)

    def pair(self) -> None:
        """Give each capture its request and its metadata: by the ids that either names, else by the order in which writers put them."""
        self._db.executescript(_INDEXES)
        for seq, kind, record_id, names, url, *place in self._db.execute("SELECT * FROM beside ORDER BY seq"):
            stated = json.loads(names)
            main = self._named(stated)
            if main is None:
                main = self._naming(record_id)
            if main is None and not stated:
                main = self._neighbour(seq, kind, url)
            if main is not None:
                self._db.execute("INSERT OR IGNORE INTO pairs VALUES (?, ?, ?, ?, ?)", (main, kind, *place))

    def _named(self, names: Sequence[str]) -> int | None:
        return next((found[0] for name in names if (found := self._one("SELECT seq FROM main WHERE record_id = ?", name))), None)

    def _naming(self, record_id: str | None) -> int | None:
        found = self._one("SELECT seq FROM names WHERE target = ?", record_id) if record_id else None
        return found[0] if found else None

    def _neighbour(self, seq: int, kind: str, url: str | None) -> int | None:
        """The nearest capture of the same URL that has none of this kind yet: the one before, else the one behind."""
        for place in (seq - 1, seq - 2, seq + 1, seq + 2):
            query = "SELECT url FROM main WHERE seq = ? AND NOT EXISTS (SELECT 1 FROM pairs WHERE pairs.seq = main.seq AND kind = ?)"
            if (found := self._one(query, place, kind)) and found[0] == url:
                return place
        return None

    def _one(self, query: str, *values: object) -> tuple | None:
        return self._db.execute(query, values).fetchone()

    def domains(self) -> dict[str, int]:
        """Captures by domain, the largest first."""
        query = "SELECT domain, count(*) AS n FROM main GROUP BY domain ORDER BY n DESC, domain"
        return dict(self._db.execute(query).fetchall())

    def partitions(self) -> list[Partition]:
        found = self._db.execute("SELECT DISTINCT domain, day FROM main ORDER BY domain, day")
        return [Partition(date.fromisoformat(day), domain) for domain, day in found.fetchall()]

    def rows(self, partition: Partition) -> Iterator[tuple[int, dict[str, Any]]]:
        """(offset in the file that was given, row with what belongs to it), in the order of the file."""
        query = (
            "SELECT given, row, q.offset, q.length, q.facts, m.offset, m.length, m.facts FROM main "
            "LEFT JOIN pairs AS q ON q.seq = main.seq AND q.kind = 'request' "
            "LEFT JOIN pairs AS m ON m.seq = main.seq AND m.kind = 'metadata' WHERE day = ? AND domain = ? ORDER BY main.seq"
        )
        for given, text, *beside in self._db.execute(query, (partition.crawl_date.isoformat(), partition.domain)):
            row = json.loads(text)
            for name in _TIMES:
                if name in row:
                    row[name] = datetime.fromisoformat(row[name])
            row["request_offset"], row["request_length"], request, row["metadata_offset"], row["metadata_length"], metadata = beside
            yield given, _with_facts(row, {**json.loads(request or "{}"), **json.loads(metadata or "{}")})


def _with_facts(row: dict[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    row["fetch_ms"] = facts.get("fetch_ms")
    if facts.get("method", "GET") != "GET":
        row["kind"] = "other"  # what POST or HEAD gave is not the page at that URL
    if facts.get("is_conditional") and row["outcome"] == "unsolicited_304":
        row["outcome"] = "not_modified"
    return row


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"a capture row can't hold {value!r}")
