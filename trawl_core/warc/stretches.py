"""How a verification divides its reading, and what was found, in the order in which it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from itertools import islice, pairwise

import pyarrow as pa
import pyarrow.compute as pc

from trawl_core.errors import LakeError
from trawl_core.lake import Lake, Partition, tables
from trawl_core.warc import format as warc
from trawl_core.warc.imported import is_imported
from trawl_core.warc.scan import Scan, Stretch, scan
from trawl_core.warc.scan_pool import scan_in_order

_BATCH_PLACES = 1_000


def stretches_of(
    lake: Lake, partition: Partition, files: list[tuple[str, int]], stretch_bytes: int, *, with_imported: bool
) -> Iterator[Stretch]:
    """The partition's files in pieces of about `stretch_bytes` that begin at records of captures, and its records in imported files."""
    for name, size in files:
        if name.endswith(warc.OPEN_SUFFIX):
            continue
        cuts = [0]
        if size > stretch_bytes:
            for offset in sorted(offset for offset, _ in _places(lake, partition, name, ("warc_record",))):
                if cuts[-1] + stretch_bytes <= offset < size:
                    cuts.append(offset)
        yield from (Stretch(name, start, end, partition) for start, end in pairwise([*cuts, max(size, 1)]))
    for name in _imported_names(lake, partition) if with_imported else ():
        places = sorted(_places(lake, partition, name, ("warc_record", "request", "metadata", "rendered")))
        rest = iter(places)
        while chosen := tuple(islice(rest, _BATCH_PLACES)):
            yield Stretch(name, chosen[0][0], chosen[-1][0] + 1, partition, places=chosen)


def _places(lake: Lake, partition: Partition, name: str, prefixes: tuple[str, ...]) -> set[tuple[int, int]]:
    """(offset, length) of records in a file that captures lead to."""
    columns = [f"{prefix}_{what}" for prefix in prefixes for what in ("offset", "length")]
    captures = _captures(lake, partition, ["warc_filename", *columns])
    rows = captures.filter(pc.equal(captures["warc_filename"], name)).to_pydict()
    pairs = (zip(rows[f"{prefix}_offset"], rows[f"{prefix}_length"], strict=True) for prefix in prefixes)
    return {place for found in pairs for place in found if None not in place}


def _imported_names(lake: Lake, partition: Partition) -> list[str]:
    names = pc.unique(_captures(lake, partition, ["warc_filename"])["warc_filename"]).to_pylist()
    return sorted(name for name in names if is_imported(name))


def _captures(lake: Lake, partition: Partition, columns: list[str]) -> pa.Table:
    try:
        return tables.read(lake, "captures", partition, columns)
    except LakeError:
        return tables.empty("captures").select(columns)  # named where the partition is verified


class Scans:
    """What was found in the stretches, owner by owner, in the order in which the owners are asked for."""

    def __init__(self, lake: Lake, stretches: Iterator[Stretch], readers: int, read: Callable[[int], None]) -> None:
        self._lake = lake
        self._found = scan_in_order(lake, stretches, readers)
        self._ahead = next(self._found, None)
        self._read = read
        self._bytes = 0

    def of(self, owner: Hashable) -> Iterator[tuple[Stretch, Scan]]:
        name, reached = "", 0
        while self._ahead is not None and self._ahead[0].owner == owner:
            stretch, found = self._ahead
            if stretch.name != name:
                name, reached = stretch.name, 0
            if reached > stretch.start and not stretch.places and found.died is None:
                # No record begins where captures say so, and the stretch was cut there.
                stretch = Stretch(name, min(reached, stretch.end), stretch.end, owner)
                found = scan(self._lake, stretch)
            reached = found.end
            yield stretch, found
            self._ahead = next(self._found, None)
            if not stretch.places:
                self._bytes += stretch.end - stretch.start
                self._read(self._bytes)

    def close(self) -> None:
        self._found.close()
