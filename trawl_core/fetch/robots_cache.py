"""robots.txt answers of one domain's night, kept in its SQLite file: good for 24 hours, also over a restart.

RFC 9309 section 2.4. An unreachable robots.txt is never kept: the next call asks again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from trawl_core.fetch.ledger import from_us, to_us
from trawl_core.fetch.robots import RobotsRules
from trawl_core.fetch.state import NightState

MAX_AGE = timedelta(hours=24)
MAX_REDIRECTS = 5


@dataclass(frozen=True)
class Robots:
    """Rules in force for an origin; `digest` is the content_digest of the file they came from, None when there is none."""

    rules: RobotsRules
    digest: str | None = None


class RobotsCache:
    def __init__(self, state: NightState, product_token: str) -> None:
        self._db = state.db
        self._token = product_token

    def get(self, origin: str, now: datetime) -> Robots | None:
        """What is known and fresh, else None."""
        row = self._db.execute("SELECT fetched_us, verdict, body, digest FROM robots WHERE origin = ?", (origin,)).fetchone()
        if row is None or now - from_us(row[0]) > MAX_AGE:
            return None
        return self._robots(row[1], row[2], row[3])

    def put(self, origin: str, verdict: str, body: bytes, digest: str | None, now: datetime) -> Robots:
        """Keep an answer: `verdict` is parse (with the decoded file) or allow."""
        self._db.execute("INSERT OR REPLACE INTO robots VALUES (?, ?, ?, ?, ?)", (origin, to_us(now), verdict, body, digest))
        return self._robots(verdict, body, digest)

    def _robots(self, verdict: str, body: bytes, digest: str | None) -> Robots:
        return Robots(RobotsRules.parse(body, self._token) if verdict == "parse" else RobotsRules.allow_all(), digest)
