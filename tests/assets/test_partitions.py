"""Keys, registration and ranges over domains that became partitions in any order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

import dagster as dg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_assets.partitions import Key, covered, domain_keys, domains_of, keys_behind, ranges, register
from trawl_core.errors import UnknownDomainError
from trawl_core.lake import Partition
from trawl_core.sites import SitesConfig, parse_sites

DAY = date(2024, 3, 1)
NAMES = [f"site-{number}.example.org" for number in range(8)]


def config(*sites: str) -> SitesConfig:
    """Sites by name; `name@group` is in a group, `-name` is disabled."""
    lines = ["user_agent: 'TrawlBot/1.0 (+https://example.org/bot)'", "sites:" if sites else "sites: []"]
    for text in sites:
        name, _, group = text.lstrip("-").partition("@")
        keys = (f", group: {group}" if group else "") + (", enabled: false" if text.startswith("-") else "")
        lines.append(f"  - {{domain: {name}, seeds: ['https://{name}/']{keys}}}")
    return parse_sites("\n".join(lines))


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


def expand(instance: dg.DagsterInstance, tags: dict[str, str]) -> list[str]:
    """Domains of the partitions behind run tags."""
    return [key.domain_key for key in keys_behind(instance, tags)]


def test_a_key_is_a_date_and_a_domain() -> None:
    key = Key.parse("2024-03-01|docs.example.org")
    assert (key, str(key)) == (Key(DAY, "docs.example.org"), "2024-03-01|docs.example.org")
    assert key.partitions(config("docs.example.org")) == [Partition(DAY, "docs.example.org")]
    assert Key.parse("2024-03-01|::1").partitions(config()) == [Partition(DAY, "::1")]


def test_a_group_is_one_key_for_its_enabled_sites() -> None:
    sites = config("a.test@news", "b.test", "-c.test@news", "d.test@news")
    assert domain_keys(sites) == ["@news", "b.test"]
    assert domains_of("@news", sites) == ["a.test", "d.test"]
    with pytest.raises(UnknownDomainError, match=r"no site of sites\.yaml is in the group sport"):
        domains_of("@sport", sites)


def test_registering_keeps_the_order_and_what_was_taken_out(instance: dg.DagsterInstance) -> None:
    assert register(instance, config("b.test", "a.test")) == ["b.test", "a.test"]
    assert register(instance, config("c.test", "-b.test", "a.test")) == ["c.test"]
    assert register(instance, config("c.test", "a.test")) == []
    assert instance.get_dynamic_partitions("domain") == ["b.test", "a.test", "c.test"]


def test_a_disabled_site_inside_a_range_is_left_out(instance: dg.DagsterInstance) -> None:
    register(instance, config("a.test", "b.test", "c.test", "d.test"))
    found = ranges(instance, domain_keys(config("a.test", "-b.test", "c.test", "d.test")), DAY)
    assert [expand(instance, tags) for tags in found] == [["a.test"], ["c.test", "d.test"]]


def test_a_single_partition_has_the_tags_that_the_limit_of_one_run_a_domain_counts(instance: dg.DagsterInstance) -> None:
    register(instance, config("a.test"))
    [tags] = ranges(instance, ["a.test"], DAY)
    assert tags == {
        "dagster/partition": "2024-03-01|a.test",
        "dagster/partition/crawl_date": "2024-03-01",
        "dagster/partition/domain": "a.test",
    }
    assert covered(tags) == "2024-03-01|a.test"


@dataclass(frozen=True)
class Registered:
    """What ranges ask of an instance: the domains in the order in which they became partitions."""

    order: list[str]

    def get_dynamic_partitions(self, name: str) -> list[str]:
        return self.order


@given(order=st.permutations(NAMES), wanted=st.sets(st.sampled_from(NAMES)), most=st.integers(1, 5))
def test_ranges_cover_exactly_what_is_wanted(order: list[str], wanted: set[str], most: int) -> None:
    instance: Any = Registered(order)
    found = [expand(instance, tags) for tags in ranges(instance, sorted(wanted), DAY, most)]
    assert [domain for stretch in found for domain in stretch] == [name for name in order if name in wanted]
    assert all(len(stretch) <= most for stretch in found)
    stretches = sum(1 for before, name in zip([None, *order], order, strict=False) if name in wanted and before not in wanted)
    assert len(found) <= stretches + len(wanted) // most


def test_a_key_that_is_no_partition_yet_is_in_no_range(instance: dg.DagsterInstance) -> None:
    assert ranges(instance, ["a.test"], DAY) == []


def test_a_run_over_several_dates_covers_each_with_each_domain(instance: dg.DagsterInstance) -> None:
    instance.add_dynamic_partitions("domain", ["a.test", "b.test", "c.test"])
    tags = {"dagster/asset_partition_range_start": "2024-02-29|b.test", "dagster/asset_partition_range_end": "2024-03-01|c.test"}
    assert list(map(str, keys_behind(instance, tags))) == [
        "2024-02-29|b.test",
        "2024-02-29|c.test",
        "2024-03-01|b.test",
        "2024-03-01|c.test",
    ]


@pytest.mark.parametrize(
    "tags",
    [
        {},
        {"dagster/partition": "2024-03-01"},
        {"dagster/asset_partition_range_start": "2024-03-01", "dagster/asset_partition_range_end": "2024-03-02"},
        {"dagster/asset_partition_range_start": "2024-03-01|gone.test", "dagster/asset_partition_range_end": "2024-03-01|gone.test"},
    ],
)
def test_other_runs_cover_no_date_and_domain(instance: dg.DagsterInstance, tags: dict[str, str]) -> None:
    assert expand(instance, tags) == []
