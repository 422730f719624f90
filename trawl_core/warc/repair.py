"""What a dead process left: `.open` files, cut back to their last whole record and sealed.

A tail behind the last whole record makes everything appended after it unreadable (ArchiveTeam/wpull #253), so a file is
never continued: it is salvaged and sealed, and the next run opens a new one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trawl_core.errors import explain_os_error
from trawl_core.lake import Lake, Partition
from trawl_core.warc.format import OPEN_SUFFIX
from trawl_core.warc.members import MemberFault, read_members
from trawl_core.warc.openfile import open_folder, publish_sealed, sealed_name
from trawl_core.warc.record import RecordFault, parse_record

_COMPANIONS = ("request", "metadata")


@dataclass(frozen=True)
class Salvaged:
    """What `salvage` left of a file: `records` whole ones in `kept_bytes`; `dropped_bytes` were cut from the end.

    `exchanges` counts its response and revisit records. `fault` is what was wrong with the first bytes dropped, or with
    bytes before `keep` that had to stay; None when the file was whole.
    """

    path: Path
    records: int
    exchanges: int
    kept_bytes: int
    dropped_bytes: int
    fault: str | None


@dataclass(frozen=True)
class Repaired:
    """One `.open` file of a partition: `name` is the sealed file below the lake's root, None when it held no exchange."""

    name: str | None
    salvaged: Salvaged


def salvage(path: Path, keep: int | None = None) -> Salvaged:
    """Keep the members of `path` that are CRC-complete and hold one whole record, cut off the tail, and sync.

    `keep` is the file's durable end, max(offset + length) over the captures that are known to lie in it: exchanges
    behind it, which no capture knows, are cut off too. Should a record before `keep` be damaged, the bytes up to `keep`
    stay, since the captures after it can still be read by range. Raises DiskFullError or its kin.
    """
    try:
        with path.open("r+b") as file:
            size = os.fstat(file.fileno()).st_size
            records, exchanges, end, fault = _whole_records(path, keep)
            if keep is not None and end < keep:
                end = min(keep, size)
                fault = fault or f"the file ends at byte {size}, captures lead up to byte {keep}"
            if end < size:
                file.truncate(end)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise explain_os_error(error, "salvaging", path) from error
    return Salvaged(path, records, exchanges, end, size - end, fault)


def _whole_records(path: Path, keep: int | None) -> tuple[int, int, int, str | None]:
    """(records, exchanges, their end, fault behind it). Requests and metadata that follow the last exchange belong to it."""
    records = exchanges = end = 0
    with path.open("rb") as file:
        try:
            for member in read_members(file):
                kind = parse_record(member.data).warc_type
                if keep is not None and member.offset >= keep and kind not in _COMPANIONS and end > 0:
                    return records, exchanges, end, None
                records += 1
                exchanges += kind in ("response", "revisit")
                end = member.end
        except MemberFault as error:
            return records, exchanges, end, f"at byte {error.offset}: {error.fault}"
        except RecordFault as error:
            return records, exchanges, end, f"at byte {end}: {error}"
    return records, exchanges, end, None


def repair_partition(lake: Lake, partition: Partition, work: Path, keep: Mapping[str, int] | None = None) -> list[Repaired]:
    """Salvage and seal every `.open` file of a partition; the caller holds the domain's lock, so that none is in use.

    `keep` maps sealed names below the lake's root to durable ends (see `salvage`; a file that it does not name holds
    no known capture); without it every whole record stays. A file left without an exchange is removed.
    """
    folder = open_folder(lake, partition, work)
    repaired = []
    for path in sorted(folder.glob(f"*{OPEN_SUFFIX}")):
        name = sealed_name(f"{lake.warc_folder(partition)}/{path.name}")
        salvaged = salvage(path, None if keep is None else keep.get(name, 0))
        if salvaged.exchanges == 0 and not (keep and keep.get(name)):
            path.unlink()
            repaired.append(Repaired(None, salvaged))
            continue
        publish_sealed(lake, path, name)
        repaired.append(Repaired(name, salvaged))
    return repaired
