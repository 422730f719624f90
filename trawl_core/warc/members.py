"""Gzip members of a WARC file, with their place and their CRC checked.

General readers pass over a member that is cut off (cases: warcio #138, fastwarc); what repairs and proves an archive
must not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from isal import igzip_lib, isal_zlib

_CHUNK = 1 << 18  # unused_data copies what is left of it for every member
_MAGIC = b"\x1f\x8b\x08"
_VERSION = b"WARC/"
_PEEK = 4096


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True)
class Member:
    """One complete member: `data` is what it holds, uncompressed."""

    offset: int
    length: int
    data: bytes

    @property
    def end(self) -> int:
        return self.offset + self.length


class MemberFault(Exception):
    """Why the bytes at `offset` are not a complete member; caught inside this package and turned into a WarcError."""

    def __init__(self, offset: int, fault: str) -> None:
        super().__init__(fault)
        self.offset = offset
        self.fault = fault


def inflate(member: bytes) -> bytes:
    """What exactly one member holds; raises MemberFault (offset 0) when it is cut, damaged or followed by more bytes."""
    stream = isal_zlib.decompressobj(wbits=31)
    try:
        data = stream.decompress(member)
    except igzip_lib.IsalError as error:
        raise MemberFault(0, f"the gzip member is damaged ({error})") from None
    if not stream.eof:
        raise MemberFault(0, "the gzip member is cut off")
    if stream.unused_data:
        raise MemberFault(0, f"{len(stream.unused_data)} bytes follow the gzip member")
    return data


def read_members(file: _Readable) -> Iterator[Member]:
    """The members of `file` from its current position, which counts as offset 0.

    Raises MemberFault at the first bytes that are no complete member; everything before has been yielded by then.
    Memory: one member and a read buffer.
    """
    offset = 0
    buffered = b""
    while True:
        buffered = buffered or file.read(_CHUNK)
        if not buffered:
            return
        stream = isal_zlib.decompressobj(wbits=31)
        parts: list[bytes] = []
        consumed = 0
        while True:
            try:
                parts.append(stream.decompress(buffered))
            except igzip_lib.IsalError as error:
                raise MemberFault(offset, f"the gzip member is damaged ({error})") from None
            consumed += len(buffered)
            if stream.eof:
                break
            buffered = file.read(_CHUNK)
            if not buffered:
                raise MemberFault(offset, f"the file ends after {consumed} bytes of a gzip member")
        buffered = stream.unused_data
        length = consumed - len(buffered)
        yield Member(offset, length, b"".join(parts))
        offset += length


def find_member(file: BinaryIO, start: int) -> int | None:
    """Where the next gzip member with a WARC record begins at or behind `start`; None when there is none.

    This is how reading goes on behind damage: a member begins with its magic, and what it holds with the format's version.
    """
    position = start
    while True:
        file.seek(position)
        window = file.read(_CHUNK)
        at = window.find(_MAGIC)
        while at >= 0:
            if _holds_record(window[at : at + _PEEK] if at + _PEEK <= len(window) else _read_at(file, position + at, _PEEK)):
                return position + at
            at = window.find(_MAGIC, at + 1)
        if len(window) <= len(_MAGIC):
            return None
        position += len(window) - len(_MAGIC) + 1


def _read_at(file: BinaryIO, position: int, size: int) -> bytes:
    file.seek(position)
    return file.read(size)


def _holds_record(member: bytes) -> bool:
    try:
        return isal_zlib.decompressobj(wbits=31).decompress(member, len(_VERSION)) == _VERSION
    except igzip_lib.IsalError:
        return False
