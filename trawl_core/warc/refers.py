"""Which record holds the payload of an imported revisit: by the id that it refers to, by URL and date, by digest.

Read from the captures of its domain (and of the domain it refers to) alone, so files may be imported in any order: what could
not be resolved is looked at again by each later import.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from trawl_core.lake import Lake, Partition, tables
from trawl_core.urls.normalize import split_url
from trawl_core.warc.imported import is_imported

_COLUMNS = [
    "capture_id", "warc_type", "url", "fetch_time", "fetch_status", "content_digest", "payload_sha256", "warc_filename",
    "warc_record_offset", "warc_record_length", "refers_to_id", "refers_to_url", "refers_to_date", "refers_to_warc_filename",
    "refers_to_warc_offset", "refers_to_warc_length", "kind",
]  # fmt: skip
_PLACE = ("refers_to_warc_filename", "refers_to_warc_offset", "refers_to_warc_length")
_BODIES = ("response", "resource")


class _Originals:
    """Records with a payload, of some domains."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._read: set[str] = set()
        self._by_id: dict[str, dict[str, Any]] = {}
        self._by_url: dict[str, list[dict[str, Any]]] = {}
        self._by_digest: dict[str, list[dict[str, Any]]] = {}

    def read(self, domain: str) -> None:
        if domain in self._read:
            return
        self._read.add(domain)
        for partition in self._lake.partitions_of_domain("captures", domain):
            for row in _rows(self._lake, partition):
                self._by_id.setdefault(row["capture_id"], row)
                if row["warc_type"] in _BODIES:
                    self._by_url.setdefault(row["url"], []).append(row)
                    self._by_digest.setdefault(row["content_digest"], []).append(row)

    def of(self, row: dict[str, Any]) -> dict[str, Any] | None:
        """The record that `row` refers to, one with a payload; None when it is not archived here."""
        return self._by_reference(row) or self._by_url_and_date(row) or self._by_payload(row)

    def named_by(self, row: dict[str, Any]) -> dict[str, Any] | None:
        return self._by_reference(row) or self._by_url_and_date(row)

    def _by_reference(self, row: dict[str, Any]) -> dict[str, Any] | None:
        found, steps = self._by_id.get(row["refers_to_id"] or ""), 0
        while found is not None and found["warc_type"] == "revisit" and steps < 10:
            found, steps = self._by_id.get(found["refers_to_id"] or ""), steps + 1
        return found if found is not None and found["warc_type"] in _BODIES else None

    def _by_url_and_date(self, row: dict[str, Any]) -> dict[str, Any] | None:
        url, moment = row["refers_to_url"], row["refers_to_date"]
        if not url or not moment:
            return None
        near = [one for one in self._by_url.get(url, ()) if _second(one["fetch_time"]) == _second(moment)]
        return min(near, key=_order, default=None)

    def _by_payload(self, row: dict[str, Any]) -> dict[str, Any] | None:
        same = self._by_digest.get(row["content_digest"] or "", ())
        before = [one for one in same if one["fetch_time"] <= row["fetch_time"]]
        return min(before, key=lambda one: (one["url"] != row["url"], *_order(one)), default=None)


def _order(row: dict[str, Any]) -> tuple[datetime, str]:
    return row["fetch_time"], row["capture_id"]


def _second(moment: datetime) -> datetime:
    return moment.replace(microsecond=0)


def _rows(lake: Lake, partition: Partition) -> Iterator[dict[str, Any]]:
    return iter(tables.read(lake, "captures", partition, _COLUMNS).to_pylist())


def resolve_revisits(lake: Lake, domain: str) -> tuple[int, int]:
    """Lead each imported revisit of a domain to its payload; returns (revisits that have one, revisits that have none).

    A conversion (text of a WET file) whose response is archived too is no page of its own. The caller holds the domain's lock.
    """
    originals: _Originals | None = None
    resolved = unresolved = 0
    for partition in lake.partitions_of_domain("captures", domain):
        changed: dict[str, dict[str, Any]] = {}
        if not any(map(_is_wanted, tables.read(lake, "captures", partition, ["warc_type", "warc_filename"]).to_pylist())):
            continue
        for row in filter(_is_wanted, _rows(lake, partition)):
            if originals is None:
                originals = _Originals(lake)
                originals.read(domain)
            if row["warc_type"] == "revisit" and (other := _domain_of(row["refers_to_url"])) and other != domain:
                originals.read(other)
            columns = _columns(row, originals)
            if row["warc_type"] == "revisit":
                found = columns.get("refers_to_warc_filename", row["refers_to_warc_filename"]) is not None
                resolved, unresolved = resolved + found, unresolved + (not found)
            if any(row[name] != value for name, value in columns.items()):
                changed[row["capture_id"]] = columns
        if changed:
            rows = tables.read(lake, "captures", partition).to_pylist()
            tables.commit(lake, "captures", partition, [_without_partition({**row, **changed.get(row["capture_id"], {})}) for row in rows])
    return resolved, unresolved


def _is_wanted(row: dict[str, Any]) -> bool:
    return row["warc_type"] in ("revisit", "conversion") and is_imported(row["warc_filename"])


def _columns(row: dict[str, Any], originals: _Originals) -> dict[str, Any]:
    """The columns that knowing the original changes."""
    if row["warc_type"] == "conversion":
        return {"kind": "other" if originals.named_by(row) else "page"}
    found = originals.of(row)
    if found is None:
        return {}
    return {
        "refers_to_id": found["capture_id"],
        "refers_to_url": found["url"],
        "refers_to_date": found["fetch_time"],
        **dict(zip(_PLACE, (found["warc_filename"], found["warc_record_offset"], found["warc_record_length"]), strict=True)),
        "content_digest": found["content_digest"],
        "payload_sha256": found["payload_sha256"],
    }


def _without_partition(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("crawl_date", "domain")}


def _domain_of(url: str | None) -> str | None:
    return split_url(url).url_host_name.strip("[]") if url else None
