"""Whatever a person gets wrong: one paragraph that names it and what to do, exit 2 (or 1), no traceback, nothing on standard output."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

AGENT = 'user_agent: "TrawlBot/1.0 (+https://example.org/bot)"\n'
GOOD = AGENT + "sites:\n  - domain: docs.test\n    seeds: [https://docs.test/]\n"
Wrong = tuple[Sequence[str], str]


@pytest.fixture
def home(new_home):
    home = new_home()
    home.write_text(GOOD)
    return home


def _each(complain: Callable[..., str], wrong: Sequence[Wrong], **how) -> None:
    """Each command complains, and its paragraph matches its pattern."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        told = list(pool.map(lambda one: complain(*one[0], **how), wrong))
    for (command, pattern), paragraph in zip(wrong, told, strict=True):
        assert re.search(pattern, paragraph, re.DOTALL), f"{command}: {paragraph}"


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        (AGENT + "sitez: []\n", r"sites\.yaml:2: unknown key 'sitez', did you mean 'sites'\?$"),
        ("sites: []\n", r"sites\.yaml:1: the key 'user_agent' is missing"),
        ("- docs.test\n", r"found a list"),
        ("", r"found an empty file"),
        (AGENT + "sites:\n  - domain: a b\n    seeds: [https://docs.test/]\n", r"sites\.yaml:3: .*not a host name"),
    ],
    ids=["unknown key", "missing key", "a list", "empty", "no host name"],
)
def test_a_wrong_sites_file(new_home, text: str, pattern: str) -> None:
    home = new_home()
    home.write_text(text)
    assert re.search(pattern, home.complains("sites", "check"))


def test_every_command_that_needs_the_sites_file_says_what_is_wrong_with_it(new_home) -> None:
    home = new_home()
    home.write_text(AGENT + "sites:\n  - domain: {docs\n")
    commands = (["sites", "check"], ["sites", "add", "https://docs.test/"], ["plan"], ["crawl"], ["status"])
    _each(home.complains, [([*command], r"sites\.yaml:\d+: not valid YAML") for command in commands])


def test_a_sites_file_that_is_missing(new_home) -> None:
    home = new_home()
    home.root.mkdir()
    _each(home.complains, [([*command], r"sites\.yaml does not exist\. .*sites add") for command in (["sites", "list"], ["plan"])])


def test_a_domain_that_is_no_site(home) -> None:
    commands = (["crawl"], ["plan"], ["verify"], ["changes"], ["repair"], ["search", "pool"])
    _each(home.complains, [([*command, "--domain", "dics.test"], r"Did you mean docs\.test\?") for command in commands])
    _each(home.complains, [(["plan", "--domain", "https://docs.test/x"], "is not a host name")])


def test_a_night_that_can_not_be(home) -> None:
    impossible: list[Wrong] = [
        (["crawl", "--date", "2020-01-01"], "that day is over, and there is no archive of it"),
        (["crawl", "--date", "2999-01-01"], "has not come yet"),
        (["crawl", "--date", "yesterday"], "'yesterday' is not a date; write it like"),
        (["plan", "--date", "2026-13-01"], "is not a date"),
        (["search", "pool", "--as-of", "x"], "is not a date"),
    ]
    _each(home.complains, impossible)
    assert "first_crawl_date: 2020-01-01" in home.complains("crawl", now="2020-01-01T02:00:00Z")


def test_a_clock_that_is_no_moment(home) -> None:
    _each(home.complains, [([command], "TRAWL_NOW='tomorrow' is not a moment") for command in ("crawl", "plan")], now="tomorrow")


def test_a_home_that_is_a_file(new_home) -> None:
    home = new_home()
    home.root.write_text("a file")
    commands = (["crawl"], ["sql", "select 1"], ["sites", "add", "https://docs.test/"], ["verify"])
    _each(home.complains, [([*command], "is not a folder") for command in commands])


def test_a_home_that_is_not_there(new_home) -> None:
    home = new_home()
    commands = (["verify"], ["search", "pool"], ["repair"])
    _each(home.complains, [([*command], "there is no Trawl home at") for command in commands])
    assert not home.root.exists()


def test_a_crawl_of_no_site(new_home) -> None:
    home = new_home()
    home.write_text(AGENT + "sites: []\n")
    assert "sites add" in home.complains("crawl")
    home.write_text(GOOD + "    enabled: false\n")
    _each(home.complains, [(["crawl"], "names no site that is enabled"), (["crawl", "--domain", "docs.test"], "enabled: true")])


def test_what_is_not_there_yet(home) -> None:
    missing: list[Wrong] = [
        (["search", "pool"], "there is no index"),
        (["search", "pool", "--as-of", "2020-01-01"], "no index of 2020-01-01 or before"),
        (["show", "https://docs.test/never"], "was never captured"),
    ]
    _each(home.complains, missing, status=1)
    assert home.passes("verify") == "nothing is archived there yet: there is nothing to verify.\n"
    assert home.passes("changes", "--format", "json") == "[]\n"


def test_a_command_that_is_written_wrong(home) -> None:
    wrong: list[Wrong] = [
        (["sql", "selec 1"], "syntax error"),
        (["sql", "select * from trawl_search('pool', 3)"], "there is no index"),
        (["show", "not a url"], "is not an http"),
        (["show"], "Missing argument 'URL'.*`trawl show --help`"),
        (["nonsense"], "No such command 'nonsense'.*`trawl --help`"),
        (["search", "pool", "--mode", "guess"], "'guess' is not one of"),
        (["sites", "add", "https://docs.test/"], "docs.test is in .* already"),
    ]
    _each(home.complains, wrong)
