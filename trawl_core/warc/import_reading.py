"""One pass over a WARC file that others wrote: its records into a spool of rows, what is wrong with them into a list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any, BinaryIO

from isal import isal_zlib

from trawl_core.lake import Partition
from trawl_core.sites import Site, check_domain
from trawl_core.urls.normalize import normalize_url, origin_of, split_url
from trawl_core.warc.foreign_records import Found, Gap, foreign_records
from trawl_core.warc.foreign_rows import (
    BESIDE,
    ROWS,
    NoRow,
    Origin,
    capture_id,
    facts_beside,
    moment_of,
    origin_of_file,
    record_id_of,
    row_of,
    url_of,
)
from trawl_core.warc.import_spool import Spool
from trawl_core.warc.loose import parse_loose
from trawl_core.warc.record import Record

_LEVEL = 2
_GZIP_BITS = 31


class SharedMember(Exception):
    """A record can't be read by a range of its own: the file has to be rewritten."""


class Collections:
    """Which domain's collection a URL belongs to: the site whose host or further origin it has, else its host."""

    def __init__(self, sites: Sequence[Site]) -> None:
        self._hosts = {site.domain for site in sites}
        self._origins = {origin_of(url): site.domain for site in sites for url in map(normalize_url, site.origins) if url}

    def domain_of(self, url: str) -> str:
        host = split_url(url).url_host_name.strip("[]")
        if host in self._hosts:
            return host
        if domain := self._origins.get(origin_of(url)):
            return domain
        try:
            return check_domain(host)
        except ValueError as error:
            raise NoRow(f"its host can't be a partition: {error}", is_fault=True) from None


class Rewriting:
    """The new file, below the work folder until it is published."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("wb")
        self._offset = 0

    def add(self, data: bytes) -> tuple[int, int]:
        member = isal_zlib.compress(data, _LEVEL, _GZIP_BITS)
        self._file.write(member)
        place = self._offset, len(member)
        self._offset += len(member)
        return place

    def close(self) -> None:
        self._file.close()

    def discard(self) -> None:
        self._file.close()
        self.path.unlink(missing_ok=True)


@dataclass
class Reading:
    """What is to be read, and what was met: `records` by type, `passed_over` what is no capture by kind, `faults` as (offset, what is
    wrong there). `name` is what captures.warc_filename will say, `now` bounds the dates that can be.
    """

    name: str
    sha256: str
    collections: Collections
    crawl_date: date | None
    only: frozenset[str] | None
    now: datetime
    records: Counter[str] = field(default_factory=Counter)
    passed_over: Counter[str] = field(default_factory=Counter)
    faults: list[tuple[int, str]] = field(default_factory=list)
    _origin: Origin = field(default_factory=Origin)

    def read(self, file: BinaryIO, is_plain: bool, spool: Spool, rewriting: Rewriting | None, progress: Callable[[int], None]) -> None:
        """Every record of `file`. Raises SharedMember, when it is not being rewritten, at the first that has no range of its own."""
        for seq, found in enumerate(foreign_records(file, is_plain=is_plain)):
            if isinstance(found, Gap):
                self.faults.append((found.offset, found.fault))
            else:
                self._take(seq, found, spool, rewriting)
            progress(found.offset)

    def _take(self, seq: int, found: Found, spool: Spool, rewriting: Rewriting | None) -> None:
        record, faults = parse_loose(found.data, self.name, found.offset, found.length or 0)
        kind = record.warc_type
        try:
            made = self._row(record, found) if kind in ROWS else None
            if kind not in ROWS and found.doubt is not None:
                raise NoRow(found.doubt, is_fault=True)
        except NoRow as error:
            self._refuse(record, found, error, faults)
            if found.doubt is None and rewriting is not None:
                rewriting.add(found.data)
            return
        if found.length is None and rewriting is None:
            raise SharedMember
        self.records[kind or "unknown"] += 1
        self.faults += [(found.offset, f"{_named(record)}: {fault}") for fault in (*faults, *(made[2] if made else ()))]
        place = (found.offset, found.length or 0) if rewriting is None else rewriting.add(found.data)
        if made:
            partition, row, _ = made
            row["warc_record_offset"], row["warc_record_length"] = place
            spool.add(seq, found.offset, partition, record_id_of(record), _names(record), row)
        elif kind in BESIDE:
            spool.add_beside(seq, kind, record_id_of(record), _names(record), _url_or_none(record), place, facts_beside(record))
        elif kind == "warcinfo":
            self._origin = origin_of_file(record)
        elif kind not in ROWS:
            self.passed_over[f"of type {kind or 'unknown'}"] += 1

    def _refuse(self, record: Record, found: Found, error: NoRow, faults: list[str]) -> None:
        if found.doubt is None:
            self.records[record.warc_type or "unknown"] += 1
        if error.is_fault:
            self.faults.append((found.offset, f"{_named(record)} is not imported: {'; '.join([error.reason, *faults])}"))
        else:
            self.passed_over[error.reason] += 1

    def _row(self, record: Record, found: Found) -> tuple[Partition, dict[str, Any], list[str]] | None:
        """(partition, row, faults); None when its domain was not asked for. Raises NoRow."""
        url = url_of(record)
        domain = self.collections.domain_of(url)
        fetched, date_fault = moment_of(record, self._origin, self.now)
        if fetched is None and self.crawl_date is not None:
            fetched, date_fault = datetime.combine(self.crawl_date, time.min, UTC), f"{date_fault}; the beginning of --date is taken"
        if fetched is None:
            raise NoRow(f"{date_fault}, and nothing else in the file says when it was fetched (--date would)", is_fault=True)
        if self.only is not None and domain not in self.only and found.doubt is None:
            self.passed_over["of domains that were not asked for"] += 1
            return None
        row, faults = row_of(
            record, url, fetched, self._origin, capture_id=capture_id(record, self.sha256, found.offset), doubt=found.doubt
        )
        if self.only is not None and domain not in self.only:  # what is kept of a file does not depend on what is asked for
            self.passed_over["of domains that were not asked for"] += 1
            return None
        if date_fault:
            faults.insert(0, date_fault)
        return Partition(self.crawl_date or fetched.date(), domain), row, faults


def _named(record: Record) -> str:
    uri = record.target_uri
    return f"the {record.warc_type or 'record'}" + (f" of {uri[:200]}" if uri else "")


def _names(record: Record) -> list[str]:
    """Ids of the records that this one says it belongs to."""
    return [value.strip().strip("<>") for name in ("WARC-Concurrent-To", "WARC-Refers-To") for value in record.field_values(name)]


def _url_or_none(record: Record) -> str | None:
    try:
        return url_of(record)
    except NoRow:
        return None
