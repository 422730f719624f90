"""From verified pairs of documents to clusters of pages.

Pure functions; the result does not depend on the order of documents or pairs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

NEAR = 0.8
RELATED = 0.5

Relation = Literal["representative", "exact", "near", "transitive"]


@dataclass(frozen=True)
class Document:
    """One URL of the corpus and the digest of its text."""

    url: str
    domain: str
    capture_id: str
    first_seen: datetime
    digest: str

    @property
    def standing(self) -> tuple[datetime, int, str, str]:
        """The least one represents its cluster: seen first, then the shortest URL, then the URL, then the digest."""
        return (self.first_seen, len(self.url), self.url, self.digest)


@dataclass(frozen=True)
class Member:
    """`jaccard` is that of the two shingle sets, member and representative; a transitive member's is below NEAR."""

    document: Document
    representative: Document
    relation: Relation
    jaccard: float


def connected(digests: Iterable[str], edges: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Connected components (union-find with path halving), each sorted, in the order of their least digest."""
    parent = {digest: digest for digest in digests}

    def root(digest: str) -> str:
        while parent[digest] != digest:
            parent[digest] = parent[parent[digest]]
            digest = parent[digest]
        return digest

    for left, right in edges:
        one, other = sorted((root(left), root(right)))
        parent[other] = one
    groups: dict[str, list[str]] = defaultdict(list)
    for digest in sorted(parent):
        groups[root(digest)].append(digest)
    return [groups[least] for least in sorted(groups)]


def cluster_documents(
    documents: Sequence[Document], jaccards: Mapping[tuple[str, str], float], jaccard: Callable[[str, str], float]
) -> list[list[Member]]:
    """Clusters of two pages or more: the same text, or chained by pairs of `jaccards` (ordered digests) that reach NEAR.

    `jaccard(a, b)` is asked for the value of a member and its representative where the pair was no candidate. The
    representative is the first member; clusters come in the order of their representative's standing.
    """
    pages: dict[str, list[Document]] = defaultdict(list)
    for document in documents:
        pages[document.digest].append(document)
    clusters = []
    for digests in connected(pages, (pair for pair, value in jaccards.items() if value >= NEAR)):
        members = sorted((document for digest in digests for document in pages[digest]), key=lambda document: document.standing)
        if len(members) > 1:
            clusters.append(_related_to_first(members, jaccards, jaccard))
    return sorted(clusters, key=lambda cluster: cluster[0].document.standing)


def _related_to_first(
    members: Sequence[Document], jaccards: Mapping[tuple[str, str], float], jaccard: Callable[[str, str], float]
) -> list[Member]:
    first = members[0]
    values = {first.digest: 1.0}
    for digest in {document.digest for document in members} - {first.digest}:
        pair = (min(first.digest, digest), max(first.digest, digest))
        values[digest] = jaccards[pair] if pair in jaccards else jaccard(*pair)
    return [Member(document, first, _relation(document, first, values[document.digest]), values[document.digest]) for document in members]


def _relation(document: Document, representative: Document, value: float) -> Relation:
    if document is representative:
        return "representative"
    if document.digest == representative.digest:
        return "exact"
    return "near" if value >= NEAR else "transitive"
