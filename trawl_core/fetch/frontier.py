"""The frontier of one domain's night: every URL once, what state it is in, and which one comes next.

The table is the authoritative visited set: a URL enters once, by its normalised form. States:

    WAITING ──lease──► LEASED ──finish──► DONE         fetched, or decided (denied, blocked)
       ▲                 │ └────leave───► LEFT         put off to another night, with its outcome
       └─promote─ DELAYED ◄──postpone                  a retry that is not due yet
    KNOWN                                              in the history, not due tonight; a link to it fetches nothing
    EVICTED                                            pushed out by the cap, recorded

Leases are taken in batches and expire; those of a dead process are void when the file is opened again, because its
holder held the domain's lock. All methods work inside the open transaction of the NightState.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from trawl_core.fetch.state import NightState

WAITING, LEASED, DELAYED, DONE, KNOWN, LEFT, EVICTED = range(7)
LEASE_S = 900.0
REMEMBERED = 200_000
EVICT_SHARE = 0.05
_BATCH = 10_000

_COLUMNS = (
    "id, url, kind, priority, depth, is_seed, attempts, outcome, via_id, etag, last_modified, body_capture_id, bare, "
    "redirect_from_id, redirect_hop"
)
_INSERT = """INSERT INTO urls (url, origin_id, kind, state, priority, depth, is_seed, via_id, etag, last_modified, body_capture_id,
    redirect_from_id, redirect_hop) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (url) DO """
_PLAN = (
    _INSERT
    + """UPDATE SET state = excluded.state, priority = excluded.priority, etag = excluded.etag,
    last_modified = excluded.last_modified, body_capture_id = excluded.body_capture_id, is_seed = excluded.is_seed
    WHERE urls.state IN (4, 5)"""
)
_DISCOVER = _INSERT + "NOTHING"


@dataclass(frozen=True)
class NewUrl:
    """A URL offered to the frontier; `kind` is page, sitemap or feed; validators only with the body they describe."""

    url: str
    origin: str
    kind: str = "page"
    priority: float = 0.0
    depth: int = 0
    is_seed: bool = False
    via_id: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    body_capture_id: str | None = None
    redirect_from_id: str | None = None
    redirect_hop: int = 0


@dataclass(frozen=True, slots=True)
class Leased:
    """A URL on loan to a worker. `attempts` counts those made before tonight's next one; `bare` forbids validators."""

    id: int
    url: str
    kind: str
    priority: float
    depth: int
    is_seed: bool
    attempts: int
    outcome: str | None
    via_id: str | None
    etag: str | None
    last_modified: str | None
    body_capture_id: str | None
    bare: bool
    redirect_from_id: str | None
    redirect_hop: int


class Frontier:
    """`cap` bounds the URLs that wait; beyond it the ones of lowest priority are evicted, a twentieth of the cap at a time."""

    def __init__(self, state: NightState, cap: int) -> None:
        self.db = state.db
        self.cap = cap
        self._origin_ids: dict[str, int] = {name: number for number, name in self.db.execute("SELECT id, origin FROM origins")}
        self._origin_names = {number: name for name, number in self._origin_ids.items()}
        self._remembered: set[str] = set()
        self.db.execute("UPDATE urls SET state = ?, lease_until = NULL WHERE state = ?", (WAITING, LEASED))
        self.waiting = self._count(WAITING)
        self.delayed = self._count(DELAYED)

    def _count(self, state: int) -> int:
        return self.db.execute("SELECT count(*) FROM urls WHERE state = ?", (state,)).fetchone()[0]

    def _origin_id(self, origin: str) -> int:
        number = self._origin_ids.get(origin)
        if number is None:
            number = self.db.execute("INSERT INTO origins (origin) VALUES (?)", (origin,)).lastrowid or 0
            self._origin_ids[origin] = number
            self._origin_names[number] = origin
        return number

    # entering ------------------------------------------------------------------------------------------------

    def knows(self, url: str) -> bool:
        """True when the URL entered before, whatever became of it. The memory in front of the table only saves look-ups."""
        if self.remembers(url):
            return True
        if self.db.execute("SELECT 1 FROM urls WHERE url = ?", (url,)).fetchone() is None:
            return False
        self._remember(url)
        return True

    def remembers(self, url: str) -> bool:
        """`knows` as far as memory alone tells; any thread may ask."""
        return url in self._remembered

    def _remember(self, url: str) -> None:
        if len(self._remembered) >= REMEMBERED:
            self._remembered.clear()
        self._remembered.add(url)

    def add(self, new: NewUrl) -> bool:
        """Let a discovered URL in; False when it was known already."""
        added = self.db.execute(_DISCOVER, self._values(new, WAITING)).rowcount > 0
        self.waiting += added
        self._remember(new.url)
        if added and self.waiting > self.cap:
            self._evict()
        return added

    def plan(self, news: Iterable[NewUrl]) -> None:
        """Let planned URLs in: also those known and not due before, or left by an earlier call; never one done tonight."""
        self._insert_many(_PLAN, news, WAITING)
        self.waiting = self._count(WAITING)

    def know(self, urls: Iterable[tuple[str, str, int]]) -> None:
        """Mark (url, origin, depth) as known and not due; no effect on a URL that is in already."""
        self._insert_many(_DISCOVER, (NewUrl(url, origin, depth=depth) for url, origin, depth in urls), KNOWN)

    def _insert_many(self, statement: str, news: Iterable[NewUrl], state: int) -> None:
        values = (self._values(new, state) for new in news)
        while batch := list(islice(values, _BATCH)):
            self.db.executemany(statement, batch)

    def done_before(self, done: Iterable[tuple[NewUrl, str]]) -> None:
        """Mark URLs as fetched with that outcome, whatever they were; for captures that came from the lake."""
        for new, outcome in done:
            self.db.execute(_DISCOVER, self._values(new, DONE))
            self.db.execute("UPDATE urls SET state = ?, outcome = ? WHERE url = ?", (DONE, outcome, new.url))
        self.waiting = self._count(WAITING)

    def forget_redirect_targets_and_known(self) -> None:
        """Before a refetch: what only a redirect led to is found again, and what was not due may be."""
        self.db.execute("DELETE FROM urls WHERE state = ? OR (redirect_from_id IS NOT NULL AND NOT is_seed)", (KNOWN,))
        self._remembered.clear()

    def _values(self, new: NewUrl, state: int) -> tuple[object, ...]:
        return (
            new.url,
            self._origin_id(new.origin),
            new.kind,
            state,
            new.priority,
            new.depth,
            new.is_seed,
            new.via_id,
            new.etag,
            new.last_modified,
            new.body_capture_id,
            new.redirect_from_id,
            new.redirect_hop,
        )

    def _evict(self) -> None:
        surplus = max(1, int(self.cap * EVICT_SHARE))
        self.waiting -= self.db.execute(
            "UPDATE urls SET state = ? WHERE id IN (SELECT id FROM urls WHERE state = ? ORDER BY priority, id DESC LIMIT ?)",
            (EVICTED, WAITING, surplus),
        ).rowcount

    def link_redirect(self, url: str, from_id: str, hop: int) -> None:
        """Tell a URL that waits already that a redirect leads to it too."""
        self.db.execute(
            "UPDATE urls SET redirect_from_id = ?, redirect_hop = ? WHERE url = ? AND state = ? AND redirect_from_id IS NULL",
            (from_id, hop, url, WAITING),
        )

    def redo(self, outcomes: Iterable[str] | None) -> None:
        """Let URLs that are done or left wait again with a fresh attempt budget: those of these outcomes, all for None."""
        reset = "UPDATE urls SET state = 0, attempts = 0, next_eligible_at = 0, bare = 0 WHERE state IN (3, 5, 2)"
        if outcomes is None:
            self.db.execute(reset)
        else:
            names = list(outcomes)
            self.db.execute(f"{reset} AND outcome IN ({','.join('?' * len(names))})", names)
        self.waiting = self._count(WAITING)
        self.delayed = self._count(DELAYED)

    # leaving -------------------------------------------------------------------------------------------------

    def lease(self, origin: str, limit: int, now_s: float) -> list[Leased]:
        """Up to `limit` URLs of an origin, highest priority first; `now_s` is Unix time."""
        origin_id = self._origin_ids.get(origin)
        if origin_id is None or not self.waiting:
            return []
        rows = self.db.execute(
            f"SELECT {_COLUMNS} FROM urls WHERE state = 0 AND origin_id = ? ORDER BY priority DESC, id LIMIT ?",
            (origin_id, limit),
        ).fetchall()
        self.db.executemany("UPDATE urls SET state = 1, lease_until = ? WHERE id = ?", [(now_s + LEASE_S, row[0]) for row in rows])
        self.waiting -= len(rows)
        return [Leased(*row[:5], bool(row[5]), *row[6:12], bool(row[12]), *row[13:]) for row in rows]

    def finish(self, lease: Leased, outcome: str) -> None:
        self.db.execute(
            "UPDATE urls SET state = 3, outcome = ?, attempts = attempts + 1, lease_until = NULL WHERE id = ?", (outcome, lease.id)
        )

    def set_validators(self, lease: Leased, etag: str | None, last_modified: str | None, body_capture_id: str) -> None:
        """What a refetch of the same night may send: those of the body just received."""
        self.db.execute(
            "UPDATE urls SET etag = ?, last_modified = ?, body_capture_id = ? WHERE id = ?",
            (etag, last_modified, body_capture_id, lease.id),
        )

    def postpone(self, lease: Leased, outcome: str, until_s: float, *, bare: bool = False) -> None:
        """A retry: due again at `until_s` (Unix time); `bare` makes it go without validators."""
        self.db.execute(
            "UPDATE urls SET state = 2, outcome = ?, attempts = attempts + 1, next_eligible_at = ?, bare = max(bare, ?), lease_until = NULL"
            " WHERE id = ?",
            (outcome, until_s, bare, lease.id),
        )
        self.delayed += 1

    def leave(self, lease: Leased, outcome: str) -> None:
        """Put off to another night; a later call today takes it up again."""
        self.db.execute("UPDATE urls SET state = 5, outcome = ?, lease_until = NULL WHERE id = ?", (outcome, lease.id))

    def release(self, leases: Iterable[Leased]) -> None:
        """Give unused leases back."""
        given = [(lease.id,) for lease in leases]
        self.db.executemany("UPDATE urls SET state = 0, lease_until = NULL WHERE id = ?", given)
        self.waiting += len(given)

    def promote(self, now_s: float) -> set[str]:
        """Let due retries wait again; returns their origins."""
        if not self.delayed:
            return set()
        due = self.db.execute(
            "UPDATE urls SET state = 0 WHERE state = 2 AND next_eligible_at <= ? RETURNING origin_id", (now_s,)
        ).fetchall()
        self.delayed -= len(due)
        self.waiting += len(due)
        return {self._origin_names[origin_id] for (origin_id,) in due}

    # looking -------------------------------------------------------------------------------------------------

    def next_delayed_s(self) -> float | None:
        """Unix time at which the next retry is due; None when none is."""
        return self.db.execute("SELECT min(next_eligible_at) FROM urls WHERE state = 2").fetchone()[0] if self.delayed else None

    def origins_waiting(self) -> list[str]:
        rows = self.db.execute("SELECT DISTINCT origin_id FROM urls WHERE state = 0 ORDER BY origin_id").fetchall()
        return [self._origin_names[number] for (number,) in rows]

    def urls_entered(self) -> Iterable[str]:
        """Every URL that entered by discovery or plan, in order of entry."""
        return (url for (url,) in self.db.execute("SELECT url FROM urls ORDER BY id"))

    def count_kind(self, kind: str) -> int:
        """How many URLs of a kind entered, whatever became of them."""
        return self.db.execute("SELECT count(*) FROM urls WHERE kind = ?", (kind,)).fetchone()[0]

    def sample(self, state: int, kind: str = "page", limit: int = 10) -> tuple[int, list[str]]:
        """How many URLs of a kind are in a state, and the first few of them by name."""
        where = "FROM urls WHERE state = ? AND kind = ?"
        count = self.db.execute(f"SELECT count(*) {where}", (state, kind)).fetchone()[0]
        return count, [url for (url,) in self.db.execute(f"SELECT url {where} ORDER BY url LIMIT ?", (state, kind, limit))]

    def left(self, state: int, limit: int = 10) -> list[tuple[str, int, list[str]]]:
        """(outcome, count, first few URLs) of the URLs in a state, by outcome."""
        groups = self.db.execute(
            "SELECT outcome, count(*) FROM urls WHERE state = ? GROUP BY outcome ORDER BY outcome", (state,)
        ).fetchall()
        query = "SELECT url FROM urls WHERE state = ? AND outcome = ? ORDER BY url LIMIT ?"
        return [(outcome, count, [url for (url,) in self.db.execute(query, (state, outcome, limit))]) for outcome, count in groups]
