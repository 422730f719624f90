"""`trawl verify` on the index: sound where nothing was harmed, each harmed file named."""

from datetime import date

import pytest

from trawl_core.search.manifest import read_manifest
from trawl_core.search.verify import index_problems

NIGHT_0, NIGHT_1 = date(2026, 11, 29), date(2026, 11, 30)


@pytest.fixture
def filled(library):
    library.crawl(NIGHT_0, "docs.test", {"https://docs.test/": "A connection pool keeps sockets open."})
    library.index(NIGHT_0)
    library.index(NIGHT_1)
    return library


def test_sound_index_has_no_problem(filled):
    assert list(index_problems(filled.lake)) == []


@pytest.mark.parametrize("part", ["keywords", "vectors"])
def test_harmed_file_is_named(filled, part):
    manifest = read_manifest(filled.lake, NIGHT_1)
    name = manifest.keywords.name if part == "keywords" else manifest.vectors["docs.test"].name
    path = filled.lake.local_path(name)
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    ((where, what),) = index_problems(filled.lake)
    assert where == name
    assert "materialize faiss_index again for 2026-11-30" in what
    assert list(index_problems(filled.lake, [NIGHT_0])) == []
    path.unlink()
    assert [where for where, _ in index_problems(filled.lake, [NIGHT_1])] == [name]


def test_harmed_manifest_is_named(filled):
    filled.lake.local_path("index/crawl_date=2026-11-30/manifest.json").write_text("{")
    ((where, what),) = index_problems(filled.lake)
    assert where == "index/crawl_date=2026-11-30/manifest.json"
    assert "damaged" in what
