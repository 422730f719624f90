"""Nights of one domain, each scripted by path; what the last night's rows must say."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from itertools import permutations

import pytest

from trawl_core.changes.diff import Edit, apply_edits
from trawl_core.changes.stage import detect_changes
from trawl_core.errors import LakeError
from trawl_core.lake import Partition, tables

FIRST = date(2026, 11, 1)


def events(rows):
    return {path: row["event"] for path, row in rows.items()}


def test_the_first_night_everything_good_is_new(answer, changes_of):
    rows = changes_of(
        [
            {
                "/": answer(["a"]),
                "/gone": answer(["not here"], status=404),
                "/error": answer(["oh"], status=500),
                "/down": answer(status=None),
            }
        ]
    )
    assert events(rows) == {"/": "new"}
    assert (rows["/"]["status"], rows["/"]["prev_capture_id"], rows["/"]["final_url"]) == (200, None, "https://a.test/")


def test_unchanged_by_digest_by_304_and_by_etag_alone(answer, changes_of):
    page = answer(["a", "b"], etag='"1"')
    nights = [
        {"/same": page, "/not-modified": page, "/etag": page, "/revisit": page},
        {
            "/same": page,
            "/not-modified": replace(page, status=304, body_of=0),
            "/etag": replace(page, etag='"2"'),
            "/revisit": replace(page, body_of=0),
        },
    ]
    assert changes_of(nights) == {}


def test_bytes_that_differ_without_a_visible_difference_are_no_change(answer, changes_of):
    assert changes_of([{"/": answer(["a"], body="x")}, {"/": answer(["a"], body="y")}]) == {}


def test_content_with_its_diff(answer, changes_of, lake):
    old, new = ["Lamp", "It costs 310 EUR", "Old news", "End"], ["Lamp", "It costs 283 EUR", "End", "New end"]
    rows = changes_of([{"/": answer(old)}, {"/": answer(new)}])
    (row,) = rows.values()
    assert (row["event"], row["kinds"], row["severity"]) == ("content", ["content"], "major")
    assert (row["prev_crawl_date"], row["prev_capture_id"], row["capture_id"], row["gap_days"]) == (FIRST, "0/", "1/", 1)
    assert row["removed_text"] == "310\nOld news"
    assert row["added_text"] == "283\nNew end"
    edits = [Edit(op["op"], op["old_start"], op["old_end"], op["new_start"], op["new_end"]) for op in row["diff_ops"]]
    assert apply_edits(old, edits, new) == new
    result = list(old)
    for op in reversed(row["diff_ops"]):  # the row alone is enough
        result[op["old_start"] : op["old_end"]] = op["new_blocks"]
    assert result == new


def test_structured_alone_and_metadata_alone(answer, changes_of):
    old = answer(["a"], items=[{"@type": "Product", "offers": {"price": 310}}])
    nights = [
        {"/price": old, "/title": answer(["a"]), "/canonical": answer(["a"])},
        {
            "/price": replace(old, items=[{"@type": "Product", "offers": {"price": 283}}]),
            "/title": answer(["a"], title="New"),
            "/canonical": answer(["a"], canonical="https://a.test/c"),
        },
    ]
    rows = changes_of(nights)
    assert events(rows) == {"/price": "structured", "/title": "metadata", "/canonical": "metadata"}
    assert rows["/price"]["fields"] == [{"path": "Product.offers.price", "old": "310", "new": "283"}]
    assert rows["/title"]["fields"] == [{"path": "title", "old": "Title", "new": "New"}]


def test_prices_that_move_and_come_back_are_a_row_each(answer, write_night, lake):
    for number, price in enumerate([310, 283, 279.89, 283, 283.01]):
        write_night(number, {"/": answer(["Lamp"], items=[{"@type": "Product", "price": price}])})
    found = []
    for number in range(5):
        partition = Partition(FIRST + timedelta(days=number), "a.test")
        detect_changes(lake, partition)
        found += [row["event"] for row in tables.read(lake, "changes", partition).to_pylist()]
    assert found == ["new", "structured", "structured", "structured", "structured"]


def test_structured_data_not_yet_extracted_is_unknown(answer, write_night, lake):
    write_night(0, {"/": answer(["a"], items=[{"@type": "Product", "price": 1}])})
    night = write_night(1, {"/": answer(["a"], body="other")}, structured=False)
    assert detect_changes(lake, night).committed[0].rows == 0


def test_gone_once_then_back(answer, write_night, lake):
    page, missing = answer(["a"]), answer(["Not found"], status=404)
    found = []
    for number, said in enumerate([page, missing, missing, answer([], status=410), replace(page, blocks=["a", "b"]), page]):
        partition = write_night(number, {"/": said})
        detect_changes(lake, partition)
        found.append([(row["event"], row["prev_status"], row["status"]) for row in tables.read(lake, "changes", partition).to_pylist()])
    assert found == [[("new", None, 200)], [("gone", 200, 404)], [], [], [("reappeared", 410, 200)], [("content", 200, 200)]]


def test_errors_between_two_good_answers_leave_no_trace(answer, changes_of):
    nights = [
        {"/": answer(["a"])},
        {"/": answer(["oops"], status=500)},
        {"/": answer(status=None, outcome="timeout")},
        {"/": answer(["a"])},
    ]
    assert changes_of(nights) == {}


def test_the_previous_good_version_may_be_nights_away(answer, changes_of):
    nights = [{"/": answer(["a"]), "/b": answer(["b"])}, {"/b": answer(["b"])}, {"/": answer(["oops"], status=503)}, {"/": answer(["c"])}]
    rows = changes_of(nights)
    assert (rows["/"]["gap_days"], rows["/"]["prev_capture_id"]) == (3, "0/")


def test_moved_once(answer, write_night, lake):
    redirect = answer(status=301, redirect="/new")
    found = []
    for number, said in enumerate([answer(["a"]), redirect, redirect, replace(redirect, redirect="/newer")]):
        partition = write_night(number, {"/old": said, "/new": answer(["a"])})
        detect_changes(lake, partition)
        rows = {row["url"]: (row["event"], row["final_url"]) for row in tables.read(lake, "changes", partition).to_pylist()}
        found.append(rows.get("https://a.test/old"))
    assert found == [("new", "https://a.test/old"), ("moved", "https://a.test/new"), None, ("moved", "https://a.test/newer")]


def test_a_redirect_that_runs_in_a_circle_is_no_move(answer, changes_of):
    loop = {"/a": answer(status=301, redirect="/b"), "/b": answer(status=301, redirect="/a", outcome="redirect_loop")}
    assert changes_of([{"/a": answer(["a"]), "/b": answer(["b"])}, loop]) == {}


def test_a_temporary_redirect_is_no_move(answer, changes_of):
    assert changes_of([{"/a": answer(["a"])}, {"/a": answer(status=302, redirect="/login")}]) == {}


def test_a_failure_that_calls_itself_200_is_no_version(answer, changes_of):
    page, hollow = answer(["a", "b"], aside=["nav"]), answer([], aside=["nav"])
    assert changes_of([{"/": page}, {"/": hollow}]) == {}


def test_after_such_a_failure_the_page_is_compared_with_its_last_good_version(answer, changes_of):
    page, hollow = answer(["a", "b"], aside=["nav"]), answer([], aside=["nav"])
    assert changes_of([{"/": page}, {"/": hollow}, {"/": page}]) == {}
    (row,) = changes_of([{"/": page}, {"/": hollow}, {"/": replace(page, blocks=["a", "c"])}]).values()
    assert (row["event"], row["prev_capture_id"], row["removed_text"], row["added_text"]) == ("content", "0/", "b", "c")


def test_a_body_that_broke_off_is_no_version(answer, changes_of):
    page = answer(["a", "b"])
    cut = answer(["a"], truncated="disconnect")
    assert changes_of([{"/": page}, {"/": cut}]) == {}
    assert changes_of([{"/": page}, {"/": cut}, {"/": page}]) == {}


def test_an_extractor_of_another_version_alone_makes_no_row(answer, changes_of):
    page = answer(["a"], body="same")
    assert changes_of([{"/": page}, {"/": replace(page, blocks=["a", "more"], extractor_version="2")}]) == {}


def test_documents_without_blocks_are_compared_line_by_line(answer, write_night, lake):
    partitions = [write_night(0, {"/a.pdf": answer(["line one", "line two"])}), write_night(1, {"/a.pdf": answer(["line one", "line 2"])})]
    for partition in partitions:
        tables.commit(lake, "page_blocks", partition, [])
        detect_changes(lake, partition)
    (row,) = tables.read(lake, "changes", partitions[1]).to_pylist()
    assert (row["event"], row["removed_text"], row["added_text"]) == ("content", "two", "2")


def test_a_stamp_on_every_page_is_a_template_change(answer, write_night, lake):
    def night(stamp: str, edited: str) -> dict:
        pages = {f"/{place}": answer([f"page {place}"], aside=[stamp], title=f"P{place} v{stamp[-1]}") for place in range(8)}
        return {**pages, "/7": replace(pages["/7"], blocks=[edited])}

    write_night(0, night("built 1", "page 7"))
    partition = write_night(1, night("built 2", "page 7 edited"))
    result = detect_changes(lake, partition)
    rows = {row["url"][-1]: row for row in tables.read(lake, "changes", partition).to_pylist()}
    assert {path: row["event"] for path, row in rows.items()} == {**dict.fromkeys("0123456", "template"), "7": "content"}
    assert (rows["7"]["kinds"], rows["7"]["added_text"], rows["7"]["template_blocks"]) == (["content", "template"], "edited", 2)
    assert (rows["7"]["fields"], rows["7"]["prev_title"], rows["7"]["title"]) == ([], "P7 v1", "P7 v2")
    assert (rows["0"]["severity"], rows["0"]["added_text"], rows["0"]["template_blocks"]) == ("info", "", 2)
    edits = tables.read(lake, "template_edits", partition).to_pylist()
    assert [(edit["op"], edit["text"], edit["pages"], edit["changed_pages"], len(edit["samples"])) for edit in edits] == [
        ("added", "built 2", 8, 8, 5),
        ("added", "title: v2", 8, 8, 5),
        ("removed", "built 1", 8, 8, 5),
        ("removed", "title: v1", 8, 8, 5),
    ]
    assert (result.facts["template_pages"], result.facts["events"]) == (8, {"content": 1, "template": 7})


def test_simhashes_are_compared_where_both_are_stored(answer, write_night, lake):
    for number, simhash in enumerate([0b1111, 2**63 + 0b1100]):
        partition = write_night(number, {"/": answer([f"text {number}"])})
        tables.commit(lake, "fingerprints", partition, [{"url": "https://a.test/", "capture_id": f"{number}/", "simhash": simhash}])
    detect_changes(lake, partition)
    assert tables.read(lake, "changes", partition).to_pylist()[0]["simhash_distance"] == 3


def test_the_same_bytes_for_all_orders(answer, write_night, lake):
    partitions = [
        write_night(0, {"/": answer(["a"]), "/b": answer(["b"])}),
        write_night(1, {"/": answer(["a 1"]), "/b": answer(["x"], status=404)}),
        write_night(2, {"/": answer(["a 2"]), "/b": answer(["b"]), "/c": answer(["c"])}),
    ]
    seen = set()
    for order in permutations(partitions):
        for partition in order:
            detect_changes(lake, partition)
        seen.add(tuple(lake.local_path(lake.table_name("changes", partition)).read_bytes() for partition in partitions))
    assert len(seen) == 1


def test_the_last_answer_of_a_night_counts(answer, write_night, lake):
    partition = write_night(0, {"/": answer(["a"])})
    detect_changes(lake, partition)
    night = write_night(1, {"/": answer(["b"])})
    captures = tables.read(lake, "captures", night).to_pylist()
    later = {**captures[0], "capture_id": "later", "fetch_time": captures[0]["fetch_time"] + timedelta(minutes=5), "fetch_status": 404}
    tables.commit(lake, "captures", night, [*captures, later])
    detect_changes(lake, night)
    assert [row["event"] for row in tables.read(lake, "changes", night).to_pylist()] == ["gone"]


def test_robots_and_sitemaps_are_not_pages(answer, write_night, lake):
    night = write_night(0, {"/robots.txt": answer(["a"])})
    captures = tables.read(lake, "captures", night).to_pylist()
    tables.commit(lake, "captures", night, [{**captures[0], "kind": "robots"}])
    assert detect_changes(lake, night).committed[0].rows == 0


def test_without_pages_it_says_what_to_do(answer, write_night, lake):
    night = write_night(0, {"/": answer(["a"])})
    lake.delete(lake.table_name("pages", night))
    with pytest.raises(LakeError, match="Materialize `pages`"):
        detect_changes(lake, night)


def test_a_night_without_captures_gives_empty_tables(lake):
    result = detect_changes(lake, Partition(FIRST, "a.test"))
    assert [committed.rows for committed in result.committed] == [0, 0]
