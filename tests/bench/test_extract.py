"""The pages that bench.extract measures reach both tables, and what is missing is named."""

from __future__ import annotations

import pytest

from bench import extract, extraction_archive
from bench.extraction_truth import Truth

PAGE = b"<html lang=en><title>Tea</title><main><h1>Tea</h1><p>%s</p></main></html>"


def test_each_page_gives_a_row(tmp_path):
    pages = [
        Truth(name, url, PAGE % (name.encode() * 20), "", "article", False)
        for name, url in (("one", "https://tea.test/one"), ("two", ""), ("same", "https://tea.test/one"))
    ]
    assert extraction_archive.archive(pages, tmp_path / "lake") == 3
    made = extract.extract(str(tmp_path / "lake"), "fast", 1)
    assert (made["rows"], made["by_status"]) == (3, {"ok": 3})


def test_missing_data_are_named(tmp_path):
    with pytest.raises(SystemExit, match=r"wcxb/ground-truth is missing. Pass the folder"):
        extract._pages(tmp_path)
