"""The sort key of CDX indexes: `com,example)/path?query`, so that a domain's captures stand together.

Index readers (pywb and its kin) look a URL up by this key, therefore it folds what they fold: case, `www.`, the order
of the query, an empty query and a trailing slash. It is a key, never a URL to fetch.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache

_WWW = re.compile(r"^www\d*\.")


def surt_key(host: str, port: int | None, path: str, query: str | None) -> str:
    """Key of a URL's parts as `split_url` cuts them; `port` None means the scheme's default."""
    key = _reversed_host(host)
    if port is not None:
        key += f":{port}"
    key += ")" + (path.lower().rstrip("/") or "/")
    if query:
        key += "?" + "&".join(sorted(query.lower().split("&")))
    return key


@lru_cache(maxsize=4096)
def _reversed_host(host: str) -> str:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return ",".join(reversed(_WWW.sub("", host.lower().rstrip(".")).split(".")))
    return host
