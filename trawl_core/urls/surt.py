"""The key that CDX indexes are sorted by and players look URLs up by: `org,example)/path?a=1&b=2`.

Any WARC-Target-URI has one, also what no crawler would fetch. The rules are those of the canonicaliser that the index
tools share (iipc/webarchive-commons, org.archive.url): escapes undone and made anew, host and path folded, session ids
taken out, the query sorted. CDXJ and `captures.url_surtkey` have the same key; it is none to fetch by.
"""

from __future__ import annotations

import re
import socket
from contextlib import suppress
from functools import lru_cache
from urllib.parse import unquote_to_bytes

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_SLASHES = re.compile(r"(https?://)/+(?=.)", re.IGNORECASE)
_PARTS = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?", re.DOTALL)
_STRAY = re.compile(r"[\t\r\n]+")
_WWW = re.compile(r"^www\d*\.")
_ADDRESS = re.compile(r"\d{1,20}|0[0-7]*(?:\.[0-7]+){1,3}|[1-9]\d*(?:\.\d+){1,3}")
_NESTED = re.compile(rb"%(?:25)+")
_OPAQUE = ("dns:", "filedesc:", "warcinfo:")
_DEFAULT_PORTS = {"http": "80", "https": "443"}
_ESCAPED = tuple(chr(byte) if 0x20 < byte < 0x7F and byte not in b"#%" else f"%{byte:02X}" for byte in range(256))
# Bytes that are written as they are.
_PLAIN = re.compile(rb"[!\"$&-~]*")

# What a hostile archive may hold must not take long: no URL that means something is longer or escaped more often.
_LONGEST_WITH_SESSION = 8192
_MOST_ESCAPES = 100
# RFC 1035, 2.3.4; what is longer is no name, and not worth to be remembered.
_LONGEST_NAME = 253

# Each matches the whole path or query: what is before the session id, the id, what is behind it.
_PATH_SESSIONS = (
    re.compile(r"(.*/)\((?:[a-z]\([0-9a-z]{24}\))+\)/([^?]+\.aspx.*)", re.IGNORECASE | re.DOTALL),
    re.compile(r"(.*/)\([0-9a-z]{24}\)/([^?]+\.aspx.*)", re.IGNORECASE | re.DOTALL),
)
_QUERY_SESSIONS = tuple(
    re.compile(rf"(.*){session}(?:&(.*))?", re.IGNORECASE | re.DOTALL)
    for session in (
        r"jsessionid=[0-9a-z]{32}",
        r"phpsessid=[0-9a-z]{32}",
        r"sid=[0-9a-z]{32}",
        r"aspsessionid[a-z]{8}=[a-z]{24}",
        r"cfid=[^&]+&cftoken=[^&]+",
    )
)


def url_key(url: str) -> str:
    """The key of any target URI; one without a host keeps its scheme, one that can't be read is its own key."""
    text = _STRAY.sub("", url.strip())
    if not text:
        return "-"
    if text.startswith(_OPAQUE):
        return text
    if not _SCHEME.match(text):
        text = f"http://{text}"
    parts = _PARTS.match(_SLASHES.sub(r"\1", text, count=1))
    if parts is None:
        return url
    scheme, authority, path, query = parts.groups()
    scheme, query = scheme.lower(), _query_key(query or "")
    if not authority:
        key = f"{scheme}:{_folded(_unescape(path))}"
    else:
        host, _, port = _host_and_port(authority.rpartition("@")[2])
        if port and not (port.isascii() and port.isdigit() and len(port) <= 5 and int(port) < 65536):
            return url
        host_key = _host_key if len(host) <= _LONGEST_NAME else _host_key.__wrapped__
        key = host_key(host) + (f":{port}" if port and port != _DEFAULT_PORTS.get(scheme) else "") + f"){_path_key(path)}"
    return f"{key}?{query}" if query else key


def _host_and_port(text: str) -> tuple[str, str, str]:
    if text.startswith("["):
        return text[1:].partition("]")[0], "", text.partition("]")[2].removeprefix(":")
    return text.partition(":")


@lru_cache(maxsize=4096)
def _host_key(host: str) -> str:
    name = _unescape(host).decode("utf-8", "surrogateescape")
    with suppress(UnicodeError):
        name = name.encode("idna").decode()
    name = _escape(re.sub(r"\.{2,}", ".", name.strip(".")).encode("utf-8", "surrogateescape")).lower()
    return ",".join(reversed(_WWW.sub("", _dotted(name) or name).split(".")))


def _dotted(host: str) -> str | None:
    """An address in any of the spellings that the C library takes, in its usual one; None for any other host."""
    if not host.isascii() or not _ADDRESS.fullmatch(host):
        return None
    if host.isdigit():
        host = str(int(host) & 0xFFFFFFFF)
    with suppress(OSError):
        return socket.inet_ntoa(socket.inet_aton(host))
    return None


def _path_key(path: str) -> str:
    kept: list[bytes] = []
    for segment in _unescape(path).split(b"/")[1:]:
        if segment == b"..":
            kept = kept[:-1] if kept else [segment]
        elif segment != b".":
            kept.append(segment)
    return _folded(b"/" + b"".join(part + b"/" for part in kept[:-1] if part) + (kept[-1] if kept else b"")) or "/"


def _folded(path: bytes) -> str:
    text = _escape(path).lower()
    return (_without(_PATH_SESSIONS, text) if "(" in text else text).removesuffix("/")


def _query_key(query: str) -> str:
    if not query:
        return ""
    text = _without(_QUERY_SESSIONS, _escape(_unescape(query))).lower()
    return "&".join(sorted(text.split("&"), key=lambda pair: pair.partition("=")))


def _without(sessions: tuple[re.Pattern[str], ...], text: str) -> str:
    for session in sessions if len(text) <= _LONGEST_WITH_SESSION else ():
        if match := session.fullmatch(text):
            text = match[1] + (match[2] or "")
    return text


def _unescape(text: str) -> bytes:
    """Escapes undone until none is left."""
    raw = text.encode("utf-8", "surrogateescape")
    for _ in range(_MOST_ESCAPES):
        once = unquote_to_bytes(_NESTED.sub(b"%", raw)) if b"%" in raw else raw
        if once == raw:
            break
        raw = once
    return raw


def _escape(raw: bytes) -> str:
    if _PLAIN.fullmatch(raw):
        return raw.decode("ascii")
    return "".join(map(_ESCAPED.__getitem__, raw))
