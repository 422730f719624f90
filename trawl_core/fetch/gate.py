"""Which URLs that documents name may enter the frontier; what may not is counted with its reason."""

from __future__ import annotations

from trawl_core.clock import Clock
from trawl_core.fetch.discovery import Found
from trawl_core.fetch.frontier import REMEMBERED, Frontier, NewUrl
from trawl_core.fetch.ledger import Ledger
from trawl_core.fetch.priority import LISTS, FoundPriority
from trawl_core.sites import Site
from trawl_core.urls.mazes import ECHO_BYTES, MazeWatch, page_signatures
from trawl_core.urls.normalize import origin_of
from trawl_core.urls.scope import Scope
from trawl_core.urls.traps import TrapCounter
from trawl_core.warc.exchange import Exchange
from trawl_core.warc.payload import decode_content

MAX_SITEMAPS = 1_000
# An index below an index is not in the protocol, but on the web; what goes on is endless or names itself anew.
MAX_SITEMAP_DEPTH = 3


class Gate:
    """Scope, nofollow, depth and traps of one domain's night. URLs of earlier calls and nights count as a trap's sample too."""

    def __init__(self, site: Site, frontier: Frontier, ledger: Ledger, clock: Clock) -> None:
        self.scope = Scope(site)
        self._site = site
        self._frontier = frontier
        self._ledger = ledger
        self._clock = clock
        self._traps = TrapCounter(site.traps)
        self._mazes = MazeWatch(site.traps.sample)
        self._priority = FoundPriority(site)
        self._sitemaps = frontier.count_kind("sitemap")
        # Hosts and ports that are not the site's stay so all night.
        self._outside: set[str] = set()
        for url in frontier.urls_entered():
            self._traps.admit(url)

    def offer(self, found: Found, *, depth: int, via_id: str | None) -> NewUrl | None:
        """What may enter, with its priority; None for a URL that is known or held back.

        `depth` is the URL's own link depth; a sitemap's is how deep it is nested.
        """
        if self._frontier.knows(found.url):
            return None
        reason = self._reason_against(found, depth)
        if reason is not None:
            self._ledger.hold(found.url, *reason, self._clock.now())
            if reason[0] == "scope" and self.scope.check_origin(found.url):
                self._remember_outside(found.url)
            return None
        if found.kind == "sitemap":
            self._sitemaps += 1
            return NewUrl(found.url, origin_of(found.url), "sitemap", LISTS, depth, via_id=via_id)
        priority = self._priority(found.url, found.text, depth, found.context)
        return NewUrl(found.url, origin_of(found.url), found.kind, priority, depth, via_id=via_id)

    def has_settled(self, url: str) -> bool:
        """Whether to offer the URL once more changes nothing, as far as memory tells; any thread may ask."""
        return self._frontier.remembers(url) or url in self._outside

    def _remember_outside(self, url: str) -> None:
        if len(self._outside) >= REMEMBERED:
            self._outside.clear()
        self._outside.add(url)

    def _reason_against(self, found: Found, depth: int) -> tuple[str, str] | None:
        """`frontier_log` reason and detail; None for none."""
        if found.kind == "script_redirect":
            return "javascript_redirect", found.context
        if found.kind == "sitemap":
            if self._sitemaps >= MAX_SITEMAPS:
                return "trap", f"more than {MAX_SITEMAPS} sitemaps"
            if depth > MAX_SITEMAP_DEPTH:
                return "trap", f"sitemap indexes more than {MAX_SITEMAP_DEPTH} deep"
            reason = self.scope.check_origin(found.url)
            return ("scope", reason) if reason else None
        if reason := self.scope.check(found.url):
            return "scope", reason
        if found.nofollow and not self._site.follow_nofollow:
            return "nofollow", "rel=nofollow"
        if depth > self._site.budget.depth:
            return "depth", f"depth {self._site.budget.depth}"
        if found.from_page and (reason := self._traps.admit(found.url)):
            return "trap", reason.removeprefix("trap ")
        if found.from_page and not self._traps.is_free(found.url) and (family := self._mazes.holds(found.url)):
            return "trap", f"maze {family}"
        return None

    def settled(self, exchange: Exchange) -> None:
        """Take note of a good page that has links: a run of equal ones is a maze."""
        document = exchange.payload
        if len(document) <= ECHO_BYTES:
            document, _ = decode_content(document, exchange.header("Content-Encoding"), 8 * ECHO_BYTES)
        self._mazes.saw(exchange.url, page_signatures(document, exchange.url))
