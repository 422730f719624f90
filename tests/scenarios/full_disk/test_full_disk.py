"""The disk fills in the middle of a night, gets more room, and the same command completes it."""

from __future__ import annotations

import pytest

PAGES = 12


@pytest.fixture
def site(serve):
    site = serve()
    for number in range(PAGES):
        links = [f"/{child}" for child in (2 * number + 1, 2 * number + 2) if child < PAGES]
        text = " ".join(f"word{(number * 7919 + step * 31) % 5000}" for step in range(60))
        site.routes[f"/{number or ''}"] = site.page(*links) + f"<main><h1>Page {number}</h1><p>Page {number} tells of {text}.".encode()
    return site


def test_nothing_is_lost(site, new_home, small_disk) -> None:
    # Enough for the first pages; then for the archive, but not for all tables and the records of the run.
    disk = small_disk("760k")
    home = new_home(disk.folder / "home", disk.inside)
    home.write_sites({site.host: f"{site.root}/"})
    _fills(home)
    disk.remount("size=1800k")
    _fills(home)
    disk.remount("size=100m")
    stored = _captures(home)
    assert stored
    home.passes("crawl")
    assert "sound" in home.passes("verify")
    after = _captures(home)
    assert {capture["url"] for capture in after} == {site.root + path for path in site.routes}
    assert [capture for capture in stored if capture not in after] == []


def _fills(home) -> None:
    full = home.trawl("crawl")
    assert full.returncode == 1, full.stderr
    told = full.stderr.splitlines()[-1]
    assert told.startswith(("trawl: ", "failed: "))
    assert "the disk is full" in told


def _captures(home) -> list[dict[str, str]]:
    return home.rows("select capture_id, url, content_digest, warc_filename from captures where kind = 'page' and outcome = 'ok'")
