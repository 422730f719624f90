"""What one origin is asked on behalf of another, whose robots.txt is redirected there: in its own turn and at its own pace."""

from __future__ import annotations

from collections import defaultdict, deque

from trawl_core.fetch.origins import Origin
from trawl_core.fetch.work import Task


class Errands:
    def __init__(self) -> None:
        self._waiting: defaultdict[str, deque[Origin]] = defaultdict(deque)
        self._askers: dict[Task, Origin] = {}

    def send(self, asker: Origin, place: str) -> None:
        """The next URL of the asker's visit is to be asked for at the origin `place`."""
        self._waiting[place].append(asker)

    def next_task(self, origin: Origin) -> Task | None:
        """The errand that was sent to this origin first; None when there is none."""
        if origin.key not in self._waiting or not self._waiting[origin.key]:
            return None
        asker = self._waiting[origin.key].popleft()
        task = Task(origin, "robots", asker.visit.url)
        self._askers[task] = asker
        return task

    def asker_of(self, task: Task) -> Origin:
        """On whose behalf an answered robots.txt was asked for: mostly its own origin's."""
        return self._askers.pop(task, task.origin)

    def drop(self, origin: Origin) -> deque[Origin]:
        """Those whose errands wait at an origin that is asked nothing more; they do no longer."""
        return self._waiting.pop(origin.key, deque())
