"""Which domains go together into one process."""

from __future__ import annotations

import os
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.fetch.session import CrawlJob
from trawl_core.fetch.spread import hosts_of, processes_for, spread
from trawl_core.lake import Partition
from trawl_core.sites import Site


def _job(domain: str, **keys) -> CrawlJob:
    return CrawlJob(Partition(date(2026, 11, 30), domain), Site(domain=domain, seeds=(f"https://{domain}/",), **keys))


def _domains(shares) -> list[list[str]]:
    return [[job.partition.domain for job in share] for share in shares]


def test_domains_are_dealt_out_evenly() -> None:
    shares = spread([_job(f"d{n}.test") for n in range(7)], 3)
    assert _domains(shares) == [["d0.test", "d3.test", "d6.test"], ["d1.test", "d4.test"], ["d2.test", "d5.test"]]


@pytest.mark.parametrize(
    "keys",
    [
        {"origins": ["https://cdn.test/"]},
        {"feeds": ["http://cdn.test:8080/feed"]},
        {"sitemaps": ["https://cdn.test/sitemap.xml"]},
    ],
)
def test_sites_that_ask_one_host_stay_together(keys) -> None:
    jobs = [_job("a.test", **keys), _job("b.test"), _job("cdn.test"), _job("d.test")]
    shares = _domains(spread(jobs, 2))
    assert sorted(map(sorted, shares)) == [["a.test", "cdn.test"], ["b.test", "d.test"]]


def test_sites_that_are_bound_through_others_stay_together() -> None:
    jobs = [_job("a.test", origins=["https://b.test/"]), _job("c.test", origins=["https://d.test/"]), _job("e.test")]
    jobs += [_job("f.test", origins=["https://b.test/", "https://d.test/"])]
    assert _domains(spread(jobs, 2)) == [["a.test", "c.test", "f.test"], ["e.test"]]


def test_seeds_count_as_hosts() -> None:
    site = Site(domain="a.test", seeds=("https://www.a.test/", "http://a.test:8080/"))
    assert hosts_of(site) == {"a.test", "www.a.test"}


def test_there_are_no_empty_shares() -> None:
    assert _domains(spread([_job("a.test")], 4)) == [["a.test"]]
    assert spread([], 4) == []


@given(
    st.lists(st.tuples(st.integers(0, 30), st.sets(st.integers(0, 12), max_size=2)), unique_by=lambda site: site[0], max_size=15),
    st.integers(1, 5),
)
def test_every_job_is_in_one_share_and_no_host_in_two(sites, processes) -> None:
    jobs = [_job(f"d{number}.test", origins=[f"https://o{other}.test/" for other in others]) for number, others in sites]
    shares = spread(jobs, processes)
    assert sorted(id(job) for share in shares for job in share) == sorted(map(id, jobs))
    assert len(shares) <= processes
    hosts = [set().union(*(hosts_of(job.site) for job in share)) for share in shares]
    assert sum(map(len, hosts)) == len(set().union(*hosts))


@pytest.mark.parametrize(("domains", "cores", "processes"), [(15, 8, 1), (16, 8, 2), (16, 1, 1), (25, 8, 3), (100, 4, 4), (0, 4, 1)])
def test_a_few_domains_or_one_core_are_worth_one_process(monkeypatch, domains, cores, processes) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(cores)))
    assert processes_for([_job(f"d{n}.test") for n in range(domains)]) == processes
