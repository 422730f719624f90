"""The media type of a document by its content (WHATWG MIME Sniffing, narrowed to what extraction tells apart).

Binary signatures win over the declared type; markup is told from its first tag; plain text that is declared as
something textual keeps the declared type.
"""

from __future__ import annotations

import codecs
import json
import re

_WINDOW = 4096
HEAD_BYTES = 64 * 1024

_SIGNATURES = (
    (b"%PDF", "application/pdf"),  # without the hyphen it is a PDF that was cut there
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"BM", "image/bmp"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"PK\x03\x04", "application/zip"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"OggS\x00", "application/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
)
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_HTML_TAGS = (
    "!doctype html|html|head|script|iframe|h[1-6]|div|font|table|a|style|title|b|body|br|p|meta|link|base"
    "|section|article|main|nav|header|ul|ol|img|form|span"
)
_HTML = re.compile(rf"<(?:{_HTML_TAGS})(?=[\s>/])", re.IGNORECASE)
_XML_ROOT = re.compile(r"<(?![?!])(?:[\w.-]+:)?([\w.-]+)([^>]*)")
_LEADING_MARKUP = re.compile(r"\s*(?:<!--.*?-->|<\?.*?\?>)", re.DOTALL)
_XML_DOCTYPE = re.compile(r"\s*<!doctype\s+(?!html)[^>\[]*(?:\[.*?\])?\s*>", re.IGNORECASE | re.DOTALL)
_XHTML_DOCTYPE = re.compile(r"<!doctype\s+html\s[^>]*xhtml", re.IGNORECASE)
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_MARKUP_START = re.compile(rb"[\s\x00]*<[!?A-Za-z]")
JSON_LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines", "application/json-seq")
_SAY_NOTHING = ("application/octet-stream", "binary/octet-stream", "application/unknown", "unknown/unknown")
_FEEDS = {"rss": "application/rss+xml", "feed": "application/atom+xml", "RDF": "application/rss+xml"}
_TEXTUAL = re.compile(
    r"(?:text/.+|application/(?:(?:[\w.-]+\+)?(?:json|xml)|javascript|x-javascript|x-ndjson|ndjson|jsonl|x-jsonlines|json-seq|yaml|x-yaml|toml|sql))$"
)


def sniff_mime(payload: bytes, declared: str | None) -> str:
    """Media type of `payload` (content coding removed), lower case without parameters.

    `declared` is the Content-Type header, None when there was none; it decides only between textual types that look
    alike. `application/octet-stream` is what nothing is known of; an empty payload has the declared type or that.
    """
    named = declared_mime(declared)
    if not payload:
        return named or "application/octet-stream"
    if binary := _binary_type(payload):
        return binary
    text = _decode_head(payload[:HEAD_BYTES])
    if text is None:
        return named if named and not _TEXTUAL.match(named) else "application/octet-stream"
    if _is_json(payload, text):
        return named if named and named.endswith(("+json", *JSON_LINES)) else "application/json"
    if _is_json_lines(payload, text):
        return named if named in JSON_LINES else JSON_LINES[0]
    if markup := _markup_type(text, named):
        return markup
    if named and _TEXTUAL.match(named) and not _contradicted(named):
        return named
    return "text/plain"


def declared_mime(content_type: str | None) -> str | None:
    """`Text/HTML; charset=x` as `text/html`; None when it is no media type."""
    essence = (content_type or "").split(";", 1)[0].strip().lower()
    return essence if re.fullmatch(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+", essence, re.ASCII) else None


def types_disagree(declared: str | None, detected: str | None) -> bool:
    """Whether a document is of another kind than its declared media type says; names of the same kind agree, and a type that says
    nothing (none, octet-stream) with all."""
    if not declared or not detected or declared in _SAY_NOTHING or detected in _SAY_NOTHING:
        return False
    kinds = _kind(declared), _kind(detected)
    # Text of any kind shows nothing that tells a style sheet from a list of names.
    return kinds[0] != kinds[1] and not (kinds[1] == "text" and _TEXTUAL.match(declared) and kinds[0] not in ("html", "xml", "json"))


def _kind(mime: str) -> str:
    if mime in ("text/html", "application/xhtml+xml"):
        return "html"
    if mime.endswith(("/xml", "+xml")):
        return "xml"
    if mime.endswith(("/json", "+json")) or mime in JSON_LINES:
        return "json"
    if mime == "text/plain":
        return "text"
    return mime.replace("/x-", "/")


def _binary_type(payload: bytes) -> str | None:
    if payload[:4] == b"RIFF" and payload[8:12] == b"WEBP":
        return "image/webp"
    if payload[4:8] == b"ftyp":
        return "image/avif" if payload[8:12] in (b"avif", b"avis") else "video/mp4"
    for signature, mime in _SIGNATURES:
        if payload.startswith(signature):
            if mime == "image/bmp" and payload[6:10] != b"\x00\x00\x00\x00":
                continue  # two letters that a text may begin with; the reserved words of a bitmap are zero
            if mime == "audio/mpeg" and payload[3:4] not in (b"\x02", b"\x03", b"\x04"):
                continue
            return mime
    # Readers find a PDF behind up to a kilobyte of junk (ISO 32000-1 annex H.3.4.1).
    window = payload[:1024]
    if (
        b"%PDF-" in window
        and not window.lstrip().startswith((b"<", b"{", b"["))
        and b"\nendobj" in payload[:HEAD_BYTES].replace(b"\r", b"\n")
    ):
        return "application/pdf"
    return None


def _decode_head(head: bytes) -> str | None:
    """The head as text good enough to see tags in; None when it is binary."""
    for bom, encoding in _BOMS:
        if head.startswith(bom):
            return head[len(bom) :].decode(encoding, "replace")
    sample = head[:_WINDOW]
    if sample[:2] in (b"<\x00", b"\x00<"):
        return head.decode("utf-16-le" if sample[:1] == b"<" else "utf-16-be", "replace")
    # Markup with a stray control character is markup to browsers.
    return head.decode("latin-1") if _MARKUP_START.match(sample) or not _BINARY.search(sample) else None


def _markup_type(text: str, named: str | None) -> str | None:
    """The type of a document that begins with markup; None when it does not."""
    while match := _LEADING_MARKUP.match(text):
        if "?>" in match[0] and "<?xml" not in match[0].lower() and "<?xml-" not in match[0].lower():
            break
        text = text[match.end() :]
        named = named or ("application/xml" if "<?xml" in match[0].lower() else None)
    start = text.lstrip()
    if not start.startswith("<"):
        # A declared HTML document may begin with words: browsers render it all the same.
        return named if named in ("text/html", "application/xhtml+xml") else None
    if _XHTML_DOCTYPE.match(start) or (named in ("application/xhtml+xml", "application/xml", "text/xml") and _root(start) == "html"):
        return "application/xhtml+xml" if named != "text/html" else "text/html"
    if _HTML.match(start):
        return "text/html"
    if doctype := _XML_DOCTYPE.match(start):
        start = start[doctype.end() :].lstrip()
    root = _root(start)
    if root in _FEEDS:
        return _FEEDS[root]
    if root in ("urlset", "sitemapindex"):
        return named if named and named.endswith("+xml") else "application/xml"
    if root == "svg":
        return "image/svg+xml"
    if named and (named.endswith(("+xml", "/xml")) or named == "text/html"):
        return named if named != "text/xml" else "application/xml"
    return None


def _root(start: str) -> str | None:
    match = _XML_ROOT.match(start)
    return match[1] if match else None


def _is_json(payload: bytes, text: str) -> bool:
    """An object or array that parses; a document longer than the window is judged by its first characters."""
    start = text.lstrip()
    if not start.startswith(("{", "[")):
        return False
    if len(payload) > HEAD_BYTES:
        return bool(re.match(r'\{\s*(?:"|\})|\[\s*(?:["{\[\]]|-?\d|true|false|null)', start))
    try:
        json.loads(payload)
    except (ValueError, RecursionError):
        return False
    return True


def _is_json_lines(payload: bytes, text: str) -> bool:
    """Two lines or more, of which the first two are objects or arrays that parse."""
    lines = [line.strip("\x1e \t\r") for line in text.lstrip("\ufeff\r\n").split("\n", 3)[:3]]
    if len(lines) < 2 or not all(line.startswith(("{", "[")) for line in lines[:2]):
        return False
    if len(lines) == 2 and not text.endswith("\n") and len(payload) > HEAD_BYTES:
        lines.pop()  # the window may have cut it
    try:
        values = [json.loads(line) for line in lines[:2]]
        # `[1]` and `[2]` on lines of their own are notes of a text.
        return all(isinstance(value, dict) or (isinstance(value, list) and len(value) > 1) for value in values)
    except (ValueError, RecursionError):
        return False


def _contradicted(named: str) -> bool:
    """Types that their content must show: text declared as them that reached this point is something else."""
    return named == "text/xml" or named.endswith(("/xml", "+xml", "/json", "+json"))
