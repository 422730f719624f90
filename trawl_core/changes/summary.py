"""What a block diff amounts to for a person: words and lines, without the template's share."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from trawl_core.changes.diff import Edit, changed_words
from trawl_core.changes.noise import SharedEdit
from trawl_core.changes.version import Block, PageVersion


@dataclass(frozen=True)
class Summary:
    """Counts and lines of the page's own edits; `template_blocks` counts the others. `in_main` is True when main content changed."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    blocks_added: int = 0
    blocks_removed: int = 0
    template_blocks: int = 0
    in_main: bool = False

    @property
    def words_added(self) -> int:
        return sum(len(line.split()) for line in self.added)

    @property
    def words_removed(self) -> int:
        return sum(len(line.split()) for line in self.removed)


def summarise(old: PageVersion, new: PageVersion, diff: Sequence[Edit], template: Container[SharedEdit]) -> Summary:
    """Words are compared inside replaced blocks only; an inserted or deleted block counts as a whole."""
    added: list[str] = []
    removed: list[str] = []
    own_old: list[Block] = []
    own_new: list[Block] = []
    template_blocks = 0
    for edit in diff:
        gone = old.blocks[edit.old_start : edit.old_end]
        come = new.blocks[edit.new_start : edit.new_end]
        own_gone = [block for block in gone if SharedEdit("removed", block.hash, block.text) not in template]
        own_come = [block for block in come if SharedEdit("added", block.hash, block.text) not in template]
        template_blocks += len(gone) + len(come) - len(own_gone) - len(own_come)
        lines_gone, lines_come = changed_words([block.text for block in own_gone], [block.text for block in own_come])
        removed += lines_gone
        added += lines_come
        own_old += own_gone
        own_new += own_come
    if not added and not removed:  # the same words in other blocks
        return Summary(template_blocks=template_blocks)
    in_main = any(block.in_main for block in (*own_old, *own_new))
    return Summary(tuple(added), tuple(removed), len(own_new), len(own_old), template_blocks, in_main)
