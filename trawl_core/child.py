"""A Python process that works for this one, with a connection to it.

A program of its own: not made by fork (this process has threads) and not by multiprocessing (which imports the main module of
this one again). It inherits nothing but its end of the connection, so each of the two sees the connection end when the other dies.
"""

from __future__ import annotations

import os
import subprocess
import sys
from multiprocessing.connection import Connection, Pipe
from pathlib import Path


def start_child(module: str, *, process_group: int | None = None) -> tuple[subprocess.Popen[bytes], Connection]:
    """Start `module.main(handle)`, `handle` being the file descriptor of its end. Raises OSError.

    `process_group` 0 makes it the leader of its own, out of reach of the terminal's Control-C.
    """
    ours, theirs = Pipe()
    root = str(Path(__file__).resolve().parents[1])
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])}
    try:
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", f"import sys; from {module} import main; main(int(sys.argv[1]))", str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=environ,
                process_group=process_group,
            )
    except BaseException:
        ours.close()
        raise
    return process, ours


def describe_status(status: int) -> str:
    """How a child ended, from Popen.returncode."""
    return f"signal {-status}" if status < 0 else f"exit status {status}"
