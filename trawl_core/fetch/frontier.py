"""The frontier of one domain's night: every URL once, what state it is in, and which one comes next.

The table is the authoritative visited set: a URL enters once, by its normalised form. States:

    WAITING ──lease──► LEASED ──finish──► DONE         fetched, or decided (denied, blocked)
       ▲                 │ └────leave───► LEFT         put off to another night, with its outcome
       └─promote─ DELAYED ◄──postpone                  a retry that is not due yet
    KNOWN                                              in the history, not due tonight; a link to it fetches nothing
    EVICTED                                            pushed out by the cap, recorded
    HELD                                               a link into a maze, with its family; waits when that proves to be none

Leases are taken in batches and expire; those of a dead process are void when the file is opened again, because its
holder held the domain's lock. All methods work inside the open transaction of the NightState.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice

from trawl_core.fetch.state import NightState

WAITING, LEASED, DELAYED, DONE, KNOWN, LEFT, EVICTED, HELD = range(8)
# The name under which the state file keeps the night's cap.
FRONTIER_CAP = "frontier_cap"
LEASE_S = 900.0
# The outcome of what a page seemed to show and was a page.
PAGE_AS_MEDIA = "page"
REMEMBERED = 200_000
EVICT_SHARE = 0.05
_BATCH = 10_000

_COLUMNS = (
    "id, url, kind, priority, depth, is_seed, attempts, outcome, via_id, etag, last_modified, body_capture_id, bare, "
    "redirect_from_id, redirect_hop, from_link"
)
_INSERT = """INSERT INTO urls (url, origin_id, kind, state, priority, depth, is_seed, via_id, etag, last_modified, body_capture_id,
    redirect_from_id, redirect_hop, from_link, outcome) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (url) DO """
_PLAN = (
    _INSERT
    + """UPDATE SET state = excluded.state, priority = excluded.priority, etag = excluded.etag,
    last_modified = excluded.last_modified, body_capture_id = excluded.body_capture_id, is_seed = excluded.is_seed,
    from_link = excluded.from_link WHERE urls.state IN (4, 5)"""
)
_DISCOVER = _INSERT + "NOTHING"
# Terms as the partial indexes have them, which SQLite uses only for a query that repeats them.
_ASIDE = "state = ? AND state IN (1, 5, 6, 7)"
_FAILED = "state = 3 AND outcome NOT IN ('ok', 'not_modified', 'http_error')"


@dataclass(frozen=True)
class NewUrl:
    """A URL offered to the frontier; `kind` is page, media, sitemap or feed; validators only with the body they describe.

    `from_link` is a page that only links lead to and that was never fetched: a trap may hold it back.
    """

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
    from_link: bool = False


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
    from_link: bool


class Frontier:
    """`cap` bounds the URLs that wait; beyond it the ones of lowest priority are evicted, a twentieth of the cap at a time."""

    def __init__(self, state: NightState, cap: int) -> None:
        self.db = state.db
        self.cap = cap
        self._origin_ids: dict[str, int] = {name: number for number, name in self.db.execute("SELECT id, origin FROM origins")}
        self._origin_names = {number: name for name, number in self._origin_ids.items()}
        self._remembered: set[str] = set()
        self._remembered_media: set[str] = set()
        self._freed: set[int] = set()
        self.db.execute(f"UPDATE urls SET state = 0, lease_until = NULL WHERE {_ASIDE}", (LEASED,))
        self._count_anew()
        self.held = self.db.execute(f"SELECT count(*) FROM urls WHERE {_ASIDE}", (HELD,)).fetchone()[0]

    def _count_anew(self) -> None:
        self.waiting = self.db.execute("SELECT count(*) FROM urls WHERE state = 0").fetchone()[0]
        self.delayed = self.db.execute("SELECT count(*) FROM urls WHERE state = 2").fetchone()[0]

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
        if self.remembers(url) or self.remembers_media(url):
            return True
        row = self.db.execute("SELECT kind FROM urls WHERE url = ?", (url,)).fetchone()
        if row is None:
            return False
        self._remember(url, row[0])
        return True

    def remembers(self, url: str) -> bool:
        """`knows` as far as memory alone tells, for all but media; any thread may ask."""
        return url in self._remembered

    def remembers_media(self, url: str) -> bool:
        return url in self._remembered_media

    def _remember(self, url: str, kind: str = "page") -> None:
        remembered = self._remembered_media if kind == "media" else self._remembered
        if len(remembered) >= REMEMBERED:
            remembered.clear()
        remembered.add(url)

    def add(self, new: NewUrl) -> bool:
        """Let a discovered URL in; False when it was known already."""
        added = self.db.execute(_DISCOVER, self._values(new, WAITING)).rowcount > 0
        self.waiting += added
        self._remember(new.url, new.kind)
        if added and self.waiting > self.cap:
            self._evict()
        return added

    def plan(self, news: Iterable[NewUrl]) -> None:
        """Let planned URLs in: also those known and not due before, or left by an earlier call; never one done tonight."""
        self._insert_many(_PLAN, news, WAITING)
        self._count_anew()

    def know(self, urls: Iterable[tuple[str, str, int]]) -> None:
        """Mark (url, origin, depth) as known and not due; no effect on a URL that is in already."""
        self._insert_many(_DISCOVER, (NewUrl(url, origin, depth=depth) for url, origin, depth in urls), KNOWN)

    def know_media(self, urls: Iterable[tuple[str, str]]) -> None:
        """Mark (url, origin) as media that need not be fetched; no effect on a URL that is in already."""
        self._insert_many(_DISCOVER, (NewUrl(url, origin, "media") for url, origin in urls), KNOWN)

    def forget_media(self, url: str) -> bool:
        """Let a URL that was taken for media go, when it still waits or its answer was a page: it may enter as one."""
        query = "DELETE FROM urls WHERE url = ? AND kind = 'media' AND (state = 0 OR (state = 3 AND outcome = ?)) RETURNING state"
        row = self.db.execute(query, (url, PAGE_AS_MEDIA)).fetchone()
        if row is None:
            return False
        self.waiting -= row[0] == WAITING
        self._remembered_media.discard(url)
        return True

    def has_open_media(self) -> bool:
        """Whether media wait, are leased or are to be asked for again."""
        return self.db.execute("SELECT 1 FROM urls WHERE kind = 'media' AND kind != 'page' AND state < 3 LIMIT 1").fetchone() is not None

    def _insert_many(self, statement: str, news: Iterable[NewUrl], state: int) -> None:
        values = (self._values(new, state) for new in news)
        while batch := list(islice(values, _BATCH)):
            self.db.executemany(statement, batch)

    def done_before(self, done: Iterable[tuple[NewUrl, str]]) -> None:
        """Mark URLs as fetched with that outcome, whatever they were; for captures that came from the lake."""
        for new, outcome in done:
            self.db.execute(_DISCOVER, self._values(new, DONE))
            self.db.execute("UPDATE urls SET state = ?, outcome = ? WHERE url = ?", (DONE, outcome, new.url))
        self._count_anew()

    def forget_redirect_targets_and_known(self) -> None:
        """Before a refetch: what only a redirect led to is found again, and what was not due may be."""
        self.db.execute("DELETE FROM urls WHERE state = ? OR (redirect_from_id IS NOT NULL AND NOT is_seed)", (KNOWN,))
        self._remembered.clear()
        self._remembered_media.clear()

    def _values(self, new: NewUrl, state: int, outcome: str | None = None) -> tuple[object, ...]:
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
            new.from_link,
            outcome,
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
        reset = "UPDATE urls SET state = 0, attempts = 0, next_eligible_at = 0, bare = 0 WHERE"
        if outcomes is None:
            self.db.execute(f"{reset} state IN (3, 5, 2)")
        else:
            names = list(outcomes)
            for where in (_FAILED, "state = 5 AND state IN (1, 5, 6, 7)", "state = 2"):
                self.db.execute(f"{reset} {where} AND outcome IN ({','.join('?' * len(names))})", names)
        self._count_anew()

    # held back by a maze -------------------------------------------------------------------------------------

    def add_held(self, new: NewUrl, reason: str) -> None:
        """Let a discovered URL in without letting it wait; no effect on one that is in already."""
        self.held += self.db.execute(_DISCOVER, self._values(new, HELD, reason)).rowcount
        self._remember(new.url)

    def hold(self, lease: Leased, reason: str) -> None:
        self.db.execute("UPDATE urls SET state = 7, outcome = ?, lease_until = NULL WHERE id = ?", (reason, lease.id))
        self.held += 1

    def free(self, reason: str) -> None:
        """Let all that was held back for this reason wait again."""
        self._freed_are(f"UPDATE urls SET state = 0, outcome = NULL WHERE {_ASIDE} AND outcome = ? RETURNING origin_id", (HELD, reason))

    def free_those(self, wanted: Callable[[str], bool]) -> None:
        """Let those of the held back URLs wait again for which `wanted` is true."""
        urls = [(url,) for (url,) in self.db.execute(f"SELECT url FROM urls WHERE {_ASIDE}", (HELD,)) if wanted(url)]
        for url in urls:
            self._freed_are("UPDATE urls SET state = 0, outcome = NULL WHERE url = ? RETURNING origin_id", url)

    def vouch(self, url: str) -> None:
        """More than a link leads to this known URL: nothing holds it back."""
        self.db.execute("UPDATE urls SET from_link = 0 WHERE url = ? AND from_link", (url,))
        if self.held:
            self._freed_are("UPDATE urls SET state = 0, outcome = NULL WHERE url = ? AND state = 7 RETURNING origin_id", (url,))

    def _freed_are(self, statement: str, values: tuple[object, ...]) -> None:
        freed = self.db.execute(statement, values).fetchall()
        self.held -= len(freed)
        self.waiting += len(freed)
        self._freed.update(origin_id for (origin_id,) in freed)

    def take_freed(self) -> list[str]:
        """Origins that have URLs waiting which were held back when this was asked last."""
        freed = sorted(self._freed)
        self._freed.clear()
        return [self._origin_names[number] for number in freed]

    # leaving -------------------------------------------------------------------------------------------------

    def lease(self, origin: str, limit: int, now_s: float, *, only_media: bool = False) -> list[Leased]:
        """Up to `limit` URLs of an origin, highest priority first; `now_s` is Unix time."""
        origin_id = self._origin_ids.get(origin)
        if origin_id is None or not self.waiting:
            return []
        # The plus keeps SQLite from looking for the media among all pages that wait.
        where = "+origin_id = ? AND kind = 'media' AND kind != 'page'" if only_media else "origin_id = ?"
        rows = self.db.execute(
            f"SELECT {_COLUMNS} FROM urls WHERE state = 0 AND {where} ORDER BY priority DESC, id LIMIT ?",
            (origin_id, limit),
        ).fetchall()
        self.db.executemany("UPDATE urls SET state = 1, lease_until = ? WHERE id = ?", [(now_s + LEASE_S, row[0]) for row in rows])
        self.waiting -= len(rows)
        return [Leased(*row[:5], bool(row[5]), *row[6:12], bool(row[12]), *row[13:15], bool(row[15])) for row in rows]

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

    def has_waiting(self, origin: str) -> bool:
        query = "SELECT 1 FROM urls WHERE state = 0 AND origin_id = ? LIMIT 1"
        return self.db.execute(query, (self._origin_ids.get(origin),)).fetchone() is not None

    def origins_waiting(self) -> list[str]:
        rows = self.db.execute("SELECT DISTINCT origin_id FROM urls WHERE state = 0 ORDER BY origin_id").fetchall()
        return [self._origin_names[number] for (number,) in rows]

    def urls_entered(self) -> Iterable[str]:
        """Every URL but media that entered by discovery or plan and is not held back, in order of entry."""
        return (url for (url,) in self.db.execute("SELECT url FROM urls WHERE state != 7 AND kind != 'media' ORDER BY id"))

    def count_kind(self, kind: str) -> int:
        """How many URLs of a kind other than page entered, whatever became of them."""
        return self.db.execute("SELECT count(*) FROM urls WHERE kind = ? AND kind != 'page'", (kind,)).fetchone()[0]

    def sample(self, state: int, limit: int = 10) -> tuple[int, list[str]]:
        """How many URLs are in a state, and a few of them, sorted: of those that wait the ones that come next."""
        where = "FROM urls WHERE state = ?" if state not in (LEASED, LEFT, EVICTED, HELD) else f"FROM urls WHERE {_ASIDE}"
        where = where.replace("?", str(state))
        count = self.db.execute(f"SELECT count(*) {where}").fetchone()[0]
        return count, sorted(url for (url,) in self.db.execute(f"SELECT url {where} LIMIT ?", (limit,)))

    def left(self, state: int, limit: int = 10) -> list[tuple[str, int, list[str]]]:
        """(outcome, count, a few URLs, sorted) of the URLs in the state LEFT or HELD, by outcome."""
        groups = self.db.execute(
            f"SELECT outcome, count(*) FROM urls WHERE {_ASIDE} GROUP BY outcome ORDER BY outcome", (state,)
        ).fetchall()
        query = f"SELECT url FROM urls WHERE {_ASIDE} AND outcome = ? LIMIT ?"
        return [(outcome, count, sorted(url for (url,) in self.db.execute(query, (state, outcome, limit)))) for outcome, count in groups]

    def failed(self, outcome: str, limit: int = 10) -> tuple[int, list[str]]:
        """How many URLs are done with this outcome (none of ok, not_modified, http_error), and a few of them, sorted."""
        where = f"FROM urls WHERE {_FAILED} AND outcome = ?"
        count = self.db.execute(f"SELECT count(*) {where}", (outcome,)).fetchone()[0]
        return count, sorted(url for (url,) in self.db.execute(f"SELECT url {where} LIMIT ?", (outcome, limit)))
