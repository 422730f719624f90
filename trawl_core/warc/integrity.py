"""What a record must hold to prove itself: mandatory fields, digests recomputed, no cut that is not flagged."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re

from trawl_core.warc import format as warc
from trawl_core.warc.record import Record

_OF_A_URL = ("response", "revisit", "request", "resource", "conversion")
_SHA1 = re.compile(r"sha1:([A-Za-z2-7]{32})$", re.IGNORECASE)
_REFERS_TO = ("WARC-Profile", "WARC-Refers-To", "WARC-Refers-To-Target-URI", "WARC-Refers-To-Date")
_TRUNCATED = ("length", "time", "disconnect", "unspecified")


def faults_of(record: Record) -> list[str]:
    """Everything wrong with a parsed record by itself, one line each; empty when it is sound.

    Digests are recomputed in sha1, sha256, sha512 and md5, written in base32 or hex; others can't be and count as sound.
    """
    kind = record.warc_type
    faults = []
    if record.date is None:
        faults.append(f"WARC-Date {record.field('WARC-Date')!r} is no date")
    if kind in _OF_A_URL:
        uri = record.target_uri
        if not uri:
            faults.append("WARC-Target-URI is missing")
        elif warc.target_uri(uri) != uri:
            faults.append(f"WARC-Target-URI {uri!r} is not percent-encoded ASCII")
    stated = record.field("WARC-Block-Digest")
    if not _is_sha1(stated, record.block_sha1):
        faults += _digest_faults("block", stated, record.block)
    if kind == "response":
        faults += _response_faults(record)
    elif kind == "conversion":
        faults += [] if record.field("WARC-Refers-To") else ["WARC-Refers-To is missing"]
    elif kind == "revisit":
        faults += _revisit_faults(record)
    return faults


def payload_sha1(record: Record) -> str | None:
    """The base32 sha1 that a record states for its payload; None when it states none of that kind."""
    match = _SHA1.match(record.field("WARC-Payload-Digest") or "")
    return match[1].upper() if match else None


def _response_faults(record: Record) -> list[str]:
    message = record.message
    faults = _digest_faults("payload", record.field("WARC-Payload-Digest"), message.payload)
    if record.truncated is None:
        faults += [f"{fault}, and WARC-Truncated is missing" for fault in message.faults if "cut off" in fault or "no end" in fault]
        declared = record.header("Content-Length") or ""
        has_body = message.status is not None and message.status >= 200 and message.status not in (204, 304)
        framed = record.header("Transfer-Encoding") is None and declared.isascii() and declared.isdigit()
        if has_body and framed and len(message.payload) < int(declared):
            faults.append(f"the body has {len(message.payload)} of {declared} bytes, and WARC-Truncated is missing")
    elif record.truncated not in _TRUNCATED:
        faults.append(f"WARC-Truncated is {record.truncated!r}; the reasons are {', '.join(_TRUNCATED)}")
    return faults


def _revisit_faults(record: Record) -> list[str]:
    faults = [f"{name} is missing" for name in _REFERS_TO if not record.field(name)]
    profile = record.field("WARC-Profile") or ""
    if profile.endswith(warc.NOT_MODIFIED) and record.block:
        faults.append("the block of a server-not-modified revisit is not empty: players would answer 304")
    if profile.endswith(warc.IDENTICAL) and not record.field("WARC-Payload-Digest"):
        faults.append("the payload digest is missing")
    return faults


def _is_sha1(stated: str | None, computed: str) -> bool:
    match = _SHA1.match(stated or "")
    return match is not None and match[1].upper() == computed


def _digest_faults(of: str, stated: str | None, data: bytes) -> list[str]:
    if not stated:
        return [f"the {of} digest is missing"]
    algorithm, _, value = stated.strip().partition(":")
    name = algorithm.lower().replace("-", "")
    if name not in ("sha1", "sha256", "sha512", "md5"):
        return []
    found = hashlib.new(name, data, usedforsecurity=False).digest()
    value = value.strip()
    if value.lower() == found.hex() or _base32(value) == found:
        return []
    shown = found.hex() if len(value) == 2 * len(found) else base64.b32encode(found).decode().rstrip("=")
    return [f"the {of} digest is {value}, its bytes give {shown}"]


def _base32(value: str) -> bytes | None:
    text = value.upper().rstrip("=")
    try:
        return base64.b32decode(text + "=" * (-len(text) % 8))
    except binascii.Error:
        return None
