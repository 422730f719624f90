"""How often one origin may be asked: a pure state machine over moments that the caller passes in (monotonic seconds).

Spacing between the starts of two requests is the greatest of the site's `delay_s`, robots' crawl-delay (capped at
`max_delay_s`) and an adaptive part: doubled by 429 and 503, raised by half by other failures from the second in a row
on (a page that always fails is no sign of an overload), shrunk by a tenth with each good answer, never above
`max_delay_s`. An origin that answers slowly rests half of its mean latency after each answer. Retry-After (RFC 9110
section 10.2.3) closes the origin until it has passed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from trawl_core.sites import Site

THROTTLED = (429, 503)
TROUBLE = ("timeout", "connect_error", "tls_error", "invalid_http", "dns_error")
FIRST_BACKOFF_S = 0.1
SLOW_S = 0.5
SHRINK = 0.9


def parse_http_date(value: str) -> datetime | None:
    """An HTTP date in any of its three forms as aware UTC; None when it is not one."""
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def retry_after_s(value: str | None, server_date: str | None, now: datetime, max_s: float) -> float | None:
    """Seconds that a Retry-After asks for, between 0 and `max_s`; None when it says nothing usable.

    A date counts against the server's own Date header, so that a wrong clock on either side does no harm. A date
    in the past and a negative number say nothing.
    """
    if value is None:
        return None
    text = value.strip()
    try:
        seconds = float(text)
    except ValueError:
        moment = parse_http_date(text)
        if moment is None:
            return None
        reference = (parse_http_date(server_date) if server_date else None) or now
        seconds = (moment - reference).total_seconds()
        if seconds <= 0:
            return None
    if math.isnan(seconds) or seconds < 0:
        return None
    return min(seconds, max_s)


def backoff_s(attempt: int, delay_s: float) -> float:
    """Wait before the next try after the `attempt`-th failure of a URL (1, 2, …): doubling, from the site's delay up to 120 s."""
    return min(120.0, max(delay_s, 0.25) * 2 ** (attempt - 1))


@dataclass
class OriginPace:
    """One origin's clockwork. `next_at` is the monotonic moment before which no request may start; `shut_because` says why
    it is asked nothing more tonight, None while it may be asked."""

    delay_s: float
    max_delay_s: float
    concurrency: int
    crawl_delay_s: float | None = None
    adaptive_s: float = 0.0
    latency_s: float = 0.0
    next_at: float = -math.inf
    in_flight: int = 0
    troubles_in_row: int = 0
    shut_because: str | None = None

    @classmethod
    def of(cls, site: Site) -> OriginPace:
        return cls(site.delay_s, site.max_delay_s, site.concurrency)

    def tighten(self, site: Site) -> None:
        """Another site asks this origin too: the longer delay and the lower concurrency hold for both."""
        self.delay_s = max(self.delay_s, site.delay_s)
        self.max_delay_s = max(self.max_delay_s, site.max_delay_s)
        self.concurrency = min(self.concurrency, site.concurrency)

    @property
    def spacing_s(self) -> float:
        asked = min(self.crawl_delay_s or 0.0, self.max_delay_s)
        return max(self.delay_s, asked, min(self.adaptive_s, self.max_delay_s))

    def may_start(self, now: float) -> bool:
        return self.in_flight < self.concurrency and now >= self.next_at

    def started(self, now: float) -> None:
        self.in_flight += 1
        self.next_at = max(self.next_at, now + self.spacing_s)

    def finished(
        self,
        now: float,
        status: int | None,
        outcome: str,
        *,
        latency_s: float | None = None,
        since_sent_s: float | None = None,
        pause_s: float | None = None,
    ) -> None:
        """Note an answer (or its absence). `latency_s` is the time to its first byte, `since_sent_s` how long ago the
        request went out (after the connection was made, so later than `started`), `pause_s` what Retry-After asked for."""
        self.in_flight -= 1
        before = self.spacing_s
        trouble = (status is not None and status >= 500) or outcome in TROUBLE
        self.troubles_in_row = self.troubles_in_row + 1 if trouble else 0
        if status in THROTTLED:
            self.adaptive_s = min(self.max_delay_s, max(FIRST_BACKOFF_S, 2 * before))
        elif self.troubles_in_row > 1:
            self.adaptive_s = min(self.max_delay_s, max(FIRST_BACKOFF_S, 1.5 * before))
        elif not trouble:
            self.adaptive_s = self.adaptive_s * SHRINK if self.adaptive_s > FIRST_BACKOFF_S / 4 else 0.0
        if latency_s is not None:
            self.latency_s = latency_s if self.latency_s == 0.0 else 0.8 * self.latency_s + 0.2 * latency_s
        if since_sent_s is not None:
            self.next_at = max(self.next_at, now - since_sent_s + self.spacing_s)
        if self.spacing_s > before:
            self.next_at = max(self.next_at, now + self.spacing_s)
        if self.latency_s > SLOW_S:
            self.next_at = max(self.next_at, now + min(self.latency_s / 2, self.max_delay_s))
        if pause_s is not None:
            self.next_at = max(self.next_at, now + pause_s)
