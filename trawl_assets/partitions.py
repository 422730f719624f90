"""Partitions: crawl date (daily, UTC, today included) × domain (dynamic, from sites.yaml), and crawl date alone.

A domain key is a site's domain, or `@name` for all sites of `group: name`. Keys are never deleted: a site that was
taken out of sites.yaml keeps its history.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import dagster as dg

from trawl_core.clock import Clock, SystemClock, clock_from_env, crawl_date
from trawl_core.errors import UnknownDomainError
from trawl_core.home import Home
from trawl_core.lake import Lake, Partition
from trawl_core.sites import Site, SitesConfig, load_sites
from trawl_core.warc.imported import imported_partitions

warnings.filterwarnings("ignore", category=dg.BetaWarning)
warnings.filterwarnings("ignore", category=dg.PreviewWarning)

PARTITION = "dagster/partition"
RANGE_START = "dagster/asset_partition_range_start"
RANGE_END = "dagster/asset_partition_range_end"
SEPARATOR = "|"


def first_crawl_date(home: Home, config: SitesConfig | None) -> date:
    """The first partition: `first_crawl_date` of sites.yaml or the day the home was made, moved back by older WARCs."""
    chosen = config.first_crawl_date if config and config.first_crawl_date else home.made_on()
    lake = Lake(home.lake_url)
    archived = [partition.crawl_date for partition in (*lake.partitions("warc"), *imported_partitions(lake))]
    return min([chosen, *archived])


def load_sites_or_none(home: Home) -> SitesConfig | None:
    """sites.yaml when there is one; a wrong one raises ConfigError and stops the code location with its message."""
    return load_sites(home.sites_file) if home.sites_file.exists() else None


def days_ahead(clock: Clock) -> int:
    """Partitions after the last whole day of the system's time: today's, and those up to the day of a clock moved forward."""
    return 1 + max(0, (crawl_date(clock) - crawl_date(SystemClock())).days)


_home = Home.from_env()
crawl_dates = dg.DailyPartitionsDefinition(
    start_date=first_crawl_date(_home, load_sites_or_none(_home)).isoformat(),
    timezone="UTC",
    end_offset=days_ahead(clock_from_env()),
)
domains = dg.DynamicPartitionsDefinition(name="domain")
date_domain = dg.MultiPartitionsDefinition({"crawl_date": crawl_dates, "domain": domains})
fan_in = dg.MultiToSingleDimensionPartitionMapping("crawl_date")


@dataclass(frozen=True)
class Key:
    """A multi-partition key taken apart: `2026-11-30|docs.example.org`."""

    crawl_date: date
    domain_key: str

    @classmethod
    def parse(cls, text: str) -> Key:
        day, _, domain_key = str(text).partition(SEPARATOR)
        return cls(date.fromisoformat(day), domain_key)

    def __str__(self) -> str:
        return f"{self.crawl_date.isoformat()}{SEPARATOR}{self.domain_key}"

    def partitions(self, config: SitesConfig) -> list[Partition]:
        """The lake's partitions behind this key: one, or one for each site of a group."""
        return [Partition(self.crawl_date, domain) for domain in domains_of(self.domain_key, config)]


def key_of(site: Site) -> str:
    return f"@{site.group}" if site.group else site.domain


def domain_keys(config: SitesConfig) -> list[str]:
    """Keys of all enabled sites, in the order of sites.yaml, each once."""
    return list(dict.fromkeys(key_of(site) for site in config.enabled))


def domains_of(domain_key: str, config: SitesConfig) -> list[str]:
    if not domain_key.startswith("@"):
        return [domain_key]
    members = [site.domain for site in config.enabled if site.group == domain_key[1:]]
    if not members:
        raise UnknownDomainError(
            f"no site of sites.yaml is in the group {domain_key[1:]}; give sites `group: {domain_key[1:]}` or pick another partition."
        )
    return members


def imported_keys(lake: Lake, config: SitesConfig) -> list[str]:
    """Keys of the domains that imported WARC files brought captures of, whether sites.yaml names them or not; sorted."""
    sites = {site.domain: site for site in config.sites}
    domains = {partition.domain for partition in imported_partitions(lake) if partition.domain}
    return sorted({key_of(sites[domain]) if domain in sites else domain for domain in domains})


def register(instance: dg.DagsterInstance, config: SitesConfig, more: Sequence[str] = ()) -> list[str]:
    """Make sure that each domain key of sites.yaml, and each of `more`, is a partition; returns the new ones."""
    known = set(instance.get_dynamic_partitions("domain"))
    new = [key for key in dict.fromkeys([*domain_keys(config), *more]) if key not in known]
    if new:
        instance.add_dynamic_partitions("domain", new)
    return new


def ranges(instance: dg.DagsterInstance, keys: Sequence[str], crawl_date: date, most: int = 25) -> list[dict[str, str]]:
    """Run tags that cover the domain `keys` of one date with as few runs as Dagster's ranges allow.

    A range is contiguous in the order in which domains became partitions, and at most `most` keys long.
    """
    wanted = set(keys)
    stretches: list[list[str]] = []
    adjacent = False
    for key in instance.get_dynamic_partitions("domain"):
        if key not in wanted:
            adjacent = False
            continue
        if adjacent and len(stretches[-1]) < most:
            stretches[-1].append(key)
        else:
            stretches.append([key])
        adjacent = True
    return [_tags(Key(crawl_date, stretch[0]), Key(crawl_date, stretch[-1])) for stretch in stretches]


def _tags(first: Key, last: Key) -> dict[str, str]:
    """A single partition gets the tags that the UI gives it, so that the limit of one run a domain holds for it."""
    if first == last:
        return {PARTITION: str(first), f"{PARTITION}/crawl_date": first.crawl_date.isoformat(), f"{PARTITION}/domain": first.domain_key}
    return {RANGE_START: str(first), RANGE_END: str(last)}


def keys_behind(instance: dg.DagsterInstance, tags: Mapping[str, str]) -> list[Key]:
    """The keys that run tags name, date by date; empty for a run over something else than date × domain."""
    if single := tags.get(PARTITION):
        return [Key.parse(single)] if SEPARATOR in single else []
    first, last = tags.get(RANGE_START), tags.get(RANGE_END)
    if not first or not last or SEPARATOR not in first:
        return []
    start, end = Key.parse(first), Key.parse(last)
    order = list(instance.get_dynamic_partitions("domain"))
    if start.domain_key not in order or end.domain_key not in order:
        return []
    names = order[order.index(start.domain_key) : order.index(end.domain_key) + 1]
    days = (end.crawl_date - start.crawl_date).days + 1
    return [Key(start.crawl_date + timedelta(days=number), name) for number in range(days) for name in names]


def covered(tags: Mapping[str, str]) -> str:
    """The partition or the range that run tags name, for a person."""
    return tags.get(PARTITION) or f"{tags[RANGE_START]} … {tags[RANGE_END]}"
