"""Control-C or a polite kill in the middle of a crawl: what was fetched is committed, nothing is salvaged later."""

from __future__ import annotations

import os
import signal
import threading

import polars as pl
import pytest

from trawl_core.warc.verify import verify


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_was_fetched_is_committed(serve, run_crawl, start_crawl, tmp_path, number) -> None:
    site = serve()
    site.routes = {"/": site.page(*[f"/p{n}" for n in range(200)]), **{f"/p{n}": b"<p>%d" % n for n in range(200)}}
    child = start_crawl(site)
    site.on_request = lambda count: os.kill(child.pid, number) if count == 40 else None
    # The signal takes its usual course once the night is committed.
    assert child.wait(timeout=60) == -number
    seen = len(site.asked)
    assert 40 <= seen < 200
    assert list((tmp_path / "lake").rglob("*.open")) == []
    site.on_request = lambda count: None
    rest = run_crawl(site)
    assert rest.outcome(site.host).result.facts["salvaged_files"] == 0
    assert rest.captures(site.host).filter(pl.col("outcome") == "ok")["url"].n_unique() == 201
    assert len(site.paths()) == len(set(site.paths()))
    assert verify(rest.lake) == []


def test_a_second_signal_does_not_wait_for_a_slow_server(serve, run_crawl) -> None:
    asked, ended, answered, ended_first = threading.Event(), threading.Event(), threading.Event(), []
    site = serve()

    def slow(request):
        asked.set()
        ended_first.append(ended.wait(timeout=10))
        answered.set()
        return b"<p>at last"

    site.routes = {"/robots.txt": b"", "/": slow}

    class SecondSignal(threading.Event):
        def is_set(self) -> bool:
            if asked.is_set():
                raise KeyboardInterrupt
            return False

    with pytest.raises(KeyboardInterrupt):
        run_crawl(site, stop=SecondSignal(), settings={"sitemaps": "none"})
    ended.set()
    answered.wait(timeout=10)
    assert ended_first == [True]
