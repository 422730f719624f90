"""Stretches read in processes of their own, answered in order; a process that dies costs the stretch that it was at, by name."""

from __future__ import annotations

import signal
import subprocess
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait

from trawl_core.child import describe_status, start_child
from trawl_core.errors import WarcError
from trawl_core.lake import Lake
from trawl_core.warc.scan import Scan, Stretch, scan

_READY = "ready"
_QUEUED = 2  # the next stretch waits in the process, so that it never waits for its parent
_AHEAD = 4  # stretches a process that may be done before the first of them is taken
_MODULE = "trawl_core.warc.scan_pool"


@dataclass
class _Reader:
    process: subprocess.Popen[bytes]
    connection: Connection
    ready: bool = False
    stretches: deque[tuple[int, Stretch]] = field(default_factory=deque)


def scan_in_order(lake: Lake, stretches: Iterable[Stretch], readers: int) -> Iterator[tuple[Stretch, Scan]]:
    """`(stretch, what was found)` in the order given; with one reader all of it happens in this process.

    A stretch whose process died is answered with `Scan.died`. Raises WarcError when no process can be started.
    """
    if readers <= 1:
        yield from ((stretch, scan(lake, stretch)) for stretch in stretches)
        return
    waiting = deque[tuple[int, Stretch]]()
    done: dict[int, tuple[Stretch, Scan]] = {}
    pool: list[_Reader] = []
    coming = enumerate(stretches)
    taken = 0
    try:
        while True:
            under_way = sum(len(reader.stretches) for reader in pool)
            while len(waiting) + under_way + len(done) < _AHEAD * readers and (entry := next(coming, None)) is not None:
                waiting.append(entry)
            _hand_out(lake, pool, waiting, readers)
            if taken in done:
                yield done.pop(taken)
                taken += 1
            elif any(reader.stretches for reader in pool):
                _collect(pool, waiting, done)
            else:
                return
    finally:
        for reader in pool:
            reader.process.kill()
            reader.process.wait()
            reader.connection.close()


def _hand_out(lake: Lake, pool: list[_Reader], waiting: deque[tuple[int, Stretch]], readers: int) -> None:
    while waiting and len(pool) < readers:
        pool.append(_start())
        pool[-1].stretches.append(waiting.popleft())
        _send(lake, pool[-1])
    for reader in sorted(pool, key=lambda reader: len(reader.stretches)):
        while waiting and len(reader.stretches) < _QUEUED:
            reader.stretches.append(waiting.popleft())
            _send(lake, reader)


def _start() -> _Reader:
    try:
        return _Reader(*start_child(_MODULE))
    except OSError as error:
        raise WarcError(
            f"starting a process that reads WARC files: {error.strerror or error}. Run it again when the machine has room."
        ) from error


def _send(lake: Lake, reader: _Reader) -> None:
    with suppress(OSError):  # it died: its end is seen when its connection is read
        reader.connection.send((lake.location, reader.stretches[-1][1]))


def _collect(pool: list[_Reader], waiting: deque[tuple[int, Stretch]], done: dict[int, tuple[Stretch, Scan]]) -> None:
    """Wait for the next answers, and put them into `done`."""
    ready = set(wait([reader.connection for reader in pool]))
    for reader in [reader for reader in pool if reader.connection in ready]:
        try:
            answer = reader.connection.recv()
        except (EOFError, OSError):
            _bury(reader, pool, waiting, done)
            continue
        if answer == _READY:
            reader.ready = True
            continue
        number, stretch = reader.stretches.popleft()
        done[number] = stretch, answer


def _bury(reader: _Reader, pool: list[_Reader], waiting: deque[tuple[int, Stretch]], done: dict[int, tuple[Stretch, Scan]]) -> None:
    status = reader.process.wait()
    reader.connection.close()
    pool.remove(reader)
    how = describe_status(status)
    if not reader.ready:
        raise WarcError(f"starting a process that reads WARC files: it ended at once ({how}). Its message stands above this one.")
    if reader.stretches:
        number, stretch = reader.stretches.popleft()
        done[number] = stretch, Scan(end=stretch.end, died=f"the process that read bytes {stretch.start} to {stretch.end} died ({how})")
        waiting.extendleft(reversed(reader.stretches))


def main(handle: int) -> None:
    """Entry of the process: `handle` is the inherited file descriptor of the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    lakes: dict[str, Lake] = {}
    with Connection(handle) as connection, suppress(EOFError, BrokenPipeError, ConnectionResetError):  # the parent ended
        connection.send(_READY)
        while True:
            location, stretch = connection.recv()
            if location not in lakes:
                lakes[location] = Lake(location)
            connection.send(scan(lakes[location], stretch))
