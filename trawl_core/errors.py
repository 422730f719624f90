"""Every error that Trawl raises on purpose.

    TrawlError                    message for a person: what was being done, to what, why it failed, what to do next
    ├── ConfigError               sites.yaml or the environment is wrong            (exit status 2)
    ├── UsageError                the command was asked for something impossible    (exit status 2)
    │   ├── UnknownDomainError    a domain that sites.yaml does not name
    │   └── PastDateError         fetching was asked for a day that is over
    ├── LakeError                 a table or file of the lake can't be read or written
    │   ├── SchemaError           a table does not have the columns it should have
    │   ├── ReadOnlyHomeError     TRAWL_HOME or the lake can't be written
    │   └── DiskFullError         no space left while committing
    ├── LockedError               another run holds this domain's crawl
    ├── FetchError                one exchange failed; `outcome` is the captures.outcome it becomes
    ├── WarcError                 a WARC file or record can't be written or read
    ├── ExtractError              one page can't be extracted; becomes pages.extract_status
    └── SearchError               no index, wrong model, damaged shard

`exit_status` is what the `trawl` command returns for it: 2 wrong usage, 1 found a problem.
"""

from __future__ import annotations

import errno
from pathlib import Path


class TrawlError(Exception):
    """Base of the family: `str(error)` is one paragraph for a person."""

    exit_status = 1


class ConfigError(TrawlError):
    exit_status = 2


class UsageError(TrawlError):
    exit_status = 2


class UnknownDomainError(UsageError):
    pass


class PastDateError(UsageError):
    pass


class LakeError(TrawlError):
    pass


class SchemaError(LakeError):
    pass


class ReadOnlyHomeError(LakeError):
    pass


class DiskFullError(LakeError):
    pass


class LockedError(TrawlError):
    pass


class FetchError(TrawlError):
    """One exchange that ended without a usable answer.

    `outcome` is one of the values of captures.outcome (`timeout`, `dns_error`, `blocked_address`, …).
    """

    def __init__(self, outcome: str, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome

    def __reduce__(self) -> tuple[type[FetchError], tuple[str, str]]:
        return type(self), (self.outcome, str(self))


class WarcError(TrawlError):
    pass


class ExtractError(TrawlError):
    """One page that could not be extracted; `status` becomes pages.extract_status."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status


class SearchError(TrawlError):
    pass


def explain_os_error(error: OSError, doing: str, path: str | Path) -> LakeError:
    """The TrawlError that tells a person what `error` (met while `doing` something to `path`) means and what to do."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFullError(
            f"{doing} {path}: the disk is full. Nothing stored before was changed. "
            "Free some space, or set TRAWL_LAKE to a larger disk, and run the same command again."
        )
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return ReadOnlyHomeError(
            f"{doing} {path}: it can't be written ({error.strerror}). "
            "Give this user write permission there, or set TRAWL_HOME to a folder that can be written."
        )
    return LakeError(f"{doing} {path}: {error.strerror or error}.")
