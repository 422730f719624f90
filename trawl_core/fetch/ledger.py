"""What the night did, in the same SQLite file as the frontier: capture rows, bodies to revisit, URLs held back.

`captures` and `frontier_log` of the lake are made from here at the end of each call.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa

from trawl_core.fetch.state import NightState
from trawl_core.lake import Lake, tables
from trawl_core.lake.layout import Partition
from trawl_core.lake.tables import Committed
from trawl_core.warc.imported import is_imported
from trawl_core.warc.writer import RevisitOf

SAMPLES = 10
HELD_CAP = 500_000
_TIMES = ("fetch_time", "refers_to_date")
_ASKED_IN_VAIN = ("timeout", "connect_error", "dns_error", "tls_error", "invalid_http")
# The reason of pages that were fetched, and not rendered.
BROWSER = "browser"
# The frontier tells what became of a URL that entered it, but for those that it denied and the ledger counts.
_STILL_HELD = f"""(reason = '{BROWSER}' OR NOT EXISTS (SELECT 1 FROM urls WHERE urls.url = held.url
    AND NOT (urls.state = 3 AND urls.outcome IN ('robots_denied', 'out_of_scope'))))"""
_COUNT_BEYOND = """INSERT INTO held_beyond VALUES (?, ?, 1, ?) ON CONFLICT (reason, detail) DO UPDATE SET count = count + 1"""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_us(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def from_us(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


class Ledger:
    """Works inside the open transaction of the NightState."""

    def __init__(self, state: NightState) -> None:
        self.db = state.db
        self._held: set[tuple[str, str]] = set()
        self._held_count = self.db.execute("SELECT count(*) FROM held").fetchone()[0]

    # captures ------------------------------------------------------------------------------------------------

    def add(self, row: Mapping[str, Any]) -> None:
        """Record one row of `captures`; a response with status 200 becomes a body that later answers may refer to."""
        self.db.execute("INSERT OR IGNORE INTO captures VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", _columns(row))
        if (
            row.get("warc_type") == "response"
            and row.get("fetch_status") == 200
            and row.get("outcome") == "ok"
            and row.get("payload_bytes")
        ):
            self.add_body(
                row["capture_id"],
                row["content_digest"],
                row["url"],
                row["fetch_time"],
                row["warc_filename"],
                row["warc_record_offset"],
                row["warc_record_length"],
                row["payload_sha256"],
            )

    def count(self) -> int:
        return self.db.execute("SELECT count(*) FROM captures").fetchone()[0]

    def last_moment(self) -> datetime | None:
        """When the last capture was made; None when there is none."""
        (last_us,) = self.db.execute("SELECT max(fetch_us) FROM captures").fetchone()
        return None if last_us is None else from_us(last_us)

    def take_over(self, captures: pa.Table) -> None:
        """Rows committed to the lake before: the state file is new, or they came by another way (an import)."""
        for batch in captures.to_batches(max_chunksize=tables.ROW_GROUP_ROWS):
            for row in batch.to_pylist():
                self.add({name: value for name, value in row.items() if name not in ("crawl_date", "domain")})

    def durable_ends(self) -> dict[str, int]:
        """By WARC file name: the byte behind the last record that a committed capture row knows."""
        rows = self.db.execute("SELECT warc_filename, max(warc_end) FROM captures WHERE warc_filename IS NOT NULL GROUP BY warc_filename")
        return dict(rows.fetchall())

    def redirects(self) -> dict[str, str]:
        """Tonight's redirects, URL to target."""
        return dict(self.db.execute("SELECT url, redirect FROM captures WHERE redirect IS NOT NULL ORDER BY fetch_us").fetchall())

    def spent(self) -> tuple[int, int]:
        """Requests made for pages, and bytes received for anything, tonight so far."""
        pages = f"SELECT count(*) FROM captures WHERE kind = 'page' AND (fetch_status IS NOT NULL OR outcome IN {_ASKED_IN_VAIN})"
        return self.db.execute(pages).fetchone()[0], self.db.execute("SELECT coalesce(sum(wire_bytes), 0) FROM captures").fetchone()[0]

    def has_answer(self) -> bool:
        """True when any page was answered tonight, whatever the status."""
        query = "SELECT 1 FROM captures WHERE kind = 'page' AND fetch_status IS NOT NULL LIMIT 1"
        return self.db.execute(query).fetchone() is not None

    def outcomes(self) -> dict[str, int]:
        return dict(
            self.db.execute("SELECT outcome, count(*) FROM captures WHERE kind = 'page' GROUP BY outcome ORDER BY outcome").fetchall()
        )

    def commit_captures(self, lake: Lake, partition: Partition) -> Committed:
        """Commit the table `captures` of the partition: all passes of this date, and what an import brought to it."""
        self._take_over_imported(lake, partition)
        return tables.commit_stream(lake, "captures", partition, self._batches(partition))

    def _take_over_imported(self, lake: Lake, partition: Partition) -> None:
        names = tables.read(lake, "captures", partition, ["warc_filename"]).column("warc_filename")
        if any(map(is_imported, names.unique().to_pylist())):
            captures = tables.read(lake, "captures", partition)
            self.take_over(captures.filter(pa.array(list(map(is_imported, captures.column("warc_filename").to_pylist())), pa.bool_())))

    def _batches(self, partition: Partition) -> Iterator[pa.RecordBatch]:
        cursor = self.db.execute("SELECT row FROM captures ORDER BY fetch_us, capture_id")
        while chunk := cursor.fetchmany(tables.ROW_GROUP_ROWS):
            yield from tables.from_rows("captures", [_row(text) for (text,) in chunk], partition).to_batches()

    # bodies --------------------------------------------------------------------------------------------------

    def add_body(
        self, capture_id: str, digest: str, url: str, fetched: datetime, filename: str, offset: int, length: int, sha256: str | None
    ) -> None:
        self.add_bodies([(capture_id, digest, url, fetched, filename, offset, length, sha256)])

    def add_bodies(self, bodies: Iterable[tuple[str, str, str, datetime, str, int, int, str | None]]) -> None:
        """(capture_id, content_digest, url, fetch time, WARC file, offset, length, payload_sha256) of good bodies."""
        self.db.executemany(
            "INSERT OR IGNORE INTO bodies VALUES (?, ?, ?, ?, ?, ?, ?, ?)", ((*body[:3], to_us(body[3]), *body[4:]) for body in bodies)
        )

    def body_of(self, capture_id: str | None) -> RevisitOf | None:
        """The record that a 304 to this capture's validators refers to; None when it is not known."""
        if capture_id is None:
            return None
        return self._revisit("server-not-modified", "SELECT * FROM bodies WHERE capture_id = ?", (capture_id,))

    def body_like(self, digest: str, url: str) -> RevisitOf | None:
        """A record with this payload digest: of the same URL if there is one, else the oldest."""
        query = "SELECT * FROM bodies WHERE digest = ? ORDER BY url != ?, fetch_us, capture_id LIMIT 1"
        return self._revisit("identical-payload-digest", query, (digest, url))

    def _revisit(self, profile: Any, query: str, values: tuple[str, ...]) -> RevisitOf | None:
        row = self.db.execute(query, values).fetchone()
        if row is None:
            return None
        capture_id, digest, url, fetch_us, filename, offset, length, sha256 = row
        return RevisitOf(profile, capture_id, url, from_us(fetch_us), filename, offset, length, digest, sha256)

    # held back -----------------------------------------------------------------------------------------------

    def hold(self, url: str, reason: str, detail: str, now: datetime) -> None:
        """Count a URL that is not fetched. Each counts once; beyond HELD_CAP URLs each time that it is named, and without its name."""
        if (url, reason) in self._held:
            return
        if len(self._held) > HELD_CAP // 4:
            self._held.clear()
        self._held.add((url, reason))
        if self._held_count < HELD_CAP:
            values = (url, reason, detail, to_us(now))
            self._held_count += self.db.execute("INSERT OR IGNORE INTO held VALUES (?, ?, ?, ?)", values).rowcount
        elif self.db.execute("SELECT 1 FROM held WHERE url = ?", (url,)).fetchone() is None:
            self.db.execute(_COUNT_BEYOND, (reason, detail, to_us(now)))

    def rendered(self, url: str, error: str | None, now: datetime) -> None:
        """Note that a page which wants a browser was not rendered, and why; None that it was."""
        self._held.discard((url, BROWSER))
        if error is not None:
            # What follows a colon is about this page alone.
            values = (url, BROWSER, error.partition(":")[0], to_us(now))
            self.db.execute("INSERT OR REPLACE INTO held VALUES (?, ?, ?, ?)", values)
        else:
            self.db.execute("DELETE FROM held WHERE url = ? AND reason = ?", (url, BROWSER))

    def held(self) -> list[dict[str, Any]]:
        """Rows of `frontier_log`, without URLs that entered the frontier after all (found again by a shorter way)."""
        groups = self.db.execute(
            f"SELECT reason, detail, count(*), min(first_us) FROM held WHERE {_STILL_HELD} GROUP BY reason, detail ORDER BY reason, detail"
        ).fetchall()
        beyond = [
            (reason, f"beyond {HELD_CAP} URLs, times named: {detail}", count, first_us)
            for reason, detail, count, first_us in self.db.execute("SELECT * FROM held_beyond")
        ]
        return [
            {"reason": reason, "detail": detail, "count": count, "samples": self._samples(reason, detail), "first_seen": from_us(first_us)}
            for reason, detail, count, first_us in groups + beyond
        ]

    def _samples(self, reason: str, detail: str) -> list[str]:
        query = f"SELECT url FROM held WHERE reason = ? AND detail = ? AND {_STILL_HELD} ORDER BY url LIMIT ?"
        return [url for (url,) in self.db.execute(query, (reason, detail, SAMPLES))]


def _columns(row: Mapping[str, Any]) -> tuple[Any, ...]:
    ends = [(row.get("warc_record_offset"), row.get("warc_record_length")), (row.get("request_offset"), row.get("request_length"))]
    ends += [(row.get(f"{beside}_offset"), row.get(f"{beside}_length")) for beside in ("metadata", "rendered")]
    known = [offset + length for offset, length in ends if offset is not None and length is not None]
    return (
        row["capture_id"],
        to_us(row["fetch_time"]),
        row["url"],
        row.get("kind"),
        row.get("outcome"),
        row.get("fetch_status"),
        row.get("wire_bytes"),
        row.get("fetch_redirect"),
        row.get("warc_filename"),
        max(known, default=None),
        _to_json({name: value for name, value in row.items() if value is not None}),
    )


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return to_us(value)
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"a capture row can't hold {value!r}")


_to_json = json.JSONEncoder(default=_plain, check_circular=False).encode


def _row(text: str) -> dict[str, Any]:
    row = json.loads(text)
    for name in _TIMES:
        if name in row:
            row[name] = from_us(row[name])
    row.pop("crawl_date", None)
    row.pop("domain", None)
    return row
