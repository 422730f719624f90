"""A home that can't be written: nothing is crawled, everything stored can be read."""

from __future__ import annotations


def test_what_is_stored_can_be_read_and_nothing_else_is_done(serve, new_home, small_disk) -> None:
    site = serve()
    site.routes["/"] = site.page() + b"<main><h1>Pools</h1><p>A pool keeps connections that were opened once.</main>"
    disk = small_disk("50m")
    home = new_home(disk.folder / "home", disk.inside)
    home.write_sites({site.host: f"{site.root}/"})
    home.passes("crawl")
    asked = len(site.asked)
    disk.remount("ro")
    for command in (["crawl"], ["repair"], ["sites", "add", "https://docs.test/"]):
        assert "can't be written (Read-only file system)" in home.complains(*command, status=1)
    assert len(site.asked) == asked
    url = f"{site.root}/"
    assert home.rows("select url from pages") == [{"url": url}]
    assert url in home.passes("search", "open connections", "--domain", site.host)
    assert home.rows("select url from trawl_search('open connections', 1)") == [{"url": url}]
    assert "Pools" in home.passes("show", url, "--body")
    assert url in home.passes("changes")
    assert site.host in home.passes("status")
    assert site.host in home.passes("plan")
    assert home.passes("sites", "check")
    assert "sound" in home.passes("verify")
