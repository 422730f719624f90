"""The index of a date: the corpus as of it, published whole, the same bytes each time."""

import json
from datetime import date

import faiss
import numpy as np
import pyarrow as pa
import pytest

from trawl_core.errors import LockedError, SearchError
from trawl_core.lake import Lake, Partition, tables
from trawl_core.search.index import build_index
from trawl_core.search.manifest import index_dates, read_manifest
from trawl_core.search.query import search
from trawl_core.search.shards import Shard, build_shard

NIGHT_0, NIGHT_1 = date(2026, 11, 29), date(2026, 11, 30)
POOL = "A connection pool keeps sockets open between requests."
RETRY = "A failed delivery is tried again after a growing pause."
BREAD = "Knead the dough and bake the loaf until its crust is dark brown."


def contents(library, crawl_date=NIGHT_0):
    return {name: library.lake.local_path(name).read_bytes() for name in library.lake.files(Lake.index_folder(crawl_date))}


def two_nights(library):
    library.crawl(NIGHT_0, "docs.test", {"https://docs.test/pool": POOL, "https://docs.test/retry": RETRY, "https://docs.test/old": BREAD})
    library.crawl(NIGHT_0, "food.test", {"https://food.test/bread": BREAD})
    library.crawl(
        NIGHT_1,
        "docs.test",
        {
            "https://docs.test/pool": POOL + " Since today it also closes idle ones.",
            "https://docs.test/old": {"text": "Gone", "fetch_status": 404},
        },
    )
    library.chunk()


def test_each_domain_has_a_shard_and_the_manifest_names_everything(library):
    two_nights(library)
    result = build_index(library.lake, NIGHT_0)
    manifest = read_manifest(library.lake, NIGHT_0)
    assert set(manifest.vectors) == {"docs.test", "food.test"}
    assert (manifest.chunks, manifest.pages) == (4, 4)
    assert manifest.vectors["docs.test"].rows == 3
    assert result.committed[0].rows == 4
    assert result.committed[0].bytes == sum(map(len, contents(library).values()))
    assert set(contents(library)) == {*manifest.names(), result.committed[0].name}
    shard = faiss.read_index(str(library.lake.local_path(manifest.vectors["docs.test"].name)))
    assert (type(faiss.downcast_index(shard)), shard.metric_type) == (faiss.IndexIDMap2, faiss.METRIC_INNER_PRODUCT)


def test_newest_good_version_counts_and_what_is_gone_is_out(library):
    two_nights(library)
    build_index(library.lake, NIGHT_1)
    hits = {hit.url: hit for hit in search("connection pool", lake=library.lake, domain="docs.test")}
    assert set(hits) == {"https://docs.test/pool", "https://docs.test/retry"}
    assert "idle ones" in hits["https://docs.test/pool"].text
    assert hits["https://docs.test/pool"].crawl_date == NIGHT_1
    assert hits["https://docs.test/retry"].crawl_date == NIGHT_0
    assert read_manifest(library.lake, NIGHT_1).sources["docs.test"] == (NIGHT_0, NIGHT_1)


def test_earlier_date_keeps_its_own_corpus(library):
    two_nights(library)
    build_index(library.lake, NIGHT_1)
    build_index(library.lake, NIGHT_0)
    assert index_dates(library.lake) == [NIGHT_0, NIGHT_1]
    assert "https://docs.test/old" in {hit.url for hit in search("bread", lake=library.lake, as_of=NIGHT_0)}
    assert "idle" not in search("connection pool", lake=library.lake, as_of="2026-11-29")[0].text


def test_same_tables_give_the_same_bytes(library):
    two_nights(library)
    build_index(library.lake, NIGHT_0)
    first = contents(library)
    build_index(library.lake, NIGHT_1)
    build_index(library.lake, NIGHT_0)
    assert contents(library) == first


def test_files_of_an_earlier_build_are_removed_and_their_reader_is_not_hurt(library):
    two_nights(library)
    build_index(library.lake, NIGHT_0)
    old = read_manifest(library.lake, NIGHT_0)
    reader = Shard.at(library.lake.local_path(old.vectors["docs.test"].name))
    library.crawl(NIGHT_0, "docs.test", {"https://docs.test/pool": RETRY})
    library.index(NIGHT_0)
    new = read_manifest(library.lake, NIGHT_0)
    assert old.vectors["docs.test"].name not in contents(library)
    assert old.vectors["food.test"] == new.vectors["food.test"]
    assert len(reader.best(np.ones(384, dtype=np.float32), 10)) == 3


def test_missing_chunks_are_named(library):
    two_nights(library)
    library.lake.delete(library.lake.table_name("chunks", Partition(NIGHT_0, "food.test")))
    result = build_index(library.lake, NIGHT_0)
    assert result.facts["partitions_without_chunks"] == ["2026-11-29|food.test"]
    assert (result.facts["corpus_pages"], result.facts["pages"]) == (4, 3)


def test_lake_without_pages_gives_an_empty_index(library):
    assert build_index(library.lake, NIGHT_0).facts["chunks"] == 0
    assert search("anything", lake=library.lake) == []


def replace_column(library, column, values):
    partition = Partition(NIGHT_0, "docs.test")
    rows = tables.read(library.lake, "chunks", partition)
    at = rows.schema.get_field_index(column)
    field = rows.schema.field(at)
    tables.commit(library.lake, "chunks", partition, rows.set_column(at, field, pa.array(values, field.type)))


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("chunk_id", [7, 7, 8], "twice"),
        ("embedding", [[float("nan")] * 384] * 3, "not a number"),
        ("model_id", ["another-model"] * 3, r"another-model.*Materialize chunks again for 2026-11-29"),
    ],
)
def test_bad_chunks_are_refused_and_the_index_before_stays(library, column, values, message):
    two_nights(library)
    build_index(library.lake, NIGHT_0)
    before = contents(library)
    replace_column(library, column, values)
    with pytest.raises(SearchError, match=message):
        build_index(library.lake, NIGHT_0)
    assert {name: contents(library)[name] for name in before} == before


def test_two_builds_of_a_date_do_not_mix(library):
    two_nights(library)
    with library.lake.lock("index-2026-11-29", "testing"), pytest.raises(LockedError):
        build_index(library.lake, NIGHT_0)


def test_damaged_and_newer_manifest_are_told_apart(library):
    two_nights(library)
    build_index(library.lake, NIGHT_0)
    path = library.lake.local_path("index/crawl_date=2026-11-29/manifest.json")
    good = json.loads(path.read_text())
    path.write_text(json.dumps(good | {"format": 99}))
    with pytest.raises(SearchError, match=r"format is 99.*Materialize faiss_index again"):
        search("pool", lake=library.lake)
    path.write_text(path.read_text()[:50])
    with pytest.raises(SearchError, match=r"damaged.*Materialize faiss_index again"):
        search("pool", lake=library.lake)
    path.write_text(json.dumps({"format": 1}))
    with pytest.raises(SearchError, match=r"damaged.*Materialize faiss_index again"):
        search("pool", lake=library.lake)


def test_shard_finds_exactly_what_brute_force_finds():
    random = np.random.default_rng(7)
    vectors = random.normal(size=(500, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    halves = vectors.astype(np.float16)
    ids = np.arange(1000, 1500)
    shard = Shard(faiss.deserialize_index(np.frombuffer(build_shard(ids, halves, "a test"), dtype=np.uint8)))
    exact = halves.astype(np.float32) @ vectors[3]
    best = shard.best(vectors[3], 10)
    assert [chunk for chunk, _ in best] == (1000 + np.argsort(-exact)[:10]).tolist()
    assert abs(shard.cosine(vectors[3], 1003) - best[0][1]) < 1e-5
    assert len(shard.best(vectors[3], 10_000)) == 500
