from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from trawl_core.errors import LakeError
from trawl_core.fetch.frontier import EVICTED, KNOWN, LEFT, Frontier, NewUrl
from trawl_core.fetch.state import NightState

HOME = "https://docs.example.org:443"


def _url(path: str, **changes) -> NewUrl:
    return NewUrl(f"https://docs.example.org{path}", HOME, **changes)


@pytest.fixture
def state(tmp_path: Path):
    opened = NightState(tmp_path / "night.sqlite")
    yield opened
    opened.close()


@pytest.fixture
def frontier(state: NightState) -> Frontier:
    return Frontier(state, cap=1_000)


def _paths(leases) -> list[str]:
    return [lease.url.removeprefix("https://docs.example.org") for lease in leases]


def test_a_url_enters_once(frontier) -> None:
    assert frontier.add(_url("/a"))
    assert not frontier.add(_url("/a", priority=9.0))
    assert frontier.waiting == 1
    assert frontier.knows("https://docs.example.org/a")
    assert not frontier.knows("https://docs.example.org/A")


def test_the_highest_priority_comes_first_then_the_oldest(frontier) -> None:
    for path, priority in (("/low", 1.0), ("/high", 5.0), ("/low2", 1.0)):
        frontier.add(_url(path, priority=priority))
    assert _paths(frontier.lease(HOME, 10, 0.0)) == ["/high", "/low", "/low2"]
    assert frontier.lease(HOME, 10, 0.0) == []


def test_origins_have_lines_of_their_own(frontier) -> None:
    frontier.add(_url("/a"))
    frontier.add(NewUrl("http://docs.example.org/a", "http://docs.example.org:80"))
    assert frontier.origins_waiting() == [HOME, "http://docs.example.org:80"]
    assert [lease.url for lease in frontier.lease("http://docs.example.org:80", 10, 0.0)] == ["http://docs.example.org/a"]
    assert frontier.lease("http://unknown.example.org:80", 10, 0.0) == []


def test_a_retry_waits_until_it_is_due(frontier) -> None:
    frontier.add(_url("/a"))
    (lease,) = frontier.lease(HOME, 1, 100.0)
    frontier.postpone(lease, "timeout", 160.0)
    assert frontier.next_delayed_s() == 160.0
    assert frontier.promote(159.0) == set()
    assert frontier.promote(160.0) == {HOME}
    (again,) = frontier.lease(HOME, 1, 160.0)
    assert (again.attempts, again.outcome) == (1, "timeout")
    frontier.finish(again, "ok")
    assert (frontier.waiting, frontier.delayed, frontier.next_delayed_s()) == (0, 0, None)


def test_leases_of_a_dead_process_are_void(tmp_path) -> None:
    path = tmp_path / "night.sqlite"
    state = NightState(path)
    frontier = Frontier(state, cap=10)
    for name in ("/done", "/committed", "/lost"):
        frontier.add(_url(name, priority={"/done": 3.0, "/committed": 2.0}.get(name, 1.0)))
    (done, _) = frontier.lease(HOME, 2, 0.0)
    frontier.finish(done, "ok")
    state.commit()
    (lost,) = frontier.lease(HOME, 1, 0.0)
    frontier.finish(lost, "ok")
    state.close()
    again = Frontier(reopened := NightState(path), cap=10)
    assert _paths(again.lease(HOME, 10, 0.0)) == ["/committed", "/lost"]
    reopened.close()


def test_the_cap_evicts_the_lowest_and_remembers_them(state) -> None:
    frontier = Frontier(state, cap=40)
    for number in range(60):
        frontier.add(_url(f"/{number:02}", priority=float(number)))
    assert frontier.waiting <= 40
    count, samples = frontier.sample(EVICTED)
    assert count + frontier.waiting == 60
    assert samples[0].endswith("/00")
    assert "/59" in _paths(frontier.lease(HOME, 1, 0.0))
    assert frontier.knows("https://docs.example.org/00")


def test_known_urls_are_not_fetched_unless_the_plan_wants_them(frontier) -> None:
    frontier.plan([_url("/due", etag='"1"', body_capture_id="body")])
    frontier.know([("https://docs.example.org/idle", HOME, 2), ("https://docs.example.org/due", HOME, 1)])
    assert not frontier.add(_url("/idle"))
    (lease,) = frontier.lease(HOME, 10, 0.0)
    assert (lease.url, lease.etag, lease.body_capture_id) == ("https://docs.example.org/due", '"1"', "body")
    frontier.finish(lease, "ok")
    frontier.plan([_url("/idle"), _url("/due")])
    assert _paths(frontier.lease(HOME, 10, 0.0)) == ["/idle"]
    assert frontier.sample(KNOWN)[0] == 0


def test_a_later_call_takes_up_what_was_left_and_what_failed(frontier) -> None:
    for path in ("/left", "/failed", "/fine"):
        frontier.add(_url(path))
    leases = {lease.url.rsplit("/", 1)[1]: lease for lease in frontier.lease(HOME, 10, 0.0)}
    frontier.leave(leases["left"], "robots_unavailable")
    frontier.finish(leases["failed"], "timeout")
    frontier.finish(leases["fine"], "ok")
    assert frontier.left(LEFT) == [("robots_unavailable", 1, ["https://docs.example.org/left"])]
    frontier.redo(("timeout", "robots_unavailable"))
    again = frontier.lease(HOME, 10, 0.0)
    assert _paths(again) == ["/left", "/failed"]
    assert [lease.attempts for lease in again] == [0, 0]


def test_a_refetch_begins_everything_anew(frontier) -> None:
    for path in ("/a", "/target"):
        frontier.add(_url(path, redirect_from_id="hop" if path == "/target" else None))
    for lease in frontier.lease(HOME, 10, 0.0):
        frontier.finish(lease, "ok")
    frontier.forget_redirect_targets_and_known()
    frontier.redo(None)
    assert _paths(frontier.lease(HOME, 10, 0.0)) == ["/a"]
    assert frontier.add(_url("/target"))


def test_a_file_that_is_no_database_is_named(tmp_path) -> None:
    path = tmp_path / "night.sqlite"
    path.write_bytes(b"text" * 1_000)
    with pytest.raises(LakeError, match=r"night\.sqlite"):
        NightState(path)


class FrontierMachine(RuleBasedStateMachine):
    """Whatever is done to it, no URL is lost and none comes twice."""

    def __init__(self) -> None:
        super().__init__()
        self.state = NightState(Path(":memory:"))
        self.frontier = Frontier(self.state, cap=10_000)
        self.entered: set[str] = set()
        self.on_loan: dict[str, object] = {}
        self.ended: set[str] = set()
        self.now = 0.0

    def teardown(self) -> None:
        self.state.close()

    @rule(number=st.integers(0, 30), priority=st.floats(0, 10))
    def add(self, number, priority) -> None:
        new = _url(f"/{number}", priority=priority)
        assert self.frontier.add(new) == (new.url not in self.entered)
        self.entered.add(new.url)

    @rule(limit=st.integers(1, 4))
    def lease(self, limit) -> None:
        for lease in self.frontier.lease(HOME, limit, self.now):
            assert lease.url not in self.on_loan
            assert lease.url not in self.ended
            self.on_loan[lease.url] = lease

    @rule(how=st.sampled_from(["finish", "leave", "postpone", "release"]), wait=st.floats(0, 5))
    def end(self, how, wait) -> None:
        if not self.on_loan:
            return
        url, lease = self.on_loan.popitem()
        if how == "postpone":
            self.frontier.postpone(lease, "timeout", self.now + wait)
        elif how == "release":
            self.frontier.release([lease])
        else:
            getattr(self.frontier, how)(lease, "ok")
            self.ended.add(url)

    @rule(step=st.floats(0, 5))
    def time_passes(self, step) -> None:
        self.now += step
        self.frontier.promote(self.now)

    @rule()
    def commit(self) -> None:
        self.state.commit()

    @invariant()
    def nothing_is_lost(self) -> None:
        assert self.frontier.waiting + self.frontier.delayed + len(self.on_loan) + len(self.ended) == len(self.entered)


FrontierMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
TestFrontierMachine = FrontierMachine.TestCase
