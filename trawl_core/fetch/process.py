"""One of several processes of a crawl: gets an Assignment, sends progress and outcomes as they come, and ends with its parent.

Messages to it: the pickled Assignment, then perhaps STOP. From it: CrawlProgress, CrawlOutcome, or Unfit and nothing more.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection

from trawl_core.errors import TrawlError
from trawl_core.fetch.run import Assignment, run_here

STOP = "stop"
PARENT_LOOK_S = 2.0


@dataclass(frozen=True)
class Unfit:
    """Why this process does nothing more."""

    reason: str


def main(handle: int) -> None:
    """Entry of the process: `handle` is the inherited file descriptor of the connection."""
    # A process that is stopped by a signal of its own ends as one, without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = os.getppid()
    connection = Connection(handle)  # ends with the process: the thread that listens to it takes its end for the parent's
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        packed = connection.recv_bytes()
        try:
            assignment: Assignment = pickle.loads(packed)
        except (ImportError, AttributeError, pickle.UnpicklingError, TypeError) as error:
            connection.send(Unfit(f"its process could not begin: {type(error).__name__}: {error}"))
            return
        stop = threading.Event()
        threading.Thread(target=_listen, args=(connection, stop, parent), name="trawl-parent", daemon=True).start()
        try:
            run_here(assignment, stop=stop, on_progress=connection.send, on_outcome=connection.send)
        except TrawlError as error:
            connection.send(Unfit(f"its process gave up: {error}"))


def _listen(connection: Connection, stop: threading.Event, parent: int) -> None:
    """Pass STOP on; when the parent is gone, end at once: what is not durable yet is fetched again by the next call."""
    with suppress(EOFError, OSError):
        while os.getppid() == parent:
            if connection.poll(PARENT_LOOK_S):
                connection.recv()
                stop.set()
    os._exit(1)
