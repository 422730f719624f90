"""The records of one domain that a verification has met, so that what leads to them needs no second read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trawl_core.lake import Lake
from trawl_core.warc.record import explain
from trawl_core.warc.scan import Seen, scan_record

Place = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Known:
    """A few words of a record that holds or confirms a body; `sha256` is that of a response's payload."""

    length: int
    capture_id: str | None
    warc_type: str
    sha1: str | None
    sha256: bytes | None


class KnownRecords:
    """By file and byte. A record that could not be read is remembered too, so that it is reported once."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._files: dict[str, dict[int, Known | None]] = {}
        self._unread: dict[str, list[tuple[int, int]]] = {}

    def add(self, name: str, seen: Seen) -> None:
        sha256 = bytes.fromhex(seen.sha256) if seen.sha256 else None
        self._files.setdefault(name, {})[seen.offset] = Known(seen.length, seen.capture_id, seen.warc_type, seen.sha1, sha256)

    def add_unreadable(self, place: Place) -> None:
        self._files.setdefault(place[0], {})[place[1]] = None

    def leave_out(self, name: str, start: int, end: int) -> None:
        """Nothing is known of these bytes, and they must not be tried again: whoever read them died of it."""
        self._unread.setdefault(name, []).append((start, end))

    def is_left_out(self, place: Place) -> bool:
        return any(start <= place[1] < end for start, end in self._unread.get(place[0], ()))

    def look_up(self, place: Place) -> Known | None:
        """The record at a place, read only where it was not met before; None when its fault was reported already.

        Raises WarcError when these bytes are no sound record.
        """
        name, offset, length = place
        if self.is_left_out(place):
            return None
        found = self._files.get(name, {}).get(offset)
        if found is not None and found.length == length:
            return found
        if found is None and offset in self._files.get(name, {}):
            return None
        self.add_unreadable(place)
        scanned = scan_record(self._lake, name, offset, length)
        if scanned.faults:
            raise explain(name, offset, "; ".join(fault for _, fault in scanned.faults))
        if not scanned.records:
            raise explain(name, offset, f"a {scanned.beside[0][2]} record stands there, which holds no body")
        self.add(name, scanned.records[0])
        return self._files[name][offset]


def place_of(row: Mapping[str, Any], filename: str, prefix: str) -> Place:
    return row[filename], row[f"{prefix}_offset"], row[f"{prefix}_length"]
