"""A document that is a gzip file itself, whatever its name: the document inside, as sitemaps and dumps are published."""

from __future__ import annotations

from trawl_core.warc.payload import decode_content
from trawl_core.warc.sniff import sniff_mime

GZIP_MIMES = ("application/gzip", "application/x-gzip")
MAX_BYTES = 50_000_000
_LAYERS = 3


def unpacked(body: bytes) -> tuple[bytes, str, str | None]:
    """(document, its media type, why it is not whole) of a gzip file and those inside it; of a stream that is cut what can be read,
    without what stands behind its end. The reason is None when nothing is missing."""
    mime, fault = GZIP_MIMES[0], None
    for _ in range(_LAYERS):
        if mime not in GZIP_MIMES:
            break
        body, problem = decode_content(body, "gzip", MAX_BYTES)
        fault = fault or problem
        mime = sniff_mime(body, None)
    return body, mime, fault
