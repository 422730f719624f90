"""A buffer for an answer of unknown length, which never stands in memory twice, also not while it grows."""

from __future__ import annotations

import io
import mmap

SHORT_BYTES = 1 << 20
_FIRST_MAP_BYTES = 4 << 20


class Taken:
    """Written to the end of; `value` takes what was written out of it.

    What is short is on the heap. A long answer has pages of its own: the heap would copy it when it grows, and keep
    the holes for the process's whole life.
    """

    def __init__(self) -> None:
        self._short = io.BytesIO()
        self._map: mmap.mmap | None = None
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def write(self, data: bytes | bytearray | memoryview) -> int:
        self._length += len(data)
        if self._map is None:
            if self._length <= SHORT_BYTES:
                return self._short.write(data)
            self._map = _pages(_FIRST_MAP_BYTES)
            self._map.write(self._short.getvalue())
            self._short = io.BytesIO()
        if self._length > len(self._map):
            self._map = _grown(self._map, 2 * self._length)
        return self._map.write(data)

    def value(self) -> bytes | memoryview:
        """All that was written: bytes when it is at most SHORT_BYTES long."""
        return self._short.getvalue() if self._map is None else memoryview(self._map)[: self._length].toreadonly()


def _pages(size: int) -> mmap.mmap:
    """They take memory once something is written to them, and none when they are let go."""
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def _grown(pages: mmap.mmap, size: int) -> mmap.mmap:
    written = pages.tell()
    try:
        pages.resize(size)
    except SystemError:  # not every system can
        smaller, pages = pages, _pages(size)
        pages.write(memoryview(smaller)[:written])
    return pages
