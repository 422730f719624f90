from __future__ import annotations

import random
from datetime import date
from itertools import combinations, permutations

import numpy as np
import pytest
from datasketch import MinHash

from trawl_core.dedup.params import PARAMS_ID
from trawl_core.dedup.simhash import simhash64
from trawl_core.dedup.stage import find_duplicates, fingerprint_pages
from trawl_core.dedup.text import shingles
from trawl_core.errors import SchemaError
from trawl_core.lake import Partition, tables

ONE, TWO, THREE = date(2026, 11, 1), date(2026, 11, 2), date(2026, 11, 3)


def prose(seed: int, words: int = 300) -> list[str]:
    chance = random.Random(seed)
    return [f"w{chance.randrange(5000)}" for _ in range(words)]


def edited(words: list[str], places: int) -> str:
    """`places` words replaced, far from one another: each changes five shingles of about 300."""
    words = list(words)
    for edit in range(places):
        words[10 + edit * len(words) // (places + 1)] = f"edit{edit}"
    return " ".join(words)


def jaccard(one: str, other: str) -> float:
    left, right = set(shingles(one)), set(shingles(other))
    return len(left & right) / len(left | right)


def rows(lake, table, day, domain=None):
    return tables.read(lake, table, Partition(day, domain)).to_pylist()


def test_fingerprints_of_a_partition(lake, write_pages):
    text = edited(prose(1), 0)
    partition = write_pages(ONE, "a.test", {"/": text, "/copy": text, "/empty": "—", "/error": "not found"}, statuses={"/error": 404})
    result = fingerprint_pages(lake, partition)
    stored = {row["url"].removeprefix("https://a.test"): row for row in rows(lake, "fingerprints", ONE, "a.test")}
    assert set(stored) == {"/", "/copy", "/empty"}
    sketch = MinHash(128)
    sketch.update_batch([shingle.encode() for shingle in shingles(text)])
    assert np.frombuffer(stored["/"]["minhash"], "<u4").tolist() == sketch.hashvalues.tolist()
    assert stored["/"]["simhash"] == simhash64(text)
    assert stored["/"]["n_shingles"] == len(set(shingles(text)))
    assert len(stored["/"]["bands"]) == 20
    assert stored["/"]["doc_key"] == stored["/"]["text_sha256"] == stored["/copy"]["doc_key"]
    assert {row["params_id"] for row in stored.values()} == {PARAMS_ID}
    assert [stored["/empty"][name] for name in ("simhash", "minhash", "bands", "n_shingles", "doc_key")] == [
        None,
        None,
        None,
        0,
        "sha-of-—",
    ]
    assert (result.facts["pages"], result.facts["computed"], result.facts["without_text"]) == (3, 1, 1)


def test_a_night_without_changes_computes_nothing_and_gives_the_same_bytes(lake, write_pages):
    text = edited(prose(1), 0)
    first = write_pages(ONE, "a.test", {"/": text, "/blank": ""})
    carried = {"/": f"{ONE}a.test/", "/blank": f"{ONE}a.test/blank"}
    second = write_pages(TWO, "a.test", {"/": text, "/blank": ""}, carried=carried)
    fingerprint_pages(lake, second)
    alone = lake.read_range(lake.table_name("fingerprints", second), 0, lake.size(lake.table_name("fingerprints", second)))
    fingerprint_pages(lake, first)
    result = fingerprint_pages(lake, second)
    assert (result.facts["computed"], result.facts["taken_over"]) == (0, 1)
    assert lake.read_range(lake.table_name("fingerprints", second), 0, lake.size(lake.table_name("fingerprints", second))) == alone
    assert {row["url"]: row["doc_key"] for row in rows(lake, "fingerprints", TWO, "a.test")}["https://a.test/blank"] == "sha-of-"


def test_exact_near_related_and_unrelated(lake, write_pages):
    base = prose(1)
    texts = {"/base": edited(base, 0), "/near": edited(base, 3), "/related": edited(base, 10), "/other": edited(prose(2), 0)}
    first = write_pages(ONE, "a.test", texts)
    second = write_pages(ONE, "b.test", {"/mirror": "  " + texts["/base"].upper() + "!"})
    fingerprint_pages(lake, first)
    fingerprint_pages(lake, second)
    result = find_duplicates(lake, ONE)
    found = {row["url"]: row for row in rows(lake, "duplicates", ONE)}
    assert {url: row["relation"] for url, row in found.items()} == {
        "https://a.test/base": "representative",
        "https://b.test/mirror": "exact",
        "https://a.test/near": "near",
    }
    assert {row["representative_url"] for row in found.values()} == {"https://a.test/base"}
    assert {row["cluster_id"] for row in found.values()} == {found["https://a.test/base"]["text_sha256"]}
    assert found["https://a.test/near"]["jaccard"] == jaccard(texts["/base"], texts["/near"]) > 0.8
    assert found["https://a.test/near"]["hamming"] == (simhash64(texts["/base"]) ^ simhash64(texts["/near"])).bit_count()
    assert (found["https://b.test/mirror"]["jaccard"], found["https://b.test/mirror"]["hamming"]) == (1.0, 0)
    related = rows(lake, "related_pages", ONE)
    expected = {
        (one, other): jaccard(texts[one], texts[other])
        for one, other in combinations(sorted(texts), 2)
        if 0.5 <= jaccard(texts[one], texts[other]) < 0.8
    }
    assert {tuple(row[end].removeprefix("https://a.test") for end in ("url", "other_url")): row["jaccard"] for row in related} == expected
    assert len(expected) == 2
    assert (result.facts["clusters"], result.facts["members"], result.facts["sizes"]) == (1, 3, {3: 1})
    assert result.facts["largest"] == [("https://a.test/base", 3)]


def test_pages_without_text_and_short_pages_are_no_duplicates_by_accident(lake, write_pages):
    partition = write_pages(ONE, "a.test", {"/1": "", "/2": " ", "/3": "a cat", "/4": "a dog", "/5": "你好", "/6": "你好", "/7": "A cat."})
    fingerprint_pages(lake, partition)
    find_duplicates(lake, ONE)
    found = [(row["url"][-1], row["relation"]) for row in rows(lake, "duplicates", ONE)]
    assert sorted(found) == [("3", "representative"), ("5", "representative"), ("6", "exact"), ("7", "exact")]


def test_versions_of_one_url_are_not_duplicates_of_each_other(lake, write_pages):
    fingerprint_pages(lake, write_pages(ONE, "a.test", {"/": edited(prose(1), 0)}))
    fingerprint_pages(lake, write_pages(TWO, "a.test", {"/": edited(prose(1), 1)}))
    assert find_duplicates(lake, TWO).facts["clusters"] == 0


def test_a_partition_without_fingerprints_is_left_out_and_counted(lake, write_pages):
    text = edited(prose(1), 0)
    fingerprint_pages(lake, write_pages(ONE, "a.test", {"/": text, "/b": text}))
    write_pages(ONE, "b.test", {"/": text})
    facts = find_duplicates(lake, ONE).facts
    assert (facts["without_fingerprint"], facts["compared"], facts["members"]) == (1, 2, 2)


def test_other_parameters_are_refused(lake, write_pages):
    partition = write_pages(ONE, "a.test", {"/": edited(prose(1), 0)})
    fingerprint_pages(lake, partition)
    stored = rows(lake, "fingerprints", ONE, "a.test")
    tables.commit(lake, "fingerprints", partition, [{**row, "params_id": "affine32-sha1-seed2"} for row in stored])
    with pytest.raises(SchemaError, match=r"a\.test on 2026-11-01.*seed2.*Materialize `fingerprints`"):
        find_duplicates(lake, ONE)


def test_the_same_bytes_for_all_orders_of_three_dates(lake, write_pages):
    base = prose(1)
    partitions = [
        write_pages(ONE, "a.test", {"/": edited(base, 0), "/x": edited(base, 2), "/t": edited(base, 9)}),
        write_pages(TWO, "a.test", {"/": edited(base, 0), "/y": edited(base, 4)}, carried={"/": f"{ONE}a.test/"}),
        write_pages(THREE, "a.test", {"/x": edited(prose(3), 0), "/z": edited(prose(3), 1)}),
    ]
    for partition in partitions:
        fingerprint_pages(lake, partition)
    seen = set()
    for order in permutations((ONE, TWO, THREE)):
        for day in order:
            find_duplicates(lake, day)
        seen.add(
            tuple(
                lake.local_path(lake.table_name(table, Partition(day))).read_bytes()
                for table in ("duplicates", "related_pages")
                for day in (ONE, TWO, THREE)
            )
        )
    assert len(seen) == 1


def test_an_empty_lake_gives_empty_tables(lake):
    result = find_duplicates(lake, ONE)
    assert (result.facts["clusters"], rows(lake, "duplicates", ONE), rows(lake, "related_pages", ONE)) == (0, [], [])
