"""TRAWL_HOME: the folder that holds sites.yaml, the lake, live crawl state and Dagster's home.

    home/sites.yaml  home/lake/  home/work/  home/dagster_home/dagster.yaml  home/trawl.duckdb

`Home.from_env()` names the places, `Home.prepare()` makes what is missing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from pathlib import Path

from trawl_core.clock import clock_from_env, crawl_date
from trawl_core.errors import ConfigError, explain_os_error


@dataclass(frozen=True)
class Home:
    """`root` is absolute; `lake_url` is an absolute path or an object-store URL."""

    root: Path
    lake_url: str

    @classmethod
    def at(cls, root: str | Path, lake_url: str | None = None) -> Home:
        root = Path(root).expanduser().resolve()
        lake = lake_url or str(root / "lake")
        return cls(root, lake if "://" in lake else str(Path(lake).expanduser().resolve()))

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> Home:
        """The home that the environment names. Raises ConfigError where something else than a folder is in its place."""
        home = cls.at(environ.get("TRAWL_HOME") or "data", environ.get("TRAWL_LAKE") or None)
        if home.root.exists() and not home.root.is_dir():
            raise ConfigError(f"{home.root} is not a folder. Set TRAWL_HOME to the folder that holds sites.yaml, or to a new one.")
        return home

    @property
    def sites_file(self) -> Path:
        return self.root / "sites.yaml"

    @property
    def work(self) -> Path:
        """Live crawl state (frontier databases, embedding cache): local, never shared."""
        return self.root / "work"

    @property
    def dagster_home(self) -> Path:
        return self.root / "dagster_home"

    @property
    def catalog_file(self) -> Path:
        return self.root / "trawl.duckdb"

    @property
    def _made_on_file(self) -> Path:
        return self.root / "work" / "made-on"

    def made_on(self) -> date:
        """The day on which `prepare` first ran here; today before that."""
        try:
            return date.fromisoformat(self._made_on_file.read_text().strip())
        except (FileNotFoundError, ValueError):
            return crawl_date(clock_from_env())

    def prepare(self) -> Home:
        """Make the folders, a first sites.yaml and dagster.yaml where they are missing; never overwrites a file.

        Raises ReadOnlyHomeError or DiskFullError where the folder can't be written.
        """
        try:
            for folder in (self.root, self.work, self.dagster_home):
                folder.mkdir(parents=True, exist_ok=True)
            _write_once(self.sites_file, "sites.yaml")
            _write_once(self.dagster_home / "dagster.yaml", "dagster.yaml")
            if not self._made_on_file.exists():
                self._made_on_file.write_text(f"{crawl_date(clock_from_env()).isoformat()}\n")
        except OSError as error:
            raise explain_os_error(error, "preparing Trawl's home", self.root) from error
        return self

    def check_writable(self) -> None:
        """Raises ReadOnlyHomeError or DiskFullError when nothing can be stored here."""
        probe = self.work / f".probe-{os.getpid()}"
        try:
            probe.write_bytes(b"\0" * 65_536)
        except OSError as error:
            raise explain_os_error(error, "writing to Trawl's home", self.root) from error
        finally:
            with suppress(OSError):
                probe.unlink(missing_ok=True)


def _write_once(target: Path, template: str) -> None:
    if not target.exists():
        target.write_text(files("trawl_core.templates").joinpath(template).read_text())
