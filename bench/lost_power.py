"""A power cut, simulated: what a process had not made durable is taken away after it was killed.

In the process that is to die, `watch` notes what each sync made durable: a file's length, a folder's entries, the crawl state's
files after each commit. It can also kill the process just before or behind any of these calls. In the process that looks on, `cut`
then leaves of a folder what a disk would have: synced lengths, and behind them nothing, zeros, garbage or a part; entries of folders
that were never synced may be gone, and a rename undone.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from trawl_core.fetch.state import NightState

TAILS = ("cut", "zeros", "garbage", "part")
_OF_STATE = ("", "-wal")


def watch(journal: Path, vault: Path, die_at: int | None) -> None:
    """Note every sync of this process in `journal` (lines of JSON) from now on; copies of the crawl state go to `vault`.

    `die_at` counts the moments before and behind each sync, rename and commit, from 1: at that one the process kills itself.
    """
    handle = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    moments, copies = [0], count()
    commit, opened = NightState.commit, NightState.__init__

    def moment() -> None:
        moments[0] += 1
        if moments[0] == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def note(**entry: Any) -> None:
        os.write(handle, json.dumps(entry).encode() + b"\n")

    def note_state(state: NightState) -> None:
        copy = vault / f"{os.getpid()}-{next(copies)}"
        copy.mkdir(parents=True)
        for suffix in _OF_STATE:
            if Path(f"{state.path}{suffix}").exists():
                shutil.copy(f"{state.path}{suffix}", copy / f"state{suffix}")
        note(state=str(state.path), copy=str(copy))
        note(folder=str(state.path.parent), entries=_entries(state.path.parent))  # SQLite syncs it with its first write-ahead log

    def syncing(real: Callable[[int], None]) -> Callable[[int], None]:
        def sync(fd: int) -> None:
            moment()
            real(fd)
            about = os.fstat(fd)
            if stat.S_ISDIR(about.st_mode):
                folder = os.readlink(f"/proc/self/fd/{fd}")
                note(folder=folder, entries=_entries(Path(folder)))
            else:
                note(file=about.st_ino, bytes=about.st_size)
            moment()

        return sync

    def renaming(real: Callable[..., None]) -> Callable[..., None]:
        def rename(*places: Any, **how: Any) -> None:
            moment()
            real(*places, **how)
            moment()

        return rename

    def committing(state: NightState) -> None:
        moment()
        commit(state)
        note_state(state)
        moment()

    def opening(state: NightState, path: Path) -> None:
        opened(state, path)
        note_state(state)

    os.fsync, os.fdatasync = syncing(os.fsync), syncing(os.fdatasync)
    os.rename, os.replace = renaming(os.rename), renaming(os.replace)
    NightState.commit, NightState.__init__ = committing, opening  # type: ignore[method-assign]


def _entries(folder: Path) -> dict[str, int]:
    return {entry.name: entry.inode() for entry in os.scandir(folder)}


@dataclass
class _Durable:
    """What the journal says is on the disk: bytes by inode, entries by folder, the copy of each crawl state."""

    files: dict[int, int] = field(default_factory=dict)
    folders: dict[str, dict[str, int]] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)


def _read(journal: Path) -> _Durable:
    durable = _Durable()
    for line in journal.read_text().splitlines() if journal.exists() else ():
        entry = json.loads(line)
        if "file" in entry:
            durable.files[entry["file"]] = entry["bytes"]
        elif "state" in entry:
            durable.states[entry["state"]] = entry["copy"]
        else:
            durable.folders[entry["folder"]] = entry["entries"]
    return durable


def cut(root: Path, journal: Path, *, tail: str, folders_too: bool, chance: random.Random) -> None:
    """Leave below `root` what survives; its own folders (lake, work) stay. `tail` is one of TAILS, what stands behind the synced bytes.

    `folders_too` takes away entries that no sync of their folder made durable; else the file system had written its journal.
    The journal then says that all of this is durable, for the next `watch`.
    """
    durable = _read(journal)
    for path in sorted(root.rglob("*")):
        if path.is_file() and not _is_of_state(path) and "locks" not in path.parts:
            _tear(path, durable.files.get(path.stat().st_ino, 0), tail, chance)
    for state, copy in durable.states.items():
        for suffix in (*_OF_STATE, "-shm"):
            Path(f"{state}{suffix}").unlink(missing_ok=True)
        for suffix in _OF_STATE:
            if (kept := Path(copy) / f"state{suffix}").exists():
                shutil.copy(kept, f"{state}{suffix}")
    if folders_too:
        for folder in [path for path in sorted(root.rglob("*"), reverse=True) if path.is_dir()]:
            _forget_entries(folder, durable)
    journal.write_text("".join(f"{json.dumps(entry)}\n" for entry in _all_of_it(root, durable)))


def _all_of_it(root: Path, durable: _Durable) -> Iterator[dict[str, Any]]:
    """What survived is on the disk: the next journal begins with it."""
    for path in (root, *root.rglob("*")):
        if path.is_dir():
            yield {"folder": str(path), "entries": _entries(path)}
        else:
            yield {"file": path.stat().st_ino, "bytes": path.stat().st_size}
    for state, copy in durable.states.items():
        yield {"state": state, "copy": copy}


def _is_of_state(path: Path) -> bool:
    return path.name.endswith((".sqlite", ".sqlite-wal", ".sqlite-shm"))


def _tear(path: Path, synced: int, tail: str, chance: random.Random) -> None:
    lost = path.stat().st_size - synced
    if lost <= 0:
        return
    if tail == "cut":
        os.truncate(path, synced)
    elif tail == "part":
        os.truncate(path, synced + chance.randrange(lost))
    else:
        with path.open("r+b") as file:
            file.seek(synced)
            file.write(bytes(lost) if tail == "zeros" else chance.randbytes(lost))


def _forget_entries(folder: Path, durable: _Durable) -> None:
    """Entries as the folder's last sync left them: new ones go, renamed ones have their old name again."""
    known = durable.folders.get(str(folder), {})
    names = {inode: name for name, inode in known.items()}
    for path in sorted(folder.iterdir()):
        if _is_of_state(path) and path.name.partition("-")[0] in {name.partition("-")[0] for name in known}:
            continue  # put back above, under another inode
        inode = path.stat().st_ino
        if known.get(path.name) == inode:
            continue
        if inode in names and not (folder / names[inode]).exists():
            path.rename(folder / names[inode])
        elif path.is_dir():
            if str(path) not in durable.folders:
                shutil.rmtree(path)
        else:
            path.unlink()
