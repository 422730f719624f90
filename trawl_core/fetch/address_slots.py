"""Requests under way at one address, counted over every crawling process of the machine that uses the same work folder.

One budget, not one divided among the processes: which addresses a domain will reach (redirects, further origins, a name that moves)
is not known when the domains are spread, and other runs may crawl beside this one. A slot of an address is a lock on one byte of
`<work>/addresses.lock` (fcntl(2), "advisory record locking"): its place is a digest of the address and the slot's number, the
file stays empty, and the kernel gives back what a killed process held.

A process that finds no slot asks again after POLL_S and marks that it waits; one that sees such a mark as its request ends lets the
address rest for YIELD_S, so that the two take turns.
"""

from __future__ import annotations

import fcntl
import hashlib
import ipaddress
import os
import threading
from collections import defaultdict
from functools import lru_cache
from pathlib import Path

from trawl_core.clock import Clock
from trawl_core.errors import explain_os_error

POLL_S = 0.02
YIELD_S = 2.5 * POLL_S
MOST_SLOTS = 255
_BYTES_OF_AN_ADDRESS = 256
_WAITING = 255
_open: dict[tuple[int, Path], SlotFile] = {}
_open_lock = threading.Lock()


class SlotFile:
    """The slots that this process holds, whichever of its crawls took them.

    All crawls of a process share one handle: the kernel counts them as one holder, and takes every lock of a process away
    when it closes any handle of the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self._users = 0
        self._held: dict[str, set[int]] = defaultdict(set)
        self._lock = threading.Lock()

    @classmethod
    def of(cls, work: Path) -> SlotFile:
        """The open file of that work folder, to be left with `leave`. Raises LakeError and its kin."""
        path = work.resolve() / "addresses.lock"
        with _open_lock:
            key = (os.getpid(), path)
            if key not in _open:
                try:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    _open[key] = cls(path)
                except OSError as error:
                    raise explain_os_error(error, "preparing to share addresses among processes in", path.parent) from error
            _open[key]._users += 1
            return _open[key]

    def leave(self) -> None:
        with _open_lock:
            self._users -= 1
            if not self._users:
                del _open[os.getpid(), self._path]
                os.close(self._handle)

    def take(self, address: str, limit: int, widest: int) -> int | None:
        """A slot of `widest` while fewer than `limit` of them are held by anybody; None otherwise.

        So many free ones that the held ones are fewer than `limit` are locked for a moment, and all but one let go again.
        """
        start = _place(address)
        with self._lock:
            held = self._held[address]
            free: list[int] = []
            for slot in range(widest):
                if slot not in held and self._try(start + slot, fcntl.LOCK_EX):
                    free.append(slot)
                    if len(free) > widest - limit:
                        break
            kept = free[0] if len(free) > widest - limit else None
            for slot in free:
                if slot != kept:
                    self._let_go(start + slot)
            if kept is not None:
                held.add(kept)
            elif not held:
                del self._held[address]
            return kept

    def give_back(self, address: str, slot: int) -> None:
        with self._lock:
            self._let_go(_place(address) + slot)
            self._held[address].discard(slot)
            if not self._held[address]:
                del self._held[address]

    def wait(self, address: str) -> None:
        """Let other processes see that a slot of this address is wanted."""
        self._try(_place(address) + _WAITING, fcntl.LOCK_SH)

    def wait_no_more(self, address: str) -> None:
        self._let_go(_place(address) + _WAITING)

    def others_wait(self, address: str) -> bool:
        """A mark of this process itself may be lost by asking."""
        byte = _place(address) + _WAITING
        if self._try(byte, fcntl.LOCK_EX):
            self._let_go(byte)
            return False
        return True

    def _try(self, byte: int, kind: int) -> bool:
        try:
            fcntl.lockf(self._handle, kind | fcntl.LOCK_NB, 1, byte)
        except (BlockingIOError, PermissionError):  # fcntl(2): which of the two depends on the system
            return False
        except OSError as error:
            raise explain_os_error(error, "sharing addresses among processes by locks in", self._path) from error
        return True

    def _let_go(self, byte: int) -> None:
        fcntl.lockf(self._handle, fcntl.LOCK_UN, 1, byte)


class AddressSlots:
    """The budget as one crawl uses it, for the engine's thread alone; `close` ends its use.

    `may_start` takes the slot that `started` then uses; one that was not used is given back by `settle`. What is no address
    (a name that has none) is counted in this crawl only.
    """

    def __init__(self, work: Path, widest: int, clock: Clock) -> None:
        """`widest` is the highest limit of any site, the same in every process.

        Raises LakeError and its kin when the folder can't be written.
        """
        self._file = SlotFile.of(work)
        self._widest = min(widest, MOST_SLOTS)
        self._clock = clock
        self._in_flight: dict[str, list[int]] = defaultdict(list)
        self._reserved: tuple[str, int] | None = None
        self._waiting: dict[str, float] = {}
        self._resting: dict[str, float] = {}

    def ours(self, address: str) -> int:
        """Requests of this crawl under way there."""
        return len(self._in_flight.get(address, ()))

    def may_start(self, address: str, limit: int) -> bool:
        self.settle()
        if not _is_address(address):
            return self.ours(address) < limit
        limit, now = min(limit, self._widest), self._clock.monotonic()
        if self._resting and self._resting.get(address, now) > now:
            return False
        self._resting.pop(address, None)
        slot = self._file.take(address, limit, self._widest) if self.ours(address) < limit else None
        if slot is not None:
            self._reserved = (address, slot)
            if self._waiting.pop(address, None) is not None:
                self._file.wait_no_more(address)
        elif self.ours(address) < limit:
            self._waiting[address] = now
            self._file.wait(address)
        return slot is not None

    def started(self, address: str) -> None:
        slot = _NONE
        if self._reserved is not None and self._reserved[0] == address:
            slot = self._reserved[1]
            self._reserved = None
        self._in_flight[address].append(slot)

    def finished(self, address: str) -> None:
        slots = self._in_flight[address]
        slot = slots.pop(0)
        if not slots:
            del self._in_flight[address]
        if slot != _NONE:
            self._file.give_back(address, slot)
            if self._file.others_wait(address):
                self._resting[address] = self._clock.monotonic() + YIELD_S
            if address in self._waiting:
                self._file.wait(address)

    def settle(self) -> None:
        """Give back what `may_start` took for nothing, and wait no more where nobody has asked for a while."""
        if self._reserved is not None:
            self._file.give_back(*self._reserved)
            self._reserved = None
        if self._waiting:
            long_ago = self._clock.monotonic() - 10 * POLL_S
            for address in [address for address, asked_at in self._waiting.items() if asked_at < long_ago]:
                del self._waiting[address]
                self._file.wait_no_more(address)

    def for_connections(self) -> ConnectionSlots:
        """The budget for connections beside the requests, to be closed before this."""
        return ConnectionSlots(self._file, self._widest)

    def close(self) -> None:
        """Give back all that is still held: a crawl that was broken off leaves requests behind."""
        self.settle()
        for address, slots in self._in_flight.items():
            for slot in slots:
                if slot != _NONE:
                    self._file.give_back(address, slot)
        for address in self._waiting:
            self._file.wait_no_more(address)
        self._file.leave()


class ConnectionSlots:
    """The same budget for connections that no request of the engine stands for: those of a rendered page. Any thread may use it.

    `close` gives back what is held; nothing is to be had afterwards.
    """

    def __init__(self, file: SlotFile, widest: int) -> None:
        self._file = file
        self._widest = widest
        self._held: set[tuple[str, int]] = set()
        self._closed = False
        self._lock = threading.Lock()

    def take(self, address: str, limit: int) -> int | None:
        """A slot of an address while fewer than `limit` are held by anybody; None otherwise. Raises LakeError and its kin."""
        with self._lock:
            slot = None if self._closed else self._file.take(address, min(limit, self._widest), self._widest)
            if slot is not None:
                self._held.add((address, slot))
            return slot

    def give_back(self, address: str, slot: int) -> None:
        with self._lock:
            if (address, slot) in self._held:
                self._held.remove((address, slot))
                self._file.give_back(address, slot)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            while self._held:
                self._file.give_back(*self._held.pop())


_NONE = -1


@lru_cache(maxsize=4096)
def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=4096)
def _place(address: str) -> int:
    return int.from_bytes(hashlib.blake2b(address.encode(), digest_size=6).digest(), "big") * _BYTES_OF_AN_ADDRESS
