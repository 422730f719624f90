"""One site is down, or can't be crawled at all, beside a good one."""

from __future__ import annotations

from trawl_core.errors import FetchError


def test_its_partition_fails_with_the_reason_and_the_other_is_whole(serve, run_crawl) -> None:
    down, good = serve(), serve({"/": b"<p>home"})
    down.close()
    run = run_crawl(down, good, settings={"attempts": 2})
    error = run.outcome(down.host).error
    assert isinstance(error, FetchError)
    assert str(error).startswith(f"{down.host}: nothing could be fetched: ")
    assert "refused" in str(error)
    assert run.captures(down.host, "robots")["outcome"].to_list() == ["connect_error", "connect_error"]
    assert run.captures(down.host)["outcome"].to_list() == ["robots_unavailable"]
    assert run.outcome(good.host).error is None
    assert run.captures(good.host)["outcome"].to_list() == ["ok"]


def test_a_seed_in_a_forbidden_network_is_refused(serve, run_crawl, tmp_path) -> None:
    good = serve({"/": b"<p>home"})
    private = {"domain": "10.255.255.1", "seeds": [f"http://10.255.255.1:{good.port}/"], "delay_s": 1}
    run = run_crawl(private, good, settings=None)
    assert "not a public address" in str(run.outcome("10.255.255.1").error)
    assert run.captures("10.255.255.1")["outcome"].to_list() == ["blocked_address"]
    assert run.captures(good.host)["outcome"].to_list() == ["ok"]


def test_a_domain_that_another_run_holds_is_told(serve, run_crawl, tmp_path) -> None:
    held, good = serve({"/": b"<p>home"}), serve({"/": b"<p>home"})
    from trawl_core.lake import Lake

    with Lake(tmp_path / "lake").lock(f"crawl-{held.host}", "testing"):
        run = run_crawl(held, good)
    assert "another run" in str(run.outcome(held.host).error)
    assert run.outcome(held.host).result is None
    assert held.asked == []
    assert run.captures(good.host)["outcome"].to_list() == ["ok"]


def test_a_damaged_state_file_is_named(serve, run_crawl, tmp_path) -> None:
    site = serve({"/": b"<p>home"})
    run_crawl(site)
    state = next((tmp_path / "work").rglob("*.sqlite"))
    state.write_bytes(b"not a database" * 1000)
    assert str(state) in str(run_crawl(site).outcome(site.host).error)
    for file in state.parent.iterdir():
        file.unlink()
    run = run_crawl(site)
    assert run.outcome(site.host).error is None
    assert site.paths().count("/") == 1
