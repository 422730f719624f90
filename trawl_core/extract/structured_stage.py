"""The structured-data stage of one partition.

Reads captures and the archive, and `structured_data` of earlier dates. Writes `structured_data`. Promises: an unchanged body
gives its earlier rows again, without being read, where the same version and the same schemas of sites.yaml made them; the
rows are those that reading it would give.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from trawl_core.errors import LakeError, WarcError
from trawl_core.extract.bodies import body_capture_id, body_place, captures_with_body, is_rendered, read_body
from trawl_core.extract.selectors import NOTHING_MATCHED
from trawl_core.extract.structured import STRUCTURED_VERSION, body_items
from trawl_core.lake import Lake, Partition, tables
from trawl_core.lake.earlier import build_after_earlier
from trawl_core.lake.tables import StageResult
from trawl_core.sites import Site

_BODIES_PER_BATCH = 200
_MAX_PROBLEMS = 10
_Capture = Mapping[str, Any]
# Which body, from which URL (it resolves references), from which record (a browser may have rendered it).
_Key = tuple[str, str, int | None]


def extract_structured(lake: Lake, partition: Partition, site: Site) -> StageResult:
    """Commit `structured_data` of a partition from the archived bodies, after that of earlier dates that lack it.

    Facts: rows, by_syntax, by_type and by_entity (the ten commonest), carried (captures whose rows were taken over), invalid,
    problems (up to 10, by URL).
    """
    return build_after_earlier(lake, "structured_data", "captures", partition, lambda one: _extract_partition(lake, one, site))


def _extract_partition(lake: Lake, partition: Partition, site: Site) -> StageResult:
    captures = captures_with_body(lake, partition)
    rules = rules_digest(site)
    made_from = f"{rules} {captures_digest(captures)}"
    unread: dict[str, str] = {}
    kept = _kept(lake, partition, made_from)
    carried: set[str] = set()
    if kept is None:
        parts, carried = _carried(lake, partition, rules, captures)
        rest = [capture for capture in captures if capture["capture_id"] not in carried]
        parts += _read(lake, partition, site, rest, unread)
        data = pa.concat_tables(parts) if parts else tables.empty("structured_data")
    else:
        data = kept
    # What a body that could not be read holds is not known: no later date may take it for nothing.
    note = " ".join([made_from, *sorted(unread)])
    committed = tables.commit(lake, "structured_data", partition, data, made_from=note)
    return StageResult((committed,), _facts(data, len(carried), unread.values()))


def schemas_without_match(lake: Lake, partition: Partition, site: Site) -> list[str]:
    """A line for each schema whose selectors matched nothing on all its good pages of that night, with up to five of them.

    A schema without such a page says nothing: what it is for was not fetched.
    """
    if not site.extraction:
        return []
    statuses = tables.read(lake, "captures", partition, ["capture_id", "fetch_status"])
    good = statuses.filter(pc.is_in(statuses["fetch_status"], pa.array([200, 304], pa.int32())))["capture_id"]
    data = tables.read(lake, "structured_data", partition, ["url", "capture_id", "syntax", "type", "problems"])
    data = data.filter(pc.and_(pc.equal(data["syntax"], "selector"), pc.is_in(data["capture_id"], good.combine_chunks())))
    rows = data.to_pylist()
    lines = []
    for schema in site.extraction:
        own = [row for row in rows if row["type"] == schema.page_type and re.search(schema.pattern, row["url"])]
        if own and all(NOTHING_MATCHED in (row["problems"] or ()) for row in own):
            urls = sorted({row["url"] for row in own})
            more = f" and {len(urls) - 5} more" if len(urls) > 5 else ""
            lines.append(
                f"schema {schema.page_type} ({schema.pattern}): no selector matched on any of its pages: {', '.join(urls[:5])}{more}"
            )
    return lines


def rules_digest(site: Site) -> str:
    """Changes with everything but the body that decides about its items."""
    schemas = "".join(schema.model_dump_json() for schema in site.extraction)
    return hashlib.sha256(f"{STRUCTURED_VERSION} {site.max_decoded_bytes} {schemas}".encode()).hexdigest()[:16]


def captures_digest(captures: Iterable[_Capture]) -> str:
    """Changes with the captures that a partition's rows are made from."""
    keys = sorted(f"{capture['capture_id']} {_key(capture)}" for capture in captures)
    return hashlib.sha256("\n".join(keys).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _key(capture: _Capture) -> _Key:
    return body_capture_id(capture), capture["url"], body_place(capture)["warc_record_offset"]


def _kept(lake: Lake, partition: Partition, made_from: str) -> pa.Table | None:
    """The rows that the partition has, when it would be made from the same again."""
    try:
        if tables.made_from(lake, "structured_data", partition) != made_from:
            return None
        return tables.read(lake, "structured_data", partition)
    except LakeError:  # damaged: it is made anew
        return None


def _carried(lake: Lake, partition: Partition, rules: str, captures: Iterable[_Capture]) -> tuple[list[pa.Table], set[str]]:
    """Rows of earlier dates for captures whose body was read before, and the ids of those captures (some of them without rows)."""
    missing: dict[_Key, list[str]] = {}
    for capture in captures:
        if capture["warc_type"] == "revisit" and not is_rendered(capture):
            missing.setdefault(_key(capture), []).append(capture["capture_id"])
    parts: list[pa.Table] = []
    done: set[str] = set()
    for day in reversed(tables.dates_of(lake, "structured_data", partition.domain, before=partition.crawl_date)):
        if not missing:
            break
        earlier = Partition(day, partition.domain)
        known = _covered(lake, earlier, rules)
        taken = {known[key]: ids for key, ids in missing.items() if key in known}
        if taken:
            try:
                parts.append(_moved(lake, earlier, partition, taken))
            except LakeError:  # damaged: what it would have told is read again
                continue
            done.update(one for ids in taken.values() for one in ids)
            missing = {key: ids for key, ids in missing.items() if key not in known}
    return parts, done


def _covered(lake: Lake, earlier: Partition, rules: str) -> dict[_Key, str]:
    """A capture of that date for each body that its rows tell of, by these rules and up to its last capture."""
    try:
        note = (tables.made_from(lake, "structured_data", earlier) or "").split(" ")
        if note[0] != rules:
            return {}
        captures = captures_with_body(lake, earlier)
    except LakeError:
        return {}
    if note[1] != captures_digest(captures):
        return {}
    return {_key(capture): capture["capture_id"] for capture in captures if capture["capture_id"] not in note[2:]}


def _moved(lake: Lake, earlier: Partition, partition: Partition, taken: Mapping[str, Sequence[str]]) -> pa.Table:
    """Rows of the captures `taken` as rows of those that stand for them in `partition`."""
    data = tables.read(lake, "structured_data", earlier)
    data = data.filter(pc.is_in(data["capture_id"], pa.array(sorted(taken), pa.string())))
    places: list[int] = []
    ids: list[str] = []
    for place, old in enumerate(data["capture_id"].to_pylist()):
        for new in taken[old]:
            places.append(place)
            ids.append(new)
    moved = data.take(pa.array(places, pa.int64()))
    columns = {"capture_id": pa.array(ids, pa.string()), "crawl_date": pa.array([partition.crawl_date] * len(ids), pa.date32())}
    for name, column in columns.items():
        index = moved.schema.get_field_index(name)
        moved = moved.set_column(index, moved.schema.field(index), column)
    return moved


def _read(lake: Lake, partition: Partition, site: Site, captures: Iterable[_Capture], unread: dict[str, str]) -> Iterator[pa.Table]:
    """Rows of captures whose bodies have to be read, each body once; why one could not be is in `unread`, by capture_id."""
    sharing: dict[_Key, list[_Capture]] = {}
    for capture in captures:
        sharing.setdefault(_key(capture), []).append(capture)
    groups = list(sharing.values())
    for start in range(0, len(groups), _BODIES_PER_BATCH):
        rows: list[dict[str, Any]] = []
        for group in groups[start : start + _BODIES_PER_BATCH]:
            # The response itself where it is among them: a revisit of the same night refers to it.
            source = next((capture for capture in group if capture["warc_type"] != "revisit"), group[0])
            try:
                body = read_body(lake, source, site.max_decoded_bytes)
            except WarcError as error:
                unread.update({one["capture_id"]: f"{source['url']}: {error}" for one in group})
                continue
            if body is not None:
                columns = [item.columns() for item in body_items(body.document, source["url"], body.content_type, site.extraction)]
                rows += [{"url": one["url"], "capture_id": one["capture_id"], **item} for one in group for item in columns]
        yield tables.from_rows("structured_data", rows, partition)


def _facts(data: pa.Table, carried: int, unread: Iterable[str]) -> dict[str, Any]:
    wrong = data.filter(pc.not_equal(data["valid"], True)).select(["url", "problems"]).to_pylist()
    problems = [*unread, *(f"{row['url']}: {problem}" for row in wrong for problem in row["problems"] or ())]
    return {
        "rows": data.num_rows,
        "by_syntax": dict(sorted(Counter(data["syntax"].to_pylist()).items())),
        "by_type": _commonest(data["type"]),
        "by_entity": _commonest(data["entity_type"]),
        "carried": carried,
        "invalid": len(wrong),
        "problems": sorted(problems)[:_MAX_PROBLEMS],
    }


def _commonest(column: pa.ChunkedArray) -> dict[str, int]:
    counted = Counter(value for value in column.to_pylist() if value)
    return dict(sorted(counted.items(), key=lambda entry: (-entry[1], entry[0]))[:10])
