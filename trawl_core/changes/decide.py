"""Did this page change, and how? A pure decision over two versions of a URL.

In this order: status; payload digest; blocks, less template edits; words inside changed blocks; structured data by path;
title and canonical link. An answer of 5xx, a timeout, an ETag, another extractor are never a change.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from trawl_core.changes.diff import Edit, diff_blocks
from trawl_core.changes.noise import SharedEdit, title_edits
from trawl_core.changes.structured import Difference, changed_opengraph, changed_paths
from trawl_core.changes.summary import Summary, summarise
from trawl_core.changes.version import GONE, GOOD, MOVED, PageVersion, has_same_body, version_of

DETECTOR_VERSION = "1"

# Bytes are not worth it: a person reads the first lines, a program takes diff_ops.
MAX_TEXT_CHARS = 50_000


@dataclass(frozen=True)
class Evidence:
    """Which signals differed; None where a side does not know."""

    payload_digest_changed: bool | None = None
    etag_changed: bool | None = None
    last_modified_changed: bool | None = None
    text_changed: bool | None = None
    blocks_changed: bool | None = None
    structured_changed: bool | None = None
    extractor_changed: bool | None = None


@dataclass(frozen=True)
class DiffOp:
    op: str
    old_start: int
    old_end: int
    new_start: int
    new_end: int
    new_blocks: tuple[str, ...]


@dataclass(frozen=True)
class FieldChange:
    path: str
    old: str | None
    new: str | None


@dataclass(frozen=True)
class Change:
    """One row of table `changes`, column by column; the partition's columns are added when it is committed."""

    url: str
    event: str
    kinds: tuple[str, ...]
    severity: str
    prev_crawl_date: date | None = None
    prev_capture_id: str | None = None
    capture_id: str | None = None
    status: int | None = None
    prev_status: int | None = None
    final_url: str | None = None
    prev_final_url: str | None = None
    title: str | None = None
    prev_title: str | None = None
    evidence: Evidence | None = None
    simhash_distance: int | None = None
    blocks_added: int | None = None
    blocks_removed: int | None = None
    words_added: int | None = None
    words_removed: int | None = None
    added_text: str | None = None
    removed_text: str | None = None
    diff_ops: tuple[DiffOp, ...] | None = None
    fields: tuple[FieldChange, ...] | None = None
    template_blocks: int | None = None
    truncated: bool = False
    gap_days: int | None = None
    detector_version: str = DETECTOR_VERSION

    def row(self) -> dict[str, Any]:
        return asdict(self)


def compare_pages(
    old: Any, new: Any, template: Container[SharedEdit] = frozenset(), *, diff: Sequence[Edit] | None = None
) -> Change | None:
    """The change from `old` (the newest good version before; None when there was none) to `new`, None when there is none.

    Takes PageVersions, or extracted pages as version.version_of reads them. `template` holds the night's template edits of
    the domain, `diff` the block diff where the caller has it already.
    """
    new = version_of(new)
    old = None if old is None else version_of(old)
    if new.status in MOVED:
        return _moved(old, new)
    if new.status in GONE:
        return _gone(old, new)
    if new.status not in GOOD or new.incomplete:
        return None
    if old is None:
        return Change(event="new", kinds=(), severity="info", **_sides(None, new))
    left = old.left_status if old.left_status is not None else old.status
    if left in (*GONE, *MOVED):
        return _content_change(old, new, template, diff, reappeared_after=left)
    return _content_change(old, new, template, diff)


def _moved(old: PageVersion | None, new: PageVersion) -> Change | None:
    if old is None or (old.left_status in MOVED and old.left_to == new.final_url):
        return None
    return Change(event="moved", kinds=("redirect", "status"), severity="major", **_sides(old, new))


def _gone(old: PageVersion | None, new: PageVersion) -> Change | None:
    if old is None or old.left_status in GONE or old.status in GONE:
        return None
    return Change(event="gone", kinds=("status",), severity="major", **_sides(old, new))


def _content_change(
    old: PageVersion, new: PageVersion, template: Container[SharedEdit], diff: Sequence[Edit] | None, reappeared_after: int | None = None
) -> Change | None:
    same_body = has_same_body(old, new)
    comparable = not same_body and not (old.has_main and not new.has_main)
    edits: Sequence[Edit] = ()
    summary = Summary()
    fields: list[Difference] = []
    kinds: set[str] = set()
    if comparable:
        edits = diff_blocks(old.hashes, new.hashes) if diff is None else diff
        summary = summarise(old, new, edits, template)
        if summary.added or summary.removed:
            kinds.add("content")
        if summary.template_blocks:
            kinds.add("template")
        if old.structured is not None and new.structured is not None:
            structured = changed_paths(old.structured, new.structured)
            opengraph = changed_opengraph(old.structured, new.structured)
            if old.structured_by != new.structured_by:
                # What only one side has may be there because it was read by another version, or by other schemas of sites.yaml.
                structured, opengraph = ([one for one in found if None not in one[1:]] for found in (structured, opengraph))
            kinds |= ({"structured"} if structured else set()) | ({"opengraph"} if opengraph else set())
            fields += structured + opengraph
        if old.title != new.title:
            own = any(edit not in template for edit in title_edits(old.title, new.title))
            kinds.add("title" if own else "template")
            if own:
                fields.append(("title", old.title, new.title))
        if old.canonical_hint != new.canonical_hint:
            kinds.add("canonical")
            fields.append(("canonical", old.canonical_hint, new.canonical_hint))
    event = _event(kinds)
    if reappeared_after is not None:
        event = "reappeared"
        kinds.add("status")
    if event is None:
        return None
    added, removed = "\n".join(summary.added), "\n".join(summary.removed)
    return Change(
        event=event,
        kinds=tuple(sorted(kinds)),
        severity=_severity(event, summary),
        **_sides(old, new),
        evidence=_evidence(old, new, bool(edits), "structured" in kinds) if comparable else None,
        simhash_distance=None if old.simhash is None or new.simhash is None else (old.simhash ^ new.simhash).bit_count(),
        blocks_added=summary.blocks_added,
        blocks_removed=summary.blocks_removed,
        words_added=summary.words_added,
        words_removed=summary.words_removed,
        added_text=added[:MAX_TEXT_CHARS],
        removed_text=removed[:MAX_TEXT_CHARS],
        diff_ops=tuple(_diff_op(edit, new) for edit in edits),
        fields=tuple(FieldChange(*field) for field in fields),
        template_blocks=summary.template_blocks,
        truncated=max(len(added), len(removed)) > MAX_TEXT_CHARS,
    )


def _event(kinds: set[str]) -> str | None:
    if "content" in kinds:
        return "content"
    if "structured" in kinds:
        return "structured"
    if kinds & {"title", "canonical", "opengraph"}:
        return "metadata"
    return "template" if "template" in kinds else None


def _severity(event: str, summary: Summary) -> str:
    """info: nothing of the page itself; minor: beside the main content; major: the main content, or the page as a whole."""
    if event == "template":
        return "info"
    return "major" if event == "reappeared" or summary.in_main else "minor"


def _sides(old: PageVersion | None, new: PageVersion) -> dict[str, Any]:
    """The columns that identify the two captures."""
    sides: dict[str, Any] = {
        "url": new.url,
        "capture_id": new.capture_id,
        "status": new.status,
        "final_url": new.final_url or new.url,
        "title": new.title,
    }
    if old is not None:
        sides |= {
            "prev_crawl_date": old.crawl_date,
            "prev_capture_id": old.capture_id,
            "prev_status": old.status if old.left_status is None else old.left_status,
            "prev_final_url": old.left_to or old.final_url or old.url,
            "prev_title": old.title,
            "gap_days": (new.crawl_date - old.crawl_date).days if old.crawl_date and new.crawl_date else None,
        }
    return sides


def _evidence(old: PageVersion, new: PageVersion, blocks_changed: bool, structured_changed: bool) -> Evidence:
    def differs(name: str) -> bool | None:
        one, other = getattr(old, name), getattr(new, name)
        return None if one is None or other is None else one != other

    known = old.structured is not None and new.structured is not None
    return Evidence(
        payload_digest_changed=differs("payload_digest"),
        etag_changed=differs("etag"),
        last_modified_changed=differs("last_modified"),
        text_changed=differs("text_sha256"),
        blocks_changed=blocks_changed,
        structured_changed=structured_changed if known else None,
        extractor_changed=differs("extractor_version"),
    )


def _diff_op(edit: Edit, new: PageVersion) -> DiffOp:
    texts = tuple(block.text for block in new.blocks[edit.new_start : edit.new_end])
    return DiffOp(edit.op, edit.old_start, edit.old_end, edit.new_start, edit.new_end, texts)
