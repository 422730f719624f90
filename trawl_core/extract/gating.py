"""The gate at work in one partition: what each body is asked, and what becomes of the answer.

First every body that no stored row stands for is parsed, and read where nothing else need be known; the lines of all pages of the
night are counted; then what is still open is decided, and what must be read after all is read.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from trawl_core.extract.gate import Before, LineCounts, Lines, count_lines, is_sampled, reads_as_before, same_lines
from trawl_core.extract.language import detected_language
from trawl_core.extract.previous import Previous
from trawl_core.extract.reread import State
from trawl_core.extract.rows import Because, Extracted, PageRows
from trawl_core.extract.worker import Answer, Job
from trawl_core.lake import Partition
from trawl_core.sites import Site

_OF_TEXT = ("text", "text_sha256", "text_chars", "text_words", "extractor", "predicted_type")
_OF_READING = ("extractor", "predicted_type")
_REASONS: Mapping[str, Because] = {"same": "same_lines", "read_as_before": "same_reading"}
_Capture = Mapping[str, Any]


@dataclass(frozen=True)
class _Compared:
    """What a body is compared with."""

    previous: Previous
    before: Before


@dataclass
class _Body:
    """A body of tonight with the captures that share it; `compared` is None where the gate has no say."""

    sharing: Sequence[_Capture]
    source: _Capture
    compared: _Compared | None
    sampled: bool
    same: bool | None = None
    """Whether it shows the lines of its previous capture, once that is known."""


@dataclass(frozen=True)
class _Undecided:
    body: _Body
    compared: _Compared
    state: State | Literal["kept"]
    packed: bytes
    """The Extracted, packed, since all of a night's pages may have to wait."""


class Gating:
    """Hands each body of a partition's captures to be read, or to be carried over, and gives `rows` what comes of it."""

    def __init__(self, partition: Partition, site: Site, rows: PageRows) -> None:
        self._partition = partition
        self._site = site
        self._rows = rows
        self._bodies: dict[str, _Body] = {}
        self._undecided: list[_Body] = []
        self._urls: dict[str, int] = {}
        self._shown: list[tuple[int, np.ndarray]] = []

    def take_over(self, sharing: Sequence[_Capture], row: Mapping[str, Any], blocks: Sequence[Mapping[str, Any]]) -> None:
        """The body of `sharing` is that of a stored row."""
        extracted = replace(Extracted.of_rows(row, blocks), because="same_payload")
        self._count(sharing[0]["url"], extracted)
        self._give(sharing, extracted)

    def add(self, sharing: Sequence[_Capture], source: _Capture, previous: Previous | None, kept: Extracted | None) -> None:
        """`kept` is what the partition holds of this body."""
        before = previous.before() if previous is not None and self._site.extraction_gate == "on" else None
        compared = _Compared(previous, before) if previous is not None and before is not None else None
        sampled = compared is not None and is_sampled(self._partition.crawl_date, source["url"], self._site.gate_sample)
        body = _Body(sharing, source, compared, sampled)
        if kept is not None and compared is not None:
            self._count(source["url"], kept)
            self._undecided.append(_Undecided(body, compared, "kept", _packed(kept)))
        elif kept is not None and kept.because is None:
            self._count(source["url"], kept)
            self._give(sharing, kept, kept=True)
        else:
            self._bodies[str(len(self._bodies))] = body

    def first_jobs(self) -> list[Job]:
        return [self._job(key, body) for key, body in self._bodies.items()]

    def second_jobs(self) -> list[Job]:
        """What must be read now that all lines of tonight are known; gives rows to what need not."""
        tonight = self._line_counts()
        left = [one.body for one in self._undecided if not self._decide(one, tonight)]
        self._undecided = []
        self._bodies = {str(place): body for place, body in enumerate(left)}
        return self.first_jobs()

    def take(self, answer: Answer) -> None:
        body = self._bodies[answer.key]
        if answer.page is None:
            return
        extracted = Extracted.of_page(answer.page, _REASONS.get(answer.state))
        if body.same is None:
            self._count(body.source["url"], extracted)
            if body.compared is not None and (body.sampled or answer.state == "open"):
                self._undecided.append(_Undecided(body, body.compared, answer.state, _packed(extracted)))
                return
        self._settle(body, extracted)

    def _decide(self, one: _Undecided, tonight: LineCounts) -> bool:
        """Give a row to a body that need not be read (any more); False for one that must."""
        body, before, extracted = one.body, one.compared.before, _unpacked(one.packed)
        now = Lines.of_rows(extracted.blocks)
        body.same = same_lines(before, now, one.compared.previous.night.counts, tonight)
        if one.state == "open":
            if not body.same:
                return False
            extracted = replace(extracted, because="same_lines")
        elif one.state == "kept":
            wanted = None if body.sampled else "same_lines" if body.same else "same_reading" if reads_as_before(before, now) else None
            if extracted.because != wanted or not _is_of(extracted, one.compared.previous):
                return False
        self._settle(body, extracted, kept=one.state == "kept")
        return True

    def _settle(self, body: _Body, extracted: Extracted, *, kept: bool = False) -> None:
        if body.compared is not None and extracted.because == "same_lines":
            row = body.compared.previous.row(*_OF_TEXT)
            columns = {**extracted.columns, **{name: row[name] for name in _OF_TEXT}, "page_type": row["predicted_type"]}
            columns["language"] = columns["language"] or detected_language(columns["text"])
            extracted = replace(extracted, columns=columns)
        elif body.compared is not None and body.sampled and body.same:
            agreed = extracted.columns["text"] == body.compared.previous.row("text")["text"]
            extracted = replace(extracted, gate_check="agreed" if agreed else "differed")
        self._give(body.sharing, extracted, kept=kept)

    def _give(self, sharing: Sequence[_Capture], extracted: Extracted, *, kept: bool = False) -> None:
        for capture in sharing:
            self._rows.add(capture, extracted, kept=kept)

    def _job(self, key: str, body: _Body) -> Job:
        before = body.compared.before if body.compared is not None and not body.sampled else None
        site = self._site
        return Job(key, dict(body.source), site.max_decoded_bytes, site.extraction_profile, before, body.same, site.json_pointers)

    def _count(self, url: str, extracted: Extracted) -> None:
        hashes = np.array([block["hash"] for block in extracted.blocks], np.uint64)
        self._shown.append((self._urls.setdefault(url, len(self._urls)), np.unique(hashes)))

    def _line_counts(self) -> LineCounts:
        if not self._undecided:
            return count_lines(pl.DataFrame({"url": [], "hash": []}, schema={"url": pl.Int64, "hash": pl.UInt64}))
        urls = np.repeat(np.array([url for url, _ in self._shown], np.int64), [len(hashes) for _, hashes in self._shown])
        return count_lines(pl.DataFrame({"url": urls, "hash": np.concatenate([hashes for _, hashes in self._shown])}))


def _is_of(kept: Extracted, previous: Previous) -> bool:
    """Whether a stored row has what it took over from the previous capture as that is now."""
    if kept.because is None:
        return True
    names = _OF_TEXT if kept.because == "same_lines" else _OF_READING
    row = previous.row(*names)
    return all(kept.columns[name] == row[name] for name in names)


def _packed(extracted: Extracted) -> bytes:
    return zlib.compress(pickle.dumps(extracted), 1)


def _unpacked(packed: bytes) -> Extracted:
    return pickle.loads(zlib.decompress(packed))
