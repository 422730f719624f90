"""One domain's part in a run from lock to commit: open, resume, crawl, seal, write the tables."""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trawl_core.clock import Clock
from trawl_core.errors import FetchError, TrawlError, explain_os_error
from trawl_core.fetch.asking import RobotsAsking
from trawl_core.fetch.frontier import FRONTIER_CAP, Frontier
from trawl_core.fetch.frontier_log import frontier_log
from trawl_core.fetch.ledger import Ledger
from trawl_core.fetch.night import Night
from trawl_core.fetch.opening import (
    is_taken_over,
    known_urls,
    load_history,
    planned_urls,
    recent_media,
    start_pass,
    take_over_captures,
    taken_over,
)
from trawl_core.fetch.origins import Turns
from trawl_core.fetch.recording import Recorder
from trawl_core.fetch.recovery import STATE_LOST, recover_earlier
from trawl_core.fetch.robots_cache import RobotsCache
from trawl_core.fetch.spending import Spending
from trawl_core.fetch.state import NightState, explain_sqlite_error, forget_old_states, state_file
from trawl_core.fetch.trap_memory import TrapMemory
from trawl_core.lake import Lake, tables
from trawl_core.lake.layout import Partition
from trawl_core.lake.tables import Committed, StageResult
from trawl_core.sites import Site, SitesConfig
from trawl_core.urls.scope import Scope
from trawl_core.warc.repair import repair_partition


@dataclass(frozen=True)
class CrawlJob:
    """One domain on one crawl date."""

    partition: Partition
    site: Site


@dataclass(frozen=True)
class CrawlOutcome:
    """`result` commits captures, then frontier_log; None when nothing could be committed. `error` says why the domain failed.

    Both are set when a site was down: what was tried is in captures all the same.
    """

    partition: Partition
    result: StageResult | None
    error: TrawlError | None = None


def open_session(job: CrawlJob, **arguments: Any) -> Session:
    """A Session; whatever keeps it from opening is a TrawlError."""
    try:
        return Session(job, **arguments)
    except sqlite3.Error as error:
        raise explain_sqlite_error(error, state_file(arguments["work"], job.partition)) from error
    except OSError as error:
        raise explain_os_error(error, "preparing the crawl of", job.site.domain) from error
    except TrawlError:
        raise
    except Exception as error:
        raise own_fault(job.site.domain, error) from error


def own_fault(domain: str, error: Exception) -> TrawlError:
    """What nobody foresaw, as the failure of this domain: it costs no other its night."""
    return TrawlError(f"crawling {domain}: {type(error).__name__}: {error}. This is a fault of Trawl, please report it.")


class Session:
    """`outcome` is None until the night ended."""

    def __init__(self, job: CrawlJob, *, lake: Lake, work: Path, config: SitesConfig, clock: Clock, refetch: bool, turns: Turns) -> None:
        """Lock the domain, salvage what a dead process left, and prepare the frontier.

        Raises LockedError when another run holds the domain, LakeError and its kin from the disk.
        """
        self.job = job
        self.outcome: CrawlOutcome | None = None
        self._lake = lake
        self._work = work
        self._clock = clock
        self._stopped = False
        self._refetch = refetch
        partition, site = job.partition, job.site
        with ExitStack() as held:
            held.enter_context(lake.lock(f"crawl-{partition.domain}", f"crawling {partition.domain}"))
            recover_earlier(lake, work, partition)
            self.state = NightState(state_file(work, partition))
            held.callback(self.state.close)
            ledger = Ledger(self.state)
            frontier = Frontier(self.state, site.budget.frontier)
            self.state.set_number(FRONTIER_CAP, site.budget.frontier)
            self.repaired = repair_partition(lake, partition, work, ledger.durable_ends())
            take_over_captures(lake, partition, ledger, frontier)
            # The links of what was archived went with the state: only asking again finds them, and stores no body twice.
            refetch = refetch or bool(self.state.number(STATE_LOST))
            self.state.set_number(STATE_LOST, 0)
            start_pass(self.state, ledger, frontier, refetch=refetch)
            self._plan(lake, partition, site, ledger, frontier, refetch=refetch)
            memory = TrapMemory(self.state)
            memory.recall(lake, partition, site.traps, clock.now())
            if any(schema.pagination for schema in site.extraction):
                memory.recall_lists()
            recorder = Recorder(
                lake, partition, site, state=self.state, ledger=ledger, user_agent=config.user_agent, clock=clock, work=work
            )
            self.state.commit()
            self.night = Night(
                site,
                frontier=frontier,
                ledger=ledger,
                recorder=recorder,
                asking=RobotsAsking(recorder, RobotsCache(self.state, config.product_token), clock),
                spending=Spending(site.budget, self.state, ledger, clock),
                memory=memory,
                clock=clock,
                turns=turns,
            )
            self._held = held.pop_all()

    def _plan(self, lake: Lake, partition: Partition, site: Site, ledger: Ledger, frontier: Frontier, *, refetch: bool) -> None:
        history, version = load_history(lake, partition, self.state, ledger)
        scope = Scope(site)
        allowed = []
        for new in planned_urls(lake, partition, site, history):
            # Lists that a person named may lie anywhere; pages must be in scope, also those of an older plan.
            reason = scope.check(new.url) if new.kind == "page" else None
            if reason is None:
                allowed.append(new)
            else:
                ledger.hold(new.url, "scope", reason, self._clock.now())
        frontier.plan(allowed)
        if history is not None and version is not None and not refetch and not is_taken_over(self.state, version):
            frontier.know(known_urls(history))
            taken_over(self.state, version)
        if site.media == "fetch" and not refetch:
            frontier.know_media(recent_media(lake, partition, site.recrawl.max_age_days))

    def make_durable(self) -> None:
        self.night.spending.save()
        self.night.recorder.make_durable()

    def stop(self) -> None:
        """Ask for nothing more; what is under way is finished."""
        self._stopped = True
        self.night.is_closing = True

    def end(self) -> None:
        """Nothing more is asked, and no other night is touched from here on."""
        self.night.give_back()
        self.night.spending.save()

    def finish(self) -> None:
        """Seal the archive and commit the tables; `outcome` is set."""
        self.night.recorder.seal()
        committed = self._commit_tables()
        self.outcome = CrawlOutcome(self.job.partition, StageResult(committed, self._facts()), self._failure())
        self._held.close()
        # Without captures in the lake, the file is all that is known of that night.
        forget_old_states(self._work, self.job.partition, lambda night: not tables.has(self._lake, "captures", night))

    def fail(self, error: TrawlError) -> None:
        """Give up without a commit: the state as of the last durable moment stays for the next call."""
        self.outcome = CrawlOutcome(self.job.partition, None, error)
        try:
            # What can't even be closed is salvaged by the next call all the same.
            with suppress(OSError):
                self.night.recorder.abandon()
        finally:
            self._held.close()

    def _commit_tables(self) -> tuple[Committed, ...]:
        partition, lake, ledger = self.job.partition, self._lake, self.night.ledger
        same = [tables.count(lake, name, partition) for name in ("captures", "frontier_log")]
        log = self._frontier_log()
        if same == [ledger.count(), len(log)] and not self.night.spending.requests:
            return tuple(self._committed(name) for name in ("captures", "frontier_log"))
        return ledger.commit_captures(lake, partition), tables.commit(lake, "frontier_log", partition, log)

    def _committed(self, table: str) -> Committed:
        name = self._lake.table_name(table, self.job.partition)
        return Committed(name, tables.count(self._lake, table, self.job.partition) or 0, self._lake.size(name) or 0)

    def _frontier_log(self) -> list[dict[str, Any]]:
        night = self.night
        ended_by = night.spending.over() or "stopped by a person"
        return frontier_log(night.frontier, night.ledger, night.mazes(), ended_by, self._clock.now())

    def _facts(self) -> dict[str, Any]:
        spending, night = self.night.spending, self.night
        counts = spending.counts
        good = ("ok", "not_modified", "identical", "robots_denied")
        seconds = spending.elapsed_s()
        return {
            "fetched": sum(count for outcome, count in counts.items() if outcome != "robots_denied"),
            "not_modified": counts["not_modified"],
            "identical": counts["identical"],
            "errors": sum(count for outcome, count in counts.items() if outcome not in good),
            "outcomes": dict(sorted(counts.items())),
            "requests": spending.requests,
            "wire_bytes": spending.wire_bytes,
            "seconds": round(seconds, 1),
            "waiting": night.frontier.waiting + night.frontier.delayed,
            "budget": spending.over(),
            "salvaged_files": len(self.repaired),
            "stopped": self._stopped,
            **self._rendering_facts(),
        }

    def _rendering_facts(self) -> dict[str, Any]:
        """What the browser did, where the site wants one: `not_rendered` by reason, and requests of pages that the guard refused."""
        if self.job.site.browser == "off":
            return {}
        reasons = {reason: count for reason, count in sorted(self.night.renderings.items(), key=str) if reason is not None}
        return {"rendered": self.night.renderings[None], "not_rendered": reasons, "refused_in_browser": self.night.refused_in_browser}

    def _failure(self) -> TrawlError | None:
        """A night in which something was tried and no answer came at all: the site is down."""
        spending = self.night.spending
        closed = next(
            (origin.closed_because for origin in self.night.origins.values() if origin.closed in ("robots_unavailable", "blocked_address")),
            None,
        )
        reason = closed or spending.last_error
        if spending.answers or reason is None or self._stopped or (self.night.ledger.has_answer() and not self._refetch):
            return None
        return FetchError(
            "connect_error" if closed is None else "robots_unavailable",
            f"{self.job.site.domain}: nothing could be fetched: {reason.rstrip('.')}. "
            "The URLs wait for another night, or for this command to be run again today.",
        )
