"""Template edits: what a night changed on many pages of a domain at once, like a build stamp or a new navigation link.

An edit that at least 5 pages and 30 % of the domain's changed pages share belongs to the template, not to a page. Every one
of them is logged in `template_edits`; nothing is dropped silently.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from trawl_core.changes.diff import Edit, changed_words
from trawl_core.changes.version import PageVersion, block_hash

MIN_PAGES = 5
MIN_SHARE = 0.3


@dataclass(frozen=True, order=True)
class SharedEdit:
    """A block (or, with "title: " before it, the words of a title) that was added to or removed from a page."""

    op: Literal["added", "removed"]
    hash: int
    text: str = field(compare=False)


@dataclass(frozen=True)
class TemplateEdit:
    edit: SharedEdit
    pages: int
    changed_pages: int
    samples: tuple[str, ...]


def edits_of_page(old: PageVersion, new: PageVersion, diff: Sequence[Edit]) -> frozenset[SharedEdit]:
    """Everything in a page's diff, its title included, that other pages might share."""
    found = set(title_edits(old.title, new.title))
    for edit in diff:
        found.update(SharedEdit("removed", block.hash, block.text) for block in old.blocks[edit.old_start : edit.old_end])
        found.update(SharedEdit("added", block.hash, block.text) for block in new.blocks[edit.new_start : edit.new_end])
    return frozenset(found)


def title_edits(old: str | None, new: str | None) -> list[SharedEdit]:
    """The words by which two titles differ; the rest of a title is the page's own."""
    removed, added = changed_words([old or ""], [new or ""])
    lines: list[tuple[Literal["added", "removed"], str]] = [("removed", line) for line in removed] + [("added", line) for line in added]
    return [SharedEdit(op, block_hash(f"title: {line}"), f"title: {line}") for op, line in lines]


def find_template_edits(edits: Mapping[str, Collection[SharedEdit]]) -> list[TemplateEdit]:
    """`edits` holds the edits of each changed page by URL; sorted by op, text and hash."""
    pages: dict[SharedEdit, list[str]] = defaultdict(list)
    for url, found in edits.items():
        for edit in set(found):
            pages[edit].append(url)
    changed = sum(bool(found) for found in edits.values())
    least = max(MIN_PAGES, math.ceil(MIN_SHARE * changed))
    shared = [TemplateEdit(edit, len(urls), changed, tuple(sorted(urls)[:5])) for edit, urls in pages.items() if len(urls) >= least]
    return sorted(shared, key=lambda found: (found.edit.op, found.edit.text, found.edit.hash))
