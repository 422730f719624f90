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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from trawl_core.clock import Clock, crawl_date
from trawl_core.errors import LakeError, LockedError, UsageError, WarcError, explain_os_error
from trawl_core.lake import Lake, Partition, tables
from trawl_core.lake.beside import beside
from trawl_core.sites import Site
from trawl_core.warc.foreign_bytes import GZIP, is_zstd
from trawl_core.warc.foreign_rows import own_id
from trawl_core.warc.import_reading import Collections, Reading, Rewriting, SharedMember
from trawl_core.warc.import_spool import Spool
from trawl_core.warc.imported import ImportedFile, folder_of, is_imported, read_manifest, write_manifest
from trawl_core.warc.refers import resolve_revisits

AS_IT_IS, REWRITTEN = "as it is", "rewritten"
MAX_FAULTS = 1_000
MAX_NEW_DOMAINS = 500
_BLOCK = 1 << 20
_ROWS = 5_000
_SAME = ["capture_id", "url", "fetch_time", "block_digest", "warc_filename"]
_WACZ = b"PK\x03\x04"
_IN_WACZ = re.compile(r"archive/[^/]+\.warc(?:\.gz|\.zst)?$", re.IGNORECASE)
_LOCK = "import"

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class ImportRequest:
    """What to make of the files. `crawl_date` None files each record under the UTC day of its WARC-Date; `only` None takes every domain.

    `link`: a local lake holds the same file (hard link) instead of a copy. More than `max_new_domains` domains that are not in `sites`
    are refused.
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

    @property
    def has_problem(self) -> bool:
        return self.status == "failed" or (self.status == "imported" and bool(self.imported and self.imported.faults))


def import_warcs(
    paths: Sequence[Path], request: ImportRequest, *, lake: Lake, work: Path, clock: Clock, progress: Progress | None = None
) -> Iterator[Outcome]:
    """Import each file, and each WARC inside a WACZ; one outcome each, a failure among them. `progress(name, done, total)` counts bytes.

    Raises UsageError when the request itself can't be done, LockedError while another import runs, DiskFullError or its kin when nothing
    more can be stored.
    """
    if request.crawl_date is not None and request.crawl_date > crawl_date(clock):
        raise UsageError(
            f"importing under the crawl date {request.crawl_date}: that day has not come yet; today is {crawl_date(clock)} (UTC)."
        )
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
                except LockedError as error:  # a crawl of one of its domains: the others of this file have their captures by now
                    yield Outcome(source, "failed", error=f"importing {source}: {error} Then import it again: that finishes it.")


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
    unpacked = beside(work / "import.warc")  # `trawl repair` removes what a killed import leaves
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


class _Import:
    """One file, from its first look to its manifest."""

    def __init__(
        self, source: str, path: Path, request: ImportRequest, lake: Lake, work: Path, clock: Clock, progress: Progress | None
    ) -> None:
        self._source, self._path, self._request = source, path, request
        self._lake, self._work, self._clock, self._progress = lake, work, clock, progress
        self._size = 0
        self._sha256 = ""
        self._earlier: ImportedFile | None = None

    def run(self) -> Outcome:
        try:
            with self._path.open("rb") as file:
                magic = self._look(file)
                self._sha256 = self._digest(file)
                self._earlier = read_manifest(self._lake, folder_of(self._sha256))
                if self._earlier and self._is_done(self._earlier):
                    return Outcome(self._source, "already", self._earlier)
                with Spool(beside(self._work / f"import-{self._sha256[:16]}.sqlite")) as spool:
                    return self._import(file, magic, spool)
        except OSError as error:
            raise explain_os_error(error, "importing", self._source) from error

    def _look(self, file: BinaryIO) -> bytes:
        """The file's first bytes; raises WarcError for what is no WARC."""
        magic = file.read(16)
        self._size = file.seek(0, 2)
        if not magic:
            raise self._failed(0, "the file is empty")
        if magic.startswith(b"filedesc:"):
            raise self._failed(0, "it is an ARC file, the format before WARC, which is not supported; convert it to WARC first")
        return magic

    def _failed(self, offset: int, fault: str) -> WarcError:
        return WarcError(f"importing {self._source}: at byte {offset}: {fault}. Nothing was imported from it.")

    def _digest(self, file: BinaryIO) -> str:
        digest = hashlib.sha256()
        file.seek(0)
        while block := file.read(_BLOCK):
            digest.update(block)
            self._tell("checking", file.tell())
        return digest.hexdigest()

    def _tell(self, doing: str, done: int) -> None:
        if self._progress:
            self._progress(f"{doing} {self._source.rpartition('/')[2]}", min(done, self._size), self._size)

    def _is_done(self, earlier: ImportedFile) -> bool:
        """False when more domains are asked for than then; raises WarcError for another crawl date."""
        asked = None if self._request.crawl_date is None else self._request.crawl_date.isoformat()
        if earlier.crawl_date != asked:
            how = f"with --date {earlier.crawl_date}" if earlier.crawl_date else "without --date"
            raise WarcError(
                f"importing {self._source}: the same file was imported {how} on {earlier.imported_at[:10]}, and its captures stay there. "
                "Give --date as it was then; nothing was changed."
            )
        return earlier.only is None or (self._request.only is not None and self._request.only <= set(earlier.only))

    def _import(self, file: BinaryIO, magic: bytes, spool: Spool) -> Outcome:
        is_plain = not magic.startswith(GZIP) and not is_zstd(magic)
        # A zstd frame can't be read by the tools that our files are for, nor by a range of one that needs a dictionary.
        reading = None if is_zstd(magic) else self._read_as_it_is(file, is_plain, spool)
        rewriting: Rewriting | None = None
        try:
            if reading is None:
                spool.clear()
                rewriting = self._rewriting()
                reading = self._read(file, is_plain, spool, rewriting)
            if rewriting is not None:
                rewriting.close()
            return self._store(reading, spool, rewriting)
        finally:
            if rewriting is not None:
                rewriting.discard()

    def _read_as_it_is(self, file: BinaryIO, is_plain: bool, spool: Spool) -> Reading | None:
        """None when the file has to be rewritten."""
        try:
            return self._read(file, is_plain, spool, None)
        except SharedMember:
            return None

    def _rewriting(self) -> Rewriting:
        self._work.mkdir(parents=True, exist_ok=True)
        return Rewriting(beside(self._work / f"import-{self._sha256[:16]}.warc.gz"))

    def _read(self, file: BinaryIO, is_plain: bool, spool: Spool, rewriting: Rewriting | None) -> Reading:
        reading = Reading(
            self._stored_name(".warc" if is_plain else ".warc.gz"),
            self._sha256,
            Collections(self._request.sites),
            self._request.crawl_date,
            self._request.only,
            self._clock.now(),
        )
        reading.read(file, is_plain, spool, rewriting, lambda done: self._tell("reading", done))
        if not reading.records:
            raise self._failed(*(reading.faults[0] if reading.faults else (0, "it holds no record")))
        return reading

    def _stored_name(self, suffix: str) -> str:
        base = re.split(r"\.w?arc(?:\.|$)", self._source.replace(":", "/").rpartition("/")[2], maxsplit=1, flags=re.IGNORECASE)[0]
        return f"{folder_of(self._sha256)}/{re.sub(r'[^A-Za-z0-9._~+-]', '_', base)[:150].lstrip('.') or 'file'}{suffix}"

    # storing -----------------------------------------------------------------------------------------------------

    def _store(self, reading: Reading, spool: Spool, rewriting: Rewriting | None) -> Outcome:
        spool.pair()
        domains = spool.domains()
        self._check_number(domains)
        stored_sha256 = None
        if domains:
            reading.name, stored_sha256 = self._publish_as_it_is(reading.name) if rewriting is None else self._publish_rewritten(rewriting)
        outcome = Outcome(self._source, "imported")
        by_domain: dict[str, list[Partition]] = {}
        for partition in spool.partitions():
            by_domain.setdefault(partition.domain or "", []).append(partition)
        for done, (domain, partitions) in enumerate(by_domain.items()):
            if self._progress:
                self._progress(f"adding captures of {domain}", done, len(by_domain))
            with self._lake.lock(f"crawl-{domain}", f"importing into {domain}"):
                for partition in partitions:
                    new, known = self._merge(partition, reading, spool)
                    outcome.new, outcome.known = outcome.new + new, outcome.known + known
                resolved, unresolved = resolve_revisits(self._lake, domain)
                outcome.resolved, outcome.unresolved = outcome.resolved + resolved, outcome.unresolved + unresolved
        if stored_sha256 and not self._leads_anywhere(reading.name, spool.partitions()):
            self._lake.delete(reading.name)  # its records are archived in other files already
            stored_sha256 = None
        outcome.imported = self._manifest(reading, spool, stored_sha256, rewriting is not None)
        write_manifest(self._lake, outcome.imported)
        return outcome

    def _leads_anywhere(self, name: str, partitions: Sequence[Partition]) -> bool:
        """Whether a row leads into the file, one of an earlier import of it for other domains included."""
        if self._earlier and self._earlier.name == name:
            return True
        columns = (tables.read(self._lake, "captures", one, ["warc_filename"]).column("warc_filename") for one in partitions)
        return any(name in column.unique().to_pylist() for column in columns)

    def _manifest(self, reading: Reading, spool: Spool, stored_sha256: str | None, is_rewritten: bool) -> ImportedFile:
        """With what an earlier import of the same file, for other domains, brought."""
        earlier = self._earlier
        only = self._request.only
        partitions = {(one.crawl_date.isoformat(), one.domain or "") for one in spool.partitions()}
        faults = set(reading.faults)
        if earlier is not None:
            only = None if only is None or earlier.only is None else only | set(earlier.only)
            partitions |= set(earlier.partitions)
            faults |= set(earlier.faults)
        return ImportedFile(
            source=self._source,
            sha256=self._sha256,
            bytes=self._size,
            name=reading.name if stored_sha256 else earlier.name if earlier else None,
            form=REWRITTEN if is_rewritten else AS_IT_IS,
            stored_sha256=stored_sha256 or (earlier.stored_sha256 if earlier else None),
            imported_at=self._clock.now().isoformat(timespec="seconds"),
            crawl_date=None if self._request.crawl_date is None else self._request.crawl_date.isoformat(),
            only=None if only is None else tuple(sorted(only)),
            records=dict(sorted(reading.records.items())),
            passed_over=dict(sorted(reading.passed_over.items())),
            partitions=tuple(sorted(partitions)),
            faults=tuple(sorted(faults)[:MAX_FAULTS]),
            fault_count=len(faults),
        )

    def _check_number(self, domains: dict[str, int]) -> None:
        known = {site.domain for site in self._request.sites}
        new = [domain for domain in domains if domain not in known]
        if len(new) <= self._request.max_new_domains:
            return
        most = ", ".join(f"{domain} ({domains[domain]})" for domain in new[:5])
        raise UsageError(
            f"importing {self._source}: more than {self._request.max_new_domains} of its domains ({len(new)}) are not in sites.yaml, and "
            "each would be a partition. "
            f"Name those that you want with --domain, or allow them all with --max-new-domains {len(new)}. The largest are {most}. "
            "Nothing was imported from it."
        )

    def _publish_as_it_is(self, name: str) -> tuple[str, str]:
        """Put the file into the lake, where it is not there already; returns its name and sha256 there."""
        earlier = self._earlier
        if earlier and earlier.name and earlier.form == AS_IT_IS:
            name = earlier.name
        if self._lake.size(name) == self._size:
            return name, self._sha256
        if self._request.link and self._lake.is_local and _is_linked(self._path, self._lake.local_path(name)):
            return name, self._sha256
        if _publish(self._lake, self._path, name) != self._sha256:
            self._lake.delete(name)
            raise LakeError(f"importing {self._source}: the file changed while it was read. Import it again when nothing writes it.")
        return name, self._sha256

    def _publish_rewritten(self, rewriting: Rewriting) -> tuple[str, str]:
        """The same for the new file, named for what it holds: another version may rewrite in other bytes, and rows lead into these."""
        with rewriting.path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        earlier = self._earlier
        if earlier and earlier.name and earlier.stored_sha256 == sha256:
            return earlier.name, sha256
        name = self._stored_name(f"-{sha256[:8]}.warc.gz")
        if not self._lake.exists(name):
            _publish(self._lake, rewriting.path, name)
        return name, sha256

    def _merge(self, partition: Partition, reading: Reading, spool: Spool) -> tuple[int, int]:
        """Add the rows to a partition's captures; returns (new, known before). A row that a crawl made is never replaced."""
        there = {row["capture_id"]: row for row in tables.read(self._lake, "captures", partition, _SAME).to_pylist()}
        dropped: set[str] = set()
        added: list[pa.Table] = []
        rows: list[dict[str, Any]] = []
        new = known = 0
        for given, row in spool.rows(partition):
            row["warc_filename"] = reading.name
            other = there.get(row["capture_id"])
            if other is not None and not _is_same(other, row):
                row["capture_id"] = own_id(self._sha256, given)
                other = there.get(row["capture_id"])
                if other is None:
                    reading.faults.append((given, f"the {row['warc_type']} of {row['url']}: its WARC-Record-ID is that of another record"))
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


def _publish(lake: Lake, source: Path, name: str) -> str:
    """Copy a file into the lake; returns the sha256 of what was copied."""
    digest = hashlib.sha256()

    def copy(target: BinaryIO) -> None:
        with source.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
                target.write(block)

    lake.publish(name, copy)
    return digest.hexdigest()


def _is_linked(source: Path, target: Path) -> bool:
    """Make `target` the same file as `source`; False where it is there already, or lies on another file system: a copy serves as well."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        return False
    return True
