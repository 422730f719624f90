"""One version of a page, as far as the comparison needs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import xxhash

GOOD = (200, 304)
GONE = (404, 410)
MOVED = (301, 308)


@dataclass(frozen=True, slots=True)
class Block:
    """A visible block: `hash` is xxh3_64 of its whitespace-normalised text."""

    hash: int
    text: str
    in_main: bool = True


@dataclass(frozen=True, slots=True)
class StructuredItem:
    """`fields` is a JSON object with sorted keys; None when the item could not be parsed."""

    syntax: str
    type: str | None
    fields: str | None


@dataclass(frozen=True)
class PageVersion:
    """What one capture of a URL showed.

    `structured` is None when it is not known; `structured_by` is by which version and schemas it was read. `incomplete` says that
    the transfer broke off. `left_status` is a later answer by which the URL left (404, 410, 301, 308), `left_to` the target of that
    redirect; None while it stayed.
    """

    url: str
    status: int | None = 200
    crawl_date: date | None = None
    capture_id: str | None = None
    body_capture_id: str | None = None
    final_url: str | None = None
    title: str | None = None
    canonical_hint: str | None = None
    payload_digest: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    text_sha256: str | None = None
    simhash: int | None = None
    blocks: tuple[Block, ...] = ()
    structured: tuple[StructuredItem, ...] | None = None
    structured_by: str | None = None
    extractor_version: str | None = None
    incomplete: bool = False
    left_status: int | None = None
    left_to: str | None = None

    @property
    def hashes(self) -> list[int]:
        return [block.hash for block in self.blocks]

    @property
    def has_main(self) -> bool:
        """False for an answer without main content: a failure that calls itself 200 is not a version."""
        return any(block.in_main for block in self.blocks)


def has_same_body(old: PageVersion, new: PageVersion) -> bool:
    """True when both are known to have the same payload."""
    if old.body_capture_id is not None and old.body_capture_id == new.body_capture_id:
        return True
    return old.payload_digest is not None and old.payload_digest == new.payload_digest


def block_hash(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "replace"))


def blocks_of_text(text: str | None) -> tuple[Block, ...]:
    """The lines of a text (one block a line) as blocks, for documents that have no page_blocks, such as PDF."""
    lines = (" ".join(line.split()) for line in (text or "").split("\n"))
    return tuple(Block(block_hash(line), line) for line in lines if line)


def version_of(page: Any) -> PageVersion:
    """A PageVersion as it is; of anything else with the attributes of an extracted page (title, text, blocks with hash, text
    and in_main, perhaps url) what it has."""
    if isinstance(page, PageVersion):
        return page
    blocks: Sequence[Any] = getattr(page, "blocks", None) or ()
    known = {name: getattr(page, name) for name in ("title", "canonical_hint", "text_sha256", "extractor_version") if hasattr(page, name)}
    url = getattr(page, "url", None) or ""
    return PageVersion(
        url=url,
        final_url=getattr(page, "final_url", None) or url,
        blocks=tuple(Block(block.hash, block.text, block.in_main) for block in blocks) or blocks_of_text(getattr(page, "text", None)),
        **known,
    )
