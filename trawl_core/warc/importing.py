"""Other people's WARC files become captures: `import_warcs` reads each once, keeps it in the lake, and adds its rows.

A file whose records can each be read by a range (plain, or one gzip member a record) is kept as it is. Any other is rewritten: each
record in a gzip member of its own, its bytes kept. The order is file, captures, manifest; killed in between, the same import goes on.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
from isal import isal_zlib

from trawl_core.clock import Clock
from trawl_core.errors import LakeError, TrawlError, UsageError, WarcError, explain_os_error
from trawl_core.lake import Lake, Partition, tables
from trawl_core.sites import Site, check_domain
from trawl_core.urls.normalize import normalize_url, origin_of, split_url
from trawl_core.warc.foreign_bytes import GZIP, is_zstd
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
    own_id,
    record_id_of,
    row_of,
    url_of,
)
from trawl_core.warc.import_spool import Spool
from trawl_core.warc.imported import ImportedFile, folder_of, is_imported, read_manifest, write_manifest
from trawl_core.warc.loose import parse_loose
from trawl_core.warc.record import Record
from trawl_core.warc.refers import resolve_revisits

AS_IT_IS, REWRITTEN = "as it is", "rewritten"
MAX_FAULTS = 10_000
MAX_NEW_DOMAINS = 500
_BLOCK = 1 << 20
_LEVEL = 2
_GZIP_BITS = 31
_ROWS = 5_000
_SAME = ["capture_id", "url", "fetch_time", "block_digest", "warc_filename"]
_WACZ = b"PK\x03\x04"
_IN_WACZ = re.compile(r"archive/[^/]+\.warc(?:\.gz|\.zst)?$", re.IGNORECASE)
_LOCK = "import"

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class ImportRequest:
    """What to make of the files. `crawl_date` None files each record under the UTC day of its WARC-Date; `only` None takes every domain.

    `link`: a local lake holds the same file (hard link) instead of a copy. More than `max_new_domains` domains that are neither in
    `sites` nor in the lake are refused.
    """

    sites: Sequence[Site] = ()
    crawl_date: date | None = None
    only: frozenset[str] | None = None
    link: bool = False
    max_new_domains: int = MAX_NEW_DOMAINS


@dataclass
class Outcome:
    """What became of one file. `status`: imported, already (an earlier import did it) or failed, with `error`.

    `new` and `known` count captures that were added, and that were archived before; `resolved` and `unresolved` the imported revisits of
    its domains.
    """

    source: str
    status: str
    imported: ImportedFile | None = None
    error: str | None = None
    new: int = 0
    known: int = 0
    resolved: int = 0
    unresolved: int = 0
    new_domains: list[str] = field(default_factory=list)

    @property
    def has_problem(self) -> bool:
        return self.status == "failed" or (self.status == "imported" and bool(self.imported and self.imported.faults))


def import_warcs(
    paths: Sequence[Path], request: ImportRequest, *, lake: Lake, work: Path, clock: Clock, progress: Progress | None = None
) -> Iterator[Outcome]:
    """Import each file, and each WARC inside a WACZ; one outcome each, a failure among them. `progress(name, done, total)` counts bytes.

    Raises UsageError when the request itself can't be done, DiskFullError, LockedError or their kin when nothing more can be stored.
    """
    with lake.lock(_LOCK, "importing WARC files"):
        for path in paths:
            for source, file in _warcs_in(path, work):
                if isinstance(file, WarcError):
                    yield Outcome(source, "failed", error=str(file))
                    continue
                try:
                    yield _Import(source, file, request, lake, work, clock, progress).run()
                except WarcError as error:
                    yield Outcome(source, "failed", error=str(error))


def _warcs_in(path: Path, work: Path) -> Iterator[tuple[str, Path | WarcError]]:
    """(name for a person, file on this disk) of each WARC that `path` is or, as a WACZ, holds."""
    source = str(path)
    try:
        with path.open("rb") as file:
            is_wacz = file.read(4) == _WACZ
    except OSError as error:
        yield source, WarcError(f"importing {source}: it can't be read ({error.strerror or error}). Nothing was imported from it.")
        return
    if not is_wacz:
        yield source, path
        return
    unpacked = work / f"import-{os.getpid()}.unpacked"
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if _IN_WACZ.search(name)]
            if not names:
                yield source, WarcError(f"importing {source}: the WACZ holds no archive/*.warc or *.warc.gz. Nothing was imported from it.")
            for name in names:
                try:
                    work.mkdir(parents=True, exist_ok=True)
                    with archive.open(name) as inner, unpacked.open("wb") as target:
                        shutil.copyfileobj(inner, target, _BLOCK)
                except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
                    yield (
                        f"{source}:{name}",
                        WarcError(f"importing {name} of {source}: it can't be unpacked ({error}). Nothing was imported from it."),
                    )
                    continue
                yield f"{source}:{name}", unpacked
    except zipfile.BadZipFile as error:
        yield source, WarcError(f"importing {source}: it is no WACZ that can be read ({error}). Nothing was imported from it.")
    except OSError as error:
        raise explain_os_error(error, "unpacking", unpacked) from error
    finally:
        unpacked.unlink(missing_ok=True)


class _SharedMember(Exception):
    """A record can't be read by a range of its own: the file has to be rewritten."""


class _Collections:
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


class _Rewriting:
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


class _Import:
    """One file, from its first look to its manifest."""

    def __init__(
        self, source: str, path: Path, request: ImportRequest, lake: Lake, work: Path, clock: Clock, progress: Progress | None
    ) -> None:
        self._source, self._path, self._request = source, path, request
        self._lake, self._work, self._clock, self._progress = lake, work, clock, progress
        self._collections = _Collections(request.sites)
        self._size = 0
        self._sha256 = ""
        self._name = ""
        self._origin = Origin()
        self._records: Counter[str] = Counter()
        self._passed_over: Counter[str] = Counter()
        self._faults: list[tuple[int, str]] = []

    def run(self) -> Outcome:
        try:
            with self._path.open("rb") as file:
                is_plain, is_gzip = self._look(file)
                self._sha256 = self._digest(file)
                if done := self._done_before():
                    return done
                with Spool(self._work / f"import-{self._sha256[:16]}.sqlite") as spool:
                    return self._import(file, spool, is_plain, must_rewrite=not is_plain and not is_gzip)
        except OSError as error:
            raise explain_os_error(error, "importing", self._source) from error

    def _look(self, file: BinaryIO) -> tuple[bool, bool]:
        """(is it plain, is it gzip); raises WarcError for what is no WARC."""
        magic = file.read(16)
        self._size = file.seek(0, 2)
        if magic.startswith(GZIP):
            return False, True
        if is_zstd(magic):
            return False, False
        if not magic:
            raise self._failed(0, "the file is empty")
        if magic.startswith(b"filedesc:"):
            raise self._failed(
                0, "it is an ARC file, the format before WARC, which is not supported; `jwarc` or `warcio recompress` make a WARC of it"
            )
        return True, False

    def _failed(self, offset: int, fault: str) -> WarcError:
        return WarcError(f"importing {self._source}: at byte {offset}: {fault}. Nothing was imported from it.")

    def _digest(self, file: BinaryIO) -> str:
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256") if self._size < _BLOCK else None
        if digest is None:
            digest = hashlib.sha256()
            while block := file.read(_BLOCK):
                digest.update(block)
                self._tell("checking", file.tell())
        return digest.hexdigest()

    def _tell(self, doing: str, done: int) -> None:
        if self._progress:
            self._progress(f"{doing} {self._source.rpartition('/')[2]}", done, self._size)

    def _done_before(self) -> Outcome | None:
        earlier = read_manifest(self._lake, folder_of(self._sha256))
        if earlier is None:
            return None
        asked = None if self._request.crawl_date is None else self._request.crawl_date.isoformat()
        if earlier.crawl_date != asked:
            how = f"under the crawl date {earlier.crawl_date}" if earlier.crawl_date else "under the days of its records"
            raise WarcError(
                f"importing {self._source}: the same file was imported on {earlier.imported_at[:10]} {how}, and its captures stay there. "
                "Leave --date as it was then; nothing was changed."
            )
        if earlier.only is None or (self._request.only is not None and self._request.only <= set(earlier.only)):
            return Outcome(self._source, "already", earlier)
        return None  # it is asked for more domains than then

    # reading -----------------------------------------------------------------------------------------------------

    def _import(self, file: BinaryIO, spool: Spool, is_plain: bool, must_rewrite: bool) -> Outcome:
        rewriting: _Rewriting | None = None
        self._name = self._stored_name(".warc" if is_plain else ".warc.gz")
        try:
            if not must_rewrite:
                try:
                    self._read(file, is_plain, spool, None)
                except _SharedMember:
                    must_rewrite = True
            if must_rewrite:
                self._work.mkdir(parents=True, exist_ok=True)
                rewriting = _Rewriting(self._work / f"import-{self._sha256[:16]}.warc.gz")
                spool.clear()
                self._read(file, is_plain, spool, rewriting)
                rewriting.close()
            return self._store(spool, rewriting)
        finally:
            if rewriting is not None:
                rewriting.discard()

    def _stored_name(self, suffix: str) -> str:
        base = re.split(r"\.w?arc(?:\.|$)", self._source.replace(":", "/").rpartition("/")[2], maxsplit=1, flags=re.IGNORECASE)[0]
        return f"{folder_of(self._sha256)}/{re.sub(r'[^A-Za-z0-9._~+-]', '_', base)[:150].lstrip('.') or 'file'}{suffix}"

    def _read(self, file: BinaryIO, is_plain: bool, spool: Spool, rewriting: _Rewriting | None) -> None:
        self._records.clear()
        self._passed_over.clear()
        self._faults.clear()
        self._origin = Origin()
        for seq, found in enumerate(foreign_records(file, is_plain=is_plain)):
            if isinstance(found, Gap):
                self._faults.append((found.offset, found.fault))
            else:
                self._take(seq, found, spool, rewriting)
            self._tell("reading", min(found.offset, self._size))
        self._tell("reading", self._size)
        if not self._records:
            offset, fault = self._faults[0] if self._faults else (0, "it holds no record")
            raise self._failed(offset, fault)

    def _take(self, seq: int, found: Found, spool: Spool, rewriting: _Rewriting | None) -> None:
        record, faults = parse_loose(found.data, self._name, found.offset, found.length or 0)
        kind = record.warc_type
        try:
            made = self._row(record, found) if kind in ROWS else None
            if made is None and found.doubt is not None:
                raise NoRow(found.doubt, is_fault=True)
        except NoRow as error:
            self._refuse(record, found, error, faults)
            if found.doubt is None and rewriting is not None:
                rewriting.add(found.data)
            return
        if found.length is None and rewriting is None:
            raise _SharedMember
        self._records[kind or "unknown"] += 1
        self._faults += [(found.offset, f"{_named(record)}: {fault}") for fault in (*faults, *(made[2] if made else ()))]
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
            self._passed_over[f"of type {kind or 'unknown'}"] += 1

    def _refuse(self, record: Record, found: Found, error: NoRow, faults: list[str]) -> None:
        if found.doubt is None:
            self._records[record.warc_type or "unknown"] += 1
        if error.is_fault:
            self._faults.append((found.offset, f"{_named(record)} is not imported: {'; '.join([error.reason, *faults])}"))
        else:
            self._passed_over[error.reason] += 1

    def _row(self, record: Record, found: Found) -> tuple[Partition, dict[str, Any], list[str]] | None:
        """(partition, row, faults); None when its domain was not asked for. Raises NoRow."""
        url = url_of(record)
        domain = self._collections.domain_of(url)
        if self._request.only is not None and domain not in self._request.only:
            self._passed_over["of domains that were not asked for"] += 1
            return None
        fetched, date_fault = moment_of(record, self._origin, self._clock.now())
        if fetched is None:
            raise NoRow(f"{date_fault}, and nothing else in the file says when it was fetched", is_fault=True)
        row, faults = row_of(
            record, url, fetched, self._origin, capture_id=capture_id(record, self._sha256, found.offset), doubt=found.doubt
        )
        if date_fault:
            faults.insert(0, date_fault)
        return Partition(self._request.crawl_date or fetched.date(), domain), row, faults

    # storing -----------------------------------------------------------------------------------------------------

    def _store(self, spool: Spool, rewriting: _Rewriting | None) -> Outcome:
        spool.pair()
        domains = spool.domains()
        new_domains = self._new_domains(domains)
        stored_sha256 = self._publish(rewriting) if domains else None
        outcome = Outcome(self._source, "imported", new_domains=new_domains)
        by_domain: dict[str, list[Partition]] = {}
        for partition in spool.partitions():
            by_domain.setdefault(partition.domain or "", []).append(partition)
        for done, (domain, partitions) in enumerate(by_domain.items()):
            if self._progress:
                self._progress(f"adding captures of {domain}", done, len(by_domain))
            with self._lake.lock(f"crawl-{domain}", f"importing into {domain}"):
                for partition in partitions:
                    new, known = self._merge(partition, spool)
                    outcome.new, outcome.known = outcome.new + new, outcome.known + known
                resolved, unresolved = resolve_revisits(self._lake, domain)
                outcome.resolved, outcome.unresolved = outcome.resolved + resolved, outcome.unresolved + unresolved
        self._faults.sort()
        outcome.imported = ImportedFile(
            source=self._source,
            sha256=self._sha256,
            bytes=self._size,
            name=self._name if domains else None,
            form=AS_IT_IS if rewriting is None else REWRITTEN,
            stored_sha256=stored_sha256,
            imported_at=self._clock.now().isoformat(timespec="seconds"),
            crawl_date=None if self._request.crawl_date is None else self._request.crawl_date.isoformat(),
            only=None if self._request.only is None else tuple(sorted(self._request.only)),
            records=dict(sorted(self._records.items())),
            passed_over=dict(sorted(self._passed_over.items())),
            partitions=tuple((one.crawl_date.isoformat(), one.domain or "") for one in spool.partitions()),
            faults=tuple(self._faults[:MAX_FAULTS]),
        )
        write_manifest(self._lake, outcome.imported)
        return outcome

    def _new_domains(self, domains: dict[str, int]) -> list[str]:
        known = {site.domain for site in self._request.sites}
        new = [domain for domain in domains if domain not in known and not self._lake.partitions_of_domain("captures", domain)]
        if len(new) > self._request.max_new_domains:
            most = ", ".join(f"{domain} ({domains[domain]})" for domain in new[:5])
            raise UsageError(
                f"importing {self._source}: it holds {len(new)} domains that are not in sites.yaml, and each would be a partition. "
                f"Name those that you want with --domain, or allow them all with --max-new-domains {len(new)}. The largest are {most}. "
                "Nothing was imported from it."
            )
        return sorted(new)

    def _publish(self, rewriting: _Rewriting | None) -> str:
        """Put the file into the lake, once; returns its sha256 there."""
        source = self._path if rewriting is None else rewriting.path
        if self._request.link and rewriting is None and self._lake.is_local and not self._lake.exists(self._name):
            target = self._lake.local_path(self._name)
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(source, target)
                return self._sha256
            except OSError:
                pass  # another file system, or one without links: a copy serves as well
        digest = hashlib.sha256()

        def copy(target: BinaryIO) -> None:
            with source.open("rb") as file:
                while block := file.read(_BLOCK):
                    digest.update(block)
                    target.write(block)

        self._lake.publish(self._name, copy)
        if rewriting is None and digest.hexdigest() != self._sha256:
            self._lake.delete(self._name)
            raise LakeError(f"importing {self._source}: the file changed while it was read. Import it again when nothing writes it.")
        return digest.hexdigest()

    def _merge(self, partition: Partition, spool: Spool) -> tuple[int, int]:
        """Add the rows to a partition's captures; returns (new, known before). A row that a crawl made is never replaced."""
        there = {row["capture_id"]: row for row in tables.read(self._lake, "captures", partition, _SAME).to_pylist()}
        dropped: set[str] = set()
        added: list[pa.Table] = []
        rows: list[dict[str, Any]] = []
        new = known = 0
        for given, row in spool.rows(partition):
            other = there.get(row["capture_id"])
            if other is not None and not _is_same(other, row):
                row["capture_id"] = own_id(self._sha256, given)
                other = there.get(row["capture_id"])
                if other is None:
                    self._faults.append((given, f"the {row['warc_type']} of {row['url']}: its WARC-Record-ID is that of another record"))
            if other is not None:
                known += 1
                # Whichever of two copies is imported first, the same one is led to.
                if not (is_imported(other["warc_filename"]) and row["warc_filename"] < other["warc_filename"]) or "new" in other:
                    continue
                dropped.add(row["capture_id"])
            else:
                new += 1
            there[row["capture_id"]] = {**row, "new": True}
            rows.append(row)
            if len(rows) >= _ROWS:
                added.append(tables.from_rows("captures", rows, partition))
                rows = []
        added.append(tables.from_rows("captures", rows, partition))
        if any(part.num_rows for part in added):
            before = tables.read(self._lake, "captures", partition)
            kept = before.filter(pa.array([name not in dropped for name in before.column("capture_id").to_pylist()], pa.bool_()))
            tables.commit(self._lake, "captures", partition, pa.concat_tables([kept, *added]))
        return new, known


def _is_same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(one[name] == other.get(name) for name in ("url", "fetch_time", "block_digest"))


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


def domains_of(outcomes: Collection[Outcome]) -> list[str]:
    """Domains that no site of sites.yaml is named for and that an import brought, sorted."""
    return sorted({domain for outcome in outcomes for domain in outcome.new_domains})


__all__ = ["ImportRequest", "Outcome", "TrawlError", "domains_of", "import_warcs"]
