"""One site is down, or can't be crawled at all, beside a good one."""

from __future__ import annotations

from trawl_core.errors import FetchError
from trawl_core.fetch.client import HttpClient


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


def test_a_damaged_table_is_named_and_costs_no_other_its_night(serve, run_crawl, tmp_path) -> None:
    damaged, good = serve({"/": b"<p>home"}), serve({"/": b"<p>home"})
    run_crawl(damaged, good)
    table = next((tmp_path / "lake" / "captures").rglob(f"domain={damaged.host}/part.parquet"))
    table.write_bytes(b"not parquet")
    run = run_crawl(damaged, good, refetch=True)
    assert str(table) in str(run.outcome(damaged.host).error)
    assert run.captures(good.host).height == 2


def test_a_fault_of_ours_while_opening_is_told_there(serve, run_crawl, monkeypatch) -> None:
    bad, good = serve({"/": b"<p>home"}), serve({"/": b"<p>home"})

    def load_history(lake, partition, state, ledger):
        if partition.domain == bad.host:
            raise KeyError("no such column")
        return None, None

    monkeypatch.setattr("trawl_core.fetch.session.load_history", load_history)
    run = run_crawl(bad, good)
    assert "KeyError: 'no such column'. This is a fault of Trawl" in str(run.outcome(bad.host).error)
    assert run.captures(good.host)["outcome"].to_list() == ["ok"]


def test_a_fault_of_ours_in_a_worker_fails_its_domain_and_ends(serve, run_crawl, monkeypatch) -> None:
    bad, good = serve(), serve()
    for site in (bad, good):
        site.routes = {"/": site.page("/a", "/b")}
    fetch = HttpClient.fetch

    def faulty(self, url, site, **arguments):
        if url == f"{bad.root}/a":
            raise KeyError("boom")
        return fetch(self, url, site, **arguments)

    monkeypatch.setattr(HttpClient, "fetch", faulty)
    run = run_crawl(bad, good)
    assert f"fetching {bad.root}/a: KeyError: 'boom'" in str(run.outcome(bad.host).error)
    assert run.outcome(good.host).error is None
    assert run.captures(good.host).height == 3
    monkeypatch.undo()
    again = run_crawl(bad)
    assert set(again.captures(bad.host)["url"]) == {f"{bad.root}{path}" for path in ("/", "/a", "/b")}


def test_a_name_that_can_not_be_asked_for_fails_alone(serve, run_crawl) -> None:
    site = serve({"/a": b"<p>a"})
    odd = f"http://{'a' * 70}.test:{site.port}"
    site.routes["/"] = site.page(f"{odd}/", "/a")
    run = run_crawl(site, settings={"origins": [odd], "attempts": 1})
    outcomes = dict(run.captures(site.host).select("url", "outcome").iter_rows())
    assert outcomes == {f"{site.root}/": "ok", f"{site.root}/a": "ok", f"{odd}/": "robots_unavailable"}
