"""Pages made to break extractors, by a real worker: a row each, with its text or its reason. `python -m bench.hostile` has the large ones."""

from __future__ import annotations

import json

import pytest

from bench.hostile import archive
from bench.hostile_pages import MARK, cut_pages, hostile_pages, mutated_pages
from trawl_core.extract.pool import ExtractorPool
from trawl_core.extract.router import extract_document
from trawl_core.extract.structured import body_items

# What costs seconds, or is between two that are tried.
_LEFT_OUT = ("1,000 ", "5,000 ", "100,000 elements", "20,000 nested div,", "10,000 unclosed")
URL = "https://hostile.example.org/"


def test_each_hostile_page_has_its_row_and_its_text_or_reason(tmp_path):
    pages = [page for page in hostile_pages(large_mb=(), script_mb=1) if not page[0].startswith(_LEFT_OUT)]
    lake, jobs = archive(tmp_path, [(name, body) for name, body, _ in pages])
    with ExtractorPool(2) as pool:
        found = {answer.key: answer.page for answer in pool.run(lake, jobs)}
    assert found.keys() == {name for name, _, _ in pages}
    for name, _, keeps_text in pages:
        page = found[name]
        assert page.text or page.extract_error, name
        assert MARK in page.text or not keeps_text, name
        # Nothing of the small ones may take so long, or so much, that it is given up.
        assert page.extract_status in ("ok", "empty", "broken", "unsupported"), (name, page.extract_error)


def test_a_page_cut_anywhere_has_text_or_a_reason(tmp_path):
    lake, jobs = archive(tmp_path, cut_pages())
    with ExtractorPool(1) as pool:
        answers = list(pool.run(lake, jobs))
    assert len(answers) == 100
    for answer in answers:
        assert bool(answer.page.text) == (answer.page.extract_status == "ok")
        assert bool(answer.page.text) != bool(answer.page.extract_error), answer.key


@pytest.mark.parametrize("profile", ["quality", "fast"])
def test_no_mutation_raises(profile):
    for body in mutated_pages(150, seed=len(profile)):
        page = extract_document(body, URL, "text/html", mime_detected="text/html", profile=profile)
        assert page.text or page.extract_error
        json.dumps(page.columns(), allow_nan=False).encode()
        body_items(body, URL, "text/html")


def test_a_page_that_needs_too_much_memory_says_so(tmp_path):
    # Each of its strings has a path of a megabyte.
    greedy = json.dumps({"k" * 1_000_000: ["x"] * 3000}).encode()
    lake, jobs = archive(tmp_path, [("greedy", greedy), ("small", b"<p>Ferries run.")])
    with ExtractorPool(1) as pool:
        found = {answer.key: answer.page for answer in pool.run(lake, jobs)}
    assert (found["greedy"].extract_status, found["greedy"].text) == ("too_large", "")
    assert "850 MB of memory" in found["greedy"].extract_error
    assert found["small"].text == "Ferries run."
