"""Rows of `pages` and `page_blocks` as a partition's extraction gives them one by one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import median
from typing import Any, Literal

import pyarrow as pa

from trawl_core.extract import carry
from trawl_core.extract.bodies import body_capture_id, body_place, is_rendered
from trawl_core.extract.page import Page
from trawl_core.lake import Lake, Partition, tables
from trawl_core.sites import Site
from trawl_core.urls.scope import Scope
from trawl_core.warc.sniff import types_disagree

_ROWS_PER_BATCH = 200
_MAX_PROBLEMS = 10
_DOCUMENT_TYPES = frozenset(["html", "json", "pdf", "feed", "xml", "text", "other"])
_FROM_BODY = tuple(field.name for field in fields(Page) if field.name not in ("blocks", "extract_ms"))
_OF_BLOCK = ("position", "hash", "heading", "text", "in_main")

Because = Literal["same_payload", "same_lines", "same_reading"]
GateCheck = Literal["agreed", "differed"]


@dataclass(frozen=True)
class Extracted:
    """What one body gives: columns of `pages` and rows of `page_blocks`; what of it was taken over, and what a sample said of that."""

    columns: Mapping[str, Any]
    blocks: Sequence[Mapping[str, Any]]
    because: Because | None = None
    gate_check: GateCheck | None = None

    @staticmethod
    def of_page(page: Page, because: Because | None = None) -> Extracted:
        return Extracted(page.columns(), [{name: getattr(block, name) for name in _OF_BLOCK} for block in page.blocks], because)

    @staticmethod
    def of_rows(row: Mapping[str, Any], blocks: Sequence[Mapping[str, Any]]) -> Extracted:
        """Of a stored row; a page type that a schema of sites.yaml named is taken back."""
        columns = {name: row[name] for name in (*_FROM_BODY, "extract_ms")}
        if columns["predicted_type"] is not None or columns["page_type"] not in _DOCUMENT_TYPES:
            columns["page_type"] = columns["predicted_type"] or "html"
        return Extracted(columns, [{name: block[name] for name in _OF_BLOCK} for block in blocks], row["carried_because"])


class PageRows:
    """Rows of both tables, kept as arrow batches so that memory is that of the data."""

    def __init__(self, lake: Lake, partition: Partition, site: Site) -> None:
        self._partition = partition
        self._scope = Scope(site)
        self._page_types = [(re.compile(schema.pattern), schema.page_type) for schema in site.extraction]
        self._durations = carry.durations(lake, partition)
        self._pages: list[dict[str, Any]] = []
        self._blocks: list[dict[str, Any]] = []
        self._page_batches: list[pa.Table] = []
        self._block_batches: list[pa.Table] = []
        self._by_status: Counter[str] = Counter()
        self._by_reason: Counter[str | None] = Counter()
        self._checks: Counter[str | None] = Counter()
        self._kept = 0
        self._disagreeing = 0
        self._milliseconds: list[float] = []
        self._problems: list[str] = []

    def add(self, capture: Mapping[str, Any], extracted: Extracted, *, kept: bool = False) -> None:
        """`kept`: it is what this partition held before."""
        # Said of every unchanged body, also where the earlier row was missing and it was extracted again: rows must not
        # depend on what was built before.
        because = "same_payload" if _is_unchanged(capture) else extracted.because
        columns = dict(extracted.columns)
        carried = because in ("same_payload", "same_lines")
        if carried:
            columns["extract_ms"] = 0.0
        if columns["extract_status"] in ("ok", "carried"):
            columns["extract_status"] = "carried" if carried else "ok"
        columns["outlinks"] = [{**link, "in_scope": self._scope.check(link["url"]) is None} for link in columns["outlinks"] or []]
        if columns["predicted_type"] is not None or columns["page_type"] == "html":
            named = (name for pattern, name in self._page_types if pattern.search(capture["url"]))
            columns["page_type"] = next(named, columns["page_type"])
        self._pages.append(
            {
                "capture_id": capture["capture_id"],
                "body_capture_id": body_capture_id(capture),
                **body_place(capture),
                "url": capture["url"],
                "final_url": capture["url"],
                "canonical_url": capture["url"],
                "fetch_time": capture["fetch_time"],
                "fetch_status": capture["fetch_status"],
                **columns,
                "carried_because": because,
                "gate_check": None if because == "same_payload" else extracted.gate_check,
            }
        )
        self._blocks.extend({"url": capture["url"], "capture_id": capture["capture_id"], **block} for block in extracted.blocks)
        self._kept += kept
        self._count(self._pages[-1], capture["content_mime_type"], carried)
        if len(self._pages) >= _ROWS_PER_BATCH:
            self._flush()

    def _count(self, row: Mapping[str, Any], declared: str | None, carried: bool) -> None:
        status = row["extract_status"]
        self._by_status[status] += 1
        self._by_reason[row["carried_because"]] += 1
        self._checks[row["gate_check"]] += 1
        self._disagreeing += types_disagree(declared, row["mime_detected"])
        if not carried and row["extract_ms"] is not None:
            self._milliseconds.append(row["extract_ms"])
        if status not in ("ok", "carried"):
            self._problems.append(f"{row['url']}: {status}: {row['extract_error']}")

    def _flush(self) -> None:
        pages = tables.from_rows("pages", self._pages, self._partition)
        rows = pages.to_pylist()
        kept = [self._durations.get((row["capture_id"], carry.row_digest(row)), row["extract_ms"]) for row in rows]
        index = pages.schema.get_field_index("extract_ms")
        self._page_batches.append(pages.set_column(index, pages.schema.field(index), pa.array(kept, pa.float64())))
        self._block_batches.append(tables.from_rows("page_blocks", self._blocks, self._partition))
        self._pages.clear()
        self._blocks.clear()

    def tables(self) -> tuple[pa.Table, pa.Table]:
        self._flush()
        return pa.concat_tables(self._page_batches), pa.concat_tables(self._block_batches)

    def facts(self) -> dict[str, Any]:
        return {
            "rows": self._by_status.total(),
            "by_status": dict(sorted(self._by_status.items())),
            "carried": self._by_status["carried"],
            "gated": self._by_reason["same_lines"],
            "read_as_before": self._by_reason["same_reading"],
            "gate_checked": self._checks["agreed"] + self._checks["differed"],
            "gate_differed": self._checks["differed"],
            "kept": self._kept,
            "types_disagree": self._disagreeing,
            "median_ms": round(median(self._milliseconds), 1) if self._milliseconds else None,
            "problems": sorted(self._problems)[:_MAX_PROBLEMS],
        }


def _is_unchanged(capture: Mapping[str, Any]) -> bool:
    return capture["warc_type"] == "revisit" and capture["refers_to_url"] == capture["url"] and not is_rendered(capture)
