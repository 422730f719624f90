"""`python -m trawl_assets.dev` before anything is started."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path


def start(home: Path, port: int) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "TRAWL_HOME": str(home), "TRAWL_PORT": str(port)}
    return subprocess.run([sys.executable, "-m", "trawl_assets.dev"], env=environ, capture_output=True, text=True, check=False, timeout=120)


def test_a_taken_port_is_named_with_another(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = start(tmp_path, port)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"opening the UI on port {port}: " in done.stderr
    assert f"TRAWL_PORT={port + 1} make dev" in done.stderr


def test_a_wrong_sites_file_is_told_by_line_without_traceback(tmp_path: Path) -> None:
    (tmp_path / "sites.yaml").write_text("user_agent: 'TrawlBot/1.0 (+https://example.org/bot)'\nsitess: []\n")
    done = start(tmp_path, 9)
    assert (done.returncode, done.stdout) == (2, "")
    assert "sites.yaml:2: unknown key 'sitess', did you mean 'sites'?" in done.stderr
    assert "Traceback" not in done.stderr
