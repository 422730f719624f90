"""Files that are written beside their target and renamed when they are whole: their names, and what a dead process left of them."""

from __future__ import annotations

import os
import re
import socket
import uuid
from collections.abc import Iterator
from pathlib import Path

_NAME = re.compile(r"^\..+\.(?P<pid>\d+)~(?P<host>.+)-[0-9a-f]{8}\.tmp$")


def beside(target: Path) -> Path:
    """A new hidden name in the target's folder that tells who writes it."""
    return target.with_name(f".{target.name}.{os.getpid()}~{socket.gethostname()}-{uuid.uuid4().hex[:8]}.tmp")


def is_beside(name: str) -> bool:
    """Whether the last part of `name` is one that `beside` makes: no reader may take it for a file of the lake."""
    return _NAME.match(name.rpartition("/")[2]) is not None


def sweep(folder: Path) -> Iterator[Path]:
    """Remove what processes of this machine that are gone left below `folder`; yields each file."""
    for path in sorted(folder.rglob(".*.tmp")):
        owner = _NAME.match(path.name)
        if owner and owner["host"] == socket.gethostname() and not is_alive(int(owner["pid"])):
            path.unlink(missing_ok=True)
            yield path


def is_alive(pid: int) -> bool:
    """Whether a process of this machine has that id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
