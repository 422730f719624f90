import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.extract.items import short_type
from trawl_core.extract.structured import body_items, structured_items
from trawl_core.extract.typed_values import parse_number
from trawl_core.sites import ExtractionSchema

URL = "http://shop.test/dir/tea.html"


def ld(*blocks, kind="application/ld+json"):
    return "".join(f'<script type="{kind}">{block}</script>' for block in blocks)


def items(html, **options):
    return structured_items(html, URL, **options)


@pytest.mark.parametrize(
    "block",
    [
        '{"@type":"Thing","name":"Foo"}',
        '{"@type":"Thing","name":"Foo"};',
        '<!-- {"@type":"Thing","name":"Foo"} -->',
        '// <![CDATA[\n{"@type":"Thing","name":"Foo"}\n// ]]>',
        '/* <![CDATA[ */{"@type":"Thing","name":"Foo"}/* ]]> */',
        '{"@type":"Thing", // the type\n"name":"Foo",}',
        '/* head */ {"@type":"Thing","name":"Foo"}',
        '\ufeff [{"@type":"Thing","name":"Foo"}]',
        '{"@context":"https://schema.org","@graph":[{"@type":"Thing","name":"Foo"}]}',
        "{&quot;@type&quot;:&quot;Thing&quot;,&quot;name&quot;:&quot;Foo&quot;}",
    ],
)
def test_what_stands_around_json_ld_is_tolerated(block):
    (item,) = items(ld(block))
    assert (item.syntax, item.type, item.fields, item.valid) == ("json-ld", "Thing", {"@type": "Thing", "name": "Foo"}, True)


@pytest.mark.parametrize("kind", ["application/ld+json; charset=utf-8", "Application/LD+JSON", " application/ld+json "])
def test_type_of_the_script(kind):
    assert len(items(ld('{"@type":"Thing"}', kind=kind))) == 1
    assert items(ld('{"@type":"Thing"}', kind="application/json")) == []


def test_one_broken_block_loses_no_other():
    found = items(ld('{"@type":"A"}', '{"@type": ', '{"@type":"B"}'))
    assert [(item.position, item.type, item.valid) for item in found] == [(0, "A", True), (1, None, False), (2, "B", True)]
    assert found[1].fields is None
    assert "not JSON" in found[1].problems[0]
    assert found[1].columns()["fields"] is None


def test_raw_line_breaks_and_slashes_in_strings():
    (item,) = items(ld('{"@type":"T","name":"Foo\n\tbar","url":"http://a.test/x", "comma": ",]",}'))
    assert item.fields == {"@type": "T", "name": "Foo\n\tbar", "url": "http://a.test/x", "comma": ",]"}


def test_several_values_arrays_and_graphs():
    found = items(ld('{"@type":"A"} {"@type":"B"}', '[{"@type":"C"},[{"@type":"D"}]]', '{"@type":"Page","@graph":[{"@type":"E"}]}'))
    assert [item.type for item in found] == ["A", "B", "C", "D", "Page", "E"]


@pytest.mark.parametrize("block", ["null", "3", '"text"', "", "[]", "{}", '{"@context":"x"}'])
def test_blocks_without_an_item(block):
    assert items(ld(block)) == []


def test_an_item_without_type_and_values_json_can_not_say():
    (item,) = items(ld('{"name":"x","weight":NaN}'))
    assert (item.valid, item.problems, item.fields["weight"]) == (False, ("no @type",), None)
    assert items(ld("[" * 100_000))[0].fields is None


def test_fields_are_written_with_sorted_keys():
    first, second = items(ld('{"@type":"A","b":1,"a":"é"}', '{"a":"é","b":1,"@type":"A"}'))
    assert first.columns()["fields"] == second.columns()["fields"] == '{"@type":"A","a":"é","b":1}'


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("https://schema.org/Product", "Product"),
        ("schema:Product", "Product"),
        ("Product", "Product"),
        (["http://schema.org/Offer", "Product"], "Offer"),
        ("http://vocabulary.test/terms#Recipe", "Recipe"),
        ("", None),
        ([], None),
        (3, None),
        (None, None),
    ],
)
def test_types_lose_their_vocabulary(value, expected):
    assert short_type(value) == expected


def test_microdata_values_by_element():
    html = """<div itemscope itemtype="https://schema.org/Product" itemid="#p"><h1 itemprop="name">Green
      tea</h1><img itemprop=image src="i.png"><a itemprop=url href="/t">x</a><meta itemprop=sku content=77>
      <time itemprop=releaseDate datetime=2024-01-02>Jan</time><data itemprop=weight value=5>five</data>
      <div itemprop=offers itemscope itemtype="https://schema.org/Offer"><span itemprop=price content="3.50">3,50</span><meta itemprop=priceCurrency content=EUR></div>
      <b itemprop="keyword tag">a</b><b itemprop=keyword>b</b></div>"""
    (item,) = items(html)
    assert (item.syntax, item.type, item.valid) == ("microdata", "Product", True)
    assert item.fields == {
        "@type": "https://schema.org/Product",
        "@id": "http://shop.test/dir/tea.html",
        "name": "Green tea",
        "image": "http://shop.test/dir/i.png",
        "url": "http://shop.test/t",
        "sku": "77",
        "releaseDate": "2024-01-02",
        "weight": "5",
        "offers": {"@type": "https://schema.org/Offer", "price": "3.50", "priceCurrency": "EUR"},
        "keyword": ["a", "b"],
        "tag": "a",
    }


def test_itemref_gives_values_in_tree_order():
    html = '<p id=x itemprop=a>1</p><div itemscope itemref="y x"></div><p id=y itemprop=a>2</p>'
    assert items(html)[0].fields == {"a": ["1", "2"]}


def test_itemref_to_nothing_and_to_itself():
    (item,) = items('<div itemscope itemref="none" id=me><p itemprop=a>1</p></div>')
    assert (item.fields, item.valid) == ({"a": "1"}, False)
    (item,) = items(
        "<div itemscope id=top itemref=inner></div><div id=inner itemprop=b itemscope itemref=inner2></div><div id=inner2 itemprop=c itemscope itemref=inner></div>"
    )
    assert not item.valid


def test_itemref_bombs_end():
    html = "<div itemscope itemref='a0 b0'></div>" + "".join(
        f"<div id={name}{level} itemprop=p itemscope itemref='a{level + 1} b{level + 1}'></div>" for level in range(18) for name in "ab"
    )
    (item,) = [item for item in items(html) if item.fields]
    assert not item.valid


def test_opengraph_is_one_item():
    html = '<meta property="og:type" content="article"><meta property="og:image" content=a><meta property="og:image" content=b><meta property="article:tag" content=t>'
    (item,) = items(html)
    assert (item.syntax, item.type) == ("opengraph", "article")
    assert item.fields == {"og:type": "article", "og:image": ["a", "b"], "article:tag": "t"}
    assert items('<meta property="article:tag" content=t>') == []


SHOP = """<base href="http://shop.test/dir/"><h1>Green <b>tea</b></h1><p class=price data-now="3.50">3,50 €</p><p class=when>on 2024-05-06</p>
<ul><li class=o><a href="one">One</a><i>1.299,00</i></li><li class=o><a href="/two">Two</a><i>12</i></li></ul>"""


def schema(**selectors):
    return ExtractionSchema(pattern=r"/tea\.html$", page_type="product", selectors=selectors)


def test_selector_schema_with_containers_and_types():
    rules = schema(
        name={"css": "h1::text"},
        now={"css": ".price::attr(data-now)", "type": "number"},
        price={"xpath": "//p[@class='price']/text()", "type": "number"},
        when={"css": ".when", "type": "date"},
        count={"xpath": "count(//li)", "type": "number"},
        offers={
            "css": "li.o",
            "many": True,
            "fields": {"to": {"css": "a::attr(href)", "type": "url"}, "cost": {"xpath": ".//i", "type": "number"}},
        },
        first={"xpath": "//ul", "fields": {"name": {"css": "a"}}},
        missing={"css": ".none", "default": "-"},
        none={"css": ".none", "many": True},
        raw={"css": "h1", "type": "html"},
    )
    (item,) = items(SHOP, schemas=[rules])
    assert (item.syntax, item.type, item.valid, item.problems) == ("selector", "product", True, ())
    assert item.fields == {
        "name": "Green tea",
        "now": 3.5,
        "price": 3.5,
        "when": "2024-05-06",
        "count": 2,
        "offers": [{"to": "http://shop.test/dir/one", "cost": 1299}, {"to": "http://shop.test/two", "cost": 12}],
        "first": {"name": "One"},
        "missing": "-",
        "none": [],
        "raw": "<h1>Green <b>tea</b></h1>",
    }


def test_schemas_apply_by_url():
    assert structured_items(SHOP, "http://shop.test/other", [schema(name={"css": "h1"})]) == []


@pytest.mark.parametrize(
    ("selectors", "problem"),
    [
        ({"x": {"css": ".none"}}, "no selector matched"),
        ({"x": {"css": "h1", "type": "number"}, "h": {"css": "h1"}}, "x: 'Green tea' holds no number"),
        ({"x": {"css": "h1", "type": "date"}, "h": {"css": "h1"}}, "x: 'Green tea' is no ISO 8601 date"),
        ({"x": {"css": "li", "fields": {"y": {"css": "a", "type": "number"}}}}, "x.y: 'One' holds no number"),
    ],
)
def test_what_is_wrong_with_a_schema_is_a_problem(selectors, problem):
    (item,) = items(SHOP, schemas=[schema(**selectors)])
    assert not item.valid
    assert any(found.startswith(problem) for found in item.problems)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3,50 €", 3.5),
        ("$1,299.00", 1299),
        ("1.299,00", 1299),
        ("1,299", 1299),
        ("1 299,5", 1299.5),
        ("12", 12),
        ("0.125", 0.125),
        ("1.234.567", 1234567),
        ("-4.5", -4.5),
        ("from 7.", 7),
    ],
)
def test_numbers_of_either_habit(text, value):
    assert parse_number(text) == value


def test_only_html_is_looked_into():
    block = ld('{"@type":"T"}').encode()
    assert len(body_items(b"<html>" + block, URL, "text/html")) == 1
    assert body_items(b'{"a": "ld+json"}', URL, "application/json") == []
    assert body_items(b"<html><p>nothing</p>", URL, "text/html") == []


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
def test_any_object_comes_back(value):
    document = {"@type": "T", "value": value}
    text = json.dumps(document).replace("<", "\\u003c")
    (item,) = items(ld(text))
    assert item.fields == document


@given(st.text(alphabet=st.sampled_from('{}[]",:;/*<>!-\\ntruefals@ype0'), max_size=120))
def test_any_block_gives_items_or_problems(block):
    for item in items(ld(block.replace("<", "&lt;"))):
        assert item.fields is not None or item.problems
        item.columns()
