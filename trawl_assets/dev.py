"""`make dev`: the home made ready, its sites registered, then Dagster's UI and daemon on port 3000."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click

from trawl_assets.demo import PORTS_FILE
from trawl_assets.night import bury_the_dead, open_instance
from trawl_assets.partitions import load_sites_or_none, register
from trawl_core.errors import TrawlError
from trawl_core.home import Home

PORT = os.environ.get("TRAWL_PORT", "3000")


def prepare(home: Home) -> None:
    """Everything that must be there before Dagster starts."""
    home.prepare().check_writable()
    with open_instance(home) as instance:
        bury_the_dead(instance)
        config = load_sites_or_none(home)
        if config:
            register(instance, config)


def main() -> None:
    home = Home.from_env()
    try:
        prepare(home)
    except TrawlError as error:
        click.echo(f"trawl: {error}", err=True)
        sys.exit(error.exit_status)
    click.echo(f"Trawl's UI for {home.root} opens on http://127.0.0.1:{PORT} (Ctrl-C stops it).")
    workspace = Path(__file__).parent.parent / "workspace.yaml"
    os.environ.update(TRAWL_HOME=str(home.root), PYTHONWARNINGS="ignore")
    if (home.root / PORTS_FILE).exists():
        subprocess.Popen([sys.executable, "-m", "trawl_assets.demo_sites", str(home.root)])
    dagster = Path(sys.executable).with_name("dagster")
    os.execv(dagster, [str(dagster), "dev", "-w", str(workspace), "-h", "127.0.0.1", "-p", PORT, "--log-level", "error"])


if __name__ == "__main__":
    main()
