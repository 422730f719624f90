"""Asking an origin for its robots.txt (RFC 9309 section 2.3): before any other URL of it, archived like any document.

2xx is parsed, 4xx allows everything, five redirects are followed wherever they lead; 5xx, 429, a timeout or a network
error disallow everything and are asked again, `attempts` times in all; then the origin is given up for tonight and
its URLs are put off. A redirect to another origin is a request to that one, at its pace and within its address's budget.
"""

from __future__ import annotations

from typing import Any

from trawl_core.clock import Clock
from trawl_core.fetch.origins import Origin, RobotsVisit
from trawl_core.fetch.politeness import backoff_s, retry_after_s
from trawl_core.fetch.recording import Recorder
from trawl_core.fetch.robots import MAX_KEPT_BYTES, robots_verdict
from trawl_core.fetch.robots_cache import MAX_REDIRECTS, Robots, RobotsCache
from trawl_core.urls.normalize import origin_of
from trawl_core.warc.captures import redirect_target
from trawl_core.warc.exchange import Exchange

# How long an origin may ask us to stay away (Retry-After) before the rest of its URLs is put off to another night.
ORIGIN_WAIT_S = 300.0


class RobotsAsking:
    """The robots.txt side of one domain's night; `answered` tells what became of an answer."""

    def __init__(self, recorder: Recorder, cache: RobotsCache, clock: Clock) -> None:
        self._recorder = recorder
        self._cache = cache
        self._clock = clock

    def known(self, origin: Origin) -> bool:
        """True when the rules are known without asking."""
        if origin.robots is None:
            cached = self._cache.get(origin.key, self._clock.now())
            if cached is not None:
                self._apply(origin, cached)
        return origin.robots is not None

    def answered(self, origin: Origin, exchange: Exchange) -> float | None:
        """Note an answer. Afterwards the origin has its rules, or `closed`, or its visit goes on (perhaps after a pause).

        Returns the seconds to wait before the origin is asked again; None for none.
        """
        visit = origin.visit
        row = self._record(exchange, visit)
        target = redirect_target(exchange)
        if target is not None and visit.hop < MAX_REDIRECTS:
            origin.visit = RobotsVisit(target, visit.hop + 1, row["capture_id"], visit.failures)
            return None
        cut = exchange.truncated not in (None, "length")
        verdict = "unavailable" if cut else robots_verdict(exchange.status)
        if verdict == "unavailable":
            return self._failed(origin, exchange)
        body = b""
        if verdict == "parse":
            body = exchange.document_start(MAX_KEPT_BYTES)
        now = self._clock.now()
        digest = row["content_digest"]
        self._apply(origin, self._cache.put(origin.key, verdict, body, digest, now))
        landed = origin_of(exchange.url)
        if landed != origin.key and exchange.url == f"{exchange.url.split('/', 3)[0]}//{exchange.url.split('/', 3)[2]}/robots.txt":
            self._cache.put(landed, verdict, body, digest, now)
        return None

    def _apply(self, origin: Origin, robots: Robots) -> None:
        origin.robots = robots
        origin.pace.crawl_delay_s = robots.rules.crawl_delay_s

    def _failed(self, origin: Origin, exchange: Exchange) -> float | None:
        site = self._recorder.site
        failures, hop = origin.visit.failures + 1, origin.visit.hop
        origin.visit = RobotsVisit(f"{origin.key}/robots.txt", failures=failures)
        asked = retry_after_s(exchange.header("Retry-After"), exchange.header("Date"), self._clock.now(), site.max_retry_after_s)
        pause = max(asked or 0.0, backoff_s(failures, site.delay_s))
        final = exchange.outcome == "blocked_address"
        if final or failures >= site.attempts or pause > ORIGIN_WAIT_S:
            why = f"answered {exchange.status}" if exchange.status is not None else exchange.error or exchange.outcome
            # Where its robots.txt leads to may be blocked without the origin being so.
            origin.closed = "blocked_address" if final and hop == 0 else "robots_unavailable"
            origin.closed_because = f"{exchange.url}: {why}"
            return None
        return pause

    def gave_up(self, origin: Origin, because: str) -> None:
        """Where its robots.txt leads to can't be asked."""
        origin.closed = "robots_unavailable"
        origin.closed_because = f"{origin.visit.url}: {because}"

    def _record(self, exchange: Exchange, visit: RobotsVisit) -> dict[str, Any]:
        return self._recorder.record(
            exchange,
            kind="robots",
            depth=0,
            is_seed=False,
            attempt=visit.failures + 1,
            redirect_from_id=visit.from_id,
            redirect_hop=visit.hop,
        )
