"""The extraction stage of one partition: `pages` with `page_blocks`."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import nullcontext
from dataclasses import fields
from statistics import median
from typing import Any

import pyarrow as pa

from trawl_core.extract import carry
from trawl_core.extract.bodies import body_capture_id, body_place, captures_with_body, is_rendered
from trawl_core.extract.page import Page, version_of
from trawl_core.extract.pool import ExtractorPool
from trawl_core.extract.worker import Job
from trawl_core.lake import Lake, Partition, tables
from trawl_core.lake.earlier import build_after_earlier
from trawl_core.lake.tables import StageResult
from trawl_core.sites import Site
from trawl_core.urls.scope import Scope

__all__ = ["ExtractorPool", "extract_pages"]

_ROWS_PER_BATCH = 200
_MAX_PROBLEMS = 10
_DOCUMENT_TYPES = frozenset(["html", "json", "pdf", "feed", "xml", "text", "other"])
_FROM_BODY = tuple(field.name for field in fields(Page) if field.name not in ("blocks", "extract_ms"))


def extract_pages(
    lake: Lake, partition: Partition, site: Site, *, workers: int | None = None, page_limit_s: float = 30, pool: ExtractorPool | None = None
) -> StageResult:
    """Commit `pages` and `page_blocks` of a partition: one row for each capture with a body.

    Earlier dates of the domain that were archived and never extracted come first. `pool` is shared with other partitions and
    then decides about workers and limit; without it the stage has its own.
    Facts: rows, by_status, carried, kept (rows of an earlier run of this partition), median_ms, problems (up to 10, by URL).
    """
    with nullcontext(pool) if pool is not None else ExtractorPool(workers, page_limit_s=page_limit_s) as extractors:
        return build_after_earlier(lake, "pages", "captures", partition, lambda one: _extract_partition(lake, one, site, extractors))


def _extract_partition(lake: Lake, partition: Partition, site: Site, extractors: ExtractorPool) -> StageResult:
    captures = captures_with_body(lake, partition)
    builder = _Rows(lake, partition, site)
    _extract(lake, partition, site, captures, builder, extractors)
    pages, blocks = builder.tables()
    committed = tables.commit(lake, "page_blocks", partition, blocks), tables.commit(lake, "pages", partition, pages)
    return StageResult((committed[1], committed[0]), builder.facts())


def _extract(
    lake: Lake, partition: Partition, site: Site, captures: list[dict[str, Any]], builder: _Rows, extractors: ExtractorPool
) -> None:
    """Give `builder` a row for each capture: revisits from what was extracted before where it can be had."""
    version = version_of(site.extraction_profile)
    # By capture and URL of the body; what a browser rendered is another body than the one that its revisits refer to.
    by_body: dict[tuple[str, str, int | None], list[dict[str, Any]]] = {}
    for capture in captures:
        by_body.setdefault((body_capture_id(capture), capture["url"], body_place(capture)["warc_record_offset"]), []).append(capture)
    own = {(capture["capture_id"], capture["url"]) for capture in captures if capture["warc_type"] != "revisit" or is_rendered(capture)}
    earlier = _by_place(carry.earlier_extractions(lake, partition, {key[:2] for key in by_body} - own, version))
    kept = _by_place(carry.kept_extractions(lake, partition, own, version))
    jobs = []
    for key, sharing in by_body.items():
        if key in kept:
            for capture in sharing:
                builder.add_kept(capture, *kept[key])
        elif key in earlier:
            row, blocks = earlier[key]
            for capture in sharing:
                builder.add_carried(capture, row, blocks)
        else:
            # The response itself where it is among them: a revisit of the same night refers to it.
            source = next((capture for capture in sharing if capture["warc_type"] != "revisit"), sharing[0])
            jobs.append(Job(str(len(jobs)), source, site.max_decoded_bytes, site.extraction_profile))
    sharing_of = [sharing for key, sharing in by_body.items() if key not in earlier and key not in kept]
    for answer in extractors.run(lake, jobs):
        if answer.page is not None:
            for capture in sharing_of[int(answer.key)]:
                builder.add_page(capture, answer.page)


def _by_place(
    found: dict[tuple[str, str], tuple[dict[str, Any], list[dict[str, Any]]]],
) -> dict[tuple[str, str, int | None], tuple[dict[str, Any], list[dict[str, Any]]]]:
    return {(*key, row["warc_record_offset"]): (row, blocks) for key, (row, blocks) in found.items()}


class _Rows:
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
        self._kept = 0
        self._milliseconds: list[float] = []
        self._problems: list[str] = []

    def add_page(self, capture: dict[str, Any], page: Page) -> None:
        columns = page.columns()
        blocks = [
            {"position": block.position, "hash": block.hash, "heading": block.heading, "text": block.text, "in_main": block.in_main}
            for block in page.blocks
        ]
        self._add(capture, columns, blocks, carried=_is_unchanged(capture))

    def add_carried(self, capture: dict[str, Any], row: dict[str, Any], blocks: list[dict[str, Any]]) -> None:
        self._add(capture, _from_body(row), _without_place(blocks), carried=True)

    def add_kept(self, capture: dict[str, Any], row: dict[str, Any], blocks: list[dict[str, Any]]) -> None:
        self._kept += 1
        columns = {**_from_body(row), "extract_ms": row["extract_ms"]}
        self._add(capture, columns, _without_place(blocks), carried=_is_unchanged(capture))

    def _add(self, capture: dict[str, Any], columns: dict[str, Any], blocks: list[dict[str, Any]], carried: bool) -> None:
        if carried:
            # Said of every unchanged body, also where the earlier row was missing and it was extracted again: rows must not
            # depend on what was built before.
            columns["extract_ms"] = 0.0
            columns["extract_status"] = "carried" if columns["extract_status"] == "ok" else columns["extract_status"]
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
            }
        )
        self._blocks.extend({"url": capture["url"], "capture_id": capture["capture_id"], **block} for block in blocks)
        self._count(capture["url"], columns, carried)
        if len(self._pages) >= _ROWS_PER_BATCH:
            self._flush()

    def _count(self, url: str, columns: dict[str, Any], carried: bool) -> None:
        status = columns["extract_status"]
        self._by_status[status] += 1
        if not carried and columns["extract_ms"] is not None:
            self._milliseconds.append(columns["extract_ms"])
        if status not in ("ok", "carried"):
            self._problems.append(f"{url}: {status}: {columns['extract_error']}")

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
            "kept": self._kept,
            "median_ms": round(median(self._milliseconds), 1) if self._milliseconds else None,
            "problems": sorted(self._problems)[:_MAX_PROBLEMS],
        }


def _is_unchanged(capture: dict[str, Any]) -> bool:
    return capture["warc_type"] == "revisit" and capture["refers_to_url"] == capture["url"] and not is_rendered(capture)


def _from_body(row: dict[str, Any]) -> dict[str, Any]:
    """The columns of a stored row that its body gave; a page type that a schema of sites.yaml named is taken back."""
    columns = {name: row[name] for name in _FROM_BODY}
    if columns["predicted_type"] is not None or columns["page_type"] not in _DOCUMENT_TYPES:
        columns["page_type"] = columns["predicted_type"] or "html"
    return columns


def _without_place(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: block[name] for name in ("position", "hash", "heading", "text", "in_main")} for block in blocks]
