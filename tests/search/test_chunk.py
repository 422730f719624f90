"""Pages cut along their sections: exact places, bounded length, stable ids."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.search.chunk import MAX_CHARS, OVERLAP_CHARS, chunk_id, split_page

TEXT = "Guide\nWelcome to the queue.\nInstall\nRun the installer.\nLinux\nUse the package.\nUsage\nSend a message."
HEADINGS = [
    {"level": 1, "text": "Guide"},
    {"level": 2, "text": "Install"},
    {"level": 3, "text": "Linux"},
    {"level": 2, "text": "Usage"},
]


def sections(text, headings):
    return [(chunk.heading, chunk.text) for chunk in split_page(text, headings)]


def test_sections_carry_their_heading_trail():
    assert sections(TEXT, HEADINGS) == [
        ("Guide", "Welcome to the queue."),
        ("Guide › Install", "Run the installer."),
        ("Guide › Install › Linux", "Use the package."),
        ("Guide › Usage", "Send a message."),
    ]


def test_text_before_the_first_heading_has_no_trail():
    assert sections("Hello.\nGuide\nText.", HEADINGS[:1]) == [("", "Hello."), ("Guide", "Text.")]


def test_page_without_headings_is_one_section():
    assert sections("One line.\nAnother.", []) == [("", "One line.\nAnother.")]
    assert sections("One line.", None) == [("", "One line.")]


def test_heading_that_is_no_line_of_the_text_cuts_nothing():
    assert sections("Guide\nText.", [{"level": 2, "text": "Menu"}, HEADINGS[0], {"level": 2, "text": "Footer"}]) == [("Guide", "Text.")]


def test_heading_with_permalink_mark_and_other_white_space_is_found():
    assert sections("Pool  sizes¶\nText.", [{"level": 2, "text": "Pool sizes"}]) == [("Pool sizes", "Text.")]
    assert sections("Pool sizes\nText.", [{"level": 2, "text": "Pool\n sizes ¶"}]) == [("Pool sizes", "Text.")]


def test_table_of_contents_does_not_take_the_headings():
    text = "Guide\nInstall\nUsage\nIntro.\nInstall\nRun it.\nUsage\nSend it."
    assert sections(text, [HEADINGS[0], HEADINGS[1], HEADINGS[3]])[1:] == [("Guide › Install", "Run it."), ("Guide › Usage", "Send it.")]


def test_leaf_heading_without_text_keeps_its_line():
    assert sections("Guide\nIntro.\nEmpty\nUsage\nText.", [HEADINGS[0], {"level": 2, "text": "Empty"}, HEADINGS[3]]) == [
        ("Guide", "Intro."),
        ("Guide", "Empty"),
        ("Guide › Usage", "Text."),
    ]


def test_long_section_is_cut_into_overlapping_chunks():
    text = " ".join(f"Sentence number {n} stands here." for n in range(200))
    chunks = split_page(text)
    assert len(chunks) > 5
    assert all(len(chunk.text) <= MAX_CHARS for chunk in chunks)
    overlaps = [left.end - right.start for left, right in pairwise(chunks)]
    assert all(0 < overlap <= OVERLAP_CHARS for overlap in overlaps)


def test_word_longer_than_a_chunk_is_cut():
    chunks = split_page("short " * 10 + "x" * 5000)
    assert max(len(chunk.text) for chunk in chunks) <= MAX_CHARS
    assert chunks[-1].end == 5060


def test_edit_touches_only_its_own_section():
    before = {chunk.sha256 for chunk in split_page(TEXT, HEADINGS)}
    after = {chunk.sha256 for chunk in split_page(TEXT.replace("installer", "new installer"), HEADINGS)}
    assert len(before - after) == 1
    assert len(after - before) == 1


def test_endless_heading_leaves_the_model_room_for_the_text():
    (chunk,) = split_page("Title " * 500 + "\nThe text.", [{"level": 1, "text": "Title " * 500}])
    assert chunk.embedded_text.endswith("Title\nThe text.")
    assert len(chunk.embedded_text) < 250
    assert len(chunk.heading) > 2000


def test_equal_sections_are_counted():
    chunks = split_page("A\nSame.\nA\nSame.", [{"level": 2, "text": "A"}, {"level": 2, "text": "A"}])
    assert [chunk.occurrence for chunk in chunks] == [0, 1]
    assert chunks[0].sha256 == chunks[1].sha256


def test_ids_are_stable_positive_and_differ():
    digest = "ab" * 32
    ids = {chunk_id(url, digest, n) for url in ("https://docs.test/a", "https://docs.test/b") for n in range(3)}
    assert len(ids) == 6
    assert all(0 < one < 2**63 for one in ids)
    assert chunk_id("https://docs.test/a", digest, 0) == chunk_id("https://docs.test/a", digest, 0)


LINES = st.lists(st.sampled_from(["Guide", "Usage", "Some text. More text.", "", "  ", "Straße 連接", "y" * 1500, "é" * 90]), max_size=12)
HEADS = st.lists(st.fixed_dictionaries({"level": st.integers(1, 6), "text": st.sampled_from(["Guide", "Usage", "Menu", ""])}), max_size=6)


@given(LINES, HEADS)
def test_every_chunk_is_a_piece_of_the_text_and_nothing_but_headings_is_left_out(lines, headings):
    text = "\n".join(lines)
    chunks = split_page(text, headings)
    covered = set()
    for position, chunk in enumerate(chunks):
        assert chunk.position == position
        assert chunk.text == text[chunk.start : chunk.end]
        assert 0 < len(chunk.text) <= MAX_CHARS
        covered.update(range(chunk.start, chunk.end))
    left_out = "".join(character if at not in covered else " " for at, character in enumerate(text))
    assert {line.strip() for line in left_out.split("\n")} <= {"", "Guide", "Usage"}
    keys = [(chunk.sha256, chunk.occurrence) for chunk in chunks]
    assert len(set(keys)) == len(keys)


@given(st.text(max_size=300), st.lists(st.fixed_dictionaries({"level": st.integers(1, 6), "text": st.text(max_size=5)}), max_size=5))
def test_any_text_can_be_cut(text, headings):
    for chunk in split_page(text, headings):
        assert chunk.text == text[chunk.start : chunk.end]


@pytest.mark.parametrize(
    ("headings", "title", "subject"),
    [
        ([{"level": 1, "text": "Regn watering can"}], "Shop 3.1 | Regn", "Regn watering can\n"),
        ([], "Regn watering can", "Regn watering can\n"),
        ([{"level": 1, "text": ""}], None, ""),
    ],
)
def test_a_chunk_is_embedded_with_the_subject_of_its_page(headings, title, subject):
    (chunk,) = split_page("Seven litres.", headings, title)
    assert (chunk.heading, chunk.embedded_text) == ("", f"{subject}Seven litres.")


def test_a_subject_that_the_trail_names_is_not_said_twice():
    (chunk,) = split_page("Can\nSeven litres.", [{"level": 1, "text": "Can"}], "Can")
    assert chunk.embedded_text == "Can\nSeven litres."
