"""Which domains of a run are crawled by which process.

An origin is asked by one process only, so that its spacing holds: domains whose sites name a common host (`domain`, `seeds`,
`origins`, `feeds`, `sitemaps`) stay together. Addresses are not looked up for this: their budget holds over all processes
(address_slots.py), whatever address a domain reaches later.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from trawl_core.fetch.session import CrawlJob
from trawl_core.sites import Site
from trawl_core.urls.normalize import host_and_port, normalize_url

# A process costs about a second of CPU and 150 MB to start, and the delays of a few domains leave most of one idle.
DOMAINS_PER_PROCESS = 8


def processes_for(jobs: Sequence[CrawlJob]) -> int:
    """How many are worth while: one for fewer than sixteen domains or on one core, else one for each eight domains, at most one a core."""
    return max(1, min(len(os.sched_getaffinity(0)), len(jobs) // DOMAINS_PER_PROCESS))


def spread(jobs: Sequence[CrawlJob], processes: int) -> list[list[CrawlJob]]:
    """The jobs of each process, each job once, at most `processes` shares and none of them empty.

    Large groups are dealt out first, each to the process that has the fewest domains; the same jobs give the same shares.
    """
    shares: list[list[CrawlJob]] = [[] for _ in range(processes)]
    for group in sorted(_groups(jobs), key=len, reverse=True):
        min(shares, key=len).extend(group)
    return [share for share in shares if share]


def _groups(jobs: Sequence[CrawlJob]) -> list[list[CrawlJob]]:
    """Jobs that share a host directly or through others, in the order of their first ones."""
    groups: dict[int, tuple[set[str], list[CrawlJob]]] = {}
    for number, job in enumerate(jobs):
        hosts, together = hosts_of(job.site), [job]
        for key in [key for key, (others, _) in groups.items() if hosts & others]:
            others, earlier = groups.pop(key)
            hosts |= others
            together = [*earlier, *together]
        groups[number] = (hosts, together)
    place = {id(job): number for number, job in enumerate(jobs)}
    return sorted((sorted(group, key=lambda job: place[id(job)]) for _, group in groups.values()), key=lambda group: place[id(group[0])])


def hosts_of(site: Site) -> set[str]:
    """Every host that the site's crawl may ask, but for redirects of a robots.txt."""
    lists = site.sitemaps if isinstance(site.sitemaps, tuple) else ()
    urls = (normalize_url(url) for url in (*site.seeds, *site.origins, *site.feeds, *lists))
    return {site.domain, *(host_and_port(url)[0] for url in urls if url)}
