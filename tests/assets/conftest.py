"""Homes with tiny loopback sites and a real Dagster instance, in this process."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any, ClassVar

import dagster as dg
import pytest

from trawl_assets.definitions import defs
from trawl_assets.night import QUIET, open_instance, run_night
from trawl_assets.partitions import Key, ranges, register
from trawl_core.clock import SystemClock, clock_from_env, crawl_date
from trawl_core.demo.content import Answer, SiteContent
from trawl_core.demo.server import DemoServer
from trawl_core.home import Home
from trawl_core.lake import Lake, Partition
from trawl_core.sites import SitesConfig, load_sites

# The first day that the code location has as a partition, whatever home it was loaded with.
NIGHT = crawl_date(SystemClock())
HOSTS = ("127.0.41.1", "127.0.41.2")
DOWN = "127.0.41.9"  # nothing listens there


def small_site(night: int, origin: str) -> SiteContent:
    """Six pages with links from the first."""
    names = [f"page-{number}" for number in range(5)]
    links = "".join(f'<p><a href="/{name}">{name}</a></p>' for name in names)
    pages = {"/": Answer(body=f"<!doctype html><title>Start</title><main><h1>Start</h1>{links}</main>".encode())}
    for name in names:
        words = "".join(f"<p>Line {line} of {name} at {origin} tells of ropes, nets and tides.</p>" for line in range(6))
        pages[f"/{name}"] = Answer(body=f"<!doctype html><title>{name}</title><main><h1>{name}</h1>{words}</main>".encode())
    return SiteContent("small", night, pages)


def sites_yaml(sites: Sequence[dict[str, Any]]) -> str:
    """sites.yaml of loopback sites; each entry is a site's keys."""
    ports = sorted({int(site["seeds"][0].split(":")[2].rstrip("/")) for site in sites})
    network = {"allow_networks": ["127.0.0.0/8"], "allow_ports": ports or [80]}
    defaults = {"delay_s": 0, "attempts": 1, "network": network}
    return json.dumps({"user_agent": "TrawlBot/1.0 (+https://example.org/bot)", "defaults": defaults, "sites": list(sites)})


@dataclass(frozen=True)
class Place:
    """A home and its instance."""

    home: Home
    instance: dg.DagsterInstance
    night: ClassVar[date] = NIGHT
    hosts: ClassVar[tuple[str, str]] = HOSTS
    down: ClassVar[str] = DOWN

    @staticmethod
    def site(domain: str, port: int = 9, **keys: Any) -> dict[str, Any]:
        """A site's keys; nothing listens on port 9."""
        return {"domain": domain, "seeds": [f"http://{domain}:{port}/"], **keys}

    @property
    def lake(self) -> Lake:
        return Lake(self.home.lake_url)

    @property
    def config(self) -> SitesConfig:
        return load_sites(self.home.sites_file)

    @staticmethod
    def moment(days: int, time: str) -> str:
        """TRAWL_NOW for a UTC time, days after the night."""
        return f"{NIGHT + timedelta(days=days)}T{time}Z"

    def write_sites(self, *sites: dict[str, Any]) -> None:
        self.home.sites_file.write_text(sites_yaml(sites))
        register(self.instance, self.config)

    def run(self, job: str, *domains: str, assets: Sequence[str] = (), night: date = NIGHT, **how: Any) -> dg.ExecuteInProcessResult:
        """One run of a job in this process over neighbouring domains (a range), or of `how`."""
        if domains:
            [tags] = ranges(self.instance, domains, night)
            how["tags"] = tags
        return defs.resolve_job_def(job).execute_in_process(
            instance=self.instance,
            run_config=QUIET,
            raise_on_error=False,
            asset_selection=[dg.AssetKey(name) for name in assets] or None,
            **how,
        )

    def built(self, asset: str, night: date = NIGHT) -> set[str]:
        """Domains of which this asset is materialized for a night."""
        keys = self.instance.get_materialized_partitions(dg.AssetKey(asset))
        return {Key.parse(key).domain_key for key in keys if Key.parse(key).crawl_date == night}

    @staticmethod
    def checks(result: dg.ExecuteInProcessResult) -> dict[str, dg.AssetCheckEvaluation]:
        """Evaluations by `asset.check`."""
        return {f"{check.asset_key.to_user_string()}.{check.check_name}": check for check in result.get_asset_check_evaluations()}

    def last_check(self, asset: str, check: str) -> dg.AssetCheckEvaluation:
        """The newest evaluation that the instance knows, as the UI shows it."""
        key = dg.AssetCheckKey(dg.AssetKey(asset), check)
        [record] = self.instance.event_log_storage.get_asset_check_execution_history(key, limit=1)
        return record.evaluation

    def metadata(self, asset: str, domain: str) -> dict[str, Any]:
        """What the UI shows of the newest materialization of NIGHT's partition."""
        wanted = dg.AssetRecordsFilter(asset_key=dg.AssetKey(asset), asset_partitions=[f"{NIGHT}|{domain}"])
        [record] = self.instance.fetch_materializations(wanted, limit=1).records
        return {name: value.value for name, value in record.asset_materialization.metadata.items()}

    def warc_file(self, domain: str) -> Path:
        [name] = self.lake.files(self.lake.warc_folder(Partition(NIGHT, domain)), ".warc.gz")
        return self.lake.local_path(name)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A new home; the clock stands at half past three of NIGHT."""
    with _opened(Home.at(tmp_path / "home").prepare(), monkeypatch) as place:
        yield place


class _opened:
    def __init__(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TRAWL_HOME", str(home.root))
        monkeypatch.setenv("TRAWL_NOW", f"{NIGHT}T03:30:00Z")
        monkeypatch.setenv("DAGSTER_HOME", str(home.dagster_home))
        monkeypatch.delenv("TRAWL_LAKE", raising=False)
        self._home, self._stack = home, ExitStack()

    def __enter__(self) -> Place:
        return Place(self._home, self._stack.enter_context(open_instance(self._home)))

    def __exit__(self, *error: object) -> None:
        self._stack.close()


@pytest.fixture(scope="session")
def servers() -> Iterator[dict[str, DemoServer]]:
    """The two sites that are up."""
    with ExitStack() as stack:
        yield {host: stack.enter_context(DemoServer(host, 0, small_site)) for host in HOSTS}


@pytest.fixture(scope="session")
def first_night(tmp_path_factory: pytest.TempPathFactory, servers: dict[str, DemoServer]) -> Path:
    """A home after one night of two good sites and one that is down, made by the code that `trawl crawl` runs."""
    home = Home.at(tmp_path_factory.mktemp("night") / "home").prepare()
    home.sites_file.write_text(sites_yaml([*(Place.site(host, servers[host].port) for host in HOSTS), Place.site(DOWN)]))
    with pytest.MonkeyPatch.context() as patch, _opened(home, patch):
        night = run_night(home, clock_from_env(os.environ))
    assert [DOWN in failure for failure in night.failures] == [True], night.failures
    return home.root


@pytest.fixture
def crawled(first_night: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A copy of that home, free to be damaged."""
    root = tmp_path / "crawled"
    shutil.copytree(first_night, root)
    with _opened(Home.at(root), monkeypatch) as place:
        yield place


@pytest.fixture
def tick(monkeypatch: pytest.MonkeyPatch) -> Callable[[Place, Any, str], Any]:
    """Evaluates a sensor once at a moment; returns its SensorExecutionData."""

    def evaluate(place: Place, sensor: dg.SensorDefinition, now: str) -> Any:
        monkeypatch.setenv("TRAWL_NOW", now)
        repository = defs.get_repository_def()
        with dg.build_sensor_context(instance=place.instance, definitions=defs, repository_def=repository) as context:
            return sensor.evaluate_tick(context)

    return evaluate
