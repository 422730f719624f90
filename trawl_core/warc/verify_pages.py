"""Tables that lead back to the archive: each page to the record with its body, each row made of a page to that page."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from trawl_core.errors import LakeError, WarcError
from trawl_core.lake import Lake, Partition, tables
from trawl_core.warc.imported import is_imported
from trawl_core.warc.known import KnownRecords, place_of

OF_PAGES = ("page_blocks", "structured_data", "fingerprints", "chunks")
_PAGES = ["capture_id", "body_capture_id", "warc_filename", "warc_record_offset", "warc_record_length"]
_BATCH_ROWS = 5_000


def verify_pages(lake: Lake, partition: Partition, captures: pa.Table, known: KnownRecords) -> Iterator[tuple[str, str]]:
    """(table and row, what is wrong). `captures` has the partition's capture_id and payload_sha256."""
    try:
        pages = tables.read(lake, "pages", partition, _PAGES)
    except LakeError as error:
        yield lake.table_name("pages", partition), str(error)
        return
    rows = pc.index_in(pages["capture_id"], value_set=captures["capture_id"])
    digests = captures["payload_sha256"].take(rows)
    judged = pages.append_column("has_capture", pc.is_valid(rows)).append_column("payload_sha256", digests)
    for batch in judged.to_batches(max_chunksize=_BATCH_ROWS):
        for page in batch.to_pylist():
            where = f"pages {partition.crawl_date} {partition.domain} {page['capture_id']}"
            if not page["has_capture"]:
                yield where, "its capture_id is not in captures"
            if fault := _body_fault(page, known):
                yield where, fault
    yield from _rows_without_page(lake, partition, pages)


def _body_fault(page: dict, known: KnownRecords) -> str | None:
    place = place_of(page, "warc_filename", "warc_record")
    if None in place:
        return "it does not lead to a record"
    try:
        body = known.look_up(place)
    except WarcError as error:
        return f"the record with its body can't be read: {error}"
    if body is None:
        return None
    by_others = is_imported(place[0])
    is_of_it = by_others or body.capture_id == page["body_capture_id"]
    if not is_of_it or body.warc_type not in (("response", "conversion", "resource") if by_others else ("response", "conversion")):
        return f"its body is that of {page['body_capture_id']}, it leads to the {body.warc_type} {body.capture_id}"
    found = body.sha256.hex() if body.sha256 else None
    if body.warc_type == "response" and page["payload_sha256"] not in (None, found):
        return f"captures.payload_sha256 is {page['payload_sha256']}, the payload that it leads to has {found}"
    return None


def _rows_without_page(lake: Lake, partition: Partition, pages: pa.Table) -> Iterator[tuple[str, str]]:
    with_page = pa.chunked_array([*pages["capture_id"].chunks, *pages["body_capture_id"].chunks], type=pages["capture_id"].type)
    for table in OF_PAGES:
        try:
            found = pc.unique(tables.read(lake, table, partition, ["capture_id"])["capture_id"])
        except LakeError as error:
            yield lake.table_name(table, partition), str(error)
            continue
        lost = found.filter(pc.invert(pc.is_in(found, value_set=with_page)))
        for capture_id in sorted(lost.to_pylist(), key=str):
            yield f"{table} {partition.crawl_date} {partition.domain} {capture_id}", "its capture_id is not in pages"
