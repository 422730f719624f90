"""The records of other people's WARC files: where each begins and ends, whatever its head says, and what lies between them.

Memory: twice the largest record, which has at most `MAX_RECORD` bytes, and a few MiB.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from trawl_core.warc.foreign_bytes import Break, Piece, pieces
from trawl_core.warc.loose import BLANK, HEAD_END, VERSION, declared_length

MAX_RECORD = 1 << 28
_MAX_HEAD = 1 << 20
_STEP = 1 << 20
_START = re.compile(rb"\n(?=WARC/\d+\.\d+[ \t]*\r?\n)")
_BEHIND_A_BLOCK = re.compile(rb"\r?\n\r?\n(?=WARC/\d+\.\d+[ \t]*\r?\n)")
_NOT_BLANK = re.compile(rb"[^%s]" % re.escape(BLANK))
_LINE = 64
_MOST_PACKED = 40_000  # times that zstd makes something smaller, at most; deflate 1,032


@dataclass(frozen=True)
class Found:
    """`data` is one record, head to the empty lines behind it. `offset` is where it can be read in the file: its first byte in a
    plain file, else that of its member.

    `length` is None when no range of the file holds exactly this record: it shares a member with others, or spans several.
    `doubt`: why it may not be what was written (it is cut off, or its member is damaged); None when it is whole.
    """

    data: bytes
    offset: int
    length: int | None
    doubt: str | None = None


@dataclass(frozen=True)
class Gap:
    """Bytes at `offset` that hold no record that could be read."""

    offset: int
    fault: str


def foreign_records(file: BinaryIO, *, is_plain: bool) -> Iterator[Found | Gap]:
    """Every record of a seekable file in order, and every gap. `is_plain`: the file is not compressed."""
    size = file.seek(0, 2)
    return iter(_Cutter(pieces(file), is_plain, size))


class _Cutter:
    """Positions are those of the uncompressed stream; `_base` is that of the buffer's first byte. `size` is the file's."""

    def __init__(self, source: Iterator[Piece | Break], is_plain: bool, size: int) -> None:
        self._source = source
        self._size = size
        self._is_plain = is_plain
        self._buffer = bytearray()
        self._base = 0
        self._starts: deque[tuple[int, int]] = deque()
        self._ends: deque[tuple[int, int]] = deque()
        self._break: Break | None = None
        self._is_over = False

    def __iter__(self) -> Iterator[Found | Gap]:
        while True:
            self._drop(self._blanks(0))
            if not self._fill(1):
                if self._break is None:
                    return
                yield Gap(self._break.offset, self._break.fault)
                self._break = None
                self._starts.clear()
                self._ends.clear()
                continue
            yield from self._next()

    def _next(self) -> Iterator[Found | Gap]:
        self._fill(_LINE)
        if not VERSION.match(self._buffer):
            yield self._garbage()
            return
        head_end = self._head_end()
        if head_end is None:
            gap = Gap(self._offset(), "the record's header has no end")
            self._drop(5)
            self._skip_to_start()
            yield gap
            return
        size = declared_length(bytes(self._buffer[:head_end]))
        is_possible = size is None or size <= (self._size - self._offset()) * (1 if self._is_plain else _MOST_PACKED)
        if size is not None and size > MAX_RECORD and is_possible:
            gap = Gap(self._offset(), f"the record has {size} bytes, more than the {MAX_RECORD} that are read into memory: it gets no row")
            self._skip(head_end + size)
            yield gap
            return
        end, doubt = self._end(head_end, size, is_possible)
        with memoryview(self._buffer) as view:
            start, data = self._base, bytes(view[:end])
        offset = self._offset()
        self._drop(end)
        self._drop(self._blanks(0))
        if not self._fill(1) and self._break is not None and self._break.offset <= offset:
            doubt = doubt or self._break.fault
        yield Found(data, offset, end if self._is_plain else self._member(start, offset), doubt)

    def _end(self, head_end: int, size: int | None, is_possible: bool) -> tuple[int, str | None]:
        """Where the record at the buffer's beginning ends, and why that may be too early.

        `is_possible`: the file is large enough for a block of `size` bytes.
        """
        if size is None:
            return self._next_start(head_end), None
        want = head_end + size
        if not is_possible or not self._fill(want):
            if not is_possible:
                self._next_start(head_end)
            if inner := _BEHIND_A_BLOCK.search(self._buffer, head_end):
                return inner.end(), None
            return len(self._buffer), f"the record ends after {len(self._buffer) - head_end} of {size} bytes"
        behind = self._blanks(want)
        self._fill(behind + _LINE)
        if behind == len(self._buffer) or VERSION.match(self._buffer, behind):
            return min(behind, want + 4), None
        if self._buffer.startswith(b"\r\n\r\n", want):
            return want + 4, None
        inner = _BEHIND_A_BLOCK.search(self._buffer, head_end, want + _LINE)
        return inner.end() if inner else self._next_start(want), None

    def _garbage(self) -> Gap:
        offset, first = self._offset(), bytes(self._buffer[:16])
        skipped = self._skip_to_start()
        return Gap(offset, f"{skipped} bytes that are no WARC record, beginning {first!r}")

    def _skip_to_start(self) -> int:
        """Drop what comes before the next record's version line; returns its bytes."""
        before = self._base
        while True:
            if match := _START.search(self._buffer):
                self._drop(match.end())
                break
            is_more = self._fill(len(self._buffer) + _STEP) or not self._is_stopped
            if match := _START.search(self._buffer):
                continue
            self._drop(max(0, len(self._buffer) - _LINE) if is_more else len(self._buffer))
            if not is_more:
                break
        return self._base - before

    def _next_start(self, after: int) -> int:
        """Position in the buffer of the next record's version line, or where what can be read ends."""
        while True:
            if match := _START.search(self._buffer, max(0, after - 1)):
                return match.end()
            if len(self._buffer) > MAX_RECORD or not self._fill(len(self._buffer) + _STEP):
                match = _START.search(self._buffer, max(0, after - 1))
                return match.end() if match else len(self._buffer)

    def _head_end(self) -> int | None:
        for size in (1 << 12, _MAX_HEAD):
            self._fill(size)
            if match := HEAD_END.search(self._buffer, 0, _MAX_HEAD):
                return match.end()
        return None

    def _blanks(self, position: int) -> int:
        """Position of the first byte from `position` on that is not blank; the buffer is filled up to it."""
        while True:
            if match := _NOT_BLANK.search(self._buffer, position):
                return match.start()
            position = len(self._buffer)
            if not self._fill(position + 1):
                return len(self._buffer)

    # the stream --------------------------------------------------------------------------------------------------

    @property
    def _is_stopped(self) -> bool:
        return self._is_over or self._break is not None

    def _fill(self, size: int) -> bool:
        """Have `size` bytes in the buffer; False when what can be read without a break ends before."""
        while len(self._buffer) < size:
            if self._is_stopped:
                return False
            piece = next(self._source, None)
            if piece is None:
                self._is_over = True
            elif isinstance(piece, Break):
                self._break = piece
            else:
                position = self._base + len(self._buffer)
                if piece.starts is not None:
                    self._starts.append((position, piece.starts))
                self._buffer += piece.data
                if piece.ends is not None:
                    self._ends.append((position + len(piece.data), piece.ends))
        return True

    def _drop(self, size: int) -> None:
        del self._buffer[:size]
        self._base += size

    def _skip(self, size: int) -> None:
        """Drop `size` bytes that need not be in memory at once."""
        while size and self._fill(1):
            step = min(size, len(self._buffer))
            self._drop(step)
            size -= step

    def _offset(self) -> int:
        """Where the buffer's first byte is read in the file: itself, or the member that holds it."""
        if self._is_plain:
            return self._base
        while len(self._starts) > 1 and self._starts[1][0] <= self._base:
            self._starts.popleft()
        while self._ends and self._ends[0][0] <= self._base:
            self._ends.popleft()
        return self._starts[0][1] if self._starts else 0

    def _member(self, start: int, offset: int) -> int | None:
        """Length of the member that begins at the record that began at `start`, when it holds nothing else; the record was dropped."""
        if not self._starts or self._starts[0] != (start, offset) or not self._ends:
            return None
        position, end = self._ends[0]
        if position != self._base or (len(self._starts) > 1 and self._starts[1][0] < self._base):
            return None
        return end - offset
