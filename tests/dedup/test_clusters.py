from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from trawl_core.dedup.clusters import NEAR, Document, cluster_documents, connected

DIGESTS = "abcdefgh"


def document(url: str, digest: str, day: int = 1) -> Document:
    return Document(url, "a.test", f"capture-{url}", datetime(2026, 11, day, tzinfo=UTC), digest)


pairs = st.dictionaries(
    st.tuples(st.sampled_from(DIGESTS), st.sampled_from(DIGESTS)).filter(lambda pair: pair[0] < pair[1]), st.floats(0, 1), max_size=12
)
documents = st.lists(
    st.builds(document, st.integers(0, 99).map("https://a.test/{}".format), st.sampled_from(DIGESTS), st.integers(1, 28)),
    unique_by=lambda page: page.url,
    max_size=20,
)


def among(pages, jaccards):
    """The pairs whose both texts are in the corpus."""
    known = {page.digest for page in pages}
    return {pair: value for pair, value in jaccards.items() if known.issuperset(pair)}


@given(documents, pairs, st.randoms())
def test_the_order_of_documents_and_pairs_does_not_matter(pages, jaccards, chance):
    jaccards = among(pages, jaccards)
    expected = cluster_documents(pages, jaccards, lambda _a, _b: 0.25)
    items = list(jaccards.items())
    chance.shuffle(items)
    chance.shuffle(pages)
    assert cluster_documents(pages, dict(items), lambda _a, _b: 0.25) == expected


@given(documents, pairs)
def test_what_every_cluster_holds(pages, jaccards):
    clusters = cluster_documents(pages, among(pages, jaccards), lambda _a, _b: 0.25)
    members = [member.document.url for cluster in clusters for member in cluster]
    assert len(members) == len(set(members))
    for cluster in clusters:
        assert len(cluster) > 1
        assert cluster[0].document.standing == min(member.document.standing for member in cluster)
        assert [member.relation for member in cluster].count("representative") == 1
        for member in cluster[1:]:
            assert (member.relation == "transitive") == (member.jaccard < NEAR)
            assert (member.relation == "exact") == (member.document.digest == cluster[0].document.digest)


def test_only_verified_pairs_join():
    pages = [document(f"https://a.test/{digest}", digest) for digest in "abcd"]
    clusters = cluster_documents(pages, {("a", "c"): 0.9, ("b", "d"): 0.8, ("a", "b"): 0.79}, lambda _a, _b: 0.0)
    assert [[member.document.digest for member in cluster] for cluster in clusters] == [["a", "c"], ["b", "d"]]


def test_a_chain_is_flagged_and_measured():
    pages = [document(f"https://a.test/{digest}", digest) for digest in "abc"]
    (cluster,) = cluster_documents(pages, {("a", "b"): 0.85, ("b", "c"): 0.85}, lambda _a, _b: 0.7)
    assert [(member.document.digest, member.relation, member.jaccard) for member in cluster] == [
        ("a", "representative", 1.0),
        ("b", "near", 0.85),
        ("c", "transitive", 0.7),
    ]


def test_the_representative_was_seen_first_then_is_shortest():
    late, long, short = document("https://a.test/", "a", 2), document("https://a.test/long", "a"), document("https://a.test/b", "a")
    (cluster,) = cluster_documents([late, long, short], {}, lambda _a, _b: 0.0)
    assert [member.document for member in cluster] == [short, long, late]


def test_a_single_page_is_no_cluster():
    assert cluster_documents([document("https://a.test/", "a")], {}, lambda _a, _b: 0.0) == []


def test_a_long_chain_converges():
    digests = [f"{place:05}" for place in range(5000)]
    assert connected(digests, list(zip(digests[1:], digests, strict=False))[::-1]) == [digests]
