"""What a piece of work took, for the metadata of its partition."""

from __future__ import annotations

import resource
from dataclasses import dataclass

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
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
