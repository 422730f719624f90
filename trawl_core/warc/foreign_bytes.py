"""The bytes of other people's WARC files, uncompressed, each with its place in the file.

Gzip in members of one record or of many, zstd in frames with or without a dictionary, or plain. What can't be read is told
as a `Break`; reading goes on at the next member that begins with a record.
"""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import BinaryIO

from isal import igzip_lib, isal_zlib

from trawl_core.errors import WarcError
from trawl_core.warc.members import find_member

GZIP = b"\x1f\x8b"
_GZIP_DEFLATE = b"\x1f\x8b\x08"
_ZSTD = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
_DICTIONARY = b"\x5d\x2a\x4d\x18"
_CHUNK = 1 << 18
_MOST = 1 << 20  # uncompressed bytes of a piece
_WBITS = 31


@dataclass(frozen=True)
class Piece:
    """Uncompressed bytes. `starts`: offset in the file of the member that they begin, None in the midst of one.

    `ends`: offset behind the member that they complete, its checksum having held; None when it goes on.
    """

    data: bytes
    starts: int | None
    ends: int | None


@dataclass(frozen=True)
class Break:
    """From `offset` on the file can't be read; what comes next does not continue what came before."""

    offset: int
    fault: str


def is_zstd(magic: bytes) -> bool:
    return magic.startswith(_ZSTD) or _SKIPPABLE.match(magic) is not None


def pieces(file: BinaryIO) -> Iterator[Piece | Break]:
    """Everything that can be read of a seekable file, from its beginning; memory is a few MiB whatever it holds.

    Raises WarcError for a zstd file where no decoder is installed.
    """
    file.seek(0)
    magic = file.read(4)
    file.seek(0)
    if magic.startswith(GZIP):
        return _of_gzip(file)
    if is_zstd(magic):
        return _of_zstd(file)
    return _of_plain(file)


def _of_plain(file: BinaryIO) -> Iterator[Piece]:
    offset = 0
    while data := file.read(_MOST):
        yield Piece(data, offset, offset + len(data))
        offset += len(data)


# gzip ------------------------------------------------------------------------------------------------------------


def _of_gzip(file: BinaryIO) -> Iterator[Piece | Break]:
    offset = 0
    while offset is not None:
        file.seek(offset)
        magic = file.read(3)
        if not magic:
            return
        if magic == _GZIP_DEFLATE:
            offset = yield from _members_from(file, offset)
            continue
        found = find_member(file, offset)
        yield Break(offset, _what_lies_there(file, offset, found))
        offset = found


def _members_from(file: BinaryIO, offset: int) -> Iterator[Piece | Break]:
    """The members from `offset` on; returns where reading goes on, None at the end of what can be read."""
    file.seek(offset)
    buffered = file.read(_CHUNK)
    while buffered.startswith(_GZIP_DEFLATE):
        start, emitted, consumed = offset, 0, len(buffered)
        stream = isal_zlib.decompressobj(wbits=_WBITS)
        begins: int | None = start
        try:
            while True:
                data = stream.decompress(buffered, _MOST)
                emitted += len(data)
                end = start + consumed - len(stream.unused_data) if stream.eof else None
                if data or stream.eof:
                    yield Piece(data, begins, end)
                    begins = None
                if stream.eof:
                    break
                buffered = stream.unconsumed_tail
                if not buffered and len(data) < _MOST:
                    buffered = file.read(_CHUNK)
                    consumed += len(buffered)
                    if not buffered:
                        yield Break(start, f"the file ends after {consumed} bytes of a gzip member")
                        return find_member(file, start + 1)  # damage can hide the end of a member
        except igzip_lib.IsalError as error:
            # ISA-L gives nothing of the call that met the damage; zlib gives every byte before it.
            yield from _before_the_damage(file, start, emitted, begins)
            yield Break(start, f"the gzip member is damaged ({error})")
            return find_member(file, start + 1)
        buffered, offset = stream.unused_data, end
        if len(buffered) < len(_GZIP_DEFLATE):
            file.seek(offset)
            buffered = file.read(_CHUNK)
    return offset if buffered else None


def _before_the_damage(file: BinaryIO, start: int, emitted: int, begins: int | None) -> Iterator[Piece]:
    """What the damaged member at `start` holds behind its first `emitted` bytes, up to the damage."""
    file.seek(start)
    stream = zlib.decompressobj(_WBITS)
    seen = 0
    while block := file.read(1 << 14):
        before = stream.copy()
        try:
            data = stream.decompress(block)
        except zlib.error:
            data = _byte_by_byte(before, block)
            yield from _behind(data, emitted - seen, begins)
            return
        yield from _behind(data, emitted - seen, begins)
        if len(data) > emitted - seen:
            begins = None
        seen += len(data)


def _behind(data: bytes, known: int, begins: int | None) -> Iterator[Piece]:
    if len(data) > known:
        yield Piece(data[max(known, 0) :], begins, None)


def _byte_by_byte(stream: zlib._Decompress, block: bytes) -> bytes:
    data = bytearray()
    for index in range(len(block)):
        try:
            data += stream.decompress(block[index : index + 1])
        except zlib.error:
            break
    return bytes(data)


def _positions(file: BinaryIO, offset: int, wanted: bytes) -> Iterator[int]:
    """Every offset from `offset` on at which the file holds `wanted`."""
    kept = b""
    while True:
        file.seek(offset + len(kept))
        chunk = file.read(_CHUNK)
        window = kept + chunk
        found = window.find(wanted)
        while found >= 0:
            yield offset + found
            found = window.find(wanted, found + 1)
        if not chunk:
            return
        kept = window[-(len(wanted) - 1) :]
        offset += len(window) - len(kept)


def _what_lies_there(file: BinaryIO, offset: int, end: int | None) -> str:
    file.seek(offset)
    first = file.read(16)
    rest = (end - offset) if end is not None else _size(file) - offset
    if not first.strip(b"\0"):
        return f"{rest} bytes that are no gzip member, beginning with zeros"
    return f"{rest} bytes that are no gzip member, beginning {first!r}"


def _size(file: BinaryIO) -> int:
    return file.seek(0, 2)


# zstd ------------------------------------------------------------------------------------------------------------


def _of_zstd(file: BinaryIO) -> Iterator[Piece | Break]:
    """Frames, as the `warc.zst` convention has them: the dictionary of all is in a skippable frame at the beginning, packed or not."""
    zstd = _zstd()
    dictionary = None
    offset, size = 0, _size(file)
    while offset < size:
        file.seek(offset)
        head = file.read(8)
        if _SKIPPABLE.match(head) and len(head) == 8:
            length = int.from_bytes(head[4:8], "little")
            if offset == 0 and head.startswith(_DICTIONARY):
                try:
                    dictionary = _dictionary(zstd, file.read(length))
                except (zstd.ZstdError, ValueError) as error:
                    yield Break(0, f"the file's zstd dictionary can't be read ({error})")
                    return
            offset += 8 + length
        elif head.startswith(_ZSTD):
            end = yield from _frame(zstd, file, offset, dictionary)
            if end is None:
                found = next(_positions(file, offset + 1, _ZSTD), None)
                if found is None:
                    return
                end = found
            offset = end
        else:
            found = next(_positions(file, offset + 1, _ZSTD), None)
            yield Break(offset, _what_lies_there(file, offset, found).replace("gzip member", "zstd frame"))
            if found is None:
                return
            offset = found


def _frame(zstd: ModuleType, file: BinaryIO, start: int, dictionary: object) -> Iterator[Piece | Break]:
    """One frame; returns the offset behind it, None when it is damaged or cut."""
    file.seek(start)
    stream = zstd.ZstdDecompressor(dictionary)
    begins: int | None = start
    consumed = 0
    chunk = b""
    try:
        while True:
            if stream.needs_input:
                chunk = file.read(_CHUNK)
                consumed += len(chunk)
                if not chunk:
                    yield Break(start, f"the file ends after {consumed} bytes of a zstd frame")
                    return None
            data = stream.decompress(chunk, _MOST)
            chunk = b""
            end = start + consumed - len(stream.unused_data) if stream.eof else None
            if data or stream.eof:
                yield Piece(data, begins, end)
                begins = None
            if stream.eof:
                return end
    except zstd.ZstdError as error:
        yield Break(start, f"the zstd frame is damaged ({error})")
        return None


def _dictionary(zstd: ModuleType, data: bytes) -> object:
    return zstd.ZstdDict(zstd.decompress(data) if data.startswith(_ZSTD) else data)


def _zstd() -> ModuleType:
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        raise WarcError(
            "reading a zstd file: no decoder is installed. Install backports.zstd, or unpack the file with `zstd -d`."
        ) from None
    return zstd
