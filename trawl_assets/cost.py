"""What a piece of work took, for the metadata of its partition."""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import dagster as dg

from trawl_core.clock import Clock


@dataclass(frozen=True)
class Cost:
    """Wall and CPU seconds (ended child processes included), peak RSS so far in MB."""

    seconds: float
    cpu_seconds: float
    peak_rss_mb: float

    def share(self, part: float) -> Cost:
        """This cost as one of `1 / part` equal ones; the peak is everyone's."""
        return Cost(self.seconds * part, self.cpu_seconds * part, self.peak_rss_mb)

    def metadata(self) -> dict[str, dg.MetadataValue]:
        return {
            "stage_seconds": dg.MetadataValue.float(round(self.seconds, 3)),
            "stage_cpu_seconds": dg.MetadataValue.float(round(self.cpu_seconds, 3)),
            "stage_peak_rss_mb": dg.MetadataValue.float(round(self.peak_rss_mb, 1)),
        }


class Meter:
    """Reads the process's meters: `Meter(clock).cost()` is what was spent since it was made."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wall = clock.monotonic()
        self._cpu = _cpu_seconds()

    def cost(self) -> Cost:
        peak_kb = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return Cost(self._clock.monotonic() - self._wall, _cpu_seconds() - self._cpu, peak_kb / 1024)


def _cpu_seconds() -> float:
    """CPU of this process, of its children that ended, and of those that live (the extraction's workers)."""
    ended = sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
    return ended + sum(map(_live_seconds, _children()))


def _children() -> list[str]:
    """Process ids of the live children (proc(5)); none where there is no /proc."""
    found: list[str] = []
    for listing in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            found += listing.read_text().split()
    return found


def _live_seconds(pid: str) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
