"""A WACZ file (version 1.1.1) of some nights and domains: WARC files, index, pages and their digests in one ZIP.

    archive/*.warc.gz               as they lie in the lake, stored
    archive/trawl-originals-….gz    records of other files that revisits in these refer to, byte for byte
    indexes/index.cdx.gz, .idx      CDXJ in gzip blocks, and the index over the blocks
    pages/pages.jsonl, extraPages.jsonl
    datapackage.json, datapackage-digest.json

Every byte is read once and written once; what is in memory is one record, a run of index lines and a piece of a table.
"""

from __future__ import annotations

import json
import os
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from trawl_core import __version__
from trawl_core.clock import Clock
from trawl_core.errors import LakeError, UsageError, WarcError, explain_os_error
from trawl_core.lake import Lake, tables
from trawl_core.lake.beside import beside
from trawl_core.lake.layout import sync_folder
from trawl_core.warc import format as warc
from trawl_core.warc.cdxj import index_file, index_line, index_members, sort_lines
from trawl_core.warc.data_package import DataPackage, sha256
from trawl_core.warc.members import Member, MemberFault, inflate
from trawl_core.warc.page_list import least_depth, list_pages
from trawl_core.warc.record import RecordFault, parse_record
from trawl_core.warc.selection import Selection, short_names
from trawl_core.warc.zipnum import write_zipnum

PAGES, EXTRA_PAGES = "pages/pages.jsonl", "pages/extraPages.jsonl"
_CHUNK = 1 << 20
_REFERRED = ["capture_id", "url", "warc_type", "refers_to_warc_filename", "refers_to_warc_offset", "refers_to_warc_length"]


@dataclass
class Wacz:
    """What was written: `faults` tell what is damaged in the archive or missing from it, for people."""

    pages: int = 0
    files: int = 0
    index_lines: int = 0
    originals: int = 0
    bytes: int = 0
    faults: list[str] = field(default_factory=list)


def write_wacz(
    lake: Lake,
    selection: Selection,
    output: Path,
    *,
    clock: Clock,
    title: str | None = None,
    with_text: bool = True,
    overwrite: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Wacz:
    """Write `output`, beside and renamed; `progress` is told bytes done and in all.

    Raises UsageError for a name that does not end in .wacz, or that is taken without `overwrite`, DiskFullError and its
    kin when it can't be written.
    """
    if output.suffix != ".wacz":
        raise UsageError(f"writing {output}: players know a WACZ by its name. Give it one that ends in .wacz.")
    if output.exists() and not overwrite:
        raise UsageError(f"writing {output}: there is such a file already. Name another, or give --overwrite.")
    unfinished = beside(output)
    try:
        with unfinished.open("xb") as file:
            made = _Export(lake, selection, file, clock, progress).write(title, with_text)
            file.flush()
            os.fsync(file.fileno())
            made.bytes = file.tell()
        os.replace(unfinished, output)
        sync_folder(output.parent)
    except OSError as error:
        raise explain_os_error(error, "writing", output) from error
    finally:
        unfinished.unlink(missing_ok=True)
    return made


class _Export:
    """One WACZ while it is written."""

    def __init__(self, lake: Lake, selection: Selection, file: BinaryIO, clock: Clock, progress: Callable[[int, int], None]) -> None:
        self._lake = lake
        self._selection = selection
        self._now = clock.now()
        self._package = DataPackage(file, self._now)
        self._progress = progress
        self._total = sum(lake.size(name) or 0 for name in selection.names)
        self._done = 0
        self.made = Wacz()

    def write(self, title: str | None, with_text: bool) -> Wacz:
        with self._package:
            self._index()
            main_page = self._pages(with_text)
            self._package.describe(
                title=title or _title(self._selection),
                **({"mainPageUrl": main_page["url"], "mainPageDate": main_page["ts"]} if main_page else {}),
            )
        return self.made

    # the parts ---------------------------------------------------------------------------------------------

    def _index(self) -> None:
        with closing(self._archive()) as unsorted:  # a failure between two records must not leave its entry open
            lines = sort_lines(self._count(unsorted))
            # A ZIP has one entry open at a time: every file is archived before the index over all begins.
            first = next(lines, None)
            with self._package.entry("indexes/index.cdx.gz") as write:
                over = write_zipnum(chain([] if first is None else [first], lines), write, "index.cdx.gz")
        self._package.text("indexes/index.idx", over)

    def _archive(self) -> Iterator[str]:
        names = short_names(self._selection.names)
        for name in self._selection.names:
            self.made.files += 1
            yield from self._file(name, names[name])
        yield from self._originals()

    def _file(self, name: str, short: str) -> Iterator[str]:
        size = self._lake.size(name) or 0
        with self._package.entry(f"archive/{short}", size) as write, self._lake.open(name) as file:
            begin = file.read(5)
            file.seek(0)
            copy = _Copy(file, write, self._advance, lambda member: self._lake.read_range(name, member.offset, member.length))
            if begin.startswith(b"\x1f\x8b"):
                yield from index_members(self._lake, copy, name, short, self._fault, copy.digest)
            copy.rest()
        if begin == b"WARC/":
            yield from index_file(self._lake, name, short, self._fault)
        elif not begin.startswith(b"\x1f\x8b"):
            self._fault(
                WarcError(
                    f"exporting {name}: it is neither gzip nor plain WARC, so players can't read it. It is in the package without an index."
                )
            )

    def _originals(self) -> Iterator[str]:
        """Records of files that are not in the package, in a file of their own behind a warcinfo record."""
        places = sorted(self._referred_elsewhere())
        if not places:
            return
        short = f"trawl-originals-{self._selection.partitions[0].crawl_date:%Y%m%d}{warc.SUFFIX}"
        with self._package.entry(f"archive/{short}") as write:
            head = _warcinfo(short, sorted({name for name, _, _ in places}), self._now)
            write(head)
            position = len(head)
            lost: dict[str, list[str]] = {}
            for name, offset, length in places:
                try:
                    raw = self._lake.read_range(name, offset, length)
                    record = parse_record(inflate(raw), name, position, length)
                    line = index_line(record, short, record_digest=sha256(raw))
                except (LakeError, MemberFault, RecordFault) as error:
                    lost.setdefault(name, []).append(f"at byte {offset}: {str(error).rstrip('.')}")
                    continue
                write(raw)
                position += length
                self.made.originals += 1
                yield line
        for name, faults in lost.items():
            self._fault(
                WarcError(
                    f"exporting {len(faults)} records of {name}, to which revisits in the package refer: they can't be read, so those will "
                    f"not replay. The first, {faults[0]}. `trawl verify` lists every fault of the archive."
                )
            )

    def _referred_elsewhere(self) -> set[tuple[str, int, int]]:
        within = set(self._selection.names)
        places: set[tuple[str, int, int]] = set()
        lost: list[str] = []
        for partition in self._selection.partitions:
            rows = pl.from_arrow(tables.read(self._lake, "captures", partition, _REFERRED)).filter(pl.col("warc_type") == "revisit")
            for capture_id, url, _, *place in rows.iter_rows():
                if None in place:
                    lost.append(f"{capture_id} of {url}")
                elif place[0] not in within:
                    places.add(tuple(place))
        if lost:
            self._fault(
                WarcError(
                    f"exporting {len(lost)} revisits: their captures do not say where the body lies, so they replay only where a player "
                    f"finds it. The first is {lost[0]}."
                )
            )
        return places

    def _pages(self, with_text: bool) -> dict[str, Any] | None:
        """Pages next to the seeds come first, all others in the list of further pages; returns the first of the first."""
        least = least_depth(self._lake, self._selection.partitions)
        main: list[dict[str, Any]] = []

        def lines(identifier: str, title: str, is_wanted: Callable[[int], bool]) -> Iterator[str]:
            yield _json({"format": "json-pages-1.0", "id": identifier, "title": title, "hasText": with_text})
            for page in list_pages(self._lake, self._selection.partitions, with_text):
                if is_wanted(page["depth"]):
                    main[:] = main or [page]
                    self.made.pages += 1
                    yield _json(page)

        self._package.text(PAGES, lines("pages", "Pages", lambda depth: depth == least))
        before = self.made.pages
        self._package.text(EXTRA_PAGES, lines("extra-pages", "Further pages", lambda depth: depth != least))
        if before == 0:
            self._fault(WarcError("exporting pages: no page of these nights was answered, so a player has nothing to begin with."))
        return main[0] if main else None

    def _count(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            self.made.index_lines += 1
            yield line

    def _advance(self, size: int) -> None:
        self._done += size
        self._progress(self._done, self._total)

    def _fault(self, error: WarcError) -> None:
        self.made.faults.append(str(error))


class _Copy:
    """A file that is copied while it is read, and that still has the bytes of the member read last.

    Members that were not read from here, since they lie behind damage, are read anew by `fetch`.
    """

    def __init__(self, file: Any, write: Callable[[bytes], None], advance: Callable[[int], None], fetch: Callable[[Member], bytes]) -> None:
        self._file = file
        self._write = write
        self._advance = advance
        self._fetch = fetch
        self._ahead = bytearray()
        self._start = 0

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self._write(data)
        self._advance(len(data))
        self._ahead += data
        return data

    def digest(self, member: Member) -> str:
        if member.offset != self._start or len(self._ahead) < member.length:
            return sha256(self._fetch(member))
        digest = sha256(self._ahead[: member.length])
        del self._ahead[: member.length]
        self._start += member.length
        return digest

    def rest(self) -> None:
        """Copy what no member was read from: behind a fault the file goes on."""
        self._ahead.clear()
        while data := self._file.read(_CHUNK):
            self._write(data)
            self._advance(len(data))


def _warcinfo(filename: str, sources: list[str], now: Any) -> bytes:
    block = warc.warc_fields(
        [
            ("software", f"trawl/{__version__}"),
            ("format", "WARC File Format 1.1"),
            ("description", "records that revisits in this package refer to, copied from files that are not in it"),
            *(("trawl-source", name) for name in sources),
        ]
    )
    fields = [
        ("WARC-Type", "warcinfo"),
        ("WARC-Record-ID", warc.record_urn(str(uuid.uuid5(uuid.NAMESPACE_URL, "\n".join([filename, *sources]))))),
        ("WARC-Date", warc.format_date(now)),
        ("WARC-Filename", filename),
        ("WARC-Block-Digest", f"sha1:{warc.sha1_base32(block)}"),
        ("Content-Type", warc.WARC_FIELDS),
    ]
    return zlib.compress(warc.serialize(fields, block), 6, 31)


def _title(selection: Selection) -> str:
    dates = sorted({partition.crawl_date for partition in selection.partitions})
    domains = sorted({str(partition.domain) for partition in selection.partitions})
    shown = domains if len(domains) <= 3 else [*domains[:2], f"{len(domains) - 2} more"]
    return f"{', '.join(shown)}, {dates[0]}" + (f" to {dates[-1]}" if len(dates) > 1 else "")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"
