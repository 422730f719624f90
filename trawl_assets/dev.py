"""`make dev`: the home made ready, its sites registered, then Dagster's UI and daemon on port 3000 until Ctrl-C."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType

import click

from trawl_assets.demo import PORTS_FILE
from trawl_core.clock import Clock, SystemClock
from trawl_core.errors import TrawlError, UsageError
from trawl_core.home import Home

PORT = os.environ.get("TRAWL_PORT", "3000")
WORKSPACE = Path(__file__).parent.parent / "workspace.yaml"
PATIENCE_S = 60.0


def prepare(home: Home) -> None:
    """Everything that must be there before Dagster starts."""
    home.prepare().check_writable()
    check_port(PORT)
    # These read sites.yaml when they are loaded, and a wrong one is told by main.
    from trawl_assets.lost_runs import bury_lost_runs
    from trawl_assets.night import open_instance
    from trawl_assets.partitions import load_sites_or_none, register

    with open_instance(home) as instance:
        bury_lost_runs(instance)
        config = load_sites_or_none(home)
        if config:
            register(instance, config)


def check_port(port: str) -> None:
    if not port.isdecimal() or not 1 <= int(port) <= 65_535:
        raise UsageError(f"opening the UI on port {port!r}: TRAWL_PORT is a number from 1 to 65535.")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", int(port)))
        except OSError as error:
            raise UsageError(
                f"opening the UI on port {port}: {error.strerror}. Another `make dev` may be running; "
                f"TRAWL_PORT={int(port) % 65_535 + 1} make dev takes another port."
            ) from error


@contextmanager
def group_of(command: list[str], clock: Clock) -> Iterator[subprocess.Popen[bytes]]:
    """A program in a process group of its own, so that we decide what of it ends, and when.

    On leaving, its first process is interrupted and stops the others in order. What is left are runs: they are told to
    end, commit what they have, and are killed only when that takes longer than a minute.
    """
    process = subprocess.Popen(command, start_new_session=True)
    try:
        yield process
    finally:
        with suppress(subprocess.TimeoutExpired):
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE_S)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
            until = clock.monotonic() + PATIENCE_S
            while clock.monotonic() < until:
                process.poll()
                os.killpg(process.pid, 0)  # raises when nobody is left
                clock.sleep(0.1)
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def serve(home: Home) -> int:
    """Run Dagster (and the demo's sites on its home) until it ends or this process is told to stop; returns the exit status."""
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, _interrupt)  # also where the shell that started us ignores it
    dagster, clock = Path(sys.executable).with_name("dagster"), SystemClock()
    with ExitStack() as stack:
        if (home.root / PORTS_FILE).exists():
            stack.enter_context(group_of([sys.executable, "-m", "trawl_assets.demo_sites", str(home.root)], clock))
        ui = stack.enter_context(
            group_of([str(dagster), "dev", "-w", str(WORKSPACE), "-h", "127.0.0.1", "-p", PORT, "--log-level", "error"], clock)
        )
        try:
            return ui.wait()
        except KeyboardInterrupt:
            click.echo("\nStopping …")
            return 0


def _interrupt(number: int, frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)  # the first one counts; stopping takes its time
    raise KeyboardInterrupt


def main() -> None:
    home = Home.from_env()
    try:
        prepare(home)
    except TrawlError as error:
        click.echo(f"trawl: {error}", err=True)
        sys.exit(error.exit_status)
    click.echo(f"Trawl's UI for {home.root} opens on http://127.0.0.1:{PORT} (Ctrl-C stops it).")
    os.environ.update(TRAWL_HOME=str(home.root), PYTHONWARNINGS="ignore")
    sys.exit(serve(home))


if __name__ == "__main__":
    main()
