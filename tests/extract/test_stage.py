import gzip

import pytest

from trawl_core.extract.pool import ExtractorPool
from trawl_core.extract.stage import extract_pages
from trawl_core.extract.structured_stage import extract_structured
from trawl_core.lake import tables
from trawl_core.sites import Site

URL = "https://docs.example.org/"
SENTENCES = "Rivers carry sand to the sea. Bridges cross them where towns have grown. The valley is quiet in the morning. "


def html(title, extra="", body=SENTENCES):
    return f"<html lang=en><head><title>{title}</title></head><body><nav><a href=/>Home</a></nav><main><h1>{title}</h1><p>{body}</p>{extra}</main></body></html>".encode()


@pytest.fixture(scope="module")
def pool():
    with ExtractorPool(2) as extractors:
        yield extractors


def rows_of(lake, table, partition):
    return {row["url"]: row for row in tables.read(lake, table, partition).to_pylist()}


def test_every_capture_with_a_body_is_a_row(lake, night, site, pool):
    first = night(0)
    capture = first.get(URL + "a", html("Alpha", '<a href="/b">Bee</a><a href="https://other.test/">Out</a>'))
    first.get(URL + "missing", html("Not here"), status=404)
    first.get(URL + "moved", b"<p>moved</p>", status=301)
    first.get(URL + "empty", b"")
    first.get(URL + "robots.txt", b"User-agent: *", "text/plain", kind="robots")
    first.get(URL + "data", b'{"name": "Gauge", "n": 1}', "application/json")
    first.get(URL + "picture", b"\x89PNG\r\n\x1a\n" + b"x" * 50, "image/png")
    first.get(URL + "zip", gzip.compress(html("Zipped")), headers=[("Content-Encoding", "gzip")])
    partition = first.commit()

    result = extract_pages(lake, partition, site, pool=pool)

    rows = rows_of(lake, "pages", partition)
    assert sorted(url.removeprefix(URL) for url in rows) == ["a", "data", "missing", "picture", "zip"]
    page = rows[URL + "a"]
    assert (page["title"], page["extract_status"], page["language"], page["charset"], page["charset_source"]) == (
        "Alpha",
        "ok",
        "en",
        "utf-8",
        "header",
    )
    assert (page["capture_id"], page["body_capture_id"], page["final_url"]) == (capture["capture_id"], capture["capture_id"], URL + "a")
    assert (page["warc_filename"], page["warc_record_offset"]) == (capture["warc_filename"], capture["warc_record_offset"])
    assert "Bridges cross them" in page["text"]
    assert [(link["url"], link["in_scope"]) for link in page["outlinks"]] == [
        (URL, True),
        (URL + "b", True),
        ("https://other.test/", False),
    ]
    assert rows[URL + "missing"]["fetch_status"] == 404
    assert rows[URL + "data"]["text"] == "name: Gauge"
    assert (rows[URL + "picture"]["extract_status"], rows[URL + "picture"]["text"]) == ("unsupported", "")
    assert "image/png" in rows[URL + "picture"]["extract_error"]
    assert rows[URL + "zip"]["title"] == "Zipped"
    blocks = [row for row in tables.read(lake, "page_blocks", partition).to_pylist() if row["url"] == URL + "a"]
    assert [(row["text"], row["in_main"]) for row in blocks][:2] == [("Home", False), ("Alpha", True)]
    assert result.facts["rows"] == 5
    assert result.facts["by_status"] == {"ok": 4, "unsupported": 1}
    assert [committed.rows for committed in result.committed] == [5, tables.count(lake, "page_blocks", partition)]
    assert result.committed[0].name.startswith("pages/")


def test_running_again_gives_the_same_bytes(lake, night, site, pool):
    first = night(0)
    for number in range(5):
        first.get(f"{URL}{number}", html(f"Page {number}"))
    partition = first.commit()
    extract_pages(lake, partition, site, pool=pool)
    names = [lake.table_name(table, partition) for table in ("pages", "page_blocks")]
    before = [lake.local_path(name).read_bytes() for name in names]
    assert extract_pages(lake, partition, site, pool=pool).facts["kept"] == 5
    assert [lake.local_path(name).read_bytes() for name in names] == before


def test_running_again_extracts_what_is_new_and_what_another_version_made(lake, night, site, pool):
    first = night(0)
    first.get(URL + "a", html("Alpha"))
    partition = first.commit()
    extract_pages(lake, partition, site, pool=pool)
    old = tables.read(lake, "pages", partition).to_pylist()
    tables.commit(lake, "pages", partition, [{**row, "text": "stale", "extractor_version": "0"} for row in map(_columns, old)])
    again = extract_pages(lake, partition, site, pool=pool)
    assert again.facts["kept"] == 0
    assert tables.read(lake, "pages", partition).column("text").to_pylist() == [old[0]["text"]]
    lake.delete(lake.table_name("page_blocks", partition))
    assert extract_pages(lake, partition, site, pool=pool).facts["kept"] == 0
    assert tables.count(lake, "page_blocks", partition)


def _columns(row):
    return {name: value for name, value in row.items() if name not in ("crawl_date", "domain")}


@pytest.fixture
def two_nights(night):
    first, second = night(0), night(1)
    body = html("Stable", '<a href="/next">Next</a>')
    stable = first.get(URL + "stable", body)
    scripted = first.get(URL + "app", b"<html><body><div id=root></div><script src=app.js></script></body></html>")
    changed = first.get(URL + "changed", html("Old"))
    first_partition = first.commit()
    second.not_modified(stable)
    second.not_modified(scripted)
    second.get(URL + "changed", html("New"))
    second.same_payload(stable, body, URL + "copy")
    assert changed["capture_id"]
    return first_partition, second.commit(), stable, body


def test_unchanged_bodies_are_carried_over(lake, two_nights, site, pool):
    first, second, stable, _ = two_nights
    extract_pages(lake, first, site, pool=pool)
    result = extract_pages(lake, second, site, pool=pool)
    old, new = rows_of(lake, "pages", first)[URL + "stable"], rows_of(lake, "pages", second)[URL + "stable"]
    assert (new["extract_status"], new["fetch_status"], new["body_capture_id"]) == ("carried", 304, stable["capture_id"])
    assert new["capture_id"] != old["capture_id"]
    same = ("text", "title", "outlinks", "headings", "text_sha256", "warc_filename", "warc_record_offset", "charset_source", "html_bytes")
    assert {name: new[name] for name in same} == {name: old[name] for name in same}
    old_blocks, new_blocks = (
        [
            (row["position"], row["hash"], row["text"], row["heading"], row["in_main"])
            for row in tables.read(lake, "page_blocks", day).to_pylist()
            if row["url"] == URL + "stable"
        ]
        for day in (first, second)
    )
    assert old_blocks == new_blocks != []
    rows = rows_of(lake, "pages", second)
    assert rows[URL + "app"]["extract_status"] == "empty"
    assert rows[URL + "app"]["needs_browser"]
    assert "scripts" in rows[URL + "app"]["extract_error"]
    assert rows[URL + "changed"]["title"] == "New"
    assert result.facts["carried"] == 1


def test_order_of_building_makes_no_difference(lake, two_nights, site, pool):
    first, second, _, _ = two_nights
    extract_pages(lake, second, site, pool=pool)
    alone = [tables.read(lake, table, second).to_pylist() for table in ("pages", "page_blocks")]
    extract_pages(lake, first, site, pool=pool)
    extract_pages(lake, second, site, pool=pool)
    assert [tables.read(lake, table, second).to_pylist() for table in ("pages", "page_blocks")] == alone


def test_a_copy_under_another_url_is_extracted_for_that_url(lake, two_nights, site, pool):
    _, second, stable, _ = two_nights
    extract_pages(lake, second, site, pool=pool)
    copy = rows_of(lake, "pages", second)[URL + "copy"]
    assert (copy["extract_status"], copy["body_capture_id"]) == ("ok", stable["capture_id"])


def test_rows_of_another_extractor_version_are_not_carried(lake, two_nights, site, pool):
    first, second, _, _ = two_nights
    extract_pages(lake, first, site, pool=pool)
    old = [{**row, "extractor_version": "0", "title": "Stale"} for row in tables.read(lake, "pages", first).to_pylist()]
    tables.commit(lake, "pages", first, old)
    extract_pages(lake, second, site, pool=pool)
    assert rows_of(lake, "pages", second)[URL + "stable"]["title"] == "Stable"


def test_a_revisit_of_the_same_night(lake, night, site, pool):
    first = night(0)
    earlier = first.get(URL + "a", html("Alpha"))
    first.not_modified(earlier)
    partition = first.commit()
    extract_pages(lake, partition, site, pool=pool)
    rows = tables.read(lake, "pages", partition).to_pylist()
    assert [(row["extract_status"], row["title"]) for row in rows] == [("ok", "Alpha"), ("carried", "Alpha")]


def test_scope_of_carried_links_follows_the_settings(lake, two_nights, site, pool):
    first, second, _, _ = two_nights
    extract_pages(lake, first, site, pool=pool)
    narrowed = Site(domain=site.domain, seeds=site.seeds, exclude=["/next$"])
    extract_pages(lake, second, narrowed, pool=pool)
    links = rows_of(lake, "pages", second)[URL + "stable"]["outlinks"]
    assert [(link["url"], link["in_scope"]) for link in links] == [(URL, True), (URL + "next", False)]


def test_a_lost_archive_is_a_row_with_its_reason(lake, night, site, pool):
    first = night(0)
    row = first.get(URL + "a", html("Alpha"))
    partition = first.commit()
    lake.delete(row["warc_filename"])
    extract_pages(lake, partition, site, pool=pool)
    page = rows_of(lake, "pages", partition)[URL + "a"]
    assert page["extract_status"] == "error"
    assert row["warc_filename"] in page["extract_error"]


def test_a_partition_without_captures_gives_empty_tables(lake, night, site):
    partition = night(0).commit()
    assert extract_pages(lake, partition, site).facts == {
        "rows": 0,
        "by_status": {},
        "carried": 0,
        "gated": 0,
        "read_as_before": 0,
        "gate_checked": 0,
        "gate_differed": 0,
        "kept": 0,
        "types_disagree": 0,
        "median_ms": None,
        "problems": [],
    }
    assert tables.has(lake, "pages", partition)
    assert tables.has(lake, "page_blocks", partition)
    assert extract_structured(lake, partition, site).facts["rows"] == 0


def test_structured_items_of_tonight_and_of_revisits(lake, night, pool):
    site = Site(
        domain="docs.example.org",
        seeds=[URL],
        extraction=[
            {"pattern": "/tea$", "page_type": "product", "selectors": {"name": {"css": "h1"}, "price": {"css": ".price", "type": "number"}}}
        ],
    )
    first, second = night(0), night(1)
    body = html(
        "Tea",
        '<p class=price>3,50 €</p><script type="application/ld+json">{"@type":"Product","name":"Tea"}</script><script type="application/ld+json">{</script>',
    )
    earlier = first.get(URL + "tea", body)
    first.get(URL + "plain", html("Plain"))
    second.not_modified(earlier)
    for partition in (first.commit(), second.commit()):
        result = extract_structured(lake, partition, site)
        rows = tables.read(lake, "structured_data", partition).to_pylist()
        assert [(row["position"], row["syntax"], row["type"], row["fields"], row["valid"]) for row in rows] == [
            (0, "json-ld", "Product", '{"@type":"Product","name":"Tea"}', True),
            (1, "json-ld", None, None, False),
            (2, "selector", "product", '{"name":"Tea","price":3.5}', True),
        ]
        assert result.facts["by_syntax"] == {"json-ld": 2, "selector": 1}
        assert result.facts["invalid"] == 1
        extract_pages(lake, partition, site, pool=pool)
        assert rows_of(lake, "pages", partition)[URL + "tea"]["page_type"] == "product"


def test_json_pointers_choose_the_text_and_their_change_makes_rows_stale(lake, night, site, pool):
    first = night(0)
    first.get(URL + "a.json", b'{"title": "Tides", "items": [{"body": "High at noon", "id": "x1"}]}', "application/json")
    partition = first.commit()
    extract_pages(lake, partition, site, pool=pool)
    assert rows_of(lake, "pages", partition)[URL + "a.json"]["text"].split("\n") == [
        "title: Tides",
        "items[0].body: High at noon",
        "items[0].id: x1",
    ]
    chosen = site.model_copy(update={"json_pointers": ("/items/*/body",)})
    facts = extract_pages(lake, partition, chosen, pool=pool).facts
    assert (rows_of(lake, "pages", partition)[URL + "a.json"]["text"], facts["kept"]) == ("items[0].body: High at noon", 0)
    assert extract_pages(lake, partition, chosen, pool=pool).facts["kept"] == 1


def test_bodies_that_are_not_what_they_are_declared_are_counted(lake, night, site, pool):
    first = night(0)
    first.get(URL + "a", b"%PDF-1.4\n", "text/html")
    first.get(URL + "b", b"<p>Sent as it is", "text/html")
    assert extract_pages(lake, first.commit(), site, pool=pool).facts["types_disagree"] == 1
