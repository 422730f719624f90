"""What an error of SQLite means for a person."""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path

from trawl_core.errors import SearchError, TrawlError, explain_os_error

_AS_OS_ERROR = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_READONLY: errno.EACCES,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
    sqlite3.SQLITE_PERM: errno.EACCES,
}


def explain_sqlite_error(error: sqlite3.DatabaseError, doing: str, path: Path, remedy: str) -> TrawlError:
    """DiskFullError or ReadOnlyHomeError where the disk is at fault, else a SearchError that ends in `remedy`."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte is the primary code
    if number := _AS_OS_ERROR.get(code):
        return explain_os_error(OSError(number, os.strerror(number)), doing, path)
    return SearchError(f"{doing} {path}: {error}. {remedy}")
