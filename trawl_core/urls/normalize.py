"""One spelling for each URL: resolved as browsers do (WHATWG, through ada), then RFC 3986 section 6.2.2 and no further.

The path's case, the query, its order, an empty `?`, the trailing slash and `www.` stay: they may name another document.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from functools import lru_cache

import ada_url
import tldextract

DEFAULT_PORTS = {"http": 80, "https": 443}

_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PARTS = re.compile(r"(https?)://(\[[^\]/?#]+\]|[^/?#:@\[\]]+)(?::(\d+))?(/[^?#]*)?(?:\?([^#]*))?", re.DOTALL)
_suffixes = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)


@dataclass(frozen=True)
class UrlParts:
    """The parts of a URL as `captures` has them, under the same names and with the same nulls."""

    url_host_name: str
    url_host_registered_domain: str | None
    url_host_tld: str | None
    url_protocol: str
    url_port: int | None
    url_path: str
    url_query: str | None


def normalize_url(url: str, base: str | None = None) -> str | None:
    """`url`, resolved against `base` when given, without fragment; None when it is no http(s) URL or names a user."""
    try:
        href = ada_url.normalize_url(url) if base is None else ada_url.join_url(base, url)
    except ValueError:
        repaired = _without_surrogates(url)
        return None if repaired == url else normalize_url(repaired, base)
    if not href.startswith(("http://", "https://")):
        return None
    if (fragment := href.find("#")) >= 0:
        href = href[:fragment]
    if "@" in href.split("/", 3)[2]:
        return None
    return _ESCAPE.sub(_escape, href) if "%" in href else href


def _escape(match: re.Match[str]) -> str:
    """Unreserved characters decoded (RFC 3986 section 6.2.2.2), other escapes in upper case (6.2.2.1)."""
    character = chr(int(match[1], 16))
    if character not in _UNRESERVED:
        return match[0].upper()
    # Behind a lone `%` a decoded character could complete an escape that the author never wrote.
    start, text = match.start(), match.string
    if text[start - 1] == "%" or (text[start - 2] == "%" and text[start - 1] in "0123456789abcdefABCDEF"):
        return match[0].upper()
    return character


def _without_surrogates(text: str) -> str:
    """Lone surrogates as U+FFFD, as the URL standard's UTF-8 encoding has them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def origin_of(url: str) -> str:
    """`scheme://host:port` of a normalised URL, the port always explicit; raises ValueError for anything else."""
    scheme, host, port, _, _ = _cut(url)
    return f"{scheme}://{host}:{port or DEFAULT_PORTS[scheme]}"


def host_and_port(url: str) -> tuple[str, int]:
    """Host (an IPv6 address without its brackets) and effective port of a normalised URL."""
    scheme, host, port, _, _ = _cut(url)
    return host.strip("[]"), port or DEFAULT_PORTS[scheme]


def split_url(url: str) -> UrlParts:
    """A normalised URL, cut; raises ValueError when it is not one."""
    scheme, host, port, path, query = _cut(url)
    registered, tld = _registered_domain(host)
    return UrlParts(
        url_host_name=host,
        url_host_registered_domain=registered,
        url_host_tld=tld,
        url_protocol=scheme,
        url_port=port,
        url_path=path,
        url_query=query,
    )


def _cut(url: str) -> tuple[str, str, int | None, str, str | None]:
    match = _PARTS.match(url)
    if match is None:
        raise ValueError(f"{url!r} is not a normalised http(s) URL; pass it through normalize_url first")
    scheme, host, port_text, path, query = match.groups()
    port = int(port_text) if port_text else None
    return scheme, host, None if port == DEFAULT_PORTS[scheme] else port, path or "/", query


@lru_cache(maxsize=4096)
def _registered_domain(host: str) -> tuple[str | None, str | None]:
    """(registered domain, last label) by the bundled public suffix list; unlisted suffixes count as one label (its rule `*`)."""
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        pass
    else:
        return host, None
    name = host.rstrip(".")
    tld = name.rpartition(".")[2]
    found = _suffixes.extract_str(name)
    if found.suffix:
        return found.top_domain_under_public_suffix or None, tld
    labels = name.split(".")
    return (".".join(labels[-2:]) if len(labels) > 1 else None), tld
