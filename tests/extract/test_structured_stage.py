"""Rows of unchanged bodies are carried over; they are those that reading the bodies would give."""

import json

import pytest

from trawl_core.extract.structured_stage import extract_structured, schemas_without_match
from trawl_core.lake import tables
from trawl_core.sites import Site

URL = "https://docs.example.org/"
TEA = b'<html><script type="application/ld+json">{"@type":"Product","name":"Tea","image":"tea.png"}</script><h1>Tea</h1>'
PLAIN = b"<html><p>Nothing structured here, but a heading.</p><h1>Plain</h1>"


def rows(lake, partition):
    return tables.read(lake, "structured_data", partition).to_pylist()


@pytest.fixture
def two_nights(night):
    first, second = night(0), night(1)
    tea, plain = first.get(URL + "tea", TEA), first.get(URL + "plain", PLAIN)
    second.not_modified(tea)
    second.not_modified(plain)
    second.same_payload(tea, TEA, URL + "dir/copy")
    return first, first.commit(), second.commit()


def test_unchanged_bodies_are_not_read_again(lake, two_nights, site):
    first, one, two = two_nights
    extract_structured(lake, one, site)
    lake.delete(first.rows[1]["warc_filename"])
    result = extract_structured(lake, two, site)
    found = {row["url"].removeprefix(URL): row for row in rows(lake, two)}
    assert json.loads(found["tea"]["entity"]) == {"name": "Tea", "images": [URL + "tea.png"]}
    assert found["tea"]["capture_id"] != rows(lake, one)[0]["capture_id"]
    assert str(found["tea"]["crawl_date"]) == str(two.crawl_date)
    # The copy stands at another URL, which its references are resolved against; its record is gone with the file.
    assert list(found) == ["tea"]
    assert (result.facts["carried"], [problem.split(": ")[0] for problem in result.facts["problems"]]) == (2, [URL + "dir/copy"])


def test_order_of_building_makes_no_difference(lake, two_nights, site):
    _, one, two = two_nights
    name = lake.local_path(lake.table_name("structured_data", two))
    extract_structured(lake, one, site)
    carried = extract_structured(lake, two, site)
    bytes_carried = name.read_bytes()
    lake.delete(lake.table_name("structured_data", one))
    lake.delete(lake.table_name("structured_data", two))
    read = extract_structured(lake, two, site)  # builds the first night before
    assert name.read_bytes() == bytes_carried
    tables.commit(lake, "structured_data", one, [])  # from nothing that is known
    lake.delete(lake.table_name("structured_data", two))
    again = extract_structured(lake, two, site)
    assert name.read_bytes() == bytes_carried
    assert [result.facts["carried"] for result in (carried, read, again)] == [2, 2, 0]
    assert {row["url"].removeprefix(URL): json.loads(row["entity"])["images"] for row in rows(lake, two)} == {
        "dir/copy": [URL + "dir/tea.png"],
        "tea": [URL + "tea.png"],
    }


def test_another_schema_reads_every_body(lake, two_nights, site):
    _, one, two = two_nights
    for partition in (one, two):
        extract_structured(lake, partition, site)
    schema = {"pattern": "/plain$", "page_type": "page", "selectors": {"title": {"css": "h1"}}}
    changed = Site(domain=site.domain, seeds=site.seeds, extraction=[schema])
    assert extract_structured(lake, two, changed).facts["carried"] == 0
    assert [row["fields"] for row in rows(lake, two) if row["syntax"] == "selector"] == ['{"title":"Plain"}']
    extract_structured(lake, one, changed)
    assert extract_structured(lake, two, changed).facts["by_syntax"] == {"json-ld": 2, "selector": 1}


def test_a_second_run_keeps_what_is_there(lake, two_nights, site):
    first, one, _ = two_nights
    extract_structured(lake, one, site)
    before = rows(lake, one)
    lake.delete(first.rows[0]["warc_filename"])
    assert extract_structured(lake, one, site).facts["problems"] == []
    assert rows(lake, one) == before != []


def test_a_body_that_could_not_be_read_is_tried_again(lake, two_nights, site):
    first, one, two = two_nights
    file = lake.local_path(first.rows[0]["warc_filename"])
    archive = file.read_bytes()
    file.unlink()
    assert extract_structured(lake, one, site).facts["rows"] == 0
    file.write_bytes(archive)
    result = extract_structured(lake, two, site)
    assert (result.facts["carried"], result.facts["rows"]) == (0, 2)
    assert extract_structured(lake, one, site).facts["rows"] == 1


def test_captures_that_came_later_are_read(lake, night, site):
    first = night(0)
    first.get(URL + "plain", PLAIN)
    one = first.commit()
    extract_structured(lake, one, site)
    again = night(0)
    again.get(URL + "plain", PLAIN)
    again.get(URL + "tea", TEA)
    assert extract_structured(lake, again.commit(), site).facts["rows"] == 1


def test_a_schema_that_matches_nothing_is_named_with_its_pages(lake, night, site):
    first = night(0)
    for number in range(7):
        first.get(f"{URL}item/{number}", b"<html><h1>Item</h1><p class=price>3</p>")
    first.get(URL + "old/1", b"<html><h1>Gone</h1>", status=404)
    partition = first.commit()
    schemas = [
        {"pattern": "/item/", "page_type": "item", "selectors": {"price": {"css": ".price"}, "more": {"css": ".none"}}},
        {"pattern": "/item/", "page_type": "stale", "selectors": {"price": {"css": ".cost", "default": "0"}}},
        {"pattern": "/old/", "page_type": "old", "selectors": {"price": {"css": ".price"}}},
        {"pattern": "/never/", "page_type": "never", "selectors": {"price": {"css": ".price"}}},
    ]
    changed = Site(domain=site.domain, seeds=site.seeds, extraction=schemas)
    extract_structured(lake, partition, changed)
    assert schemas_without_match(lake, partition, site) == []
    (line,) = schemas_without_match(lake, partition, changed)
    assert line.startswith("schema stale (/item/): no selector matched on any of its pages: https://docs.example.org/item/0, ")
    assert line.endswith("/item/4 and 2 more")
