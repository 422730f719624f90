"""The pages that bench.warc writes are the same everywhere and pack as real ones do."""

from __future__ import annotations

import zlib

import pytest

from bench.text_pages import LARGEST_BYTES, SMALLEST_BYTES, make_pages
from bench.writers import RECORDS_AN_EXCHANGE, trawl, warcio


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    return make_pages(tmp_path_factory.mktemp("made"), 12)


def test_the_same_pages_are_made_again_and_only_once(pages, tmp_path):
    again = make_pages(tmp_path, 12)
    names = sorted(file.name for file in pages.iterdir())
    assert len(names) == 12
    assert all((again / name).read_bytes() == (pages / name).read_bytes() for name in names)
    (again / names[0]).write_bytes(b"kept")
    assert make_pages(tmp_path, 12) == again and (again / names[0]).read_bytes() == b"kept"


def test_they_have_the_sizes_and_the_redundancy_of_pages(pages):
    bodies = [file.read_bytes() for file in pages.iterdir()]
    assert all(SMALLEST_BYTES // 2 < len(body) < LARGEST_BYTES * 1.1 for body in bodies)
    assert 3 < sum(map(len, bodies)) / sum(len(zlib.compress(body, 9)) for body in bodies) < 6


@pytest.mark.parametrize("coded", [False, True])
def test_both_writers_write_the_same_records(pages, tmp_path, coded):
    from warcio.archiveiterator import ArchiveIterator

    kinds = {}
    for write in (trawl, warcio):
        folder = tmp_path / write.__name__
        figures = write(str(pages), coded, str(folder))
        (file,) = folder.rglob("*.warc.gz")
        with file.open("rb") as stream:
            kinds[write.__name__] = [
                (record.rec_type, record.rec_headers.get_header("WARC-Target-URI")) for record in ArchiveIterator(stream)
            ]
        assert figures["exchanges"] == 11 and figures["mb"] == file.stat().st_size / 1e6
    assert kinds["trawl"] == kinds["warcio"]
    assert len(kinds["trawl"]) == 1 + 12 * RECORDS_AN_EXCHANGE
