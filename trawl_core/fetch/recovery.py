"""What a killed crawl left is made whole without fetching anything: by `trawl repair`, and by the domain's next crawl."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing
from datetime import date
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa

from trawl_core.errors import LakeError, LockedError, TrawlError, WarcError
from trawl_core.fetch.frontier import FRONTIER_CAP, Frontier
from trawl_core.fetch.frontier_log import frontier_log
from trawl_core.fetch.ledger import Ledger
from trawl_core.fetch.state import NightState, state_file
from trawl_core.fetch.trap_memory import TrapMemory
from trawl_core.lake import Lake, Partition, tables
from trawl_core.warc.format import OPEN_SUFFIX
from trawl_core.warc.openfile import open_folder
from trawl_core.warc.repair import repair_partition
from trawl_core.warc.restore import restored_rows

# In the state of a night whose own was lost: what the archived pages linked to is not known.
STATE_LOST = "state_lost"


def recover(lake: Lake, work: Path, domains: Collection[str] | None = None) -> Iterator[str]:
    """Salvage and seal the `.open` WARC files of dead runs and commit the captures they hold; yields a line for each partition.

    A domain that a living run holds is left alone, and said so. `domains` None means all. Raises LakeError or WarcError for the first that
    can't be repaired, when all others are.
    """
    failed: list[TrawlError] = []
    for partition in unfinished(lake, work):
        if domains is not None and partition.domain not in domains:
            continue
        try:
            with lake.lock(f"crawl-{partition.domain}", f"repairing {partition.domain}"):
                yield recover_partition(lake, work, partition)
        except LockedError as error:
            yield str(error)
        except (LakeError, WarcError) as error:
            failed.append(error)
    if failed:
        raise failed[0]


def unfinished(lake: Lake, work: Path) -> list[Partition]:
    """Partitions with a WARC file that was never sealed, or whose captures the lake lacks while the crawl's state or records have them."""
    archived = {*lake.partitions("warc"), *_nights(work / "warc", "*/*.open")}
    left = {night for night in archived if _has_open_file(lake, work, night) or not tables.has(lake, "captures", night)}
    return sorted(left | {night for night in _nights(work, "*.sqlite") if _lacks_captures(lake, work, night)})


def recover_earlier(lake: Lake, work: Path, partition: Partition) -> list[str]:
    """`recover` for the nights of one domain before `partition`, of which the live state is still there, and for `partition` itself
    where its state is lost and its files are not; the caller holds its lock.
    """
    earlier = {night for night in _nights(work, state_file(work, partition).name) if night.crawl_date < partition.crawl_date}
    left = sorted(night for night in earlier if _has_open_file(lake, work, night) or _lacks_captures(lake, work, night))
    if not state_file(work, partition).exists() and _has_open_file(lake, work, partition):
        left.append(partition)
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
    """Seal and commit one night, in a line for a person; the caller holds the domain's lock.

    Where the crawl's state is lost, its captures are made anew from the records.
    """
    where = f"{partition.domain} {partition.crawl_date}"
    path = state_file(work, partition)
    if not path.exists():
        sealed = len(repair_partition(lake, partition, work))
        restored = _restore(lake, partition)
        state = NightState(path)
        try:
            state.set_number(STATE_LOST, 1)
            state.commit()
        finally:
            state.close()
        return (
            f"{where}: sealed {sealed} file(s); its crawl state is lost, {restored} captures were made anew from the records. "
            "`trawl crawl` asks for its pages again, and stores no body twice."
        )
    state = NightState(path)
    try:
        ledger = Ledger(state)
        repaired = repair_partition(lake, partition, work, ledger.durable_ends())
        # The lake may have rows that this state never saw: those made anew from records.
        ledger.take_over(tables.read(lake, "captures", partition))
        committed = ledger.commit_captures(lake, partition)
        if (ended := ledger.last_moment()) is not None:
            frontier = Frontier(state, int(state.number(FRONTIER_CAP)))
            log = frontier_log(frontier, ledger, TrapMemory(state).mazes(), "the run was broken off", ended)
            tables.commit(lake, "frontier_log", partition, log)
    finally:
        state.close()
    return f"{where}: sealed {len(repaired)} file(s), {committed.rows} captures committed; `trawl crawl` goes on from there."


def _restore(lake: Lake, partition: Partition) -> int:
    """Add to `captures` what the sealed files hold and it lacks; returns the rows added."""
    added = list(restored_rows(lake, partition))
    before = tables.read(lake, "captures", partition)
    if added or not tables.has(lake, "captures", partition):
        tables.commit(lake, "captures", partition, pa.concat_tables([before, tables.from_rows("captures", added, partition)]))
    return len(added)
