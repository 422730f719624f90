"""`trawl repair`: what a killed crawl left is made whole without fetching anything."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from trawl_core.errors import LockedError
from trawl_core.fetch.ledger import Ledger
from trawl_core.fetch.state import NightState, state_file
from trawl_core.lake import Lake, Partition
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
                yield _recover(lake, work, partition)
        except LockedError as error:
            yield str(error)


def unfinished(lake: Lake, work: Path) -> list[Partition]:
    """Partitions with a WARC file that was never sealed."""
    return [partition for partition in lake.partitions("warc") if any(open_folder(lake, partition, work).glob(f"*{OPEN_SUFFIX}"))]


def _recover(lake: Lake, work: Path, partition: Partition) -> str:
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
