"""Which URLs belong to a site: its host, its further origins, its ports, its include and exclude patterns."""

from __future__ import annotations

import re

from trawl_core.sites import Site
from trawl_core.urls.normalize import host_and_port, normalize_url, origin_of


class Scope:
    """The rules of one site, compiled once. All URLs asked about are normalised."""

    def __init__(self, site: Site) -> None:
        self._host = site.domain
        self._ports = frozenset(site.network.allow_ports)
        self._origins = frozenset(origin_of(url) for url in map(normalize_url, site.origins) if url)
        self._seeds = frozenset(url for url in map(normalize_url, site.seeds) if url)
        self._include = tuple(re.compile(pattern) for pattern in site.include)
        self._exclude = tuple(re.compile(pattern) for pattern in site.exclude)

    def check(self, url: str) -> str | None:
        """None when the URL may be fetched as a page, else the rule that holds it back.

        Reasons: `host`, `port 81`, `exclude <pattern>`, `include` (no include pattern matches), `not a URL`.
        A seed needs no include pattern, since a person named it.
        """
        if reason := self.check_media(url):
            return reason
        if self._include and url not in self._seeds and not any(pattern.search(url) for pattern in self._include):
            return "include"
        return None

    def check_media(self, url: str) -> str | None:
        """The same for what a page shows: `include` tells pages, not their pictures."""
        if reason := self.check_origin(url):
            return reason
        return next((f"exclude {pattern.pattern}" for pattern in self._exclude if pattern.search(url)), None)

    def check_origin(self, url: str) -> str | None:
        """Host and port alone: what robots.txt, sitemaps and feeds have to meet."""
        try:
            host, port = host_and_port(url)
        except ValueError:
            return "not a URL"
        if host != self._host and origin_of(url) not in self._origins:
            return "host"
        return None if port in self._ports else f"port {port}"
