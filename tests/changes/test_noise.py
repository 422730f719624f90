from __future__ import annotations

import zlib

from trawl_core.changes.diff import diff_blocks
from trawl_core.changes.noise import SharedEdit, edits_of_page, find_template_edits, title_edits
from trawl_core.changes.version import Block, PageVersion


def edit(text: str) -> SharedEdit:
    return SharedEdit("added", zlib.crc32(text.encode()), text)


def test_five_pages_and_thirty_per_cent_make_a_template_edit():
    stamp, nav = edit("stamp"), edit("nav")
    pages = {f"https://a.test/{place:02}": {stamp} if place < 6 else {nav} if place < 10 else {edit(f"own {place}")} for place in range(20)}
    (found,) = find_template_edits(pages)
    assert (found.edit, found.pages, found.changed_pages) == (stamp, 6, 20)
    assert found.samples == tuple(f"https://a.test/{place:02}" for place in range(5))


def test_the_share_counts_changed_pages_only():
    pages = {f"https://a.test/{place}": {edit("stamp")} if place < 5 else set() for place in range(40)}
    assert [found.changed_pages for found in find_template_edits(pages)] == [5]
    pages |= {f"https://a.test/{place}": {edit(f"own {place}")} for place in range(5, 17)}
    assert find_template_edits(pages) == []


def test_four_pages_are_too_few():
    assert find_template_edits({f"https://a.test/{place}": {edit("x")} for place in range(4)}) == []


def test_a_title_gives_only_the_words_that_differ():
    assert [(found.op, found.text) for found in title_edits("Surface - game 2.5 docs", "Surface - game 2.6 docs")] == [
        ("removed", "title: 2.5"),
        ("added", "title: 2.6"),
    ]
    assert title_edits("Same", "Same") == []


def test_edits_of_a_page_are_its_blocks_and_its_title():
    old = PageVersion("https://a.test/", title="One", blocks=(Block(1, "a"), Block(2, "b")))
    new = PageVersion("https://a.test/", title="Two", blocks=(Block(1, "a"), Block(3, "c")))
    texts = {(found.op, found.text) for found in edits_of_page(old, new, diff_blocks(old.hashes, new.hashes))}
    assert texts == {("removed", "b"), ("added", "c"), ("removed", "title: One"), ("added", "title: Two")}
