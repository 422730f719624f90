from __future__ import annotations

import errno
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from trawl_core.clock import clock_from_env, crawl_date
from trawl_core.errors import ConfigError, DiskFullError, ReadOnlyHomeError, explain_os_error
from trawl_core.home import Home
from trawl_core.sites import load_sites


def test_a_home_is_made_once_and_never_overwritten(tmp_path: Path) -> None:
    home = Home.at(tmp_path / "home").prepare()
    assert load_sites(home.sites_file).sites == ()
    assert yaml.safe_load((home.dagster_home / "dagster.yaml").read_text())["telemetry"] == {"enabled": False}
    home.sites_file.write_text("mine")
    home.prepare()
    assert home.sites_file.read_text() == "mine"


def test_the_environment_names_home_and_lake(tmp_path: Path) -> None:
    home = Home.from_env({"TRAWL_HOME": str(tmp_path), "TRAWL_LAKE": "s3://bucket/lake"})
    assert (home.root, home.lake_url) == (tmp_path.resolve(), "s3://bucket/lake")
    assert Home.from_env({"TRAWL_HOME": str(tmp_path)}).lake_url == str(tmp_path.resolve() / "lake")


def test_the_day_a_home_was_made_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAWL_NOW", "2026-03-01T02:00:00Z")
    home = Home.at(tmp_path).prepare()
    monkeypatch.setenv("TRAWL_NOW", "2026-03-09T02:00:00Z")
    assert home.prepare().made_on().isoformat() == "2026-03-01"


def test_a_file_in_the_way_is_told_in_one_paragraph(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    with pytest.raises(Exception, match="preparing Trawl's home") as caught:
        Home.at(tmp_path / "home").prepare()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.ENOSPC, DiskFullError), (errno.EROFS, ReadOnlyHomeError), (errno.EACCES, ReadOnlyHomeError)]
)
def test_os_errors_say_what_to_do(number: int, kind: type[Exception]) -> None:
    error = explain_os_error(OSError(number, "x"), "writing", "/somewhere")
    assert type(error) is kind
    assert "/somewhere" in str(error)


def test_the_clock_can_be_moved_and_runs_on() -> None:
    clock = clock_from_env({"TRAWL_NOW": "2026-01-05T02:00:00Z"})
    first, second = clock.now(), clock.now()
    assert datetime(2026, 1, 5, 2, tzinfo=UTC) <= first <= second
    assert clock.moved
    assert crawl_date(clock).isoformat() == "2026-01-05"
    assert not clock_from_env({}).moved


def test_a_wrong_moment_is_refused() -> None:
    with pytest.raises(ConfigError, match="TRAWL_NOW='yesterday' is not a moment"):
        clock_from_env({"TRAWL_NOW": "yesterday"})
