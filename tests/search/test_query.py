"""Searching: one hit a page, filters before the best are chosen, damage told plainly."""

import threading
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import fs as pafs

from trawl_core.errors import SearchError, UsageError
from trawl_core.lake import Lake, Partition, tables
from trawl_core.search import opened
from trawl_core.search.index import build_index
from trawl_core.search.manifest import read_manifest
from trawl_core.search.query import _min_max, search

NIGHT_0, NIGHT_1 = date(2026, 11, 29), date(2026, 11, 30)
POOL = "A connection pool keeps sockets open between requests, so that no request pays for a handshake."
RETRY = "A failed delivery is tried again after a growing pause; then it goes to the dead letter queue."
BREAD = "Knead the dough for ten minutes and bake the loaf until its crust is dark brown."
MODES = ["hybrid", "semantic", "keyword"]


@pytest.fixture
def filled(library):
    library.crawl(
        NIGHT_0,
        "docs.test",
        {
            "https://docs.test/pool": {"text": f"Pooling\n{POOL}", "headings": [{"level": 1, "text": "Pooling"}], "title": "Pooling guide"},
            "https://docs.test/retry": RETRY,
        },
    )
    library.crawl(NIGHT_0, "food.test", {"https://food.test/bread": BREAD})
    library.index()
    return library


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("query", "url"),
    [
        ("sockets of the connection pool", "https://docs.test/pool"),
        ("bake the dough", "https://food.test/bread"),
        ("dead letter", "https://docs.test/retry"),
    ],
)
def test_right_page_is_first(filled, mode, query, url):
    assert search(query, mode=mode, lake=filled.lake)[0].url == url


def test_meaning_is_found_without_a_common_word(filled):
    assert search("recipe of a baker", mode="semantic", lake=filled.lake)[0].url == "https://food.test/bread"
    assert search("recipe of a baker", mode="hybrid", lake=filled.lake)[0].url == "https://food.test/bread"


def test_hit_leads_back_to_the_text(filled):
    hit = search("connection pool", 1, lake=filled.lake)[0]
    page = next(row for row in tables.read(filled.lake, "pages", Partition(NIGHT_0, "docs.test")).to_pylist() if row["url"] == hit.url)
    assert hit.text == page["text"][hit.start_char : hit.end_char] == POOL
    assert (hit.title, hit.heading, hit.domain) == ("Pooling guide", "Pooling", "docs.test")
    assert (hit.crawl_date, hit.capture_id) == (NIGHT_0, page["capture_id"])
    assert hit.snippet in hit.text
    assert hit.chunk_id in {row["chunk_id"] for row in filled.chunks()}


def test_scores_of_modes(filled):
    semantic = search("connection pool", mode="semantic", lake=filled.lake)
    assert all(-1 <= hit.score <= 1 for hit in semantic)
    assert [hit.score for hit in semantic] == sorted((hit.score for hit in semantic), reverse=True)
    hybrid = search("connection pool", lake=filled.lake)
    assert hybrid[0].score == 1
    assert all(0 <= hit.score <= 1 for hit in hybrid)


@pytest.mark.parametrize("mode", MODES)
def test_domain_is_applied_before_the_best_are_chosen(library, mode):
    library.crawl(NIGHT_0, "big.test", {f"https://big.test/{n}": f"The connection pool number {n} keeps sockets open." for n in range(130)})
    library.crawl(NIGHT_0, "small.test", {"https://small.test/only": "Pools for swimming need chlorine and a connection to the mains."})
    library.index()
    hits = search("connection pool keeps sockets open", 1, mode, "small.test", lake=library.lake)
    assert [hit.url for hit in hits] == ["https://small.test/only"]
    assert {hit.domain for hit in search("connection pool", 5, mode, "big.test", lake=library.lake)} == {"big.test"}


@pytest.mark.parametrize("mode", MODES)
def test_one_hit_a_page_even_when_one_page_fills_the_candidates(library, mode):
    long = "\n".join(f"Part {n}\nThe connection pool keeps sockets open in case {n}." for n in range(140))
    library.crawl(
        NIGHT_0,
        "docs.test",
        {
            "https://docs.test/long": {"text": long, "headings": [{"level": 2, "text": f"Part {n}"} for n in range(140)]},
            "https://docs.test/a": "Elsewhere the pool of sockets is mentioned once.",
            "https://docs.test/b": "A swimming pool.",
        },
    )
    library.index()
    hits = search("connection pool keeps sockets open", 3, mode, lake=library.lake)
    assert {hit.url for hit in hits} == {"https://docs.test/long", "https://docs.test/a", "https://docs.test/b"}
    assert hits[0].url == "https://docs.test/long"


def cluster(library, *urls, texts=None):
    """All of `urls` in one cluster, the first its representative."""
    rows = [
        {
            "cluster_id": "c",
            "url": url,
            "domain": url.split("/")[2],
            "representative_url": urls[0],
            "relation": "exact" if n else "representative",
        }
        for n, url in enumerate(urls)
    ]
    tables.commit(library.lake, "duplicates", Partition(NIGHT_0), rows)


@pytest.mark.parametrize("mode", MODES)
def test_duplicates_collapse_to_the_representative(library, mode):
    library.crawl(
        NIGHT_0, "docs.test", {"https://docs.test/a/pool": POOL, "https://docs.test/pool": POOL, "https://docs.test/retry": RETRY}
    )
    library.crawl(NIGHT_0, "copy.test", {"https://copy.test/pool": POOL})
    cluster(library, "https://docs.test/pool", "https://docs.test/a/pool", "https://copy.test/pool")
    library.index()
    hits = search("connection pool sockets", mode=mode, lake=library.lake)
    assert [hit.url for hit in hits][:2] == (
        ["https://docs.test/pool", "https://docs.test/retry"] if mode != "keyword" else ["https://docs.test/pool"]
    )
    assert hits[0].also_at == ("https://copy.test/pool", "https://docs.test/a/pool")
    assert hits[0].text == POOL


def test_representative_outside_the_domain_asked_for_gives_way_to_the_member(library):
    library.crawl(NIGHT_0, "docs.test", {"https://docs.test/pool": POOL})
    library.crawl(NIGHT_0, "copy.test", {"https://copy.test/pool": POOL})
    cluster(library, "https://docs.test/pool", "https://copy.test/pool")
    library.index()
    (hit,) = search("connection pool", domain="copy.test", lake=library.lake)
    assert hit.url == "https://copy.test/pool"
    assert hit.also_at == ("https://docs.test/pool",)


def test_near_duplicate_shows_the_representatives_own_chunk(library):
    library.crawl(
        NIGHT_0, "docs.test", {"https://docs.test/pool": POOL, "https://docs.test/near": POOL + " Connection pool sockets, once more."}
    )
    cluster(library, "https://docs.test/pool", "https://docs.test/near")
    library.index()
    (hit,) = search("connection pool sockets", lake=library.lake)
    assert (hit.url, hit.text, hit.also_at) == ("https://docs.test/pool", POOL, ("https://docs.test/near",))


def test_page_that_two_domains_collected_is_one_hit(library):
    for domain in ("docs.test", "other.test"):
        library.crawl(NIGHT_0, domain, {"https://shared.test/pool": POOL})
    library.index()
    assert [hit.url for hit in search("connection pool", lake=library.lake)] == ["https://shared.test/pool"]
    assert [hit.domain for hit in search("connection pool", domain="other.test", lake=library.lake)] == ["other.test"]


def test_newest_index_of_the_date_or_before(filled):
    filled.crawl(NIGHT_1, "docs.test", {"https://docs.test/new": "The scheduler is new tonight."})
    filled.index(NIGHT_1)
    assert search("scheduler", 1, lake=filled.lake)[0].url == "https://docs.test/new"
    assert search("scheduler", mode="keyword", lake=filled.lake, as_of=NIGHT_0) == []
    evening = datetime(2026, 11, 29, 23, tzinfo=timezone(timedelta(hours=-5)))  # the next day in UTC
    assert search("scheduler", 1, lake=filled.lake, as_of=evening) == search(
        "scheduler", 1, lake=filled.lake, as_of=evening.astimezone(UTC).date()
    )
    assert search("scheduler", 1, lake=filled.lake, as_of="2027-05-01")[0].url == "https://docs.test/new"
    with pytest.raises(SearchError, match=r"no index of 2026-11-28 or before.*faiss_index"):
        search("scheduler", lake=filled.lake, as_of=date(2026, 11, 28))


def test_no_index_says_what_to_do(library):
    with pytest.raises(SearchError, match=r"there is no index\. Run a crawl"):
        search("anything", lake=library.lake)


def test_lake_of_the_environment(filled, monkeypatch):
    monkeypatch.setenv("TRAWL_LAKE", filled.lake.url)
    assert search("dough", 1)[0].url == "https://food.test/bread"


@pytest.mark.parametrize("query", ["", "   ", "\n"])
def test_empty_query_has_no_hits(filled, query):
    assert search(query, lake=filled.lake) == []


def test_unknown_domain_has_no_hits(filled):
    assert [search("pool", mode=mode, domain="absent.test", lake=filled.lake) for mode in MODES] == [[], [], []]


def test_wrong_arguments_are_usage_errors(filled):
    with pytest.raises(UsageError, match=r"'fuzzy' is not a mode"):
        search("pool", mode="fuzzy", lake=filled.lake)
    with pytest.raises(UsageError, match="ask for 1 or more"):
        search("pool", 0, lake=filled.lake)
    with pytest.raises(UsageError, match="is not a date"):
        search("pool", as_of="yesterday", lake=filled.lake)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=40), st.sampled_from(MODES), st.integers(1, 5))
def test_any_query_gives_at_most_k_distinct_pages(filled, query, mode, k):
    hits = search(query, k, mode, lake=filled.lake)
    assert len(hits) <= k
    assert len({hit.url for hit in hits}) == len(hits)
    assert all(np.isfinite(hit.score) for hit in hits)


def test_rebuilt_index_is_noticed(filled):
    assert search("scheduler", mode="keyword", lake=filled.lake) == []
    filled.crawl(NIGHT_0, "docs.test", {"https://docs.test/new": "The scheduler is new."})
    filled.index()
    assert search("scheduler", mode="keyword", lake=filled.lake)[0].url == "https://docs.test/new"


def test_reader_that_met_a_rebuild_takes_the_new_index(filled, monkeypatch):
    stale = read_manifest(filled.lake, NIGHT_0)
    filled.crawl(NIGHT_0, "docs.test", {"https://docs.test/new": "The scheduler is new."})
    filled.index()
    answers = [stale, read_manifest(filled.lake, NIGHT_0)]
    monkeypatch.setattr(opened, "read_manifest", lambda *_: answers.pop(0))
    assert search("scheduler", mode="keyword", lake=filled.lake)[0].url == "https://docs.test/new"


@pytest.mark.parametrize("part", ["keywords", "vectors"])
@pytest.mark.parametrize("harm", ["flip", "cut", "remove"])
def test_damaged_file_is_named_with_what_to_do(filled, part, harm):
    manifest = read_manifest(filled.lake, NIGHT_0)
    file = manifest.keywords if part == "keywords" else manifest.vectors["docs.test"]
    path = filled.lake.local_path(file.name)
    content = bytearray(path.read_bytes())
    path.unlink()
    if harm == "flip":
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    elif harm == "cut":
        path.write_bytes(content[:-1])
    with pytest.raises(SearchError, match=rf"{path.name}.*Materialize faiss_index again for 2026-11-29"):
        search("pool", lake=filled.lake)
    build_index(filled.lake, NIGHT_0)
    assert search("pool", 1, lake=filled.lake)


def test_files_are_verified_once_a_process(filled):
    search("pool", lake=filled.lake)
    for file in read_manifest(filled.lake, NIGHT_0).names():
        filled.lake.local_path(file).unlink()
    assert search("pool", 1, lake=filled.lake)[0].url == "https://docs.test/pool"


def test_threads_search_at_once(filled):
    answers, queries = {}, ["connection pool", "dead letter", "dough"] * 4

    def ask(number):
        answers[number] = search(queries[number], 1, lake=filled.lake)[0].url

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(queries))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answers[n].rsplit("/", 1)[-1] for n in range(len(queries))] == ["pool", "retry", "bread"] * 4


def test_lake_without_a_disk_is_searched_through_copies(filled, tmp_path):
    class ObjectStore(Lake):
        is_local = False

    remote = ObjectStore(filled.lake.root)
    assert isinstance(remote.fs, pafs.LocalFileSystem)
    assert search("dough", 1, lake=remote)[0].url == "https://food.test/bread"


def test_scaling():
    assert _min_max([1.0, 3.0, 2.0]).tolist() == [0, 1, 0.5]
    assert _min_max([2.0, 2.0]).tolist() == [1, 1]
    assert _min_max([0.0]).tolist() == [0]
    assert _min_max([]).tolist() == []
