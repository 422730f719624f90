"""The words of the format (WARC/1.1, ISO 28500:2017): named fields, dates, URIs, digests, one record as bytes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from urllib.parse import quote, quote_from_bytes, unquote_to_bytes

from trawl_core.errors import WarcError

Fields = tuple[tuple[str, str], ...]

_VERSION = "WARC/1.1"
SUFFIX = ".warc.gz"
OPEN_SUFFIX = ".warc.gz.open"
IDENTICAL = "identical-payload-digest"
NOT_MODIFIED = "server-not-modified"
PROFILE_URI = "http://netpreserve.org/warc/1.1/revisit/"
HTTP_RESPONSE = "application/http;msgtype=response"
HTTP_REQUEST = "application/http;msgtype=request"
WARC_FIELDS = "application/warc-fields"
RENDERED_HTML = "text/html; charset=utf-8"

RECORD_END = b"\r\n\r\n"
_BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
# What RFC 3986 allows in a URI, '%' included: everything else is percent-encoded.
_URI_SAFE = "!#$%&'()*+,/:;=?@[]~"
_LINE_SAFE = bytes(byte for byte in range(0x20, 0x7F) if byte != ord("%")).decode()
_PLAIN_URI = re.compile(r"[\w.~!#$%&'()*+,/:;=?@\[\]-]*", re.ASCII)
_BASE32_PAIRS = [first + second for first in _BASE32 for second in _BASE32]
_SHIFTS = range(150, -1, -10)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_DATE = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:Z|\+00:00)$")


def record_urn(identifier: str) -> str:
    """`<urn:uuid:…>` of a UUID in its usual lower-case form; raises WarcError when it is none."""
    if not _UUID.fullmatch(identifier):
        raise WarcError(f"writing a record: the capture id {identifier!r} is not a UUID. Give each capture str(uuid.uuid4()).")
    return f"<urn:uuid:{identifier}>"


def companion_id(capture_id: str, kind: str) -> str:
    """The UUID of the request or metadata record that belongs to a capture (version 5, so that it needs no table).

    What `uuid.uuid5` gives, without its objects. Raises ValueError when `capture_id` is no UUID.
    """
    name = bytes.fromhex(capture_id.replace("-", "")) + kind.encode()
    text = hashlib.sha1(name, usedforsecurity=False).hexdigest()
    variant = "89ab"[int(text[16], 16) & 3]
    return f"{text[:8]}-{text[8:12]}-5{text[13:16]}-{variant}{text[17:20]}-{text[20:32]}"


def capture_id_of(urn: str | None) -> str | None:
    """The UUID inside a WARC-Record-ID; None when it holds none."""
    match = re.fullmatch(r"<?urn:uuid:([0-9a-fA-F-]{36})>?", (urn or "").strip())
    return match[1].lower() if match else None


def format_date(moment: datetime) -> str:
    """WARC-Date in UTC with microseconds."""
    utc = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return utc.isoformat(timespec="microseconds")[:-6] + "Z"


def parse_date(text: str) -> datetime | None:
    """An aware moment, cut to microseconds; None when it is no WARC-Date of second precision or finer."""
    match = _DATE.match(text.strip())
    if not match:
        return None
    try:
        return datetime.fromisoformat(match[1]).replace(microsecond=int((match[2] or "0")[:6].ljust(6, "0")), tzinfo=UTC)
    except ValueError:
        return None


def target_uri(url: str) -> str:
    """`url` as ASCII by RFC 3986: other characters percent-encoded as UTF-8, existing escapes kept."""
    return url if _PLAIN_URI.fullmatch(url) else quote(url, safe=_URI_SAFE)


def escape_line(raw: bytes) -> str:
    """Bytes as one printable ASCII line: control bytes, non-ASCII and '%' as %XX. `unescape_line` gives them back."""
    return quote_from_bytes(raw, safe=_LINE_SAFE)


def unescape_line(line: str) -> bytes:
    return unquote_to_bytes(line)


def sha1_base32(data: bytes) -> str:
    return base32_of(hashlib.sha1(data, usedforsecurity=False).digest())


def base32_of(digest: bytes) -> str:
    """The 32 characters of a sha1 digest. `base64.b32encode` takes half as long again, and each exchange has four of them."""
    number = int.from_bytes(digest, "big")
    return "".join([_BASE32_PAIRS[number >> shift & 1023] for shift in _SHIFTS])


def lines(fields: Iterable[tuple[str, str]]) -> str:
    """Named fields, a line each; line breaks inside a value become spaces."""
    return "".join([f"{name}: {value if value.isprintable() else _one_line(value)}\r\n" for name, value in fields])


def warc_fields(fields: Iterable[tuple[str, str]]) -> bytes:
    """A block of application/warc-fields."""
    return lines(fields).encode()


def record_head(field_lines: str, content_length: int) -> bytes:
    """A record up to its block; `field_lines` are those of `lines`, without Content-Length."""
    return f"{_VERSION}\r\n{field_lines}Content-Length: {content_length}\r\n\r\n".encode()


def serialize(fields: Iterable[tuple[str, str]], block: bytes) -> bytes:
    """One record, uncompressed; Content-Length is added here."""
    return b"".join((record_head(lines(fields), len(block)), block, RECORD_END))


def _one_line(value: str) -> str:
    return " ".join(value.splitlines())
