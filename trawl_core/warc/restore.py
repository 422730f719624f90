"""Rows of `captures` made anew from the records of our own files, where the crawl's state and the table are both gone.

What only the crawl knew and no record tells is null: whether a URL was a seed, the time to the first byte, rows without a record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from trawl_core.errors import LakeError, WarcError
from trawl_core.lake import Lake, Partition, tables
from trawl_core.warc import format as warc
from trawl_core.warc.captures import capture_row
from trawl_core.warc.exchange import Exchange
from trawl_core.warc.http_message import parse_headers, parse_response
from trawl_core.warc.reader import read_payload
from trawl_core.warc.record import Record, RecordFault, parse_record
from trawl_core.warc.scan import Scan, Stretch, sound_members
from trawl_core.warc.writer import RevisitOf, Written

_MAIN = ("response", "revisit")
_HOLDERS = ["capture_id", "warc_type", "url", "fetch_time", "content_digest", "payload_sha256", "warc_filename", "warc_record_offset"]
_HOLDERS += ["warc_record_length", "redirect_hop"]


@dataclass
class _Group:
    """The records of one exchange, which follow one another."""

    main: Record
    beside: dict[str, Record] = field(default_factory=dict)


def restored_rows(lake: Lake, partition: Partition) -> Iterator[dict[str, Any]]:
    """Rows of the records in the partition's sealed files that `captures` does not have, in the order of the files.

    A record that can't be read, or lacks what a row needs, gets none: a verification names it.
    """
    rows = tables.read(lake, "captures", partition, _HOLDERS).to_pylist()
    holders = _Holders(lake, partition, {row["capture_id"]: row for row in rows})
    for name in lake.files(lake.warc_folder(partition), warc.SUFFIX):
        origin: Mapping[str, str] = {}
        for part in _groups(lake, name):
            if isinstance(part, Record):
                origin = _fields(part)
            elif (capture_id := part.main.capture_id) is not None and capture_id not in holders.known:
                with suppress(WarcError):
                    holders.known[capture_id] = _row(lake, partition, capture_id, part, origin, holders)
                    yield holders.known[capture_id]


class _Holders:
    """Captures that a revisit may refer to: `known` of this night, and those of the domain's other nights where one is asked for."""

    def __init__(self, lake: Lake, partition: Partition, known: dict[str, dict[str, Any]]) -> None:
        self.known = known
        self._lake, self._partition = lake, partition
        self._others: dict[str, dict[str, Any]] | None = None

    def get(self, capture_id: str | None) -> dict[str, Any] | None:
        if capture_id in self.known:
            return self.known[capture_id]
        if self._others is None:
            self._others = {row["capture_id"]: row for row in self._rows_of_other_nights() if row["warc_type"] == "response"}
        return self._others.get(capture_id or "")

    def _rows_of_other_nights(self) -> Iterator[dict[str, Any]]:
        for night in self._lake.partitions_of_domain("captures", self._partition.domain or ""):
            if night != self._partition:
                with suppress(LakeError):  # a damaged table, which a verification names: its revisits have no place
                    yield from tables.read(self._lake, "captures", night, _HOLDERS).to_pylist()


def _groups(lake: Lake, name: str) -> Iterator[Record | _Group]:
    """The warcinfo record, and each exchange."""
    group: _Group | None = None
    for record in _records(lake, name):
        if record.warc_type in _MAIN:
            if group:
                yield group
            group = _Group(record)
        elif record.warc_type == "warcinfo":
            yield record
        elif group:
            group.beside[record.warc_type] = record
    if group:
        yield group


def _records(lake: Lake, name: str) -> Iterator[Record]:
    with lake.open(name) as file:
        for member in sound_members(file, Stretch(name, 0, lake.size(name) or 0), Scan()):
            with suppress(RecordFault):
                yield parse_record(member.data, name, member.offset, member.length)


def _fields(record: Record | None) -> dict[str, str]:
    return dict(parse_headers(b"\n" + record.block)) if record else {}


def _row(lake: Lake, partition: Partition, capture_id: str, group: _Group, origin: Mapping[str, str], holders: _Holders) -> dict[str, Any]:
    main, facts = group.main, _fields(group.beside.get("metadata"))
    holder = holders.get(warc.capture_id_of(main.field("WARC-Refers-To"))) if main.warc_type == "revisit" else None
    exchange = _exchange(lake, group, facts, holder)
    previous = warc.capture_id_of(facts.get("redirect-from"))
    before = holders.get(previous) if previous else None
    row = capture_row(
        exchange,
        capture_id=capture_id,
        partition=partition,
        written=_written(group, exchange),
        revisit=_revisit(main, holder) if main.warc_type == "revisit" else None,
        kind=facts.get("kind", "robots" if exchange.url.endswith("/robots.txt") else "page"),
        depth=_number(facts.get("depth"), 0),
        is_seed=False,
        attempt=_number(facts.get("attempt"), 1),
        redirect_from_id=previous,
        redirect_hop=((before or {}).get("redirect_hop") or 0) + 1 if previous else 0,
        via_id=warc.capture_id_of(facts.get("via")),
        config_hash=origin.get("trawl-config-hash"),
        software=origin.get("software"),
    )
    # What was received of a body that was met before is not told by its revisit.
    unknown = {"is_seed": None} | ({"wire_bytes": None} if main.warc_type == "revisit" and main.block else {})
    return row | unknown


def _exchange(lake: Lake, group: _Group, facts: Mapping[str, str], holder: Mapping[str, Any] | None) -> Exchange:
    main, request = group.main, group.beside.get("request")
    response = warc.unescape_line(facts.get("not-modified-head", "")) if main.warc_type == "revisit" and not main.block else main.block
    message = parse_response(response)
    payload = message.payload
    if main.warc_type == "revisit" and main.block:
        payload = _payload(lake, holder)
    fetched = main.date
    if fetched is None or main.target_uri is None or message.status is None:
        raise WarcError(
            f"restoring the capture of the record at byte {main.offset} of {main.filename}: it lacks a date, a target URI "
            "or a status line. `trawl verify` tells more."
        )
    protocols = {value.split("/")[0]: value for value in main.field_values("WARC-Protocol")}
    tls = protocols.get("tls")
    return Exchange(
        url=main.target_uri,
        started_at=fetched,
        request_bytes=request.block if request else b"",
        response_bytes=response,
        head_length=len(message.head),
        payload=payload,
        status=message.status,
        reason=message.reason,
        headers=message.headers,
        outcome=_outcome(main, message.status),
        truncated=main.truncated,
        interim=warc.unescape_line(facts.get("interim-heads", "")),
        ip_address=main.field("WARC-IP-Address"),
        http_version=protocols["http"].upper() if "http" in protocols else None,
        tls_version=tls.replace("tls/", "TLSv") if tls else None,
        tls_cipher=main.field("WARC-Cipher-Suite"),
        fetch_ms=float(_number(facts["fetchTimeMs"], 0)) if "fetchTimeMs" in facts else None,
    )


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else otherwise


def _payload(lake: Lake, holder: Mapping[str, Any] | None) -> bytes:
    if holder is None or holder["warc_filename"] is None:
        return b""
    return read_payload(lake, holder["warc_filename"], holder["warc_record_offset"], holder["warc_record_length"]).payload


def _outcome(main: Record, status: int) -> str:
    if main.truncated:
        return "truncated"
    if status == 304:
        return "not_modified" if main.warc_type == "revisit" else "unsolicited_304"
    return "ok" if status < 400 else "http_error"


def _revisit(main: Record, holder: Mapping[str, Any] | None) -> RevisitOf:
    """What the record refers to; without a place when nothing in the lake is it."""
    profile: Any = (main.field("WARC-Profile") or "").rsplit("/", 1)[-1]
    digest = (main.field("WARC-Payload-Digest") or "").removeprefix("sha1:")
    place: Mapping[str, Any] = holder or {}
    date = warc.parse_date(main.field("WARC-Refers-To-Date") or "")
    return RevisitOf(
        profile=profile,
        refers_to_id=warc.capture_id_of(main.field("WARC-Refers-To")) or "",
        url=main.field("WARC-Refers-To-Target-URI") or "",
        date=date,  # type: ignore[arg-type]
        warc_filename=place.get("warc_filename"),  # type: ignore[arg-type]
        offset=place.get("warc_record_offset"),  # type: ignore[arg-type]
        length=place.get("warc_record_length"),  # type: ignore[arg-type]
        payload_digest=place.get("content_digest") or digest,
        payload_sha256=place.get("payload_sha256"),
    )


def _written(group: _Group, exchange: Exchange) -> Written:
    main, beside = group.main, group.beside
    places = {kind: (record.offset, record.length) for kind, record in beside.items()}
    request, metadata, rendered = (places.get(kind, (None, None)) for kind in ("request", "metadata", "conversion"))
    return Written(
        filename=main.filename,
        warc_type="revisit" if main.warc_type == "revisit" else "response",
        offset=main.offset,
        length=main.length,
        request_offset=request[0],
        request_length=request[1],
        metadata_offset=metadata[0],  # type: ignore[arg-type]
        metadata_length=metadata[1],  # type: ignore[arg-type]
        block_digest=main.block_sha1,
        http_header_length=min(exchange.head_length, len(main.block)),
        rendered_offset=rendered[0],
        rendered_length=rendered[1],
    )
