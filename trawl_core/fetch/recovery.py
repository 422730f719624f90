"""What a killed crawl left is made whole without fetching anything: by `trawl repair`, and by the domain's next crawl."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing
from datetime import date
from pathlib import Path
from urllib.parse import unquote

from trawl_core.errors import LakeError, LockedError
from trawl_core.fetch.ledger import Ledger
from trawl_core.fetch.state import NightState, state_file
from trawl_core.lake import Lake, Partition, tables
from trawl_core.warc.format import OPEN_SUFFIX
from trawl_core.warc.openfile import open_folder
from trawl_core.warc.repair import repair_partition


def recover(lake: Lake, work: Path, domains: Collection[str] | None = None) -> Iterator[str]:
    """Salvage and seal the `.open` WARC files of dead runs and commit the captures they hold; yields a line for each partition.

    A domain that a living run holds is left alone, and said so. `domains` None means all.
    """
    for partition in unfinished(lake, work):
        if domains is not None and partition.domain not in domains:
            continue
        try:
            with lake.lock(f"crawl-{partition.domain}", f"repairing {partition.domain}"):
                yield recover_partition(lake, work, partition)
        except LockedError as error:
            yield str(error)


def unfinished(lake: Lake, work: Path) -> list[Partition]:
    """Partitions with a WARC file that was never sealed, or with captures that are in the crawl's state and not in the lake."""
    archived = {*lake.partitions("warc"), *_nights(work / "warc", "*/*.open")}
    left_open = {partition for partition in archived if _has_open_file(lake, work, partition)}
    return sorted(left_open | {night for night in _nights(work, "*.sqlite") if _lacks_captures(lake, work, night)})


def recover_earlier(lake: Lake, work: Path, partition: Partition) -> list[str]:
    """`recover` for the nights of one domain before `partition`, of which the live state is still there; the caller holds its lock."""
    earlier = {night for night in _nights(work, state_file(work, partition).name) if night.crawl_date < partition.crawl_date}
    left = sorted(night for night in earlier if _has_open_file(lake, work, night) or _lacks_captures(lake, work, night))
    return [recover_partition(lake, work, night) for night in left]


def _nights(folder: Path, names: str) -> set[Partition]:
    """Partitions of files below `folder` named like `crawl_date=…/domain=….sqlite` or `crawl_date=…/domain=…/….open`."""
    found = set()
    for path in folder.glob(f"crawl_date=*/{names}"):
        day, domain = path.relative_to(folder).parts[:2]
        name = unquote(domain.removesuffix(".sqlite").removeprefix("domain="))
        found.add(Partition(date.fromisoformat(day.removeprefix("crawl_date=")), name))
    return found


def _has_open_file(lake: Lake, work: Path, partition: Partition) -> bool:
    return any(open_folder(lake, partition, work).glob(f"*{OPEN_SUFFIX}"))


def _lacks_captures(lake: Lake, work: Path, partition: Partition) -> bool:
    """Whether a run died between sealing its files and committing its captures. A state that can't be read lacks nothing known."""
    try:
        with closing(sqlite3.connect(f"{state_file(work, partition).as_uri()}?mode=ro", uri=True)) as db:
            known = db.execute("SELECT count(*) FROM captures").fetchone()[0]
        return known > (tables.count(lake, "captures", partition) or 0)
    except (sqlite3.Error, LakeError):
        return False


def recover_partition(lake: Lake, work: Path, partition: Partition) -> str:
    """Seal and commit one night, in a line for a person; the caller holds the domain's lock."""
    where = f"{partition.domain} {partition.crawl_date}"
    path = state_file(work, partition)
    if not path.exists():
        repaired = repair_partition(lake, partition, work)
        return f"{where}: sealed {len(repaired)} file(s); its crawl state is lost, so `trawl verify` names the records without a capture."
    state = NightState(path)
    try:
        ledger = Ledger(state)
        repaired = repair_partition(lake, partition, work, ledger.durable_ends())
        committed = ledger.commit_captures(lake, partition)
    finally:
        state.close()
    return f"{where}: sealed {len(repaired)} file(s), {committed.rows} captures committed; `trawl crawl` goes on from there."
