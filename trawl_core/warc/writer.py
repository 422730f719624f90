"""Exchanges as WARC/1.1: response or revisit, request and metadata, each in a gzip member of its own.

    <root>/warc/crawl_date=…/domain=…/trawl-<17 digits of UTC time>-<serial>-<pid>~<host>.warc.gz

One response is followed by its request and its metadata record; WARC-Concurrent-To points both ways. Where a browser
rendered the page, its DOM is a conversion record between those two, which refers to the response. The payload digest
covers the transfer-decoded entity with its content coding kept (iipc/warc-specifications #22).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Literal, Self
from uuid import uuid4

from trawl_core.clock import Clock
from trawl_core.errors import WarcError, explain_os_error
from trawl_core.lake import Lake, Partition
from trawl_core.lake.layout import make_folder
from trawl_core.sites import Compression
from trawl_core.warc import format as warc
from trawl_core.warc.exchange import Exchange
from trawl_core.warc.openfile import OpenFile, open_folder, writer_host
from trawl_core.warc.packing import Packer, Packing, packing_of

MAX_BYTES = 1_000_000_000
_PACKING = packing_of(Compression())


@dataclass(frozen=True)
class RevisitOf:
    """The earlier capture whose record holds the payload; `warc_filename`, `offset`, `length` lead to that response record.

    `payload_digest` is its captures.content_digest (sha1 base32), `payload_sha256` (hex) its captures.payload_sha256
    where the caller knows it.
    """

    profile: Literal["identical-payload-digest", "server-not-modified"]
    refers_to_id: str
    url: str
    date: datetime
    warc_filename: str
    offset: int
    length: int
    payload_digest: str
    payload_sha256: str | None = None


@dataclass(frozen=True)
class Written:
    """Where an exchange's records lie. `filename` is the sealed name below the lake's root, also while the file is `.open`.

    `offset` and `length` are those of the response or revisit record's gzip member; `http_header_length` is the part
    of its block that is the HTTP head (0 in a server-not-modified revisit, whose block is empty). `request_*` is None
    when the exchange holds no request, `rendered_*` when no browser rendered it.
    """

    filename: str
    warc_type: Literal["response", "revisit"]
    offset: int
    length: int
    request_offset: int | None
    request_length: int | None
    metadata_offset: int
    metadata_length: int
    block_digest: str
    http_header_length: int
    rendered_offset: int | None = None
    rendered_length: int | None = None

    @property
    def end(self) -> int:
        """Offset behind the exchange's last record: the file's durable end once it was synced."""
        return self.metadata_offset + self.metadata_length


class WarcWriter:
    """The WARC files of one partition, one at a time. Not thread-safe: each thread of control has a writer of its own.

    The first file is made by the first `write`; `close` seals it. `work` holds the open file of a lake on an object store.
    """

    def __init__(
        self,
        lake: Lake,
        partition: Partition,
        *,
        software: str,
        user_agent: str,
        config_hash: str,
        clock: Clock,
        work: Path,
        max_bytes: int = MAX_BYTES,
        packing: Packing = _PACKING,
    ) -> None:
        self._lake = lake
        self._partition = partition
        self._software = software
        self._user_agent = user_agent
        self._config_hash = config_hash
        self._clock = clock
        self._folder = open_folder(lake, partition, work)
        self._max_bytes = max_bytes
        self._packing = packing
        self._serial = 0
        self._file: OpenFile | None = None
        self._warcinfo_urn = ""
        self._warcinfo_end = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def write(
        self,
        exchange: Exchange,
        capture_id: str,
        *,
        revisit: RevisitOf | None = None,
        facts: Mapping[str, str] = {},
        rendered: bytes | None = None,
    ) -> Written:
        """Append an exchange that has a response; `facts` are further fields of its metadata record, `rendered` is the DOM (HTML in
        UTF-8) that a browser made of it.

        Nothing is on the disk for certain before `sync`. Raises WarcError for an exchange without a response or a
        revisit that is none, DiskFullError or its kin when the file can't be written; the file is then as it was.
        """
        _check(exchange, capture_id, revisit)
        main_urn = warc.record_urn(capture_id)
        file = self._current()
        request_urn = _companion_urn(capture_id, "request") if exchange.request_bytes else None
        metadata_urn = _companion_urn(capture_id, "metadata")
        common = (
            f"WARC-Target-URI: {warc.target_uri(exchange.url)}\r\n"
            f"WARC-Date: {warc.format_date(exchange.started_at)}\r\n"
            f"WARC-Warcinfo-ID: {self._warcinfo_urn}\r\n"
        )
        to_main = f"WARC-Concurrent-To: {main_urn}\r\n"
        to_request = f"WARC-Concurrent-To: {request_urn}\r\n" if request_urn else ""
        connection = warc.lines(_connection_fields(exchange))
        block, own_fields = _main_record(exchange, revisit)
        block_digest = warc.sha1_base32(block)
        packers = self._packing.coded if _has_content_coding(exchange) else self._packing.text
        main_head = warc.record_head(
            f"WARC-Type: {'revisit' if revisit else 'response'}\r\nWARC-Record-ID: {main_urn}\r\n{common}"
            f"{to_request}WARC-Concurrent-To: {metadata_urn}\r\n{connection}{warc.lines(own_fields)}"
            f"WARC-Block-Digest: sha1:{block_digest}\r\nContent-Type: {warc.HTTP_RESPONSE}\r\n",
            len(block),
        )
        request = b""
        if request_urn:
            fields = common + to_main + connection
            request = _companion("request", request_urn, warc.HTTP_REQUEST, exchange.request_bytes, fields, packers.beside)
        conversion = b""
        if rendered is not None:
            urn = _companion_urn(capture_id, "conversion")
            fields = f"{common}WARC-Refers-To: {main_urn}\r\n"
            conversion = _companion("conversion", urn, warc.RENDERED_HTML, rendered, fields, self._packing.text.main)
        facts_block = _metadata_block(exchange, revisit, facts)
        metadata = _companion("metadata", metadata_urn, warc.WARC_FIELDS, facts_block, common + to_main, packers.beside)
        start = file.offset
        main_length = file.append_all(packers.main.member(main_head, block), (request, conversion, metadata))
        rendered_at = start + main_length + len(request)
        return Written(
            filename=file.name,
            warc_type="revisit" if revisit else "response",
            offset=start,
            length=main_length,
            request_offset=start + main_length if request else None,
            request_length=len(request) or None,
            metadata_offset=rendered_at + len(conversion),
            metadata_length=len(metadata),
            block_digest=block_digest,
            http_header_length=min(exchange.head_length, len(block)),
            rendered_offset=rendered_at if conversion else None,
            rendered_length=len(conversion) or None,
        )

    def sync(self) -> None:
        """Return when every exchange written so far is on the disk."""
        if self._file is not None:
            self._file.sync()

    def close(self) -> None:
        """Seal the current file, if there is one; a file without an exchange is removed. May be called again."""
        file, self._file = self._file, None
        if file is None:
            return
        if file.offset <= self._warcinfo_end:
            file.discard()
        else:
            file.seal()

    def abandon(self) -> None:
        """Let go of the current file without sealing it: it stays `.open`, and `repair_partition` salvages it."""
        file, self._file = self._file, None
        if file is not None:
            file.abandon()

    def _current(self) -> OpenFile:
        if self._file is not None and self._file.offset >= self._max_bytes:
            self.close()
        if self._file is None:
            self._file = self._open()
        return self._file

    def _open(self) -> OpenFile:
        try:
            make_folder(self._folder)
            while True:
                stamp = self._clock.now().strftime("%Y%m%d%H%M%S%f")[:17]
                base = f"trawl-{stamp}-{self._serial:05d}-{os.getpid()}~{writer_host()}{warc.SUFFIX}"
                self._serial += 1
                try:
                    file = OpenFile(self._lake, f"{self._lake.warc_folder(self._partition)}/{base}", self._folder)
                    break
                except FileExistsError:
                    continue  # another writer of this process took the name within this millisecond
        except OSError as error:
            raise explain_os_error(error, "making a WARC file in", self._folder) from error
        self._warcinfo_urn = warc.record_urn(str(uuid4()))
        block = warc.warc_fields(self._warcinfo())
        fields = [
            ("WARC-Type", "warcinfo"),
            ("WARC-Record-ID", self._warcinfo_urn),
            ("WARC-Date", warc.format_date(self._clock.now())),
            ("WARC-Filename", base),
            ("WARC-Block-Digest", f"sha1:{warc.sha1_base32(block)}"),
            ("Content-Type", warc.WARC_FIELDS),
        ]
        file.append(self._packing.text.beside.whole(warc.serialize(fields, block)))
        self._warcinfo_end = file.offset
        return file

    def _warcinfo(self) -> list[tuple[str, str]]:
        fields = [
            ("software", self._software),
            ("format", "WARC File Format 1.1"),
            ("conformsTo", "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"),
            ("isPartOf", self._partition.folder),
            ("http-header-user-agent", self._user_agent),
            ("trawl-compression", self._packing.label),
            ("robots", "obey"),
            ("trawl-config-hash", self._config_hash),
        ]
        if self._clock.moved:
            fields.append(("trawl-clock", "moved by TRAWL_NOW: the dates in this file are not the time of day of the fetches"))
        return fields


def _check(exchange: Exchange, capture_id: str, revisit: RevisitOf | None) -> None:
    doing = f"archiving {exchange.url} as {capture_id}"
    if not exchange.has_response:
        raise WarcError(f"{doing}: no status line came ({exchange.outcome}), so there is no record to write. Keep its row without one.")
    if revisit is None:
        return
    if revisit.profile == warc.NOT_MODIFIED:
        if exchange.status != 304:
            raise WarcError(f"{doing}: status {exchange.status} can't be a {warc.NOT_MODIFIED} revisit, only 304 can. Write a response.")
    elif revisit.profile == warc.IDENTICAL:
        if revisit.payload_digest != exchange.payload_digest:
            raise WarcError(
                f"{doing}: its payload digest {exchange.payload_digest} is not {revisit.payload_digest}, that of {revisit.refers_to_id}. "
                "Write a response."
            )
    else:
        raise WarcError(f"{doing}: {revisit.profile!r} is no revisit profile; they are {warc.IDENTICAL} and {warc.NOT_MODIFIED}.")


def _main_record(exchange: Exchange, revisit: RevisitOf | None) -> tuple[bytes, list[tuple[str, str]]]:
    """Block of the response or revisit record, and the fields that only it has."""
    payload_digest = ("WARC-Payload-Digest", f"sha1:{exchange.payload_digest}")
    if revisit is None:
        truncated = [("WARC-Truncated", exchange.truncated)] if exchange.truncated else []
        return exchange.response_bytes, [payload_digest, *truncated]
    fields = [
        ("WARC-Profile", warc.PROFILE_URI + revisit.profile),
        ("WARC-Refers-To", warc.record_urn(revisit.refers_to_id)),
        ("WARC-Refers-To-Target-URI", warc.target_uri(revisit.url)),
        ("WARC-Refers-To-Date", warc.format_date(revisit.date)),
    ]
    if revisit.profile == warc.NOT_MODIFIED:
        # With the 304's head as block, players answer 304 without a body (ukwa-pywb #40): it goes to the metadata record.
        return b"", fields
    return exchange.response_bytes[: exchange.head_length], [*fields, payload_digest]


def _connection_fields(exchange: Exchange) -> list[tuple[str, str]]:
    fields = [("WARC-IP-Address", exchange.ip_address)] if exchange.ip_address else []
    if exchange.http_version:
        fields.append(("WARC-Protocol", exchange.http_version.lower()))
    if exchange.tls_version:
        fields.append(("WARC-Protocol", exchange.tls_version.lower().replace("v", "/")))
    if exchange.tls_cipher:
        fields.append(("WARC-Cipher-Suite", exchange.tls_cipher))
    return fields


def _metadata_block(exchange: Exchange, revisit: RevisitOf | None, facts: Mapping[str, str]) -> bytes:
    fields = [] if exchange.fetch_ms is None else [("fetchTimeMs", str(round(exchange.fetch_ms)))]
    if exchange.interim:
        fields.append(("interim-heads", warc.escape_line(exchange.interim)))
    if revisit is not None and revisit.profile == warc.NOT_MODIFIED:
        fields.append(("not-modified-head", warc.escape_line(bytes(exchange.response_bytes[: exchange.head_length]))))
    return warc.warc_fields([*fields, *facts.items()])


def _companion_urn(capture_id: str, kind: str) -> str:
    return f"<urn:uuid:{warc.companion_id(capture_id, kind)}>"


def _companion(kind: str, urn: str, content_type: str, block: bytes, fields: str, packer: Packer) -> bytes:
    """The gzip member of a request, conversion or metadata record; `fields` are the lines beside type, id and block."""
    head = warc.record_head(
        f"WARC-Type: {kind}\r\nWARC-Record-ID: {urn}\r\n{fields}"
        f"WARC-Block-Digest: sha1:{warc.sha1_base32(block)}\r\nContent-Type: {content_type}\r\n",
        len(block),
    )
    return packer.whole(b"".join((head, block, warc.RECORD_END)))


def _has_content_coding(exchange: Exchange) -> bool:
    coding = (exchange.header("Content-Encoding") or "").strip().lower()
    return coding not in ("", "identity") or next(exchange.payload_pieces(), b"")[:2] == b"\x1f\x8b"
