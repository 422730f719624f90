"""`make dev` on a home with one night, as a user starts it, and a browser in front of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from trawl_core.clock import SystemClock
from trawl_core.demo.content import Answer, SiteContent
from trawl_core.demo.server import DemoServer

HOST = "127.0.44.1"
CHROMIUM = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PATIENCE_S = 120.0


def harbour(night: int, origin: str) -> SiteContent:
    links = "".join(f'<p><a href="/pier-{number}">Pier {number}</a></p>' for number in range(3))
    pages = {"/": Answer(body=f"<!doctype html><title>Harbour</title><main><h1>Harbour</h1>{links}</main>".encode())}
    for number in range(3):
        words = "".join(f"<p>Boat {boat} lies at pier {number} until the tide turns.</p>" for boat in range(6))
        pages[f"/pier-{number}"] = Answer(
            body=f"<!doctype html><title>Pier {number}</title><main><h1>Pier {number}</h1>{words}</main>".encode()
        )
    return SiteContent("harbour", night, pages)


@dataclass(frozen=True)
class RunningUI:
    """The UI at `url` over the home `root`; `log` is what it printed."""

    url: str
    root: Path
    log: Path
    process: subprocess.Popen[bytes]

    def graphql(self, query: str, **variables: Any) -> Any:
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            found = json.load(answer)
        assert "errors" not in found, found
        return found["data"]

    def wait_for(self, what: str, look: Callable[[], Any]) -> Any:
        """What `look` gives, asked until it is true; the server has no other way to tell."""
        clock, pause = SystemClock(), threading.Event()
        until = clock.monotonic() + PATIENCE_S
        while clock.monotonic() < until:
            assert self.process.poll() is None, self.log.read_text()
            if found := look():
                return found
            pause.wait(0.25)
        pytest.fail(f"{what} did not happen in {PATIENCE_S:.0f} s\n{self.log.read_text()}")

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/server_info", timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            return False


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@pytest.fixture
def ui(tmp_path: Path) -> Iterator[RunningUI]:
    """The UI after one night of a site of four pages; asserts afterwards that Ctrl-C ended every process of it."""
    root = tmp_path / "home"
    root.mkdir()
    with DemoServer(HOST, 0, harbour) as server:
        network = f"network: {{allow_networks: [127.0.0.0/8], allow_ports: [{server.port}]}}"
        (root / "sites.yaml").write_text(
            "user_agent: 'TrawlBot/1.0 (+https://example.org/bot)'\n"
            f"sites:\n  - {{domain: {HOST}, seeds: ['{server.origin}/'], delay_s: 0, {network}}}\n"
        )
        port = free_port()
        environ = {**os.environ, "TRAWL_HOME": str(root), "TRAWL_PORT": str(port)}
        for name in ("TRAWL_NOW", "TRAWL_LAKE", "DAGSTER_HOME"):
            environ.pop(name, None)
        subprocess.run([Path(sys.executable).with_name("trawl"), "crawl"], env=environ, check=True, capture_output=True)
        log = root / "dev.log"
        with log.open("wb") as output:
            process = subprocess.Popen([sys.executable, "-m", "trawl_assets.dev"], env=environ, stdout=output, stderr=subprocess.STDOUT)
        family: list[psutil.Process] = []
        try:
            running = RunningUI(f"http://127.0.0.1:{port}", root, log, process)
            running.wait_for("the UI's start", running.answers)
            yield running
            family = psutil.Process(process.pid).children(recursive=True)
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE_S)
        finally:
            family = family or psutil.Process(process.pid).children(recursive=True)
            _, alive = psutil.wait_procs(family, timeout=5) if process.poll() is not None else ([], family)
            for one in alive:
                one.kill()
            if process.poll() is None:
                process.kill()
                process.wait()
        assert process.returncode == 0, log.read_text()
        assert alive == []


@pytest.fixture
def browse() -> Callable[[], AbstractContextManager[Any]]:
    """Opens a page of a headless Chromium, 1600 px wide."""

    @contextmanager
    def open_page() -> Iterator[Any]:
        if CHROMIUM is None:
            if os.environ.get("CI"):
                pytest.fail("there is no Chromium here, and in CI the UI must be looked at: apt-get install chromium")
            pytest.skip("there is no Chromium here to look at the UI with: apt-get install chromium; all else of it was tested")
        from playwright.sync_api import sync_playwright

        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGS)
            page = browser.new_page(viewport={"width": 1600, "height": 1000})
            page.set_default_timeout(60_000)
            yield page
            browser.close()

    return open_page
