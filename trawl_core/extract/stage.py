"""The extraction stage of one partition: `pages` with `page_blocks`."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from trawl_core.extract import carry
from trawl_core.extract.bodies import body_capture_id, body_place, captures_with_body, is_rendered
from trawl_core.extract.gating import Gating
from trawl_core.extract.page import version_of
from trawl_core.extract.pool import PAGE_LIMIT_S, ExtractorPool
from trawl_core.extract.previous import previous_captures
from trawl_core.extract.rows import Extracted, PageRows
from trawl_core.lake import Lake, Partition, tables
from trawl_core.lake.earlier import build_after_earlier
from trawl_core.lake.tables import StageResult
from trawl_core.sites import Site

__all__ = ["ExtractorPool", "extract_pages"]


def extract_pages(
    lake: Lake,
    partition: Partition,
    site: Site,
    *,
    workers: int | None = None,
    page_limit_s: float = PAGE_LIMIT_S,
    pool: ExtractorPool | None = None,
) -> StageResult:
    """Commit `pages` and `page_blocks` of a partition: one row for each capture with a body.

    Earlier dates of the domain that were archived and never extracted come first. `pool` is shared with other partitions and
    then decides about workers and limit; without it the stage has its own.
    Facts: rows, by_status, carried, gated (of those by their lines), read_as_before (only the choice of the extractor was taken over),
    gate_checked and gate_differed (the gate's sample), kept (rows of an earlier run of this partition), types_disagree (bodies that are
    not what they are declared to be), median_ms, problems (up to 10, by URL).
    """
    with nullcontext(pool) if pool is not None else ExtractorPool(workers, page_limit_s=page_limit_s) as extractors:
        return build_after_earlier(lake, "pages", "captures", partition, lambda one: _extract_partition(lake, one, site, extractors))


def _extract_partition(lake: Lake, partition: Partition, site: Site, extractors: ExtractorPool) -> StageResult:
    captures = captures_with_body(lake, partition)
    rows = PageRows(lake, partition, site)
    _extract(lake, partition, site, captures, rows, extractors)
    pages, blocks = rows.tables()
    committed = tables.commit(lake, "page_blocks", partition, blocks), tables.commit(lake, "pages", partition, pages)
    return StageResult((committed[1], committed[0]), rows.facts())


def _extract(
    lake: Lake, partition: Partition, site: Site, captures: list[dict[str, Any]], rows: PageRows, extractors: ExtractorPool
) -> None:
    """Give `rows` one for each capture: from what was extracted before where it can be had."""
    version = version_of(site.extraction_profile, site.json_pointers)
    # By capture and URL of the body; what a browser rendered is another body than the one that its revisits refer to.
    by_body: dict[tuple[str, str, int | None], list[dict[str, Any]]] = {}
    for capture in captures:
        by_body.setdefault((body_capture_id(capture), capture["url"], body_place(capture)["warc_record_offset"]), []).append(capture)
    own = {(capture["capture_id"], capture["url"]) for capture in captures if capture["warc_type"] != "revisit" or is_rendered(capture)}
    earlier = _by_place(carry.earlier_extractions(lake, partition, {key[:2] for key in by_body} - own, version))
    kept = _by_place(carry.kept_extractions(lake, partition, own, version))
    previous = previous_captures(lake, partition, {key[1] for key in by_body if key not in earlier}, version)
    gating = Gating(partition, site, rows)
    for key, sharing in by_body.items():
        # The response itself where it is among them: a revisit of the same night refers to it.
        source = next((capture for capture in sharing if capture["warc_type"] != "revisit"), sharing[0])
        before = previous.get(source["url"])
        if key in earlier:
            gating.take_over(sharing, *earlier[key])
        elif before is not None and before.had_body_of(source):
            gating.take_over(sharing, before.row(), carry.blocks_of(lake, before.partition, [before.capture_id]).get(before.capture_id, []))
        else:
            gating.add(sharing, source, before, Extracted.of_rows(*kept[key]) if key in kept else None)
    for jobs in (gating.first_jobs, gating.second_jobs):
        for answer in extractors.run(lake, jobs()):
            gating.take(answer)


def _by_place(
    found: dict[tuple[str, str], tuple[dict[str, Any], list[dict[str, Any]]]],
) -> dict[tuple[str, str, int | None], tuple[dict[str, Any], list[dict[str, Any]]]]:
    return {(*key, row["warc_record_offset"]): (row, blocks) for key, (row, blocks) in found.items()}
