"""Kept connections: adapters that wait for the next exchange of their site, whichever thread makes it.

A site sees no more connections than requests at a time, so that politeness holds for both and a TLS handshake serves
many pages.
"""

from __future__ import annotations

import ssl
import threading
from collections import OrderedDict

from trawl_core.fetch.connection import WireAdapter
from trawl_core.fetch.guard import Resolver
from trawl_core.fetch.wire import Wire
from trawl_core.sites import NetworkAccess, Site

MOST_IDLE = 256


class Adapters:
    """Lends an adapter to one exchange at a time. At most `most_idle` wait, those of the site asked longest ago are closed first."""

    def __init__(self, resolver: Resolver, tls: ssl.SSLContext, most_idle: int = MOST_IDLE) -> None:
        self._resolver = resolver
        self._tls = tls
        self._most_idle = most_idle
        self._idle: OrderedDict[tuple[str, NetworkAccess], list[WireAdapter]] = OrderedDict()
        self._idle_count = 0
        self._closed = False
        self._lock = threading.Lock()

    def take(self, site: Site) -> WireAdapter:
        """The adapter of that site that waited least (its connection is the likeliest to be open still), or a new one."""
        with self._lock:
            waiting = self._idle.get((site.domain, site.network))
            if waiting:
                self._idle_count -= 1
                return waiting.pop()
        return WireAdapter(Wire(site.network, self._resolver), self._tls)

    def give_back(self, site: Site, adapter: WireAdapter) -> None:
        key, surplus = (site.domain, site.network), None
        with self._lock:
            if self._closed:
                surplus = adapter
            else:
                self._idle.setdefault(key, []).append(adapter)
                self._idle.move_to_end(key)
                self._idle_count += 1
                if self._idle_count > self._most_idle:
                    surplus = self._pop_oldest()
        if surplus is not None:
            surplus.close()

    def close(self) -> None:
        """Close every connection; one that is lent closes when it is given back."""
        with self._lock:
            self._closed = True
            adapters = [adapter for waiting in self._idle.values() for adapter in waiting]
            self._idle.clear()
            self._idle_count = 0
        for adapter in adapters:
            adapter.close()

    def _pop_oldest(self) -> WireAdapter:
        while True:
            key, waiting = next(iter(self._idle.items()))
            if waiting:
                self._idle_count -= 1
                return waiting.pop(0)
            del self._idle[key]
