"""The embedding cache: two processes at once, only good vectors, clear words when the file is damaged."""

import multiprocessing

import numpy as np
import pytest

from trawl_core.errors import DiskFullError, ReadOnlyHomeError, SearchError
from trawl_core.search.cache import open_cache


def vector(number):
    return np.full(4, number, dtype=np.float32)


def fill(work, first):
    with open_cache(work, "model", 4) as cache:
        for number in range(first, first + 60):
            cache.put({f"digest-{number}": vector(number)})


def test_vectors_come_back_by_digest_as_half_floats(tmp_path):
    with open_cache(tmp_path, "model", 4) as cache:
        cache.put({"a": vector(0.25), "b": vector(2)})
        assert cache.known(["a", "b", "c"]) == {"a", "b"}
        found = cache.get(["b", "c", "a"])
    assert set(found) == {"a", "b"}
    assert found["a"].dtype == np.float16
    assert found["a"].tolist() == [0.25] * 4


def test_models_are_kept_apart(tmp_path):
    with open_cache(tmp_path, "one", 4) as cache:
        cache.put({"a": vector(1)})
    with open_cache(tmp_path, "other", 4) as cache:
        assert cache.known(["a"]) == set()


def test_more_keys_than_one_query_takes(tmp_path):
    with open_cache(tmp_path, "model", 4) as cache:
        cache.put({f"digest-{number}": vector(1) for number in range(1300)})
        assert len(cache.get(f"digest-{number}" for number in range(2000))) == 1300


@pytest.mark.parametrize("wrong", [np.full(4, np.nan), np.full(4, 1e9), np.zeros(3)])
def test_vector_that_is_none_is_refused(tmp_path, wrong):
    with open_cache(tmp_path, "model", 4) as cache, pytest.raises(SearchError, match="4 finite numbers"):
        cache.put({"a": wrong})


def test_two_processes_write_at_once(tmp_path):
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=fill, args=(tmp_path, first)) for first in (0, 30)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    with open_cache(tmp_path, "model", 4) as cache:
        assert len(cache.known(f"digest-{number}" for number in range(200))) == 90


def test_damaged_file_is_named_with_what_to_do(tmp_path):
    (tmp_path / "embeddings.sqlite").write_bytes(b"not a database " * 100)
    with pytest.raises(SearchError, match=r"embeddings\.sqlite.*Delete the file"), open_cache(tmp_path, "model", 4):
        pass


def test_full_disk_is_said_so(tmp_path):
    with pytest.raises(DiskFullError, match="disk is full"), open_cache(tmp_path, "model", 4) as cache:
        cache._connection.execute("PRAGMA max_page_count = 5")
        cache.put({f"digest-{number}": vector(1) for number in range(2000)})


def test_file_that_can_not_be_opened_is_said_so(tmp_path):
    (tmp_path / "embeddings.sqlite").mkdir()
    with pytest.raises(ReadOnlyHomeError, match="can't be written"), open_cache(tmp_path, "model", 4):
        pass
