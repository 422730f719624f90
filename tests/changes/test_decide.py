from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.changes.decide import MAX_TEXT_CHARS, compare_pages
from trawl_core.changes.diff import Edit, apply_edits
from trawl_core.changes.noise import SharedEdit
from trawl_core.changes.version import Block, PageVersion, StructuredItem
from trawl_core.extract.html import extract_html

URL = "https://a.test/"


def block(text: str, in_main: bool = True) -> Block:
    return Block(xxhash.xxh3_64_intdigest(text.encode()), text, in_main)


def version(*texts: str, **known) -> PageVersion:
    return PageVersion(URL, blocks=tuple(block(text) for text in texts), **known)


versions = st.builds(
    lambda texts, **known: version(*texts, **known),
    st.lists(st.sampled_from(["one two", "one", "two", "price 310", "price 283", "a b c"]), max_size=6),
    title=st.sampled_from(["A 1", "A 2"]),
    payload_digest=st.none(),
    structured=st.sampled_from([None, (), (StructuredItem("json-ld", "Product", '{"price":1}'),)]),
    status=st.sampled_from([200, 304]),
)


@given(versions, versions)
def test_invariants(old, new):
    change = compare_pages(old, new)
    if change is None:
        return
    assert change.event in ("content", "structured", "metadata")
    assert (change.event == "content") == bool(change.added_text or change.removed_text)
    edits = [Edit(op.op, op.old_start, op.old_end, op.new_start, op.new_end) for op in change.diff_ops]
    old_texts, new_texts = [block.text for block in old.blocks], [block.text for block in new.blocks]
    assert apply_edits(old_texts, edits, new_texts) == new_texts
    for op in change.diff_ops:
        assert list(op.new_blocks) == new_texts[op.new_start : op.new_end]
    assert len(change.added_text.split()) == change.words_added


@given(versions, versions)
def test_swapping_versions_swaps_added_and_removed(old, new):
    there, back = compare_pages(old, new), compare_pages(new, old)
    if there is None or back is None:  # one side without main content is a failure, not a version
        assert not (old.has_main and new.has_main) or there == back
        return
    assert (there.added_text, there.removed_text) == (back.removed_text, back.added_text)
    assert (there.words_added, there.blocks_added) == (back.words_removed, back.blocks_removed)
    assert [(field.path, field.old, field.new) for field in there.fields] == [(field.path, field.new, field.old) for field in back.fields]


@given(versions)
def test_a_page_equals_itself(page):
    assert compare_pages(page, page) is None
    assert compare_pages(page, replace(page, etag="other", extractor_version="2", last_modified="other", simhash=1)) is None


def test_a_new_url():
    change = compare_pages(None, version("a", title="T", capture_id="1"))
    assert (change.event, change.capture_id, change.title, change.prev_capture_id) == ("new", "1", "T", None)


def test_a_price_inside_a_block_is_content():
    old = version("Lamp", "It costs 310 EUR", crawl_date=date(2026, 11, 1), capture_id="1", payload_digest="x", etag="a", simhash=0b11)
    new = version("Lamp", "It costs 283 EUR", crawl_date=date(2026, 11, 4), capture_id="2", payload_digest="y", etag="b", simhash=0b01)
    change = compare_pages(old, new)
    assert (change.event, change.kinds, change.severity) == ("content", ("content",), "major")
    assert (change.removed_text, change.added_text, change.words_added, change.blocks_added) == ("310", "283", 1, 1)
    assert (change.gap_days, change.simhash_distance, change.prev_capture_id, change.capture_id) == (3, 1, "1", "2")
    evidence = change.evidence
    assert (evidence.payload_digest_changed, evidence.etag_changed, evidence.blocks_changed) == (True, True, True)
    assert (evidence.last_modified_changed, evidence.structured_changed) == (None, None)


def test_beside_the_main_content_is_minor():
    old = replace(version("text"), blocks=(block("text"), block("foot 1", in_main=False)))
    new = replace(version("text"), blocks=(block("text"), block("foot 2", in_main=False)))
    assert compare_pages(old, new).severity == "minor"


def test_the_same_payload_is_no_change_whatever_the_extractor_made_of_it():
    old, new = version("a", payload_digest="x", extractor_version="1"), version("b", payload_digest="x", extractor_version="2")
    assert compare_pages(old, new) is None
    assert compare_pages(replace(old, payload_digest=None, body_capture_id="1"), replace(new, body_capture_id="1")) is None


def test_another_extractor_and_another_payload_is_told_in_the_evidence():
    change = compare_pages(version("a", payload_digest="x", extractor_version="1"), version("b", payload_digest="y", extractor_version="2"))
    assert change.evidence.extractor_changed is True


def test_the_same_words_in_other_blocks_are_no_change():
    assert compare_pages(version("one two", "three"), version("one", "two three")) is None


def test_structured_only():
    old, new = (version("a", structured=(StructuredItem("json-ld", "Product", f'{{"price":{price}}}'),)) for price in (310, 283))
    change = compare_pages(old, new)
    assert (change.event, change.kinds, change.evidence.structured_changed) == ("structured", ("structured",), True)
    assert [(field.path, field.old, field.new) for field in change.fields] == [("Product.price", "310", "283")]


@pytest.mark.parametrize("side", ["old", "new"])
def test_structured_data_that_is_not_known_is_not_a_change(side):
    known, unknown = version("a", structured=(StructuredItem("json-ld", "Product", '{"price":1}'),)), version("a", structured=None)
    assert compare_pages(*((unknown, known) if side == "old" else (known, unknown))) is None


def test_title_and_canonical_link_are_metadata():
    change = compare_pages(version("a", title="Old"), version("a", title="New", canonical_hint="https://a.test/b"))
    assert (change.event, change.kinds) == ("metadata", ("canonical", "title"))
    assert (change.prev_title, change.title) == ("Old", "New")


def test_what_other_rules_alone_can_see_is_no_change():
    def read(rules: str, price: int, *more: StructuredItem) -> PageVersion:
        return version("a", structured=(StructuredItem("json-ld", "Product", f'{{"price":{price}}}'), *more), structured_by=rules)

    selected = StructuredItem("selector", "product", '{"cost":"310"}')
    assert compare_pages(read("1", 310), read("2", 310, selected)) is None
    assert compare_pages(read("1", 310, selected), read("2", 310)) is None
    change = compare_pages(read("1", 310), read("2", 283, selected))
    assert [(field.path, field.old, field.new) for field in change.fields] == [("Product.price", "310", "283")]
    assert compare_pages(read("1", 310), read("1", 310, selected)).event == "structured"


def test_opengraph_alone_is_metadata():
    old, new = (version("a", structured=(StructuredItem("opengraph", None, f'{{"og:image":"{name}"}}'),)) for name in "ab")
    change = compare_pages(old, new)
    assert (change.event, change.kinds, change.evidence.structured_changed) == ("metadata", ("opengraph",), False)


def test_template_edits_are_masked_in_what_is_shown():
    old, new = version("text 1", "built monday"), version("text 2", "built tuesday")
    template = {SharedEdit("removed", block("built monday").hash, ""), SharedEdit("added", block("built tuesday").hash, "")}
    change = compare_pages(old, new, template)
    assert (change.event, change.kinds, change.template_blocks) == ("content", ("content", "template"), 2)
    assert (change.removed_text, change.added_text) == ("1", "2")
    only = compare_pages(version("text", "built monday"), version("text", "built tuesday"), template)
    assert (only.event, only.severity, only.added_text, only.template_blocks) == ("template", "info", "", 2)
    assert [op.new_blocks for op in only.diff_ops] == [("built tuesday",)]


@pytest.mark.parametrize("status", [None, 403, 429, 500, 503, 302, 307])
def test_errors_and_detours_are_never_a_change(status):
    assert compare_pages(version("a"), PageVersion(URL, status=status)) is None
    assert compare_pages(None, PageVersion(URL, status=status)) is None


def test_a_body_that_broke_off_is_no_version():
    assert compare_pages(version("a", "b"), replace(version("a"), incomplete=True)) is None


def test_an_answer_without_main_content_is_no_version():
    assert compare_pages(version("a", "b"), replace(version(), blocks=(block("nav", in_main=False),))) is None


def test_gone_once_and_back():
    page, missing = version("a"), PageVersion(URL, status=404)
    assert compare_pages(page, missing).event == "gone"
    assert compare_pages(replace(page, left_status=404), missing) is None
    assert compare_pages(None, missing) is None
    back = compare_pages(replace(page, left_status=410), version("a b"))
    assert (back.event, back.kinds, back.prev_status, back.added_text) == ("reappeared", ("content", "status"), 410, "b")
    assert compare_pages(replace(page, left_status=404), page).event == "reappeared"
    assert compare_pages(missing, page).event == "reappeared"


def test_moved_and_moved_elsewhere():
    page, redirect = version("a"), PageVersion(URL, status=301, final_url="https://a.test/b")
    change = compare_pages(page, redirect)
    assert (change.event, change.kinds, change.final_url) == ("moved", ("redirect", "status"), "https://a.test/b")
    left = replace(page, left_status=308, left_to="https://a.test/b")
    assert compare_pages(left, redirect) is None
    assert compare_pages(left, replace(redirect, final_url="https://a.test/c")).prev_final_url == "https://a.test/b"
    assert compare_pages(None, redirect) is None


def test_texts_are_cut_and_counts_are_not():
    change = compare_pages(version("a"), version("a", "word " * 20_000))
    assert (change.truncated, len(change.added_text), change.words_added) == (True, MAX_TEXT_CHARS, 20_000)


def test_extracted_pages_are_compared_as_they_are():
    html = "<html><head><title>Lamp</title></head><body><main><h1>Lamp</h1><p>It costs {} EUR, and much more text follows.</p></main></body></html>"
    old, new, same = (extract_html(html.format(price).encode(), URL, "text/html") for price in (310, 283, 310))
    assert compare_pages(old, new).added_text == "283"
    assert compare_pages(old, same) is None
