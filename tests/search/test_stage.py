"""The chunks asset: one row per chunk, and nothing embedded twice."""

import shutil
from datetime import UTC, date, datetime

import numpy as np
import pyarrow as pa
import pytest

from trawl_core.errors import SearchError
from trawl_core.lake import Partition, tables
from trawl_core.search import stage, vectors
from trawl_core.search.embed import MODEL_ID, embed
from trawl_core.search.stage import embed_chunks

NIGHT_0 = date(2026, 11, 29)
NIGHT_1 = date(2026, 11, 30)
POOL = "A connection pool keeps sockets open between requests."
RETRY = "A failed delivery is tried again after a growing pause."
GUIDE = {
    "text": f"Guide\nPooling\n{POOL}\nRetries\n{RETRY}",
    "headings": [{"level": 1, "text": "Guide"}, {"level": 2, "text": "Pooling"}, {"level": 2, "text": "Retries"}],
}


@pytest.fixture
def refuse_the_model(monkeypatch):
    def refuse(*_args):
        raise AssertionError("the model was asked")

    return lambda: monkeypatch.setattr(vectors, "load_model", refuse)


def test_rows_hold_place_heading_vector_and_source(library):
    library.crawl(NIGHT_0, "docs.test", {"https://docs.test/guide": dict(GUIDE, title="Guide")})
    (result,) = library.chunk()
    first, second = library.chunks()
    page = tables.read(library.lake, "pages", Partition(NIGHT_0, "docs.test")).to_pylist()[0]
    assert result.committed[0].rows == 2
    assert result.facts["embedded"] == 2
    assert first["text"] == page["text"][first["start_char"] : first["end_char"]] == POOL
    assert first["heading"] == "Guide › Pooling"
    assert (first["position"], second["position"]) == (0, 1)
    assert first["title"] == "Guide"
    assert first["capture_id"] == page["capture_id"]
    assert first["fetch_time"] == first["extracted_at"] == page["fetch_time"]
    assert first["model_id"] == MODEL_ID
    expected = embed([f"Guide › Pooling\n{POOL}"])[0]
    assert np.array_equal(np.array(first["embedding"], dtype=np.float16), expected.astype(np.float16))


def test_only_good_pages_with_text_are_cut(library):
    library.crawl(
        NIGHT_0,
        "docs.test",
        {
            "https://docs.test/ok": POOL,
            "https://docs.test/empty": "",
            "https://docs.test/blank": " \n ",
            "https://docs.test/none": {"text": None},
            "https://docs.test/missing": {"text": RETRY, "fetch_status": 404},
            "https://docs.test/broken": {"text": RETRY, "fetch_status": 503},
            "https://docs.test/soft": {"text": RETRY, "page_type": "error"},
            "https://docs.test/untyped": {"text": RETRY, "page_type": None},
        },
    )
    library.chunk()
    assert {row["url"] for row in library.chunks()} == {"https://docs.test/ok", "https://docs.test/untyped"}


def test_partition_without_pages_gives_an_empty_table(library):
    result = embed_chunks(library.lake, Partition(NIGHT_0, "docs.test"), work=library.work)
    assert result.committed[0].rows == 0
    assert tables.has(library.lake, "chunks", Partition(NIGHT_0, "docs.test"))


def test_carried_page_is_written_again_from_the_cache(library, refuse_the_model):
    library.crawl(NIGHT_0, "docs.test", {"https://docs.test/guide": GUIDE})
    library.chunk()
    earlier = library.chunks()[0]
    carried = dict(
        GUIDE, fetch_status=304, extract_status="carried", body_capture_id=earlier["capture_id"], refers_to_date=earlier["fetch_time"]
    )
    library.crawl(NIGHT_1, "docs.test", {"https://docs.test/guide": carried})
    refuse_the_model()
    result = embed_chunks(library.lake, Partition(NIGHT_1, "docs.test"), work=library.work)
    tonight = library.chunks(NIGHT_1)[0]
    assert (result.facts["embedded"], result.facts["from_cache"]) == (0, 2)
    assert tonight["chunk_id"] == earlier["chunk_id"]
    assert tonight["capture_id"] != earlier["capture_id"]
    assert tonight["fetch_time"] == datetime(2026, 11, 30, 2, tzinfo=UTC)
    assert tonight["extracted_at"] == earlier["fetch_time"]


def test_only_the_changed_section_is_embedded(library):
    library.crawl(NIGHT_0, "docs.test", {"https://docs.test/guide": dict(GUIDE)})
    library.crawl(NIGHT_1, "docs.test", {"https://docs.test/guide": dict(GUIDE, text=GUIDE["text"].replace("growing", "shrinking"))})
    _, second = library.chunk()
    assert (second.facts["embedded"], second.facts["from_cache"]) == (1, 1)


def test_fresh_work_folder_takes_vectors_from_the_lake(library, refuse_the_model):
    library.crawl(NIGHT_0, "docs.test", {"https://docs.test/guide": dict(GUIDE)})
    library.crawl(NIGHT_1, "docs.test", {"https://docs.test/guide": dict(GUIDE)})
    embed_chunks(library.lake, library.partitions[0], work=library.work)
    shutil.rmtree(library.work)
    refuse_the_model()
    result = embed_chunks(library.lake, library.partitions[1], work=library.work)
    assert (result.facts["embedded"], result.facts["from_lake"]) == (0, 2)


def test_same_bytes_whatever_was_built_before(library, tmp_path):
    library.crawl(NIGHT_0, "docs.test", {"https://docs.test/guide": dict(GUIDE), "https://docs.test/other": POOL})
    library.crawl(NIGHT_1, "docs.test", {"https://docs.test/guide": dict(GUIDE), "https://docs.test/more": RETRY})
    names = [library.lake.table_name("chunks", partition) for partition in library.partitions]
    library.chunk()
    forward = [library.lake.local_path(name).read_bytes() for name in names]
    for name in names:
        library.lake.delete(name)
    for partition in reversed(library.partitions):
        embed_chunks(library.lake, partition, work=tmp_path / "other", threads=1)
    assert [library.lake.local_path(name).read_bytes() for name in names] == forward


def test_chunks_of_another_model_are_no_source(library):
    library.crawl(NIGHT_0, "docs.test", {"https://docs.test/guide": POOL})
    library.chunk()
    rows = tables.read(library.lake, "chunks", library.partitions[0])
    at = rows.schema.get_field_index("model_id")
    tables.commit(library.lake, "chunks", library.partitions[0], rows.set_column(at, rows.schema.field(at), pa.array(["another"])))
    shutil.rmtree(library.work)
    (result,) = library.chunk()
    assert (result.facts["embedded"], result.facts["from_lake"]) == (1, 0)


def test_damaged_chunks_are_built_anew(library):
    library.crawl(NIGHT_0, "docs.test", {"https://docs.test/guide": POOL})
    library.chunk()
    path = library.lake.local_path(library.lake.table_name("chunks", library.partitions[0]))
    path.write_bytes(path.read_bytes()[:100])
    shutil.rmtree(library.work)
    library.chunk()
    assert library.chunks()[0]["text"] == POOL


def test_page_with_too_many_chunks_is_cut_and_counted(library, monkeypatch):
    monkeypatch.setattr(stage, "MAX_CHUNKS_PER_PAGE", 2)
    library.crawl(NIGHT_0, "docs.test", {"https://docs.test/log": "word " * 1000, "https://docs.test/ok": POOL})
    (result,) = library.chunk()
    assert result.facts["pages_cut"] == 1
    assert [row["url"] for row in library.chunks()] == ["https://docs.test/log"] * 2 + ["https://docs.test/ok"]


def test_killed_run_goes_on_where_it_was(library, monkeypatch):
    library.crawl(NIGHT_0, "docs.test", {f"https://docs.test/{n}": f"Page number {n} tells of the queue." for n in range(6)})
    monkeypatch.setattr(vectors, "_TEXTS_A_SAVE", 2)
    calls = []

    class Killed(Exception):
        pass

    class Model:
        def embed(self, texts):
            calls.append(len(texts))
            if len(calls) == 3:
                raise Killed
            return embed(texts)

    monkeypatch.setattr(vectors, "load_model", lambda *_: Model())
    with pytest.raises(Killed):
        library.chunk()
    (result,) = library.chunk()
    assert (result.facts["from_cache"], result.facts["embedded"]) == (4, 2)


def test_missing_model_is_an_error_for_a_person(library, monkeypatch):
    library.crawl(NIGHT_0, "docs.test", {"https://docs.test/guide": POOL})

    def missing(*_args):
        raise SearchError("loading the embedding model: gone. Install it again.")

    monkeypatch.setattr(vectors, "load_model", missing)
    with pytest.raises(SearchError, match="Install it again"):
        library.chunk()
    assert not tables.has(library.lake, "chunks", library.partitions[0])
