"""The previous captures of a night's URLs, as `pages` and `page_blocks` of earlier dates have them: what the gate compares with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from trawl_core.extract import carry
from trawl_core.extract.bodies import is_rendered
from trawl_core.extract.gate import LOOK_BACK_DAYS, Before, LineCounts, Lines, count_lines, text_lines
from trawl_core.lake import Lake, Partition, tables

# With the same payload, these make the same document of it.
_OF_PAYLOAD = ("payload_sha256", "content_encoding", "content_mime_type", "content_mime_detected", "content_charset", "content_truncated")


class Night:
    """An earlier date, as far as its captures are the previous ones of URLs of tonight."""

    def __init__(self, lake: Lake, partition: Partition, capture_ids: list[str]) -> None:
        wanted = pa.array(capture_ids, pa.string())
        rows = tables.read(lake, "pages", partition)
        self._rows = rows.filter(pc.is_in(rows["capture_id"], wanted))
        self._places = {one: place for place, one in enumerate(self._rows["capture_id"].to_pylist())}
        shown = tables.read(lake, "page_blocks", partition, ["url", "capture_id", "hash", "in_main"])
        self.counts: LineCounts = count_lines(pl.from_arrow(shown.select(["url", "hash"])))
        shown = shown.filter(pc.is_in(shown["capture_id"], wanted))
        self._lines = Lines(shown["hash"].to_numpy(), shown["in_main"].to_numpy())
        self._stretches = dict(_stretches(shown["capture_id"]))
        captures = tables.read(lake, "captures", partition, ["capture_id", "rendered_offset", *_OF_PAYLOAD])
        self._captures = {row["capture_id"]: row for row in captures.filter(pc.is_in(captures["capture_id"], wanted)).to_pylist()}

    def row(self, capture_id: str, names: Sequence[str] | None = None) -> dict[str, Any]:
        one = self._rows.slice(self._places[capture_id], 1)
        return (one if names is None else one.select(names)).to_pylist()[0]

    def lines(self, capture_id: str) -> Lines:
        where = self._stretches.get(capture_id, slice(0, 0))
        return Lines(self._lines.hashes[where], self._lines.in_main[where])

    def had_body_of(self, capture_id: str, capture: Mapping[str, Any]) -> bool:
        """Whether that capture of this night and `capture` have the same payload, which is to be read in the same way."""
        own = self._captures.get(capture_id)
        if own is None or own["payload_sha256"] is None or is_rendered(own) or is_rendered(capture):
            return False
        return all(own[name] == capture[name] for name in _OF_PAYLOAD)


@dataclass(frozen=True)
class Previous:
    """The capture before another one of the same URL."""

    night: Night
    partition: Partition
    capture_id: str

    def row(self, *names: str) -> dict[str, Any]:
        """Its row of `pages`, or these columns of it."""
        return self.night.row(self.capture_id, names or None)

    def had_body_of(self, capture: Mapping[str, Any]) -> bool:
        """Whether its row is the one that the body of `capture` would give."""
        return self.night.had_body_of(self.capture_id, capture) and self.row("extract_status")["extract_status"] not in carry.NOT_CARRIED

    def before(self) -> Before | None:
        """What the gate compares with; None where no text of HTML was read."""
        row = self.row("extract_status", "text", "extractor", "predicted_type")
        if row["extract_status"] not in ("ok", "carried") or row["predicted_type"] is None:
            return None
        lines, in_text = self.night.lines(self.capture_id), text_lines(row["text"])
        return Before(
            lines=lines,
            may_go=self.night.counts.common(lines.hashes) & ~np.isin(lines.hashes, in_text),
            in_text=in_text,
            extractor=row["extractor"],
            predicted_type=row["predicted_type"],
        )


def previous_captures(lake: Lake, partition: Partition, urls: Iterable[str], version: str) -> dict[str, Previous]:
    """By URL the last capture of the newest earlier date that has rows of it, where that row is of this extractor version."""
    missing = set(urls)
    found: dict[str, Previous] = {}
    oldest = partition.crawl_date - timedelta(days=LOOK_BACK_DAYS)
    for day in reversed(tables.dates_of(lake, "pages", partition.domain, before=partition.crawl_date)):
        if not missing or day < oldest:
            break
        earlier = Partition(day, partition.domain)
        data = tables.read(lake, "pages", earlier, ["url", "fetch_time", "capture_id", "extractor_version"])
        data = data.filter(pc.is_in(data["url"], pa.array(sorted(missing), pa.string())))
        newest = {row["url"]: row for row in sorted(data.to_pylist(), key=lambda row: (row["fetch_time"], row["capture_id"]))}
        missing -= set(newest)
        usable = {url: row["capture_id"] for url, row in newest.items() if row["extractor_version"] == version}
        if usable and tables.has(lake, "page_blocks", earlier):
            night = Night(lake, earlier, list(usable.values()))
            found.update({url: Previous(night, earlier, capture_id) for url, capture_id in usable.items()})
    return found


def _stretches(ids: pa.ChunkedArray) -> Iterator[tuple[str, slice]]:
    """Where each value stands in a column whose equal values stand together."""
    if not len(ids):
        return
    column = ids.combine_chunks().dictionary_encode()
    codes = column.indices.to_numpy()
    starts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
    for start, end in pairwise(starts):
        yield column.dictionary[codes[start]].as_py(), slice(start, end)
