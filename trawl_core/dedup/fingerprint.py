"""Stage `fingerprints`: one row per good page of a partition.

A text whose digest has a fingerprint in a recent partition of the domain takes it over; only unseen texts are computed.
The values depend on the text alone, so what was found where makes no difference to the result.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from trawl_core.dedup.bands import band_hashes
from trawl_core.dedup.minhash import signature_of
from trawl_core.dedup.params import PARAMS_ID
from trawl_core.dedup.text import MINHASH_WIDTH, SIMHASH_WIDTH, comparison_bytes
from trawl_core.lake import tables
from trawl_core.lake.earlier import build_after_earlier
from trawl_core.lake.layout import Lake, Partition

# Partitions searched for an earlier fingerprint; a page is fetched at least once in 30 nights by default.
LOOK_BACK = 40

_VALUES = ("simhash", "minhash", "n_shingles", "bands")


def fingerprint_pages(lake: Lake, partition: Partition) -> tables.StageResult:
    """Commit `fingerprints` of one crawl date and domain, after those of earlier dates whose pages have none.

    A page without tokens has a row with digests only.
    """
    return build_after_earlier(lake, "fingerprints", "pages", partition, lambda one: _fingerprint_partition(lake, one))


def _fingerprint_partition(lake: Lake, partition: Partition) -> tables.StageResult:
    pages = pl.from_arrow(
        tables.read(lake, "pages", partition, ["url", "capture_id", "body_capture_id", "fetch_status", "text", "text_sha256"])
    ).filter(pl.col("fetch_status").is_in([200, 304]))
    texts = dict(pages.filter(pl.col("text_sha256").is_not_null()).select("text_sha256", "text").iter_rows())
    known = _earlier(lake, partition, set(texts))
    values = {**known, **{digest: fingerprint(text or "") for digest, text in texts.items() if digest not in known}}
    payloads = _payloads(lake, partition, pages.filter(pl.col("text_sha256").is_null()))
    rows = [
        {
            "url": page["url"],
            "capture_id": page["capture_id"],
            "text_sha256": page["text_sha256"],
            "doc_key": page["text_sha256"] or payloads.get(page["body_capture_id"] or page["capture_id"]),
            "params_id": PARAMS_ID,
            **values.get(page["text_sha256"], {"n_shingles": 0}),
        }
        for page in pages.drop("text").iter_rows(named=True)
    ]
    committed = tables.commit(lake, "fingerprints", partition, rows)
    facts = {
        "pages": len(rows),
        "texts": len(texts),
        "computed": len(texts) - len(known),
        "taken_over": len(known),
        "without_text": sum(row["text_sha256"] is None for row in rows),
        "params_id": PARAMS_ID,
    }
    return tables.StageResult((committed,), facts)


def fingerprint(text: str) -> dict[str, Any]:
    """The columns simhash, minhash, n_shingles and bands of a text; all null but n_shingles = 0 without tokens."""
    from trawl_core.dedup import kernel

    data = comparison_bytes(text)
    if not len(data):
        return {"simhash": None, "minhash": None, "n_shingles": 0, "bands": None}
    hashes = kernel.shingle_hashes(data, MINHASH_WIDTH)
    signature = signature_of(hashes)
    return {
        "simhash": int(kernel.majority_bits(kernel.shingle_hashes(data, SIMHASH_WIDTH))),
        "minhash": signature.astype("<u4").tobytes(),
        "n_shingles": len(set(hashes.tolist())),
        "bands": band_hashes(signature.reshape(1, -1))[0].tolist(),
    }


def _earlier(lake: Lake, partition: Partition, digests: set[str]) -> dict[str, dict[str, Any]]:
    """Stored values of those digests, by digest; fingerprints of other parameters are passed over."""
    found: dict[str, dict[str, Any]] = {}
    days = tables.dates_of(lake, "fingerprints", partition.domain, before=partition.crawl_date)
    for day in reversed(days[-LOOK_BACK:]):
        wanted = digests - set(found)
        if not wanted:
            break
        stored = pl.from_arrow(
            tables.read(lake, "fingerprints", Partition(day, partition.domain), ["text_sha256", "params_id", *_VALUES])
        ).filter((pl.col("params_id") == PARAMS_ID) & pl.col("text_sha256").is_in(list(wanted)) & pl.col("minhash").is_not_null())
        for row in stored.unique("text_sha256").iter_rows(named=True):
            found[row["text_sha256"]] = {name: row[name] for name in _VALUES}
    return found


def _payloads(lake: Lake, partition: Partition, pages: pl.DataFrame) -> dict[str, str]:
    """payload_sha256 of the captures that hold the bodies of `pages`, by capture_id."""
    wanted = {page["body_capture_id"] or page["capture_id"] for page in pages.iter_rows(named=True)}
    found: dict[str, str] = {}
    days = tables.dates_of(lake, "captures", partition.domain, upto=partition.crawl_date) if wanted else []
    for day in reversed(days):
        if wanted <= set(found):
            break
        captures = pl.from_arrow(tables.read(lake, "captures", Partition(day, partition.domain), ["capture_id", "payload_sha256"]))
        found.update(captures.filter(pl.col("capture_id").is_in(list(wanted)) & pl.col("payload_sha256").is_not_null()).iter_rows())
    return found
