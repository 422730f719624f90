"""What a run tells of itself, where several processes do it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from trawl_core.fetch.progress import CrawlProgress, ProgressSum


@dataclass
class Hands:
    """A clock that stands still until it is turned."""

    at_s: float = 100.0

    def monotonic(self) -> float:
        return self.at_s


@pytest.fixture
def told() -> list[CrawlProgress]:
    return []


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def total(told, hands) -> ProgressSum:
    return ProgressSum(hands, told.append)


def _part(done: int, **more) -> CrawlProgress:
    return CrawlProgress(
        **{"waiting": 10, "in_flight": 2, "errors": 1, "per_second": 99.0, "domains": 3, "delays": {}, "done": done, **more}
    )


def test_the_parts_are_added_up(total, told, hands) -> None:
    total.take("one", _part(5))
    total.take("one", _part(6, delays={"http://a.test:80": 4.0}))
    total.take("two", _part(14, delays={"http://b.test:80": 8.0}))
    hands.at_s += 10
    total.tell()
    assert told == [CrawlProgress(20, 20, 4, 2, 2.0, 6, {"http://a.test:80": 4.0, "http://b.test:80": 8.0})]


def test_a_process_that_ended_counts_with_what_it_did(total, told, hands) -> None:
    total.take("one", _part(6, delays={"http://a.test:80": 4.0}))
    total.take("two", _part(14))
    total.ended("one")
    total.ended("never heard of")
    hands.at_s += 10
    total.tell()
    assert told == [CrawlProgress(20, 10, 2, 2, 2.0, 3, {})]


def test_it_is_told_once_a_second_and_only_news(total, told, hands) -> None:
    total.take("one", _part(1))
    total.tell()
    hands.at_s += 1
    total.tell()
    total.take("one", _part(2))
    total.tell()
    hands.at_s += 1
    total.tell()
    hands.at_s += 1
    total.tell()
    assert [progress.done for progress in told] == [1, 2]


def test_without_a_listener_nothing_is_reckoned(hands) -> None:
    total = ProgressSum(hands, None)
    total.take("one", _part(1))
    hands.at_s += 5
    total.tell()
