"""One WARC record in memory."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from trawl_core.errors import WarcError
from trawl_core.warc import format as warc
from trawl_core.warc.http_message import Message, parse_headers, parse_response

_VERSION = re.compile(rb"WARC/\d+\.\d+\r?\n")
_HEAD_END = re.compile(rb"\n\r?\n")
_MAX_HEAD = 1 << 20
_ALWAYS = ("WARC-Type", "WARC-Record-ID", "WARC-Date", "Content-Length")


@dataclass(frozen=True)
class Record:
    """`filename` is below the lake's root, `offset` and `length` are those of the gzip member (bytes in a plain file).

    `fields` are the record's own named fields in order. The HTTP side (`head`, `status`, `headers`, `payload`) is that
    of a response block; for records that hold none, `head` is empty and `payload` is the block.
    """

    filename: str
    offset: int
    length: int
    fields: warc.Fields
    block: bytes

    def field(self, name: str) -> str | None:
        """First value of a WARC field, None when it is absent."""
        wanted = name.lower()
        return next((value for key, value in self.fields if key.lower() == wanted), None)

    def field_values(self, name: str) -> list[str]:
        wanted = name.lower()
        return [value for key, value in self.fields if key.lower() == wanted]

    def header(self, name: str) -> str | None:
        """First value of an HTTP header (latin-1, as sent), None when it is absent."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)

    @property
    def content_coding(self) -> str | None:
        """The codings of the HTTP payload in the order in which they were applied, from all its Content-Encoding fields."""
        return ", ".join(value for key, value in self.headers if key.lower() == "content-encoding") or None

    @property
    def warc_type(self) -> str:
        return (self.field("WARC-Type") or "").lower()

    @property
    def capture_id(self) -> str | None:
        """The UUID of WARC-Record-ID, None when it is another kind of URI."""
        return warc.capture_id_of(self.field("WARC-Record-ID"))

    @property
    def target_uri(self) -> str | None:
        uri = self.field("WARC-Target-URI")
        return uri.strip("<>") if uri else None

    @property
    def date(self) -> datetime | None:
        return warc.parse_date(self.field("WARC-Date") or "")

    @property
    def truncated(self) -> str | None:
        return self.field("WARC-Truncated")

    @cached_property
    def message(self) -> Message:
        """The HTTP response in the block; for other blocks an empty head with the block as payload."""
        is_http = (self.field("Content-Type") or "").lower().replace(" ", "").startswith("application/http")
        if is_http and self.warc_type in ("response", "revisit"):
            return parse_response(self.block)
        return Message(head=b"", status=None, reason="", headers=(), payload=self.block, faults=())

    @cached_property
    def block_sha1(self) -> str:
        """base32 sha1 of the block, computed."""
        return warc.sha1_base32(self.block)

    @property
    def head(self) -> bytes:
        return self.message.head

    @property
    def status(self) -> int | None:
        return self.message.status

    @property
    def reason(self) -> str:
        return self.message.reason

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        return self.message.headers

    @property
    def payload(self) -> bytes:
        """The entity: transfer coding removed, content coding kept."""
        return self.message.payload


class RecordFault(Exception):
    """Why bytes are not one whole record; caught inside this package and turned into a WarcError."""


def parse_record(data: bytes, filename: str = "", offset: int = 0, length: int = 0) -> Record:
    """The one record that `data` (uncompressed) holds, no byte more or less; raises RecordFault."""
    record, end = cut_record(data, 0, filename, offset, length)
    if end != len(data):
        raise RecordFault(f"{len(data) - end} bytes follow the record, beginning {data[end : end + 16]!r}")
    return record


def cut_record(data: bytes, start: int, filename: str, offset: int, length: int) -> tuple[Record, int]:
    """The record that begins at `start` of `data`, and where it ends; raises RecordFault."""
    version = _VERSION.match(data, start)
    if not version:
        raise RecordFault(f"no WARC record begins here, but {data[start : start + 16]!r}")
    head_end = _HEAD_END.search(data, version.end() - 1, start + _MAX_HEAD)
    if not head_end:
        raise RecordFault("the record's header has no end")
    block_start = head_end.end()
    record = Record(filename, offset, length, _decode_fields(data[start:block_start]), b"")
    if missing := [name for name in _ALWAYS if record.field(name) is None]:
        raise RecordFault(f"the record has no {', '.join(missing)}")
    declared = (record.field("Content-Length") or "").strip()
    if not declared.isascii() or not declared.isdigit():
        raise RecordFault(f"Content-Length is {declared!r}, not a number")
    block_end = block_start + int(declared)
    if len(data) < block_end:
        raise RecordFault(f"the block has {len(data) - block_start} of {declared} bytes")
    end = block_end + 4
    if data[block_end:end] != b"\r\n\r\n":
        raise RecordFault(f"the block of {declared} bytes is followed by {data[block_end:end]!r}, not by two empty lines")
    return replace(record, block=data[block_start:block_end]), end


def _decode_fields(head: bytes) -> warc.Fields:
    """WARC fields are UTF-8 (unlike HTTP's); bytes that are none stay as latin-1."""
    fields = []
    for name, value in parse_headers(head):
        try:
            fields.append((name, value.encode("latin-1").decode("utf-8")))
        except UnicodeDecodeError:
            fields.append((name, value))
    return tuple(fields)


def explain(filename: str, offset: int, fault: str, doing: str = "reading") -> WarcError:
    return WarcError(f"{doing} the record at byte {offset} of {filename}: {fault}. `trawl verify` lists every fault of the archive.")
