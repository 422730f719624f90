"""What pages do to structured data by mistake or on purpose: nothing raises, nothing is lost in silence, nothing takes long."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trawl_core.extract.json_ld import parse_block
from trawl_core.extract.structured import MAX_ITEMS, body_items, structured_items
from trawl_core.sites import ExtractionSchema

URL = "https://shop.test/dir/tea.html"
FOO = {"@type": "Thing", "name": "Foo"}


@pytest.mark.parametrize(
    "block",
    [
        '{"@type":"Thing",,"name":"Foo"}',
        '{,"@type":"Thing","name":"Foo",,}',
        '{"@type":"Thing", /* , */ "name":"Foo", // the end,\n}',
        '\x00{"@type":\x0b"Thing",\xa0"name":\u200b"Foo"}\x00',
        '// <![CDATA[\n{"@type":"Thing","name":"Foo"}\n// ]]&gt;',
        '<!--//--><![CDATA[//><!--\n{"@type":"Thing","name":"Foo"}\n//--><!]]>',
        '{"@type":"Thing","name":"Foo"};;',
    ],
)
def test_repairs_with_one_meaning(block):
    assert parse_block(block) == [FOO]


@pytest.mark.parametrize(
    ("block", "value"),
    [
        (r"""{"a":"it\'s",}""", {"a": "it's"}),
        (r"""{"a":"C:\dir",}""", {"a": r"C:\dir"}),
        (r"""{"a":"\u00e9\n\"",}""", {"a": 'é\n"'}),
        ('{"a":"/* no comment */, //,]",}', {"a": "/* no comment */, //,]"}),
        ('{"a":[1,,2,],}', {"a": [1, 2]}),
        ('{"a":1e999}', {"a": None}),
        ('{"a":"&amp;quot;"}', {"a": "&amp;quot;"}),
    ],
)
def test_repairs_leave_strings_alone(block, value):
    assert parse_block(block) == [value]


@pytest.mark.parametrize(
    "block", ['{"a":"b', '{"a":1', '{"a":"say "hi" to"}', "{a:1}", "{'a':1}", '{"a":1 "b":2}', '{"a" 1}', '[1] "', "undefined"]
)
def test_what_needs_a_guess_is_not_repaired(block):
    with pytest.raises(ValueError, match=r"line \d|char \d"):
        parse_block(block)


def test_items_beyond_the_most_are_told():
    block = json.dumps([{"@type": "Thing", "name": number} for number in range(MAX_ITEMS + 10)])
    found = structured_items(f'<script type="application/ld+json">{block}</script>', URL)
    assert (len(found), found[-1].problems) == (MAX_ITEMS, ("10 of the page's items, beyond 5000, were left out",))


def test_values_and_parts_beyond_the_most_are_told():
    many = {"@type": "Product", "name": "x", "image": [f"/{number}.png" for number in range(1001)]}
    listed = {"@type": "ItemList", "itemListElement": [{"@type": "Product", "name": "x"}] * 501}
    found = structured_items(f'<script type="application/ld+json">{json.dumps([many, listed])}</script>', URL)
    assert found[0].problems == ("image: only the first 1000 of 1001 values are read",)
    assert found[1].problems == ("more than 500 parts: the others have no rows of their own",)
    assert len(found) == 502


@pytest.mark.parametrize(
    "page",
    [
        '<script type="application/ld+json">' + '{"a' + '\\"a' * 200_000,
        '<script type="application/ld+json">' + "/*" * 300_000,
        '<script type="application/ld+json">[' + ",  " * 200_000,
        '<script type="application/ld+json">{}' + "-->" * 200_000,
        '<script type="application/ld+json">' + "[" * 900 + "{}" + "]" * 900,
        '<script type="application/ld+json">' + '{"a":' * 900 + "1" + "}" * 900,
        '<div itemscope itemtype="https://schema.org/Product">' + "<b itemprop=name>x</b>" * 50_000,
        "<div itemscope itemprop=a>" * 3000,
        "<div id=x>" + "<b itemprop=a>1</b>" * 3000 + "</div>" + "<div itemscope itemref=x></div>" * 4000,
        '<div vocab="https://schema.org/" typeof=Product>' + "<div property=a typeof=Thing>" * 3000,
        '<div vocab="https://schema.org/" typeof=Product>' + "<div>" * 15_000 + "<b property=name>x</b>" * 5000,
        '<meta property="og:image" content=x>' * 50_000,
    ],
    ids=lambda page: page[:60],
)
def test_what_would_take_long_ends(page):
    for item in structured_items(page, URL):
        item.columns()


def test_of_many_problems_the_first_are_told():
    rules = ExtractionSchema(pattern=".", page_type="x", selectors={"n": {"css": "b", "many": True, "type": "int"}})
    page = "".join(f"<b>x{number}.5</b>" for number in range(60)).encode()
    (item,) = body_items(page, URL, "text/html", [rules])
    told = item.columns()["problems"]
    assert (len(told), told[0], told[-1]) == (51, "n: 'x0.5' is no whole number", "and 10 more")


def test_a_huge_document_is_read_at_its_start_and_told():
    page = b'<script type="application/ld+json">{"@type":"Thing"}</script>' + b"<p>words and words" * 1_200_000
    (item,) = body_items(page, URL, "text/html")
    assert (item.type, item.problems) == ("Thing", ("only the first 20000000 bytes of the document were read",))


@pytest.mark.parametrize(
    ("start", "rules"),
    [
        ('<div itemscope itemtype="https://schema.org/Thing">', []),
        ('<div vocab="https://schema.org/" typeof=Thing>', []),
        ("<main>", [ExtractionSchema(pattern=".", page_type="x", selectors={"n": {"css": "div", "many": True}})]),
    ],
)
def test_texts_inside_each_other_are_read_up_to_a_bound(start, rules):
    page = start + "<div itemprop=a property=a>" * 300 + "word " * 50_000
    found = structured_items(page, URL, rules)
    assert any("texts of this page's values are longer than" in problem for item in found for problem in item.problems)
    assert 9_000_000 < sum(len(item.columns()["fields"] or "") for item in found) < 11_000_000


PAGE = """<html prefix="og: http://ogp.me/ns#"><base href="/x/"><meta property="og:type" content="product"><meta property="og:title" content="T">
<script type="application/ld+json">{"@graph":[{"@type":"Product","@id":"#p","name":"Tea","offers":{"price":"3,50","priceCurrency":"EUR"}},
{"@type":"BreadcrumbList","itemListElement":[{"position":1,"item":{"@id":"#p"}}]}]}</script>
<div itemscope itemtype="https://schema.org/Event" itemref="r"><b itemprop=name>E</b><time itemprop=startDate datetime="2024-05-06">x</time></div>
<p id=r itemprop=location>Hall</p><div vocab="https://schema.org/" typeof="Article" resource="#a"><h1 property=headline>H</h1>
<i property=author typeof=Person><b property=name>Ann</b></i></div><p about="#a"><b property=keywords>k</b></p>"""
RULES = [
    ExtractionSchema(
        pattern="tea",
        page_type="tea",
        selectors={
            "links": {"css": "::attr(href), p::text", "many": True, "type": "url"},
            "dates": {"xpath": "//time/@datetime", "many": True, "type": "date"},
            "parts": {
                "css": "div",
                "many": True,
                "fields": {"n": {"xpath": ".//b", "type": "int"}, "y": {"css": "::attr(typeof)", "type": "bool"}},
            },
        },
    )
]
_NOISE = st.sampled_from(['"', "{", "}", "[", "]", "<", ">", "</script>", "<!--", "-->", "itemscope ", "itemprop=x ", "itemref=r ", "typeof=Event ", "\x00", "&quot;", ",", "null"])  # fmt: skip


@settings(max_examples=150)
@given(st.lists(st.tuples(st.integers(0, len(PAGE)), st.integers(0, 40), _NOISE), min_size=1, max_size=8), st.booleans())
def test_a_mutated_page_raises_nothing(edits, cut):
    page = PAGE
    for place, length, noise in edits:
        page = page[:place] + noise + page[place + length :]
    if cut:
        page = page[: edits[0][0]]
    for item in body_items(page.encode("utf-8", "replace"), URL, "text/html", RULES):
        columns = item.columns()
        assert columns["fields"] is not None or columns["problems"]


def test_text_behind_a_null_byte_is_found_by_css_and_xpath():
    rules = ExtractionSchema(
        pattern=".", page_type="x", selectors={"css": {"css": "p", "many": True}, "xpath": {"xpath": "//p/text()", "many": True}}
    )
    (item,) = body_items(b"<html><body><p>before</p>\x00<p>after</p></body></html>", URL, "text/html", [rules])
    assert item.fields == {"css": ["before", "after"], "xpath": ["before", "after"]}


def test_a_link_that_is_an_image_gives_its_href():
    page = (
        '<div itemscope itemtype="https://schema.org/Product"><a itemprop=image href="/p.html" content="/real.jpg"><span>x</span></a></div>'
    )
    assert structured_items(page, URL)[0].fields["image"] == "https://shop.test/p.html"


def test_a_type_with_an_encoded_sign():
    page = '<script type="application/ld&#43;json">{"@type":"Thing"}</script>'
    assert [item.type for item in body_items(page.encode(), URL, "text/html")] == ["Thing"]
