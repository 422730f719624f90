"""One HTTP exchange as it went over the wire: what fetch hands to the WARC writer."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property


@dataclass(frozen=True)
class Exchange:
    """A request that was sent and the answer that came, if one came. Byte strings are exactly what the wire carried.

    `response_bytes` is head and body without interim 1xx heads, which are in `interim`; it is empty when no answer
    came. `payload` is the body with the transfer coding removed and the content coding kept. `truncated` is a
    WARC-Truncated reason (length, time, disconnect, unspecified), None when the answer is complete. `outcome` is one of
    captures.outcome as far as one exchange can tell (ok for every complete answer below 400, not_modified for 304).
    `document` is the payload without its content coding where that was found to be sound and small; None means that
    whoever wants it decodes the payload.
    """

    url: str
    started_at: datetime
    request_bytes: bytes
    response_bytes: bytes
    head_length: int
    payload: bytes
    status: int | None
    reason: str
    headers: tuple[tuple[str, str], ...]
    outcome: str
    error: str | None = None
    truncated: str | None = None
    interim: bytes = b""
    ip_address: str | None = None
    http_version: str | None = None
    tls_version: str | None = None
    tls_cipher: str | None = None
    ttfb_ms: float | None = None
    fetch_ms: float | None = None
    document: bytes | None = field(default=None, repr=False)

    def header(self, name: str) -> str | None:
        """First value of a header (latin-1, as sent), None when it is absent."""
        return self._first_values.get(name.lower())

    @cached_property
    def _first_values(self) -> dict[str, str]:
        return {key.lower(): value for key, value in reversed(self.headers)}

    def header_values(self, name: str) -> list[str]:
        wanted = name.lower()
        return [value for key, value in self.headers if key.lower() == wanted]

    @property
    def has_response(self) -> bool:
        """True when a status line was received: only then a record is written."""
        return self.status is not None

    @cached_property
    def payload_digest(self) -> str:
        """sha1 base32 of the payload, without the 'sha1:' label."""
        return base64.b32encode(hashlib.sha1(self.payload, usedforsecurity=False).digest()).decode()

    @cached_property
    def payload_sha256(self) -> str:
        return hashlib.sha256(self.payload).hexdigest()
