"""What the lake knows of a domain's URLs: tonight's decisive answers, how each URL stood before, and versions of pages.

Read from `captures`, `pages`, `page_blocks`, `structured_data` and `fingerprints` of the date and of earlier dates alone, so
the answer does not depend on what was built when.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import polars as pl

from trawl_core.changes.version import GONE, GOOD, MOVED, Block, PageVersion, StructuredItem, blocks_of_text
from trawl_core.lake import tables
from trawl_core.lake.layout import Lake, Partition

_ANSWER = ("url", "kind", "fetch_time", "capture_id", "fetch_status", "fetch_redirect", "outcome")
_PAGE = (
    "url",
    "capture_id",
    "body_capture_id",
    "fetch_time",
    "fetch_status",
    "final_url",
    "title",
    "canonical_hint",
    "text",
    "text_sha256",
    "extractor_version",
)
_BROKEN_OFF = ("disconnect", "time", "unspecified")


@dataclass(frozen=True)
class Answer:
    """The last answer of a night that says whether a URL is there: 200, 304, 301, 308, 404 or 410."""

    crawl_date: date
    capture_id: str
    status: int
    redirect: str | None


def decisive_answers(lake: Lake, partition: Partition) -> dict[str, Answer]:
    """By URL. Errors, timeouts, temporary redirects and redirects that lead nowhere decide nothing."""
    captures = pl.from_arrow(tables.read(lake, "captures", partition, _ANSWER)).filter(pl.col("kind").fill_null("page") == "page")
    targets = dict(captures.filter(pl.col("fetch_redirect").is_not_null()).select("url", "fetch_redirect").iter_rows())
    nowhere = set(captures.filter(pl.col("outcome").is_in(["redirect_loop", "redirect_limit"]))["url"])
    decisive = captures.filter(
        pl.col("fetch_status").is_in([*GOOD, *GONE, *MOVED])
        & ~pl.col("outcome").fill_null("ok").is_in(["redirect_loop", "redirect_limit", "unsolicited_304", "invalid_http"])
    )
    newest = decisive.sort("fetch_time", "capture_id").group_by("url", maintain_order=True).last()
    return {
        row["url"]: Answer(partition.crawl_date, row["capture_id"], row["fetch_status"], row["fetch_redirect"])
        for row in newest.iter_rows(named=True)
        if row["fetch_status"] not in MOVED or _arrives(row["url"], targets, nowhere)
    }


def _arrives(url: str, targets: dict[str, str], nowhere: set[str]) -> bool:
    """False when the redirects that start at `url` run in a circle or were given up."""
    seen: set[str] = set()
    step: str | None = url
    while step is not None:
        if step in seen or step in nowhere:
            return False
        seen.add(step)
        step = targets.get(step)
    return True


def answers_before(lake: Lake, partition: Partition, urls: Iterable[str]) -> dict[str, Answer]:
    """The newest decisive answer of an earlier date, by URL; nothing for a URL that never gave one."""
    wanted = set(urls)
    found: dict[str, Answer] = {}
    for day in reversed(tables.dates_of(lake, "captures", partition.domain, before=partition.crawl_date)):
        if not wanted:
            break
        answers = decisive_answers(lake, Partition(day, partition.domain))
        for url in wanted & answers.keys():
            found[url] = answers[url]
        wanted -= found.keys()
    return found


def good_pages(lake: Lake, partition: Partition, urls: Iterable[str]) -> dict[str, PageVersion]:
    """The newest good page of each URL in a partition, without blocks and structured data."""
    pages = pl.from_arrow(tables.read(lake, "pages", partition, [name for name in _PAGE if name != "text"]))
    pages = pages.filter(pl.col("url").is_in(list(urls)) & pl.col("fetch_status").is_in(list(GOOD)))
    newest = pages.sort("fetch_time", "capture_id").group_by("url", maintain_order=True).last()
    return {row["url"]: _version(partition.crawl_date, row) for row in newest.iter_rows(named=True)}


def earlier_good_pages(lake: Lake, partition: Partition, urls: Iterable[str]) -> Iterator[dict[str, PageVersion]]:
    """`good_pages` of the earlier dates, newest first, one date at a time."""
    wanted = list(urls)
    for day in reversed(tables.dates_of(lake, "pages", partition.domain, before=partition.crawl_date)):
        yield good_pages(lake, Partition(day, partition.domain), wanted)


def complete(lake: Lake, domain: str, versions: Iterable[PageVersion]) -> dict[str, PageVersion]:
    """The versions with blocks, structured data and validators read from their own dates; by capture_id."""
    by_date: dict[date, list[PageVersion]] = {}
    for version in versions:
        by_date.setdefault(version.crawl_date, []).append(version)
    found: dict[str, PageVersion] = {}
    for day, group in sorted(by_date.items()):
        partition = Partition(day, domain)
        ids = [version.capture_id for version in group]
        columns = ["payload_sha256", "content_digest", "etag", "last_modified", "content_truncated", "rendered_offset"]
        captures = _rows(lake, "captures", partition, ids, columns)
        blocks = _rows(lake, "page_blocks", partition, ids, ["position", "hash", "text", "in_main"])
        items = _rows(lake, "structured_data", partition, ids, ["position", "syntax", "type", "fields", "within"])
        prints = _rows(lake, "fingerprints", partition, ids, ["simhash"])
        texts = _rows(lake, "pages", partition, [capture_id for capture_id in ids if capture_id not in blocks], ["text"])
        structured_known = tables.has(lake, "structured_data", partition)
        made_from = tables.made_from(lake, "structured_data", partition) or ""
        for version in group:
            key = version.capture_id
            capture = captures.get(key, [{}])[0]
            found[key] = replace(
                version,
                # Scripts may show other content under the same payload.
                payload_digest=None
                if capture.get("rendered_offset") is not None
                else capture.get("payload_sha256") or capture.get("content_digest"),
                etag=capture.get("etag"),
                last_modified=capture.get("last_modified"),
                incomplete=capture.get("content_truncated") in _BROKEN_OFF,
                blocks=tuple(Block(row["hash"], row["text"], row["in_main"] is not False) for row in blocks.get(key, ()))
                or blocks_of_text(texts[key][0]["text"] if key in texts else None),
                structured=tuple(
                    StructuredItem(row["syntax"], row["type"], row["fields"]) for row in items.get(key, ()) if row["within"] is None
                )
                if structured_known
                else None,
                structured_by=made_from.partition(" ")[0],
                simhash=prints[key][0]["simhash"] if key in prints else None,
            )
    return found


def _version(crawl_date: date, page: dict[str, Any]) -> PageVersion:
    return PageVersion(
        url=page["url"],
        status=page["fetch_status"],
        crawl_date=crawl_date,
        capture_id=page["capture_id"],
        body_capture_id=page["body_capture_id"],
        final_url=page["final_url"],
        title=page["title"],
        canonical_hint=page["canonical_hint"],
        text_sha256=page["text_sha256"],
        extractor_version=page["extractor_version"],
    )


def _rows(lake: Lake, table: str, partition: Partition, capture_ids: list[str], columns: list[str]) -> dict[str, list[dict[str, Any]]]:
    """Rows of those captures by capture_id, in the table's order (blocks and items by position)."""
    if not capture_ids:
        return {}
    data = pl.from_arrow(tables.read(lake, table, partition, ["capture_id", *columns])).filter(pl.col("capture_id").is_in(capture_ids))
    if "position" in columns:
        data = data.sort("capture_id", "position")
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in data.iter_rows(named=True):
        rows.setdefault(row["capture_id"], []).append(row)
    return rows
