"""From an exchange to its WARC record and its row in the ledger, in the durable order.

`record` appends and notes; nothing counts before `make_durable` has synced the WARC file and then committed the SQLite
transaction, so a row never leads to bytes that are not there.

Exchanges are made durable in batches. After a kill the ones that it cost are fetched again, and these are made durable
one by one: however often the crawl is killed, only what was under way at the very moment is asked for once more.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from trawl_core import __version__
from trawl_core.clock import Clock
from trawl_core.fetch.ledger import Ledger
from trawl_core.fetch.state import NightState
from trawl_core.lake import Lake, Partition
from trawl_core.sites import Site
from trawl_core.warc.captures import capture_row
from trawl_core.warc.exchange import Exchange
from trawl_core.warc.packing import packing_of
from trawl_core.warc.writer import MAX_BYTES, RevisitOf, WarcWriter

SOFTWARE = f"trawl/{__version__}"
BATCH_EXCHANGES = 64
BATCH_S = 2.0
OPEN = "open"


class Recorder:
    """The archive side of one domain's night."""

    def __init__(
        self, lake: Lake, partition: Partition, site: Site, *, state: NightState, ledger: Ledger, user_agent: str, clock: Clock, work: Path
    ) -> None:
        self.partition = partition
        self.site = site
        self._state = state
        self._ledger = ledger
        self._clock = clock
        self._config_hash = site.config_hash
        self._writer = WarcWriter(
            lake,
            partition,
            software=SOFTWARE,
            user_agent=user_agent,
            config_hash=self._config_hash,
            clock=clock,
            work=work,
            packing=packing_of(site.compression),
        )
        self._pending = 0
        self._pending_since: float | None = None
        self._repeats = BATCH_EXCHANGES if state.number(OPEN) else 0
        state.set_number(OPEN, 1)

    def record(
        self, exchange: Exchange, *, revisit: RevisitOf | None = None, rendered: bytes | None = None, **columns: Any
    ) -> dict[str, Any]:
        """Archive an exchange (when an answer came) and note its row, which is returned; `columns` are those of capture_row.

        `rendered` is the DOM that a browser made of it.
        """
        capture_id = str(uuid4())
        written = None
        if exchange.has_response:
            written = self._writer.write(exchange, capture_id, revisit=revisit, facts=_facts(columns), rendered=rendered)
        row = capture_row(
            exchange,
            capture_id=capture_id,
            partition=self.partition,
            written=written,
            revisit=revisit,
            config_hash=self._config_hash,
            software=SOFTWARE,
            **columns,
        )
        self._ledger.add(row)
        self.touched()
        if written is not None and written.end >= MAX_BYTES:
            # A file is sealed only when every record in it has a durable row.
            self.make_durable()
            self._writer.close()
        return row

    def note(self, url: str, outcome: str, error: str, **columns: Any) -> dict[str, Any]:
        """A row for a URL that was not asked for: denied, out of scope, unreachable robots.txt."""
        return self.record(_unasked(url, outcome, error, self._clock), **columns)

    def touched(self) -> None:
        """Something waits to be made durable."""
        self._pending += 1
        if self._pending_since is None:
            self._pending_since = self._clock.monotonic()

    def due_at(self) -> float | None:
        """Monotonic moment at which what waits has to be made durable; None when nothing waits."""
        if self._pending_since is None:
            return None
        return self._pending_since + (0.0 if self._repeats or self._pending >= BATCH_EXCHANGES else BATCH_S)

    def make_durable(self) -> None:
        self._writer.sync()
        self._state.commit()
        self._repeats = max(0, self._repeats - self._pending)
        self._pending = 0
        self._pending_since = None

    def seal(self) -> None:
        """Make everything durable and seal the WARC file: the night ended in order."""
        self._state.set_number(OPEN, 0)
        self.make_durable()
        self._writer.close()

    def abandon(self) -> None:
        """Let go without making anything durable: the next call salvages what the last commit knew."""
        self._writer.abandon()


def _facts(columns: Mapping[str, Any]) -> dict[str, str]:
    """How the URL came to be asked for, as the metadata record tells it: the archive explains itself without its tables."""
    facts = {name: str(columns[name]) for name in ("kind", "depth", "attempt") if columns.get(name) is not None}
    named_by = {name: columns.get(column) for name, column in (("via", "via_id"), ("redirect-from", "redirect_from_id"))}
    return facts | {name: f"<urn:uuid:{capture_id}>" for name, capture_id in named_by.items() if capture_id}


def _unasked(url: str, outcome: str, error: str, clock: Clock) -> Exchange:
    return Exchange(
        url=url,
        started_at=clock.now(),
        request_bytes=b"",
        response_bytes=b"",
        head_length=0,
        payload=b"",
        status=None,
        reason="",
        headers=(),
        outcome=outcome,
        error=error,
    )
