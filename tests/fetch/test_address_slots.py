"""One budget for an address, over crawls of this process and of others."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing, contextmanager

import pytest

from trawl_core.errors import LakeError
from trawl_core.fetch.address_slots import POLL_S, YIELD_S, AddressSlots

HERE = "192.0.2.1"

# Takes commands from standard input, one a line, and answers each with a line.
_OTHER = """
import sys
from pathlib import Path
from trawl_core.clock import SystemClock
from trawl_core.fetch.address_slots import AddressSlots
slots = AddressSlots(Path(sys.argv[1]), int(sys.argv[2]), SystemClock())
for line in sys.stdin:
    what, address, *limit = line.split()
    print(getattr(slots, what)(address, *map(int, limit)), flush=True)
"""


class Hands:
    """A clock that stands still until it is turned."""

    moved = True

    def __init__(self) -> None:
        self.at_s = 1000.0

    def monotonic(self) -> float:
        return self.at_s


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def slots(tmp_path, hands):
    with closing(AddressSlots(tmp_path, 3, hands)) as slots:
        yield slots


@pytest.fixture
def other(tmp_path):
    """Another process with the same work folder: `other("may_start", HERE, 2)`; `other.kill()`."""
    with _process(tmp_path) as ask:
        yield ask


@contextmanager
def _process(folder, widest=3):
    command = [sys.executable, "-c", _OTHER, str(folder), str(widest)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def ask(*words) -> str:
            process.stdin.write(" ".join(map(str, words)) + "\n")
            process.stdin.flush()
            return process.stdout.readline().strip()

        ask.kill = lambda: (process.kill(), process.wait())
        yield ask
        process.kill()


def _start(slots, limit: int, address: str = HERE) -> bool:
    if slots.may_start(address, limit):
        slots.started(address)
        return True
    return False


def _other_start(other, limit: int, address: str = HERE) -> bool:
    if other("may_start", address, limit) == "True":
        other("started", address)
        return True
    return False


def test_an_address_has_one_budget_for_all_that_ask_it(slots) -> None:
    assert [_start(slots, 2), _start(slots, 2), _start(slots, 2)] == [True, True, False]
    assert slots.ours(HERE) == 2
    assert _start(slots, 2, "192.0.2.2")
    slots.finished(HERE)
    assert _start(slots, 2)
    slots.finished(HERE)
    slots.finished(HERE)
    assert slots.ours(HERE) == 0


def test_the_lower_limit_counts_what_runs_under_the_higher_one(slots) -> None:
    assert [_start(slots, 3), _start(slots, 3)] == [True, True]
    assert not _start(slots, 2)
    assert _start(slots, 3)
    assert not _start(slots, 3)


def test_a_permission_that_was_not_used_is_no_request(slots) -> None:
    assert slots.may_start(HERE, 1)
    assert slots.may_start(HERE, 1)
    slots.settle()
    assert _start(slots, 1)


def test_what_is_no_address_is_counted_here_alone(slots, other) -> None:
    assert _start(slots, 1, "docs.example.test")
    assert not _start(slots, 1, "docs.example.test")
    assert _other_start(other, 1, "docs.example.test")


@pytest.mark.parametrize("address", [HERE, "2001:db8::1"])
def test_two_processes_share_the_budget(slots, other, address) -> None:
    assert _start(slots, 2, address)
    assert _other_start(other, 2, address)
    assert not _start(slots, 2, address)
    assert not _other_start(other, 2, address)
    assert not _start(slots, 1, address)
    assert _start(slots, 3, address)
    slots.finished(address)
    slots.finished(address)
    assert other("finished", address) == "None"
    assert [_start(slots, 3, address) for _ in range(4)] == [False] * 4  # the other one waits for its turn
    assert _other_start(other, 3, address)


def test_two_crawls_of_one_process_share_it_too(slots, tmp_path, hands, other) -> None:
    second = AddressSlots(tmp_path, 3, hands)
    assert _start(slots, 1)
    assert not _start(second, 1)
    second.close()
    # The end of one takes nothing away from the other.
    assert not _other_start(other, 1)
    slots.finished(HERE)
    assert _other_start(other, 1)


def test_a_killed_process_gives_back_what_it_held(slots, other) -> None:
    assert _other_start(other, 1)
    assert not _start(slots, 1)
    other.kill()
    assert _start(slots, 1)


def test_processes_take_turns_at_an_address(slots, other, hands) -> None:
    assert _start(slots, 1)
    assert not _other_start(other, 1)
    slots.finished(HERE)
    assert not slots.may_start(HERE, 1)
    assert _other_start(other, 1)
    hands.at_s += YIELD_S
    assert not slots.may_start(HERE, 1)
    other("finished", HERE)
    # Now this one waits, so the other rests.
    assert not _other_start(other, 1)
    assert _start(slots, 1)


def test_one_that_waits_itself_lets_others_have_their_turn_too(slots, other, hands) -> None:
    assert _start(slots, 2)
    assert _other_start(other, 2)
    assert not slots.may_start(HERE, 2)
    assert not _other_start(other, 2)
    slots.finished(HERE)
    assert not slots.may_start(HERE, 2)
    assert _other_start(other, 2)
    # It waits still.
    other("finished", HERE)
    assert not _other_start(other, 2)
    hands.at_s += YIELD_S
    assert _start(slots, 2)


def test_a_mark_of_one_who_asks_no_more_is_taken_away(slots, other, hands) -> None:
    assert _other_start(other, 1)
    assert not slots.may_start(HERE, 1)
    hands.at_s += 11 * POLL_S
    slots.settle()
    other("finished", HERE)
    assert _other_start(other, 1)


def test_a_crawl_that_is_broken_off_leaves_nothing_behind(tmp_path, hands, other) -> None:
    with closing(AddressSlots(tmp_path, 3, hands)) as broken:
        assert _start(broken, 1)
    assert _other_start(other, 1)


def test_a_folder_that_can_not_be_written_is_named(tmp_path, hands) -> None:
    (tmp_path / "addresses.lock").mkdir()
    with pytest.raises(LakeError, match="preparing to share addresses among processes in"):
        AddressSlots(tmp_path, 1, hands)


def test_connections_and_requests_share_a_budget(slots, other) -> None:
    with closing(slots.for_connections()) as connections:
        assert _start(slots, 2)
        slot = connections.take(HERE, 2)
        assert slot is not None
        assert connections.take(HERE, 2) is None
        assert not _start(slots, 2)
        assert not _other_start(other, 2)
        connections.give_back(HERE, slot)
        assert _other_start(other, 2)
        assert connections.take(HERE, 2) is None
        assert connections.take("192.0.2.2", 99) is not None


def test_closed_connections_hold_nothing_and_get_nothing(slots) -> None:
    connections = slots.for_connections()
    slot = connections.take(HERE, 1)
    connections.close()
    connections.give_back(HERE, slot)
    assert connections.take(HERE, 1) is None
    assert _start(slots, 1)
