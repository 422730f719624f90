"""Which URLs that documents name may enter the frontier; what may not is counted with its reason."""

from __future__ import annotations

from datetime import datetime

from trawl_core.clock import Clock, crawl_date
from trawl_core.fetch.discovery import Found
from trawl_core.fetch.frontier import REMEMBERED, Frontier, NewUrl
from trawl_core.fetch.ledger import HELD_CAP, Ledger
from trawl_core.fetch.priority import LISTS, MEDIA, FoundPriority
from trawl_core.fetch.trap_memory import TrapMemory
from trawl_core.sites import Site
from trawl_core.urls.mazes import ECHO_BYTES, MAZE, MazeWatch, page_signatures
from trawl_core.urls.normalize import origin_of
from trawl_core.urls.scope import Scope
from trawl_core.urls.traps import TrapCounter
from trawl_core.warc.exchange import Exchange

MAX_SITEMAPS = 1_000
# An index below an index is not in the protocol, but on the web; what goes on is endless or names itself anew.
MAX_SITEMAP_DEPTH = 3
MAX_MEDIA_OF_A_PAGE = 1_000


class Gate:
    """Scope, nofollow, depth and traps of one domain's night. URLs of earlier calls and nights count as a trap's sample too."""

    def __init__(self, site: Site, frontier: Frontier, ledger: Ledger, clock: Clock, memory: TrapMemory) -> None:
        self.scope = Scope(site)
        self._site = site
        self._frontier = frontier
        self._ledger = ledger
        self._clock = clock
        self._memory = memory
        self._traps = TrapCounter(site.traps, memory, crawl_date(clock))
        runs = memory.runs()
        # Hosts and ports that are not the site's stay so all night.
        self._outside: set[str] = set()
        self._mazes = MazeWatch(site.traps.sample, runs)
        self._kept = set(runs)
        self._priority = FoundPriority(site)
        self._sitemaps = frontier.count_kind("sitemap")
        self._media_of: tuple[str | None, int] = (None, 0)
        if not memory.is_counted:
            self._traps.count(frontier.urls_entered())
            memory.counted()
        if frontier.held:
            # Under another sites.yaml than the one that held them back.
            frontier.free_those(self._traps.is_free)

    def offer(self, found: Found, *, depth: int, via_id: str | None) -> NewUrl | None:
        """What may enter, with its priority; None for a URL that is known or held back.

        The next page of a list that a schema follows is held back only by scope, mazes and the most pages of that list.
        `depth` is the URL's own link depth; a sitemap's is how deep it is nested.
        """
        if found.most_pages and not self._may_follow(found):
            return None
        if self._frontier.knows(found.url):
            if not found.from_page:
                self._frontier.vouch(found.url)
            if found.kind != "page" or not self._was_taken_for_media(found, depth):
                return None
        reason = self._reason_against(found, depth, via_id)
        if reason is not None:
            self._ledger.hold(found.url, *reason, self._clock.now())
            if reason[0] == "scope" and self.scope.check_origin(found.url):
                self._remember_outside(found.url)
            return None
        if found.kind == "sitemap":
            self._sitemaps += 1
            return NewUrl(found.url, origin_of(found.url), "sitemap", LISTS, depth, via_id=via_id)
        if found.kind == "media":
            return NewUrl(found.url, origin_of(found.url), "media", MEDIA, depth, via_id=via_id)
        priority = self._priority(found.url, found.text, depth, found.context)
        new = NewUrl(found.url, origin_of(found.url), found.kind, priority, depth, via_id=via_id, from_link=found.from_page)
        if found.from_page and (maze := self.maze_around(found.url)):
            if self._frontier.held < HELD_CAP:
                self._frontier.add_held(new, maze)
            else:
                self._ledger.hold(found.url, "trap", maze, self._clock.now())
            return None
        if found.from_page and not found.most_pages and (pattern := self._traps.admit(found.url)):
            self._ledger.hold(found.url, "trap", pattern.removeprefix("trap "), self._clock.now())
            return None
        return new

    def _may_follow(self, found: Found) -> bool:
        """Count a page of a list, the first of which is 1; False, and held back, beyond the most that the list may have."""
        number = self._memory.page_number(found.after) + 1
        if number > found.most_pages and not self._frontier.knows(found.url):
            self._ledger.hold(found.url, "trap", f"pagination of more than {found.most_pages} pages", self._clock.now())
            return False
        self._memory.number_page(found.url, number)
        return True

    def maze_around(self, url: str) -> str | None:
        """The maze, as `frontier_log.detail` has it, into which a URL leads as far as is known now; None for others."""
        family = self._mazes.holds(url)
        return None if family is None or self._traps.is_free(url) else MAZE + family

    def mazes(self) -> dict[str, datetime]:
        """The mazes that are in force or looked at again, as `frontier_log.detail` has them, and since when."""
        return {MAZE + family: since for family, since in self._mazes.known().items() if not self._traps.is_free(family)}

    def has_settled(self, url: str) -> bool:
        """Whether to offer the URL once more changes nothing, as far as memory tells; any thread may ask."""
        return self._frontier.remembers(url) or url in self._outside

    def has_settled_media(self, url: str) -> bool:
        """The same for what a page shows. A link may still tell that it is a page."""
        return self._frontier.remembers_media(url) or self.has_settled(url)

    def out_of_scope(self, url: str, kind: str) -> str | None:
        """The rule that holds a page or media back now, as `frontier_log.detail` has it; None for none."""
        if kind == "page":
            return self.scope.check(url)
        return "media skip" if self._site.media == "skip" else self.scope.check_media(url)

    def _was_taken_for_media(self, found: Found, depth: int) -> bool:
        """Whether a link leads to what a page seemed to show and what was not fetched yet, or proved to be a page: then it is forgotten."""
        if self._site.media == "skip" or self._frontier.remembers(found.url) or self._reason_against(found, depth, None):
            return False
        return self._frontier.forget_media(found.url)

    def _remember_outside(self, url: str) -> None:
        if len(self._outside) >= REMEMBERED:
            self._outside.clear()
        self._outside.add(url)

    def _reason_against(self, found: Found, depth: int, via_id: str | None) -> tuple[str, str] | None:
        """`frontier_log` reason and detail; None for none."""
        if found.kind == "media":
            return self._reason_against_media(found.url, via_id)
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
        return None

    def _reason_against_media(self, url: str, via_id: str | None) -> tuple[str, str] | None:
        if reason := self.out_of_scope(url, "media"):
            return "scope", reason
        page, count = self._media_of
        self._media_of = (via_id, count + 1 if page == via_id else 1)
        return ("trap", f"more than {MAX_MEDIA_OF_A_PAGE} media of one page") if self._media_of[1] > MAX_MEDIA_OF_A_PAGE else None

    def settled(self, exchange: Exchange) -> None:
        """Take note of a good page that has links: a run of equal ones is a maze, and a different one ends it."""
        if exchange.payload_length > ECHO_BYTES:
            signatures = frozenset([exchange.payload_sha256])
        else:
            signatures = page_signatures(exchange.document_start(8 * ECHO_BYTES), exchange.url)
        family, run, ended = self._mazes.saw(exchange.url, signatures, self._clock.now())
        if run.length > 1:
            self._memory.keep(family, run)
            self._kept.add(family)
        elif family in self._kept:
            self._memory.forget(family)
            self._kept.discard(family)
        if ended:
            self._frontier.free(MAZE + family)
