"""SIGINT and SIGTERM while a crawl runs: finish the open exchanges, commit, then let the signal take its usual course."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def finishing_on_signals(stop: threading.Event) -> Iterator[None]:
    """Inside, the first signal only sets `stop`; a second one acts at once. On leaving, a signal that came is sent again.

    Does nothing outside the main thread, where Python does not allow handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        stop.set()
        signal.signal(number, before[signal.Signals(number)])

    for number in _SIGNALS:
        if before[number] is not None:
            signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)
    for number in came:
        signal.raise_signal(number)
