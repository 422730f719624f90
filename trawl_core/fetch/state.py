"""The SQLite file of one domain's night: `<work>/crawl_date=…/domain=….sqlite`.

WAL with FULL sync; one writer, which holds the domain's lock. A transaction is always open: what an exchange did (its
capture row, the links found, the completion) and the leases taken meanwhile become durable together at `commit`, which
the crawl calls only after the WARC file was synced. What a killed process had not committed never happened.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path

from trawl_core.errors import DiskFullError, LakeError, explain_os_error
from trawl_core.lake.layout import Partition, make_folder

STATE_VERSION = "2"
KEPT_DAYS = 7

_TABLES = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS origins (id INTEGER PRIMARY KEY, origin TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS urls (
    id INTEGER PRIMARY KEY,
    url TEXT NOT NULL UNIQUE,
    origin_id INTEGER NOT NULL REFERENCES origins (id),
    kind TEXT NOT NULL,
    state INTEGER NOT NULL,
    priority REAL NOT NULL,
    depth INTEGER NOT NULL,
    is_seed INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    next_eligible_at REAL NOT NULL DEFAULT 0,
    lease_until REAL,
    outcome TEXT,
    via_id TEXT,
    etag TEXT,
    last_modified TEXT,
    body_capture_id TEXT,
    bare INTEGER NOT NULL DEFAULT 0,
    redirect_from_id TEXT,
    redirect_hop INTEGER NOT NULL DEFAULT 0,
    from_link INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS urls_ready ON urls (origin_id, priority DESC, id) WHERE state = 0;
CREATE INDEX IF NOT EXISTS urls_delayed ON urls (next_eligible_at) WHERE state = 2;
CREATE INDEX IF NOT EXISTS urls_aside ON urls (state, outcome) WHERE state IN (1, 5, 6, 7);
CREATE INDEX IF NOT EXISTS urls_failed ON urls (outcome) WHERE state = 3 AND outcome NOT IN ('ok', 'not_modified', 'http_error');
CREATE INDEX IF NOT EXISTS urls_lists ON urls (kind) WHERE kind != 'page';
CREATE TABLE IF NOT EXISTS captures (
    capture_id TEXT PRIMARY KEY,
    fetch_us INTEGER NOT NULL,
    url TEXT NOT NULL,
    kind TEXT,
    outcome TEXT,
    fetch_status INTEGER,
    wire_bytes INTEGER,
    redirect TEXT,
    warc_filename TEXT,
    warc_end INTEGER,
    row TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS bodies (
    capture_id TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    url TEXT NOT NULL,
    fetch_us INTEGER NOT NULL,
    warc_filename TEXT NOT NULL,
    warc_offset INTEGER NOT NULL,
    warc_length INTEGER NOT NULL,
    payload_sha256 TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS bodies_digest ON bodies (digest);
CREATE TABLE IF NOT EXISTS held (
    url TEXT PRIMARY KEY,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL,
    first_us INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS held_beyond (
    reason TEXT NOT NULL,
    detail TEXT NOT NULL,
    count INTEGER NOT NULL,
    first_us INTEGER NOT NULL,
    PRIMARY KEY (reason, detail)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS trap_samples (family TEXT NOT NULL, url TEXT NOT NULL, PRIMARY KEY (family, url)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS mazes (
    family TEXT PRIMARY KEY,
    signatures TEXT NOT NULL,
    length INTEGER NOT NULL,
    since_us INTEGER
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS list_pages (url TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS robots (
    origin TEXT PRIMARY KEY,
    fetched_us INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    body BLOB,
    digest TEXT
) WITHOUT ROWID;
"""


def state_file(work: Path, partition: Partition) -> Path:
    return work / f"{partition.folder}.sqlite"


def forget_old_states(work: Path, partition: Partition, keep: Callable[[Partition], bool]) -> None:
    """Remove this domain's files of nights more than KEPT_DAYS before `partition`, but for those that `keep` wants."""
    for file in work.glob(f"crawl_date=*/{state_file(work, partition).name}"):
        night = Partition(date.fromisoformat(file.parent.name.removeprefix("crawl_date=")), partition.domain)
        if partition.crawl_date - night.crawl_date > timedelta(days=KEPT_DAYS) and not keep(night):
            for part in file.parent.glob(f"{file.name}*"):
                part.unlink()
            with suppress(OSError):  # other domains have files there
                file.parent.rmdir()


class NightState:
    """The open file. `is_new` tells that it did not exist before (or that it was lost)."""

    def __init__(self, path: Path) -> None:
        """Raises LakeError or one of its kin when the file can't be opened; a damaged one is named with what to do."""
        self.path = path
        self.is_new = not path.exists()
        try:
            make_folder(path.parent)
        except OSError as error:
            raise explain_os_error(error, "preparing the crawl state in", path.parent) from error
        try:
            # Autocommit mode of the driver: the transactions below are all ours.
            self.db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self.db.execute("PRAGMA journal_mode = WAL")
            self.db.execute("PRAGMA synchronous = FULL")
            self.db.execute("PRAGMA cache_size = -16000")
            self._bring_up_to_date()
            self.db.executescript(_TABLES)
            self.db.execute("BEGIN IMMEDIATE")
            self.db.execute("INSERT OR REPLACE INTO meta VALUES ('version', ?)", (STATE_VERSION,))
        except sqlite3.Error as error:
            raise explain_sqlite_error(error, path) from error

    def _bring_up_to_date(self) -> None:
        """A file that version 1 began has its night finished by this one."""
        columns = [row[1] for row in self.db.execute("PRAGMA table_info(urls)")]
        if columns and "from_link" not in columns:
            self.db.execute("ALTER TABLE urls ADD COLUMN from_link INTEGER NOT NULL DEFAULT 0")

    def commit(self) -> None:
        """Make everything since the last commit durable in one step."""
        self.db.execute("COMMIT")
        self.db.execute("BEGIN IMMEDIATE")

    def close(self) -> None:
        """Close without committing what is open."""
        self.db.close()

    def number(self, key: str) -> float:
        """A number kept in `meta`; 0 when it was never set."""
        row = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return float(row[0]) if row else 0.0

    def text(self, key: str) -> str | None:
        """A text kept in `meta`; None when it was never set."""
        row = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    def set_text(self, key: str, value: str | None) -> None:
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def set_number(self, key: str, value: float) -> None:
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, repr(value)))


def explain_sqlite_error(error: sqlite3.Error, path: Path) -> LakeError:
    """The TrawlError for a crawl state file that can't be read or written."""
    code = getattr(error, "sqlite_errorname", "") or ""
    if code.startswith("SQLITE_FULL"):
        return DiskFullError(
            f"writing the crawl state {path}: the disk is full. Everything committed before is kept. "
            "Free some space and run the same command again."
        )
    if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return LakeError(
            f"reading the crawl state {path}: the file is damaged ({error}). Delete it and run the same command again: "
            "the captures already committed to the lake are taken over from there."
        )
    return LakeError(f"using the crawl state {path}: {error}.")
