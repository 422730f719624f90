"""One domain's night: what its origins are asked next, and what each answer means.

All of it runs in the engine's thread. `next_task` gives work for an origin whose turn it is; `answered` takes what
came of it: archive, row, links, redirect, retry. The durable order is the Recorder's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from trawl_core.clock import Clock
from trawl_core.fetch.asking import ORIGIN_WAIT_S, RobotsAsking
from trawl_core.fetch.browser import Rendered
from trawl_core.fetch.discovery import HTML, Found
from trawl_core.fetch.errands import Errands
from trawl_core.fetch.frontier import PAGE_AS_MEDIA, Frontier, Leased, NewUrl
from trawl_core.fetch.gate import Gate
from trawl_core.fetch.ledger import Ledger
from trawl_core.fetch.opening import stored_outcome
from trawl_core.fetch.origins import Origin, RobotsVisit, Turns
from trawl_core.fetch.politeness import THROTTLED, backoff_s, retry_after_s
from trawl_core.fetch.recording import Recorder
from trawl_core.fetch.spending import Spending
from trawl_core.fetch.trap_memory import TrapMemory
from trawl_core.fetch.work import Result, Task
from trawl_core.sites import Site
from trawl_core.urls.normalize import normalize_url, origin_of
from trawl_core.urls.references import KnownLinks
from trawl_core.warc.captures import redirect_target
from trawl_core.warc.exchange import Exchange
from trawl_core.warc.format import sha1_base32
from trawl_core.warc.writer import RevisitOf

# A retry that would have to wait longer is left for another night: a run has to end.
RETRY_WAIT_S = 120.0
LEASE_BATCH = 16
_RETRIED = ("timeout", "connect_error", "dns_error")


class Night:
    """Frontier, ledger and origins of a domain; `turns` is told of an origin that has something to ask again."""

    def __init__(
        self,
        site: Site,
        *,
        frontier: Frontier,
        ledger: Ledger,
        recorder: Recorder,
        asking: RobotsAsking,
        spending: Spending,
        memory: TrapMemory,
        clock: Clock,
        turns: Turns,
    ) -> None:
        self.site = site
        self.frontier = frontier
        self.ledger = ledger
        self.recorder = recorder
        self.spending = spending
        self.in_flight = 0
        self.is_closing = False
        # By the reason why a page could not be rendered; None counts those that were.
        self.renderings: Counter[str | None] = Counter()
        self.refused_in_browser = 0
        self.origins: dict[str, Origin] = {}
        self._errands = Errands()
        self._asking = asking
        self._clock = clock
        self._turns = turns
        self._gate = Gate(site, frontier, ledger, clock, memory)
        self.known_links = KnownLinks(self._gate.has_settled)
        self.known_media = KnownLinks(self._gate.has_settled_media)
        self._only_media_left = False
        self._redirects = ledger.redirects()
        self._seed_origins = {origin_of(url) for url in map(normalize_url, site.seeds) if url}

    # asking --------------------------------------------------------------------------------------------------

    def origin(self, key: str) -> Origin:
        found = self.origins.get(key)
        if found is None:
            found = self.origins[key] = Origin(key, self, self._turns.pace(key, self.site), RobotsVisit(f"{key}/robots.txt"))
        return found

    def wake_all(self) -> None:
        """Let every origin that has URLs waiting stand in the queue."""
        for key in self.frontier.origins_waiting():
            self._turns.enter(self.origin(key))

    def next_task(self, origin: Origin) -> Task | None:
        """What to ask this origin now; None when it has nothing to ask (or must be waited for)."""
        if self.is_closing or origin.busy_asking:
            return None
        if origin.given_up:
            self._give_up_errands(origin)
            self._put_off(origin)
            return None
        if origin.address is None:
            origin.busy_asking = True
            return Task(origin, "resolve", origin.visit.url)
        if (errand := self._errands.next_task(origin)) is not None:
            return errand
        if not self._asking.known(origin):
            # An errand may have led to an origin of which nothing else is wanted.
            return self._ask_for_robots(origin) if origin.leases or self.frontier.has_waiting(origin.key) else None
        if (rendering := self._next_to_render(origin)) is not None:
            return rendering
        while (lease := self._next_lease(origin)) is not None:
            if self.spending.over(lease.kind):
                self.frontier.release([lease, *origin.leases])
                origin.leases.clear()
                if self.site.media == "skip" or self.spending.over("media"):
                    self.is_closing = True
                    return None
                self._only_media_left = True
                continue
            if lease.kind in ("page", "media") and (reason := self._gate.out_of_scope(lease.url, lease.kind)) is not None:
                # Let in by an earlier call, under another sites.yaml.
                self.ledger.hold(lease.url, "scope", reason, self._clock.now())
                self.frontier.finish(lease, "out_of_scope")
                self.recorder.touched()
                continue
            if origin.robots is not None and not origin.robots.rules.allowed(lease.url):
                self._deny(origin, lease)
                continue
            if lease.from_link and not lease.attempts and (maze := self._gate.maze_around(lease.url)):
                self.frontier.hold(lease, maze)
                self.recorder.touched()
                continue
            self.spending.started(lease.kind)
            return Task(origin, lease.kind, lease.url, lease, self._conditions(lease))
        return None

    def _ask_for_robots(self, origin: Origin) -> Task | None:
        origin.busy_asking = True
        place = origin_of(origin.visit.url)
        if place == origin.key:
            return Task(origin, "robots", origin.visit.url)
        self._errands.send(origin, place)
        self._turns.enter(self.origin(place))
        return None

    def _give_up_errands(self, origin: Origin) -> None:
        for asker in self._errands.drop(origin):
            asker.busy_asking = False
            self._asking.gave_up(asker, origin.closed_because or origin.pace.shut_because or f"{origin.key} was given up")
            self._turns.enter(asker)

    def _next_lease(self, origin: Origin) -> Leased | None:
        if not origin.leases:
            now_s = self._clock.now().timestamp()
            origin.leases.extend(self.frontier.lease(origin.key, LEASE_BATCH, now_s, only_media=self._only_media_left))
        return origin.leases.popleft() if origin.leases else None

    def _next_to_render(self, origin: Origin) -> Task | None:
        """A page that waits for the browser, which asks this origin as a fetch does."""
        while origin.to_render:
            fetched = origin.to_render.popleft()
            if over := self.spending.over():
                self._leave_unrendered(fetched, f"the budget was used up ({over})")
                continue
            self.spending.rendering()
            return Task(origin, "render", fetched.task.url, fetched.task.lease, fetched=fetched)
        return None

    def _leave_unrendered(self, fetched: Result, reason: str) -> None:
        self._settle(fetched.task.origin, fetched.task, replace(fetched, rendered=Rendered(None, reason)), None)

    def _conditions(self, lease: Leased) -> Mapping[str, str]:
        """Validators byte for byte, only while the record of the body that they describe is known.

        None where scripts are rendered: what they show can change while the page that holds them stays the same.
        """
        if self.site.browser != "off" or lease.bare or self.ledger.body_of(lease.body_capture_id) is None:
            return {}
        headers = {"If-None-Match": lease.etag, "If-Modified-Since": lease.last_modified}
        return {name: value for name, value in headers.items() if value}

    def _deny(self, origin: Origin, lease: Leased) -> None:
        self._note(lease, "robots_denied", f"disallowed by {origin.key}/robots.txt", origin)
        self.ledger.hold(lease.url, "robots", f"{origin.key}/robots.txt", self._clock.now())
        self.frontier.finish(lease, "robots_denied")

    def _put_off(self, origin: Origin) -> None:
        """Every URL of an origin that was given up gets its row and waits for another night."""
        outcome, because = origin.closed or "put_off", origin.closed_because or ""
        while origin.to_render:
            self._leave_unrendered(origin.to_render.popleft(), because or origin.pace.shut_because or outcome)
        while (lease := self._next_lease(origin)) is not None:
            if outcome == "put_off":
                self.frontier.leave(lease, "put_off")
                self.recorder.touched()
                continue
            self._note(lease, outcome, because, origin)
            if outcome == "blocked_address":
                self.frontier.finish(lease, outcome)
            else:
                self.frontier.leave(lease, outcome)

    def _note(self, lease: Leased, outcome: str, error: str, origin: Origin) -> None:
        self.recorder.note(lease.url, outcome, error, **self._columns(lease, origin))

    @staticmethod
    def _columns(lease: Leased, origin: Origin) -> dict[str, Any]:
        return {
            "kind": lease.kind,
            "depth": lease.depth,
            "is_seed": lease.is_seed,
            "attempt": lease.attempts + 1,
            "redirect_from_id": lease.redirect_from_id,
            "redirect_hop": lease.redirect_hop,
            "via_id": lease.via_id,
            "robots_digest": origin.robots.digest if origin.robots else None,
        }

    # answers -------------------------------------------------------------------------------------------------

    def answered(self, result: Result) -> float | None:
        """Take a result. Returns the seconds that the origin must be left alone on top of its spacing; None for none."""
        task = result.task
        origin = task.origin
        if task.kind == "resolve":
            origin.busy_asking = False
            origin.address = result.address
            return None
        if task.kind == "render":
            fetched, rendered = task.fetched, result.rendered
            assert fetched is not None
            assert rendered is not None
            self.spending.rendered(rendered.received_bytes)
            self._settle(origin, fetched.task, result, None)
            return None
        exchange = result.exchange
        assert exchange is not None
        self.spending.received(len(exchange.response_bytes) + len(exchange.interim))
        if task.lease is None:
            return self._answered_for_robots(task, exchange)
        pause = self._pause(origin, exchange)
        if result.is_scripted:
            origin.to_render.append(result)
        else:
            self._settle(origin, task, result, pause)
        return pause

    def _answered_for_robots(self, task: Task, exchange: Exchange) -> float | None:
        """A robots.txt came for the origin that was asked or for another one, which goes on from there."""
        asker = self._errands.asker_of(task)
        pauses = [self._robots_answered(asker, exchange), self._pause(task.origin, exchange)]
        pause = max((pause for pause in pauses if pause is not None), default=None)
        if asker is not task.origin:
            asker.pace.next_at = max(asker.pace.next_at, self._clock.monotonic() + (pauses[0] or 0.0))
            self._turns.enter(asker)
        return pause

    def _pause(self, origin: Origin, exchange: Exchange) -> float | None:
        """What Retry-After asks for; more than a run can wait for shuts the origin for tonight."""
        if exchange.status not in THROTTLED:
            return None
        pause = retry_after_s(exchange.header("Retry-After"), exchange.header("Date"), self._clock.now(), self.site.max_retry_after_s)
        if pause is not None and pause > ORIGIN_WAIT_S:
            origin.pace.shut_because = f"{origin.key} asks to be left alone for {pause:.0f} s"
        return pause

    def _robots_answered(self, origin: Origin, exchange: Exchange) -> float | None:
        origin.busy_asking = False
        pause = self._asking.answered(origin, exchange)
        if origin.robots is not None and self.site.sitemaps == "auto" and origin.key in self._seed_origins:
            named = [url for url in (normalize_url(sitemap, origin.visit.url) for sitemap in origin.robots.rules.sitemaps) if url]
            for url in dict.fromkeys([*named, f"{normalize_url(origin.key)}sitemap.xml"]):
                self._enter(self._gate.offer(Found(url, kind="sitemap", from_page=False), depth=0, via_id=None))
            self._wake_freed()
        return pause

    def _settle(self, origin: Origin, task: Task, result: Result, pause: float | None) -> None:
        lease, exchange = task.lease, result.exchange
        assert lease is not None
        assert exchange is not None
        target = redirect_target(exchange)
        outcome, error = self._judge(lease, exchange, target, asked=bool(task.headers))
        rendered = result.rendered
        if rendered is not None:
            self.renderings[rendered.error] += 1
            self.ledger.rendered(exchange.url, rendered.error, self._clock.now())
            self.refused_in_browser += len(rendered.refused)
            error = error or (f"scripts render this page, and it was not rendered: {rendered.error}." if rendered.error else None)
        row = self.recorder.record(
            exchange,
            revisit=self._revisit(lease, exchange, outcome or exchange.outcome),
            rendered=rendered.html if rendered is not None else None,
            rendered_digest=sha1_base32(rendered.html) if rendered is not None and rendered.html is not None else None,
            outcome=outcome,
            error=error or result.unread,
            fetch_redirect=target,
            **self._columns(lease, origin),
        )
        self.spending.count(row)
        if lease.kind == "page" and exchange.status == 200 and any(found.kind != "media" for found in result.found):
            self._gate.settled(exchange)
        self._close(lease, exchange, row, pause)
        if target is not None and outcome is None:
            self._redirected(lease, row, target)
        for found in result.found:
            # A list is no step on the way to the pages that it names.
            depth = 1 if lease.kind != "page" and found.kind == "page" else lease.depth + 1
            if found.most_pages:  # the next page of a list is no further from the seeds than the list
                depth = lease.depth
            self._enter(self._gate.offer(found, depth=depth, via_id=row["capture_id"]))
        self._wake_freed()

    def _wake_freed(self) -> None:
        """What was held back and waits now wants its origin to stand in the queue."""
        for key in self.frontier.take_freed():
            self._turns.enter(self.origin(key))

    def _judge(self, lease: Leased, exchange: Exchange, target: str | None, *, asked: bool) -> tuple[str | None, str | None]:
        """Outcome and error where the crawl knows better than one exchange; (None, None) mostly."""
        if exchange.status == 304 and not asked:
            return "unsolicited_304", "the server answered 304 to a request without validators"
        if target is None:
            return None, None
        if self._leads_back(exchange.url, target):
            return "redirect_loop", f"leads back to itself through {target}"
        self._redirects[exchange.url] = target
        if lease.redirect_hop >= self.site.max_redirects:
            return "redirect_limit", f"more than {self.site.max_redirects} redirects in a row; {target} was not asked for"
        return None, None

    def _leads_back(self, url: str, target: str) -> bool:
        step: str | None = target
        for _ in range(2 * self.site.max_redirects + 2):
            if step == url:
                return True
            step = self._redirects.get(step) if step is not None else None
        return False

    def _revisit(self, lease: Leased, exchange: Exchange, outcome: str) -> RevisitOf | None:
        if outcome == "not_modified":
            return self.ledger.body_of(lease.body_capture_id)
        if outcome == "ok" and exchange.status == 200 and exchange.payload_length:
            return self.ledger.body_like(exchange.payload_digest, exchange.url)
        return None

    def _close(self, lease: Leased, exchange: Exchange, row: Mapping[str, Any], pause: float | None) -> None:
        """Done, or once more, or another night."""
        outcome = stored_outcome(row["outcome"], exchange.status)
        cut = outcome == "truncated" and exchange.truncated != "length"
        if outcome == "unsolicited_304" and not lease.bare:
            self.frontier.postpone(lease, outcome, 0.0, bare=True)
            return
        attempt = lease.attempts + 1
        if (outcome in _RETRIED or outcome == "server_error" or cut) and attempt < self.site.attempts:
            wait = pause if pause is not None else backoff_s(attempt, self.site.delay_s)
            if wait > min(RETRY_WAIT_S, self.spending.seconds_left()):
                self.frontier.leave(lease, outcome)
            else:
                self.frontier.postpone(lease, outcome, self._clock.now().timestamp() + wait)
            return
        is_page = lease.kind == "media" and outcome == "ok" and exchange.mime in HTML
        self.frontier.finish(lease, PAGE_AS_MEDIA if is_page else outcome)
        if row["outcome"] == "ok" and exchange.status == 200 and row["warc_type"]:
            body = row["refers_to_id"] if row["warc_type"] == "revisit" else row["capture_id"]
            self.frontier.set_validators(lease, row["etag"], row["last_modified"], body)

    def _redirected(self, lease: Leased, row: Mapping[str, Any], target: str) -> None:
        is_list = lease.kind not in ("page", "media")
        reason = self._gate.scope.check_origin(target) if is_list else self._gate.out_of_scope(target, lease.kind)
        hop = lease.redirect_hop + 1
        if reason is not None:
            self.ledger.hold(target, "scope", reason, self._clock.now())
            columns = {"depth": lease.depth, "is_seed": False, "attempt": 1, "via_id": lease.via_id}
            self.recorder.note(
                target,
                "out_of_scope",
                f"redirect target: {reason}",
                kind=lease.kind,
                redirect_from_id=row["capture_id"],
                redirect_hop=hop,
                **columns,
            )
        elif self.frontier.knows(target):
            self.frontier.vouch(target)
            self.frontier.link_redirect(target, row["capture_id"], hop)
        else:
            self._enter(
                NewUrl(
                    target,
                    origin_of(target),
                    lease.kind,
                    lease.priority,
                    lease.depth,
                    via_id=lease.via_id,
                    redirect_from_id=row["capture_id"],
                    redirect_hop=hop,
                )
            )

    def _enter(self, new: NewUrl | None) -> None:
        if new is None or not self.frontier.add(new):
            return
        origin = self.origin(new.origin)
        if origin.leases and new.priority > origin.leases[0].priority:
            # What was leased ahead waits again behind the better one.
            self.frontier.release(origin.leases)
            origin.leases.clear()
        self._turns.enter(origin)

    # time ----------------------------------------------------------------------------------------------------

    def watch_time(self) -> None:
        """Close when the minutes are over, also while every origin has to be waited for."""
        if self.spending.seconds_left() <= 0:
            self.is_closing = True

    def promote(self, now_s: float) -> None:
        """Retries that are due stand in line again."""
        for key in self.frontier.promote(now_s):
            self._turns.enter(self.origin(key))

    def mazes(self) -> dict[str, datetime]:
        """As the gate has them."""
        return self._gate.mazes()

    @property
    def is_over(self) -> bool:
        """Nothing under way and nothing left to ask."""
        if self.in_flight:
            return False
        if self._only_media_left and not self.frontier.has_open_media():
            return True
        leased = any(origin.leases or origin.to_render for origin in self.origins.values())
        return self.is_closing or not (self.frontier.waiting or self.frontier.delayed or leased)

    def give_back(self) -> None:
        """Leases that were not used wait again; pages that waited for the browser are archived without it."""
        for origin in list(self.origins.values()):
            while origin.to_render:
                self._leave_unrendered(origin.to_render.popleft(), "the night ended before its turn came")
            self.frontier.release(origin.leases)
            origin.leases.clear()
