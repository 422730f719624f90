"""What an export takes: partitions by date and domain, and the WARC files that hold their records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import polars as pl

from trawl_core.errors import LakeError, UsageError
from trawl_core.lake import Lake, Partition, tables
from trawl_core.warc.format import OPEN_SUFFIX


@dataclass(frozen=True)
class Selection:
    """`names` are sealed WARC files below the lake's root, sorted; `unsealed` those that a run writes or has left."""

    partitions: tuple[Partition, ...]
    names: tuple[str, ...]
    unsealed: tuple[str, ...]


def select_partitions(
    lake: Lake, wanted: Sequence[str], first: date | None = None, last: date | None = None, domains: Sequence[str] = ()
) -> list[Partition]:
    """Partitions of any of the tables `wanted` between two crawl dates, both included, None for no bound; all domains when none is named.

    Raises UsageError when the dates are in the wrong order, LakeError when there is nothing.
    """
    if first is not None and last is not None and first > last:
        raise UsageError(f"selecting the crawl dates from {first} to {last}: the first is later than the last. Turn them round.")
    found = [
        partition
        for partition in sorted({partition for table in wanted for partition in lake.partitions(table)})
        if (first is None or partition.crawl_date >= first)
        and (last is None or partition.crawl_date <= last)
        and (not domains or partition.domain in domains)
    ]
    if not found:
        raise LakeError(
            f"there is nothing to export: {lake.url} holds no {' or '.join(wanted)} {_asked(first, last, domains)}. "
            "`trawl status` shows what there is."
        )
    return found


def select_archive(lake: Lake, first: date | None = None, last: date | None = None, domains: Sequence[str] = ()) -> Selection:
    """The WARC files of those partitions: what lies in their folders, and what their captures lead to (imported files).

    Raises UsageError and LakeError like `select_partitions`.
    """
    partitions = select_partitions(lake, ("captures", "warc"), first, last, domains)
    names: set[str] = set()
    unsealed: set[str] = set()
    for partition in partitions:
        for name in lake.files(lake.warc_folder(partition)):
            (unsealed if name.endswith(OPEN_SUFFIX) else names).add(name)
        captures = pl.from_arrow(tables.read(lake, "captures", partition, ["warc_filename"]))
        names |= {name for name in captures["warc_filename"].unique().to_list() if name and lake.exists(name)}
    return Selection(tuple(partitions), tuple(sorted(names)), tuple(sorted(unsealed)))


def short_names(names: Sequence[str]) -> dict[str, str]:
    """What each file is called where all lie in one folder: its last part, with its partition before it when two share that."""
    last = {name: name.rpartition("/")[2] for name in names}
    count = Counter(last.values())
    return {name: short if count[short] == 1 else "-".join(_values(name)) for name, short in last.items()}


def _values(name: str) -> list[str]:
    return [part.rpartition("=")[2] for part in name.split("/") if part != "warc"]


def _asked(first: date | None, last: date | None, domains: Sequence[str]) -> str:
    when = (
        "" if first is last is None else f"on {first}" if first == last else f"between {first or 'the first'} and {last or 'the last day'}"
    )
    where = f"of {', '.join(domains)}" if domains else ""
    return " ".join(part for part in (where, when) if part) or "at all"
