"""Stage `duplicates`: clusters over the corpus as of a date.

The same digest first; then candidates by bands, sifted by the signatures' agreement, decided by the exact Jaccard of the shingle
sets. Signatures alone never decide.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import date
from itertools import groupby
from typing import Any

import numpy as np
import polars as pl

from trawl_core.dedup.bands import agreement, candidate_pairs
from trawl_core.dedup.clusters import NEAR, RELATED, Document, Member, cluster_documents
from trawl_core.dedup.params import require_comparable
from trawl_core.dedup.simhash import hamming
from trawl_core.dedup.text import MINHASH_WIDTH, comparison_bytes
from trawl_core.lake import tables
from trawl_core.lake.corpus import corpus_asof
from trawl_core.lake.layout import Lake, Partition

# The estimate's standard error at J = RELATED is .044: more than two of them below, so hardly a related pair is lost.
SIEVE = 0.4
LARGEST = 20


def find_duplicates(lake: Lake, crawl_date: date) -> tables.StageResult:
    """Commit `duplicates` and `related_pages` of one date.

    A page whose partition has no fingerprints yet is left out and counted in the facts. Raises SchemaError for fingerprints
    of other parameters.
    """
    corpus = corpus_asof(lake, crawl_date, columns=["text_sha256"])
    pages = corpus.filter(pl.col("text_sha256").is_not_null()).sort("first_seen", "domain", "url").unique("url", keep="first")
    stored = _fingerprints(lake, pages)
    pages = pages.sort("url")
    present = pages.join(stored.select("capture_id"), on="capture_id", how="semi")
    texts = present.join(stored, on="capture_id", suffix="_stored").unique("text_sha256", keep="any").sort("text_sha256")
    sets = ShingleSets(lake, texts)
    jaccards = _verified(texts, sets)
    documents = [
        Document(row["url"], row["domain"], row["capture_id"], row["first_seen"], row["text_sha256"])
        for row in present.iter_rows(named=True)
    ]
    clusters = cluster_documents(documents, jaccards, sets.jaccard)
    simhashes = dict(texts.select("text_sha256", "simhash").iter_rows())
    partition = Partition(crawl_date)
    duplicates = tables.commit(lake, "duplicates", partition, [_row(member, simhashes) for cluster in clusters for member in cluster])
    related = tables.commit(lake, "related_pages", partition, _related(documents, jaccards))
    sizes = Counter(len(cluster) for cluster in clusters)
    largest = sorted(((cluster[0].document.url, len(cluster)) for cluster in clusters), key=lambda pair: (-pair[1], pair[0]))
    facts: dict[str, Any] = {
        "pages": corpus.height,
        "compared": present.height,
        "without_text": corpus.height - corpus["text_sha256"].count(),
        "without_fingerprint": pages.height - present.height,
        "clusters": len(clusters),
        "members": sum(len(cluster) for cluster in clusters),
        "related_pairs": related.rows,
        "largest": largest[:LARGEST],
        "sizes": dict(sorted(sizes.items())),
    }
    return tables.StageResult((duplicates, related), facts)


class ShingleSets:
    """Shingle sets of stored texts, read partition by partition when they are first needed.

    `texts` has text_sha256, crawl_date, domain, capture_id. A set is the ascending array of its 64-bit shingle hashes; that two different
    shingles of a pair share one has a probability below 10⁻¹².
    """

    def __init__(self, lake: Lake, texts: pl.DataFrame) -> None:
        self._lake = lake
        self._places = {
            row["text_sha256"]: (Partition(row["crawl_date"], row["domain"]), row["capture_id"]) for row in texts.iter_rows(named=True)
        }
        self._sets: dict[str, np.ndarray] = {}

    def load(self, digests: set[str]) -> None:
        from trawl_core.dedup import kernel

        missing = sorted((*self._places[digest], digest) for digest in digests - set(self._sets))
        for partition, places in groupby(missing, key=lambda place: place[0]):
            wanted = {capture_id: digest for _, capture_id, digest in places}
            pages = pl.from_arrow(tables.read(self._lake, "pages", partition, ["capture_id", "text"]))
            for capture_id, text in pages.filter(pl.col("capture_id").is_in(list(wanted))).iter_rows():
                self._sets[wanted[capture_id]] = np.unique(kernel.shingle_hashes(comparison_bytes(text), MINHASH_WIDTH))

    def jaccard(self, left: str, right: str) -> float:
        from trawl_core.dedup import kernel

        self.load({left, right})
        one, other = self._sets[left], self._sets[right]
        common = kernel.common_count(one, other)
        return common / (len(one) + len(other) - common)


def _fingerprints(lake: Lake, pages: pl.DataFrame) -> pl.DataFrame:
    """capture_id, simhash, minhash and bands of the pages whose partition has fingerprints."""
    parts = []
    for (day, domain), rows in sorted(pages.group_by("crawl_date", "domain")):
        partition = Partition(day, domain)
        stored = pl.from_arrow(tables.read(lake, "fingerprints", partition, ["capture_id", "simhash", "minhash", "bands", "params_id"]))
        stored = stored.filter(pl.col("capture_id").is_in(rows["capture_id"].to_list()) & pl.col("minhash").is_not_null())
        require_comparable(set(stored["params_id"].unique()), f"{domain} on {day}")
        parts.append(stored.drop("params_id"))
    if parts:
        return pl.concat(parts)
    return pl.from_arrow(tables.empty("fingerprints").select(["capture_id", "simhash", "minhash", "bands"]))


def _verified(texts: pl.DataFrame, sets: ShingleSets) -> dict[tuple[str, str], float]:
    """Exact Jaccard of every candidate pair of distinct texts that passes the sieve; keys are ordered digests."""
    if texts.height < 2:
        return {}
    digests = texts["text_sha256"].to_list()
    signatures = np.frombuffer(b"".join(texts["minhash"]), "<u4").reshape(texts.height, -1)
    pairs = candidate_pairs(np.array(texts["bands"].to_list(), np.uint64))
    pairs = pairs[agreement(signatures, pairs) >= SIEVE]
    sets.load({digests[place] for place in np.unique(pairs)})
    return {(digests[i], digests[j]): sets.jaccard(digests[i], digests[j]) for i, j in pairs.tolist()}


def _row(member: Member, simhashes: dict[str, int]) -> dict[str, Any]:
    document, representative = member.document, member.representative
    return {
        "cluster_id": representative.digest,
        "text_sha256": document.digest,
        "url": document.url,
        "domain": document.domain,
        "capture_id": document.capture_id,
        "first_seen": document.first_seen,
        "representative_url": representative.url,
        "relation": member.relation,
        "jaccard": member.jaccard,
        "hamming": hamming(simhashes[document.digest], simhashes[representative.digest]),
    }


def _related(documents: list[Document], jaccards: dict[tuple[str, str], float]) -> list[dict[str, Any]]:
    """One row per pair of texts with RELATED <= Jaccard < NEAR, each text stood for by its page of the least standing."""
    pages: dict[str, list[Document]] = defaultdict(list)
    for document in documents:
        pages[document.digest].append(document)
    rows = []
    for (left, right), value in jaccards.items():
        if RELATED <= value < NEAR:
            ends = [min(pages[digest], key=lambda document: document.standing) for digest in (left, right)]
            one, other = sorted(ends, key=lambda document: document.url)
            rows.append({"url": one.url, "domain": one.domain, "other_url": other.url, "other_domain": other.domain, "jaccard": value})
    return rows
