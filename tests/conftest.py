"""A home of its own, and the `trawl` command in it as a user runs it: in a process of its own, seen only from outside."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from trawl_core.lake import Lake, tables

TRAWL = Path(sys.executable).with_name("trawl")

# The same examples in every run, and none of them judged by its time: two cores may be busy with something else.
settings.register_profile("trawl", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("trawl")


@dataclass(frozen=True)
class TrialHome:
    """`root` is TRAWL_HOME; commands start with `inside` (another mount namespace) where there is one."""

    root: Path
    inside: tuple[str, ...] = ()
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def write_sites(self, seeds: Mapping[str, str], **keys: Any) -> None:
        """sites.yaml with a site a host, its seed given; `keys` stand in defaults."""
        ports = sorted({int(url.split("/")[2].rpartition(":")[2]) for url in seeds.values()})
        network = {"allow_networks": ["127.0.0.0/8"], "allow_ports": ports}
        sites = {
            "user_agent": "TrawlBot/1.0 (+https://example.org/bot)",
            "defaults": {"delay_s": 0, "network": network, **keys},
            "sites": [{"domain": host, "seeds": [url]} for host, url in seeds.items()],
        }
        self.write_text(json.dumps(sites, indent=1))

    def write_text(self, sites: str) -> None:
        """sites.yaml with that text."""
        write = ["sh", "-c", 'mkdir -p "$1" && cat > "$1/sites.yaml"', "sh", str(self.root)]
        subprocess.run([*self.inside, *write], input=sites, text=True, check=True)

    def trawl(self, *args: str, now: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command to its end. Fails the test at once on a traceback or a warning."""
        done = subprocess.run([*self.inside, TRAWL, *args], env=self._environ(now), capture_output=True, text=True, check=False)
        told = f"trawl {' '.join(args)} → {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr, told
        assert "Warning" not in done.stderr, told
        return done

    def passes(self, *args: str, now: str | None = None) -> str:
        """Standard output of a command that must end with exit status 0."""
        done = self.trawl(*args, now=now)
        assert done.returncode == 0, f"trawl {' '.join(args)} → {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def complains(self, *args: str, now: str | None = None, status: int = 2) -> str:
        """The one paragraph of a command that must fail: nothing on standard output, `trawl: …` on standard error."""
        done = self.trawl(*args, now=now)
        told = f"trawl {' '.join(args)} → {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert (done.returncode, done.stdout) == (status, ""), told
        assert done.stderr.startswith("trawl: "), told
        assert "\n\n" not in done.stderr.strip(), told
        return done.stderr.strip()

    def rows(self, query: str) -> list[dict[str, Any]]:
        """Rows of a query as `trawl sql` gives them."""
        return json.loads(self.passes("sql", query, "--format", "json"))

    def table(self, name: str) -> list[dict[str, Any]]:
        """All rows of a table, read from the lake."""
        lake = Lake(self.root / "lake")
        return tables.read_many(lake, name, lake.partitions(name)).to_pylist()

    @property
    def stderr_of_started(self) -> Path:
        """Standard error of all commands that `start` began, children included."""
        return self.root.with_name(f"{self.root.name}.stderr")

    def start(self, *args: str) -> subprocess.Popen[str]:
        """Start a command in a process group of its own and do not wait for it."""
        with self.stderr_of_started.open("a") as stderr:
            child = subprocess.Popen(
                [*self.inside, TRAWL, *args],
                env=self._environ(None),
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                text=True,
                start_new_session=True,
            )
        self.started.append(child)
        return child

    def _environ(self, now: str | None) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if name not in ("TRAWL_LAKE", "TRAWL_NOW", "DAGSTER_HOME")}
        return {**own, "TRAWL_HOME": str(self.root), **({"TRAWL_NOW": now} if now else {})}

    def close(self) -> None:
        for child in self.started:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()


@pytest.fixture
def new_home(tmp_path: Path) -> Iterator[Callable[..., TrialHome]]:
    """Makes a TrialHome below the test's folder (or at a path); nothing is written before the test does."""
    homes: list[TrialHome] = []

    def make(root: str | Path = "home", inside: tuple[str, ...] = ()) -> TrialHome:
        homes.append(TrialHome(tmp_path / root, inside))
        return homes[-1]

    yield make
    for home in homes:
        home.close()


@dataclass(frozen=True)
class SmallDisk:
    """A tmpfs at `folder`; `inside` starts a command where it is mounted. Sizes and options are those of mount(8)."""

    folder: Path
    inside: tuple[str, ...] = ()

    def remount(self, options: str) -> None:
        subprocess.run([*self.inside, "mount", "-o", f"remount,{options}", self.folder], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], SmallDisk]]:
    """Mounts a tmpfs of a size: as root, else in a user namespace of its own. Where neither is allowed the test says so and does not run."""
    undo: list[Callable[[], object]] = []

    def make(size: str) -> SmallDisk:
        folder = tmp_path / "disk"
        folder.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
        refused = "not root"
        if os.geteuid() == 0:
            mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
            if mounted.returncode == 0:
                undo.append(lambda: subprocess.run(["umount", folder], check=True))
                return SmallDisk(folder)
            refused = mounted.stderr.strip()
        holder = subprocess.Popen(
            ["unshare", "-rm", "sh", "-c", f"{shlex.join(mount)} && echo mounted && exec cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        undo.append(holder.communicate)
        if holder.stdout.readline() != "mounted\n":
            told = f"no tmpfs can be mounted here ({refused}), nor in a user namespace"
            if os.environ.get("CI") and os.geteuid() == 0:
                pytest.fail(told)
            pytest.skip(told)
        return SmallDisk(folder, ("nsenter", "--preserve-credentials", "--user", "--mount", "--target", str(holder.pid)))

    yield make
    for step in undo:
        step()
