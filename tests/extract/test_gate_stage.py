"""The gate over whole nights: what is carried, what is read, and that nothing depends on what was built before."""

import itertools

import pytest

from trawl_assets.checks import gate_agrees
from trawl_core.extract.pool import ExtractorPool
from trawl_core.extract.stage import extract_pages
from trawl_core.lake import tables
from trawl_core.sites import parse_sites

URL = "https://docs.example.org/"
PAGES = 8
BOTH = ("pages", "page_blocks")


@pytest.fixture(scope="module")
def pool():
    with ExtractorPool(1) as extractors:
        yield extractors


def site_with(**settings):
    lines = "".join(f"    {name}: {value}\n" for name, value in settings.items())
    text = f"user_agent: T/1.0 (+https://example.org/)\nsites:\n  - domain: docs.example.org\n    seeds: [{URL}]\n{lines}"
    return parse_sites(text).sites[0]


GATED = site_with(gate_sample=0)


def html(number, release, extra="", title=None):
    body = " ".join(f"Chapter {number} tells in sentence {one} how rivers carry sand to the sea." for one in range(8))
    return (
        f"<html><head><title>{title or f'Page {number}'}</title></head><body><header><a href=/>Home</a> Release {release}</header>"
        f"<main><h1>Page {number}</h1><p>{body}</p>{extra}<p>The end of chapter {number} stands here.</p></main></body></html>"
    ).encode()


@pytest.fixture
def nights(night):
    """Three nights of eight pages whose header names a release. Page 3 changes on the second night, page 4 gets a title and a link."""
    made = []
    for number in range(3):
        one = night(number)
        for page in range(PAGES):
            extra, title = "", None
            if page == 3 and number:
                extra = "<p>A paragraph of its own was added to this chapter.</p>"
            if page == 4 and number:
                extra, title = '<a href="/new"></a>', "Revised edition"
            if page == 5 and number == 1:
                continue
            one.get(f"{URL}{page}", html(page, number, extra, title))
        made.append(one.commit())
    return made


def rows_of(lake, partition):
    return {row["url"].removeprefix(URL): row for row in tables.read(lake, "pages", partition).to_pylist()}


def state(lake, partitions):
    """Everything but durations."""
    return [
        tables.read(lake, table, one).drop_columns(["extract_ms"] * (table == "pages")).to_pylist() for one in partitions for table in BOTH
    ]


def reasons(lake, partition):
    return {url: row["carried_because"] for url, row in rows_of(lake, partition).items()}


def test_pages_with_the_same_lines_are_not_read_again(lake, nights, pool):
    first, second, third = nights
    assert extract_pages(lake, first, GATED, pool=pool).facts["gated"] == 0
    facts = extract_pages(lake, second, GATED, pool=pool).facts
    assert (facts["gated"], facts["carried"], facts["rows"]) == (6, 6, 7)
    then, now = rows_of(lake, first), rows_of(lake, second)
    assert {url for url, reason in reasons(lake, second).items() if reason == "same_lines"} == {"0", "1", "2", "4", "6", "7"}
    assert (now["4"]["extract_status"], now["4"]["title"]) == ("carried", "Revised edition")
    assert now["4"]["outlinks"][-1]["url"] == URL + "new"
    carried = ("text", "text_sha256", "text_words", "extractor", "predicted_type")
    assert [now["4"][name] for name in carried] == [then["4"][name] for name in carried]
    assert now["4"]["body_capture_id"] == now["4"]["capture_id"]
    assert "was added" in now["3"]["text"]
    blocks = [row["text"] for row in tables.read(lake, "page_blocks", second).to_pylist() if row["url"] == URL + "4"]
    assert blocks[0] == "Home Release 1"
    # Page 5 was last seen two nights ago.
    assert extract_pages(lake, third, GATED, pool=pool).facts["gated"] == 8


def test_rows_do_not_depend_on_what_was_built_before(lake, nights, pool):
    for one in nights:
        extract_pages(lake, one, GATED, pool=pool)
    wanted = state(lake, nights)
    for lost in (nights[:1], nights[1:2], nights[:2], nights):
        for order in itertools.permutations(lost):
            for one in lost:
                for table in BOTH:
                    lake.delete(lake.table_name(table, one))
            for one in order:
                extract_pages(lake, one, GATED, pool=pool)
            assert state(lake, nights) == wanted
            extract_pages(lake, nights[2], GATED, pool=pool)
            assert state(lake, nights) == wanted


def test_a_second_run_keeps_rows_byte_for_byte(lake, nights, pool):
    for one in nights:
        extract_pages(lake, one, GATED, pool=pool)
    files = [lake.local_path(lake.table_name(table, one)) for one in nights for table in BOTH]
    before = [file.read_bytes() for file in files]
    assert [extract_pages(lake, one, GATED, pool=pool).facts["kept"] for one in nights] == [8, 7, 8]
    assert [file.read_bytes() for file in files] == before


def test_the_setting_turns_it_off_and_on(lake, nights, pool):
    off = site_with(extraction_gate="off")
    for one in nights:
        assert extract_pages(lake, one, off, pool=pool).facts["carried"] == 0
    never_gated = state(lake, nights)
    for one in nights:
        extract_pages(lake, one, GATED, pool=pool)
    assert reasons(lake, nights[1])["0"] == "same_lines"
    gated = state(lake, nights)
    for one in nights:
        extract_pages(lake, one, off, pool=pool)
    assert state(lake, nights) == never_gated
    for one in nights:
        extract_pages(lake, one, GATED, pool=pool)
    assert state(lake, nights) == gated


def test_a_sample_is_read_all_the_same_and_compared(lake, nights, pool):
    everything = site_with(gate_sample=1.0)
    first, second, _ = nights
    extract_pages(lake, first, everything, pool=pool)
    old = tables.read(lake, "pages", first).to_pylist()
    wrong = [{**row, "text": row["text"] + "\nNever said."} if row["url"].endswith("/2") else row for row in old]
    tables.commit(lake, "pages", first, wrong)
    for kept in (0, 7):
        facts = extract_pages(lake, second, everything, pool=pool).facts
        assert (facts["gate_checked"], facts["gate_differed"], facts["gated"], facts["kept"]) == (6, 1, 0, kept)
    now = rows_of(lake, second)
    assert {url: row["gate_check"] for url, row in now.items()} == {
        "0": "agreed",
        "1": "agreed",
        "2": "differed",
        "3": None,
        "4": "agreed",
        "6": "agreed",
        "7": "agreed",
    }
    assert "Never said" not in now["2"]["text"]
    problems = gate_agrees(lake, second)
    assert len(problems) == 1
    assert f"{URL}2" in problems[0]
    assert gate_agrees(lake, first) == []


def test_rows_of_another_version_are_not_compared_with(lake, nights, pool):
    first, second, _ = nights
    extract_pages(lake, first, GATED, pool=pool)
    tables.commit(lake, "pages", first, [{**row, "extractor_version": "0"} for row in tables.read(lake, "pages", first).to_pylist()])
    assert extract_pages(lake, second, GATED, pool=pool).facts["gated"] == 0


def test_the_same_payload_needs_no_look_at_its_lines(lake, night, pool):
    first, second = night(0), night(1)
    for one in (first, second):
        one.get(URL + "same", html(1, "always"))
        one.get(URL + "data", b'{"name": "Gauge"}', "application/json")
        one.get(URL + "turned", html(2, "always"), "text/html; charset=utf-8" if one is first else "application/xhtml+xml")
    partitions = [first.commit(), second.commit()]
    for one in partitions:
        extract_pages(lake, one, site_with(extraction_gate="off"), pool=pool)
    then, now = (rows_of(lake, one) for one in partitions)
    assert {url: row["carried_because"] for url, row in now.items()} == {"same": "same_payload", "data": "same_payload", "turned": None}
    assert (now["same"]["extract_status"], now["same"]["body_capture_id"]) == ("carried", now["same"]["capture_id"])
    assert now["same"]["text"] == then["same"]["text"]
    assert now["same"]["warc_filename"] != then["same"]["warc_filename"]
    texts = [[row["text"] for row in tables.read(lake, "page_blocks", one).to_pylist() if row["url"] == URL + "same"] for one in partitions]
    assert texts[0] == texts[1] != []


def test_a_revisit_of_a_page_whose_text_was_carried(lake, nights, night, pool):
    fourth = night(3)
    fourth.not_modified(next(row for row in tables.read(lake, "captures", nights[2]).to_pylist() if row["url"] == URL + "1"))
    partition = fourth.commit()
    extract_pages(lake, partition, GATED, pool=pool)
    row = rows_of(lake, partition)["1"]
    assert (row["carried_because"], row["text"]) == ("same_payload", rows_of(lake, nights[0])["1"]["text"])
    built = state(lake, [partition])
    for one in nights:
        for table in BOTH:
            lake.delete(lake.table_name(table, one))
    lake.delete(lake.table_name("pages", partition))
    extract_pages(lake, partition, GATED, pool=pool)
    assert state(lake, [partition]) == built
