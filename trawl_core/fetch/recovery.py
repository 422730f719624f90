"""What a killed crawl left is made whole without fetching anything: by `trawl repair`, and by the domain's next crawl."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import date
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
                yield recover_partition(lake, work, partition)
        except LockedError as error:
            yield str(error)


def unfinished(lake: Lake, work: Path) -> list[Partition]:
    """Partitions with a WARC file that was never sealed."""
    return [partition for partition in lake.partitions("warc") if _has_open_file(lake, work, partition)]


def recover_earlier(lake: Lake, work: Path, partition: Partition) -> list[str]:
    """`recover` for the nights of one domain before `partition`, of which the live state is still there; the caller holds its lock."""
    nights = (Partition(date.fromisoformat(path.parent.name.partition("=")[2]), partition.domain) for path in _state_files(work, partition))
    earlier = sorted(night for night in nights if night.crawl_date < partition.crawl_date and _has_open_file(lake, work, night))
    return [recover_partition(lake, work, night) for night in earlier]


def _state_files(work: Path, partition: Partition) -> list[Path]:
    return list(work.glob(f"crawl_date=*/{state_file(work, partition).name}"))


def _has_open_file(lake: Lake, work: Path, partition: Partition) -> bool:
    return any(open_folder(lake, partition, work).glob(f"*{OPEN_SUFFIX}"))


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
