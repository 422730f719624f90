"""Two nights over the three demo sites through the `trawl` command, made once for all tests that look at the result."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from trawl_assets.demo import prepare
from trawl_core.demo import HOSTS, Demo, Expected, expected, serve_demo
from trawl_core.home import Home
from trawl_core.lake import Lake, Partition, tables

NIGHTS = (date(2026, 3, 1), date(2026, 3, 2))


@dataclass(frozen=True)
class World:
    """A home after two nights, and the servers that are still up."""

    home: Home
    demo: Demo

    def trawl(self, *args: str, night: int = 1, check: bool = True, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command as of a night, in the folder `cwd`; fails the test when it fails, or prints a warning, and may not."""
        environ = {**os.environ, "TRAWL_HOME": str(self.home.root), "TRAWL_NOW": f"{NIGHTS[night]}T02:00:00Z"}
        environ.pop("TRAWL_LAKE", None)
        done = subprocess.run(
            [Path(sys.executable).with_name("trawl"), *args], env=environ, cwd=cwd, capture_output=True, text=True, check=False
        )
        if check:
            assert done.returncode == 0, f"trawl {' '.join(args)}\n{done.stdout}\n{done.stderr}"
            assert "Warning" not in done.stderr, done.stderr
            assert "Traceback" not in done.stderr, done.stderr
        return done

    def json(self, *args: str) -> Any:
        return json.loads(self.trawl(*args).stdout)

    def rows(self, table: str, site: str | None, night: int) -> list[dict[str, Any]]:
        lake = Lake(self.home.lake_url)
        return tables.read(lake, table, Partition(NIGHTS[night], HOSTS[site] if site else None)).to_pylist()

    def truth(self, site: str, night: int) -> Expected:
        return expected(site, night, self.demo.origins[site])

    def asked(self) -> dict[str, Mapping[str, int]]:
        return {name: dict(server.requests) for name, server in self.demo.servers.items()}


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    root = tmp_path_factory.mktemp("two_nights") / "home"
    with serve_demo() as demo:
        prepare(root, demo, NIGHTS[0])
        world = World(Home.at(root), demo)
        for number in (0, 1):
            demo.set_night(number)
            world.trawl("crawl", night=number)
        yield world
