"""Records of other people's files, read as far as they can be; what is wrong with one is named, never raised.

Our own files are read strictly (record.py). Faults that writers are known for: no empty lines behind a block, or one; a
Content-Length off by some bytes; `<…>` or spaces in a target URI; fields missing, twice, or in another spelling.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from dataclasses import replace
from datetime import UTC, datetime

from trawl_core.warc import format as warc
from trawl_core.warc.http_message import parse_headers
from trawl_core.warc.record import Record

VERSION = re.compile(rb"WARC/\d+\.\d+[ \t]*\r?\n")
HEAD_END = re.compile(rb"\n\r?\n")
BLANK = b"\r\n\t \0"
_TRAILER = b"\r\n\r\n"
_TRAILERS = (_TRAILER, b"\n\n", b"\r\n", b"\n")
_ONCE = ("WARC-Type", "WARC-Record-ID", "WARC-Date", "Content-Length", "WARC-Target-URI")
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?)?(Z|[+-]\d\d:?\d\d)?$")
_STAMP = re.compile(r"\d{14}$")
_ALGORITHMS = ("sha1", "sha256", "sha512", "md5")


def declared_length(head: bytes) -> int | None:
    """The Content-Length of a record's head, None when it states none that is a number."""
    for name, value in parse_headers(head):
        if name.lower() == "content-length":
            return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None
    return None


def parse_loose(data: bytes, filename: str = "", offset: int = 0, length: int = 0) -> tuple[Record, list[str]]:
    """The record that begins `data` (uncompressed; nothing of another record is in it), and what is wrong with it.

    Without a version line the record has no fields. The block is what Content-Length says where that can be true.
    """
    version = VERSION.match(data)
    head_end = HEAD_END.search(data, version.end() - 1) if version else None
    if version is None or head_end is None:
        return Record(filename, offset, length, (), b""), ["no WARC record begins here" if version is None else "its header has no end"]
    start = head_end.end()
    record = Record(filename, offset, length, _fields(data[:start]), b"")
    faults = _field_faults(record)
    if record.warc_type == "response" and not record.field("Content-Type") and data.startswith(b"HTTP/", start):
        record = replace(record, fields=(*record.fields, ("Content-Type", warc.HTTP_RESPONSE)))
        faults.append("Content-Type is missing; the block is an HTTP response")
    size = declared_length(data[:start])
    stated = record.field("Content-Length")
    if size is None:
        faults.append(f"Content-Length is {stated!r}, not a number" if stated is not None else "Content-Length is missing")
        return replace(record, block=_without_trailer(data[start:])), faults
    behind = data[start + size :]
    if len(data) - start < size:
        block = _without_trailer(data[start:])
        faults.append(f"the block has {len(block)} of {size} bytes")
        return replace(record, block=block), faults
    if behind.startswith(_TRAILER):
        block = data[start : start + size]
        if behind.strip(BLANK):
            faults.append(f"{len(behind) - 4} bytes follow the record")
    elif behind.strip(BLANK):
        block = _without_trailer(data[start:])
        faults.append(f"Content-Length is {size}, the block goes on for {len(block)} bytes")
    else:
        block = data[start : start + size]
        other = _without_trailer(data[start:])
        if other != block and (reason := _better(record, other, block)):
            block = other
            faults.append(f"Content-Length is {size}, the block has {len(block)} bytes by its {reason}")
        elif behind.strip(b"\0") != b"":
            faults.append(f"the block is followed by {behind[:8]!r}, not by two empty lines")
        else:
            faults.append("the block is not followed by two empty lines")
    return replace(record, block=block), faults


def _fields(head: bytes) -> warc.Fields:
    """WARC fields are UTF-8; bytes that are none stay as latin-1."""
    fields = []
    for name, value in parse_headers(head):
        try:
            fields.append((name, value.encode("latin-1").decode("utf-8")))
        except UnicodeDecodeError:
            fields.append((name, value))
    return tuple(fields)


def _field_faults(record: Record) -> list[str]:
    faults = [f"{name} is missing" for name in ("WARC-Type", "WARC-Record-ID", "WARC-Date") if not record.field(name)]
    for name in _ONCE:
        if len(values := set(record.field_values(name))) > 1:
            faults.append(f"{name} stands {len(values)} times with different values; the first is taken")
    return faults


def _without_trailer(rest: bytes) -> bytes:
    rest = rest.rstrip(b"\0") if rest.endswith(b"\n\0") else rest
    return next((rest.removesuffix(trailer) for trailer in _TRAILERS if rest.endswith(trailer)), rest)


def _better(record: Record, other: bytes, block: bytes) -> str | None:
    """What shows that `other` is the block that was written and `block` is not; None when nothing does."""
    stated = record.field("WARC-Block-Digest")
    if digest_holds(stated, other) and not digest_holds(stated, block):
        return "digest"
    if digest_holds(stated, block) is None and _fits_http(record, other) and not _fits_http(record, block):
        return "HTTP Content-Length"
    return None


def _fits_http(record: Record, block: bytes) -> bool:
    """Whether the body of a response is as long as its HTTP head says."""
    message = replace(record, block=block)
    return message.status is not None and message.header("Content-Length") == str(len(block) - len(message.head))


def digest_holds(stated: str | None, data: bytes) -> bool | None:
    """Whether a digest field (`sha1:…`, in base32, hex or base64) is that of `data`; None when it states none that can be computed."""
    algorithm, _, value = (stated or "").strip().partition(":")
    name = algorithm.strip().lower().replace("-", "")
    if name not in _ALGORITHMS or not value:
        return None
    digest = hashlib.new(name, data, usedforsecurity=False).digest()
    wanted = value.strip()
    return (
        wanted.lower() == digest.hex()
        or wanted.upper().rstrip("=") == base64.b32encode(digest).decode().rstrip("=")
        or _base64(wanted) == digest
    )


def _base64(text: str) -> bytes | None:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)) if "+" not in text and "/" not in text else base64.b64decode(text)
    except (binascii.Error, ValueError):
        return None


def loose_date(text: str | None) -> datetime | None:
    """A WARC-Date in any of its spellings: any precision from the day on, an offset for Z, 14 digits; None when it is no date."""
    text = (text or "").strip()
    if moment := warc.parse_date(text):
        return moment
    try:
        if _STAMP.match(text):
            return datetime.strptime(text, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        if not _DATE.match(text):
            return None
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
