"""How records are packed: each a gzip member of its own, by ISA-L or by zlib-ng, and what is packed already only wrapped.

ISA-L is fastest; zlib-ng is for archives where disk is dearer than CPU.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from isal import isal_zlib

from trawl_core.errors import ConfigError
from trawl_core.sites import Compression
from trawl_core.warc.format import RECORD_END

LONG_BYTES = 1 << 20

_PIECE_BYTES = 1 << 18
_GZIP = zlib.MAX_WBITS | 16
_GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"  # RFC 1952: deflate, no name, no time, any system
_GZIP_TAIL = struct.Struct("<LL")
_STORED = struct.Struct("<BHH")  # RFC 1951 section 3.2.4
_MOST_STORED = 0xFFFF
_NOTHING_MORE = _STORED.pack(1, 0, _MOST_STORED)
_HEAD_BYTES = 1200  # the named fields of our records and the first of HTTP's head
# ISA-L's, for records of a kilobyte: its third level makes them no smaller, and level 0 takes a tenth of the time of level 2.
_SMALL_LEVEL, _QUICK_LEVEL = 2, 0


class Stream(Protocol):
    """One gzip member while it is made."""

    def compress(self, data: bytes | memoryview, /) -> bytes: ...

    def flush(self) -> bytes: ...


@dataclass(frozen=True)
class Packer:
    """Makes gzip members: `whole` of a record that stands in memory as one string, `begin` of one that comes in pieces."""

    whole: Callable[[bytes], bytes]
    begin: Callable[[], Stream]

    def member(self, head: bytes, block: bytes) -> Iterator[bytes]:
        """The member of a record in pieces: one, or many of a block beyond LONG_BYTES, which so never stands in memory twice."""
        if len(block) <= LONG_BYTES:
            yield self.whole(b"".join((head, block, RECORD_END)))
            return
        stream, view = self.begin(), memoryview(block)
        yield stream.compress(head)
        for start in range(0, len(block), _PIECE_BYTES):
            yield stream.compress(view[start : start + _PIECE_BYTES])
        yield stream.compress(RECORD_END) + stream.flush()


class _Wrapping:
    """A member for a body that came with a content coding: packing it again would take long and make it no smaller.

    The first bytes, with the record's head, are packed; the rest stands in it as it is.
    """

    def __init__(self) -> None:
        self._crc = 0
        self._size = 0
        self._begun = False

    def compress(self, data: bytes | memoryview, /) -> bytes:
        parts: list[bytes | memoryview] = []
        stored = memoryview(data)
        if not self._begun:
            self._begun = True
            head = isal_zlib.compressobj(_QUICK_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
            # Flushed, it ends where a byte ends, and a stored block begins there.
            parts = [_GZIP_HEAD, head.compress(stored[:_HEAD_BYTES]), head.flush(zlib.Z_SYNC_FLUSH)]
            stored = stored[_HEAD_BYTES:]
        for start in range(0, len(stored), _MOST_STORED):
            block = stored[start : start + _MOST_STORED]
            parts += (_STORED.pack(0, len(block), len(block) ^ _MOST_STORED), block)
        self._crc = isal_zlib.crc32(data, self._crc)
        self._size += len(data)
        return b"".join(parts)

    def flush(self) -> bytes:
        return _NOTHING_MORE + _GZIP_TAIL.pack(self._crc, self._size & 0xFFFFFFFF)


def _wrap(record: bytes) -> bytes:
    stream = _Wrapping()
    return stream.compress(record) + stream.flush()


@dataclass(frozen=True)
class Packers:
    """Those of one exchange: of the record with the body, and of the small ones beside it."""

    main: Packer
    beside: Packer


@dataclass(frozen=True)
class Packing:
    """`text` is for exchanges whose body is not packed yet, `coded` for those whose body is; `label` is what warcinfo says."""

    label: str
    text: Packers
    coded: Packers


def packing_of(settings: Compression) -> Packing:
    """Raises ConfigError when the library is not installed."""
    level = settings.level
    if settings.library == "isal":
        library = isal_zlib
    else:
        try:
            from zlib_ng import zlib_ng as library
        except ImportError:
            raise ConfigError(
                "making the archive's writer: compression.library is zlib-ng in sites.yaml, but that is not installed. "
                "Run `pip install 'trawl[zlib-ng]'`, or take the key out: isal is always there."
            ) from None
    return Packing(
        label=f"gzip, {settings.library} level {level}",
        text=Packers(_packer(library, level), _packer(isal_zlib, _SMALL_LEVEL)),
        # Where the body costs next to nothing, packing what stands beside it well would cost most.
        coded=Packers(Packer(_wrap, _Wrapping), _packer(isal_zlib, _QUICK_LEVEL)),
    )


def _packer(library: Any, level: int) -> Packer:
    return Packer(partial(library.compress, level=level, wbits=_GZIP), partial(library.compressobj, level, zlib.DEFLATED, _GZIP))
