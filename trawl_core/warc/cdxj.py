"""Records as the lines of a CDXJ index: `<url key> <14 digits> {"url": …, "mime": …, "status": …, …}`.

Line for line what cdxj-indexer writes (options -p and -s), so that pywb, ReplayWeb and their kin read it.
"""

from __future__ import annotations

import base64
import hashlib
import heapq
import json
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import IO, Protocol

from trawl_core.errors import WarcError
from trawl_core.lake import Lake
from trawl_core.urls.surt import url_key
from trawl_core.warc.http_message import dechunk, parse_headers
from trawl_core.warc.members import Member, MemberFault, find_member, read_members
from trawl_core.warc.payload import decode_content
from trawl_core.warc.reader import iter_records
from trawl_core.warc.record import Record, RecordFault, explain, parse_record
from trawl_core.warc.request_body import appended, body_query

INDEXED = ("response", "revisit", "resource", "metadata")
RUN_BYTES = 32 * 2**20
OnFault = Callable[[WarcError], None]

_HTTP_HEAD_END = re.compile(rb"\r?\n[ \t]*\r?\n")
_SEPARATOR_BYTES = 4
_MAX_BODY_BYTES = 16 * 2**20
_UNDECLARED_BODY_BYTES = 8192


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def index_file(lake: Lake, name: str, filename: str, on_fault: OnFault) -> Iterator[str]:
    """The lines of one WARC file of the lake, in its records' order, each with its line break; `filename` is what they call it.

    What can't be indexed is told to `on_fault`; behind damage a gzipped file goes on at its next record.
    """
    with lake.open(name) as file:
        is_gzip = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        if is_gzip:
            yield from index_members(lake, file, name, filename, on_fault)
            return
    yield from _index(_plain_records(lake, name, on_fault), filename, on_fault)


def index_members(
    lake: Lake, file: _Readable, name: str, filename: str, on_fault: OnFault, digest_of: Callable[[Member], str] | None = None
) -> Iterator[str]:
    """`index_file` of a gzipped file that is open at its begin; `digest_of` gives each line a `recordDigest`.

    `file` is read from begin to end, or to the first damage; what is behind that is read in another way.
    """
    return _index(_gzip_records(lake, file, name, on_fault, digest_of), filename, on_fault)


def sort_lines(lines: Iterable[str], run_bytes: int = RUN_BYTES) -> Iterator[str]:
    """`lines` in byte order, each once; at most about `run_bytes` of them in memory, the rest in unnamed temporary files."""
    runs: list[IO[str]] = []
    run: list[str] = []
    size = 0
    try:
        for line in lines:
            run.append(line)
            size += len(line)
            if size >= run_bytes:
                runs.append(_spill(sorted(run)))
                run, size = [], 0
        last = None
        for line in heapq.merge(*runs, sorted(run)):
            if line != last:
                yield line
            last = line
    finally:
        for spilled in runs:
            spilled.close()


def _spill(lines: list[str]) -> IO[str]:
    file = tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n")  # noqa: SIM115 - `sort_lines` closes it
    file.writelines(lines)
    file.seek(0)
    return file


def _gzip_records(
    lake: Lake, file: _Readable, name: str, on_fault: OnFault, digest_of: Callable[[Member], str] | None
) -> Iterator[tuple[Record, str | None]]:
    for member in _members(lake, file, name, on_fault):
        digest = digest_of(member) if digest_of else None
        try:
            yield parse_record(member.data, name, member.offset, member.length), digest
        except RecordFault as error:
            on_fault(explain(name, member.offset, str(error), "indexing"))


def _members(lake: Lake, file: _Readable, name: str, on_fault: OnFault) -> Iterator[Member]:
    try:
        yield from read_members(file)
        return
    except MemberFault as error:
        on_fault(explain(name, error.offset, error.fault, "indexing"))
        damaged = error.offset
    with lake.open(name) as again:
        while (start := find_member(again, damaged + 1)) is not None:
            again.seek(start)
            try:
                for member in read_members(again):
                    yield replace(member, offset=start + member.offset)
                return
            except MemberFault as error:
                on_fault(explain(name, start + error.offset, error.fault, "indexing"))
                damaged = start + error.offset


def _plain_records(lake: Lake, name: str, on_fault: OnFault) -> Iterator[tuple[Record, None]]:
    try:
        for record in iter_records(lake, name):
            # Indexes count a plain record without the empty lines behind it.
            yield replace(record, length=record.length - _SEPARATOR_BYTES), None
    except WarcError as error:
        on_fault(error)


def _index(records: Iterable[tuple[Record, str | None]], filename: str, on_fault: OnFault) -> Iterator[str]:
    """A request and its response stand beside each other, in either order."""
    waiting: tuple[Record, str | None] | None = None
    for entry in records:
        if waiting is not None and (request := _request_of(waiting[0], entry[0])) is not None:
            main = entry if request is waiting[0] else waiting
            yield from _line(main, filename, on_fault, request)
            waiting = None
            continue
        if waiting is not None:
            yield from _line(waiting, filename, on_fault)
        waiting = entry
    if waiting is not None:
        yield from _line(waiting, filename, on_fault)


def _request_of(first: Record, second: Record) -> Record | None:
    """The request among two records that belong together, None when they don't."""
    if {first.warc_type, second.warc_type} != {"request", "response"} or first.target_uri != second.target_uri:
        return None
    if second.field("WARC-Concurrent-To") != first.field("WARC-Record-ID"):
        return None
    return first if first.warc_type == "request" else second


def _line(entry: tuple[Record, str | None], filename: str, on_fault: OnFault, request: Record | None = None) -> Iterator[str]:
    record, digest = entry
    if not is_indexed(record):
        return
    try:
        yield index_line(record, filename, request=request, record_digest=digest)
    except RecordFault as error:
        on_fault(explain(record.filename, record.offset, str(error), "indexing"))


def is_indexed(record: Record) -> bool:
    """Whether an index has a line for it: what can be replayed, and no metadata of the crawl."""
    kind = record.warc_type
    return kind in INDEXED and not (kind in ("resource", "metadata") and record.field("Content-Type") == "application/warc-fields")


def index_line(record: Record, filename: str, *, request: Record | None = None, record_digest: str | None = None) -> str:
    """The line of one record, with its line break. `request` belongs to it: a POST or PUT puts its body into the key.

    `record_digest` (`sha256:…`) is that of the record as it lies in the file. Raises RecordFault for a record without
    a target URI or a date that can be told in 14 digits.
    """
    url = record.target_uri
    if not url:
        raise RecordFault("the record has no WARC-Target-URI")
    url = url.replace(" ", "%20")
    timestamp = _timestamp(record.field("WARC-Date") or "")
    head, body = _http_parts(record, url)
    fields = {
        "url": url,
        "mime": _mime(record, head),
        "status": _status(record, head),
        "digest": _digest(record, body),
        "length": str(record.length),
        "offset": str(record.offset),
        "filename": filename,
        "recordDigest": record_digest,
    }
    key = url
    if request is not None and (method := request.block.split(b" ", 1)[0].decode("latin-1").upper()) in ("POST", "PUT"):
        query = _request_query(request)
        key = appended(url, method, query)
        fields |= {"requestBody": query, "method": method}
    known = {name: value for name, value in fields.items() if value is not None}
    return f"{url_key(key)} {timestamp} {json.dumps(known)}\n"


def _http_parts(record: Record, url: str) -> tuple[bytes | None, bytes]:
    """(HTTP head, None when the block holds none; what is behind it)."""
    block = record.block
    if not block or record.warc_type not in ("response", "revisit") or not url.startswith(("http:", "https:")):
        return None, block
    end = _HTTP_HEAD_END.search(block)
    head = block[: end.end()] if end else block
    return head, block[len(head) :]


def _status(record: Record, head: bytes | None) -> str | None:
    if not head or not head.strip():
        return None
    words = head.split(b"\n", 1)[0].strip().split(b" ", 1)
    return words[1].strip().split(b" ", 1)[0].decode("latin-1") if len(words) > 1 else ""


def _mime(record: Record, head: bytes | None) -> str | None:
    if record.warc_type == "revisit":
        return "warc/revisit"
    if record.warc_type == "response":
        declared = next((value for name, value in parse_headers(head or b"") if name.lower() == "content-type"), None)
    else:
        declared = record.field("Content-Type")
    return re.split(r"[;\s]", declared, maxsplit=1)[0].strip() if declared else declared


def _digest(record: Record, body: bytes) -> str | None:
    declared = record.field("WARC-Payload-Digest")
    if declared or record.warc_type == "revisit":
        return declared
    return f"sha1:{base64.b32encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode()}"


def _timestamp(text: str) -> str:
    try:
        return datetime(*(int(number) for number in re.findall(r"\d+", text)[:6])).strftime("%Y%m%d%H%M%S")  # noqa: DTZ001
    except (ValueError, TypeError):
        raise RecordFault(f"WARC-Date is {text!r}, no date") from None


def _request_query(request: Record) -> str:
    """The body as a server takes it, without chunks and content coding."""
    head, _, body = request.block.partition(b"\r\n\r\n")
    headers = {name.lower(): value for name, value in reversed(parse_headers(head))}
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = dechunk(body)[0]
    body = decode_content(body, headers.get("content-encoding"), _MAX_BODY_BYTES)[0]
    declared = headers.get("content-length", "")
    length = int(declared) if declared.isascii() and declared.isdigit() else _UNDECLARED_BODY_BYTES
    return body_query(headers.get("content-type"), body[:length])
