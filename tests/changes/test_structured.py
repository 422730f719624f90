from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trawl_core.changes.structured import changed_opengraph, changed_paths
from trawl_core.changes.version import StructuredItem

items = st.lists(
    st.builds(
        StructuredItem,
        st.sampled_from(["json-ld", "microdata"]),
        st.sampled_from(["Product", None]),
        st.sampled_from(['{"a":1}', '{"a":[1,{"b":null}]}', None]),
    ),
    max_size=4,
)


def test_a_price_by_its_path():
    old = [StructuredItem("json-ld", "Product", '{"name":"Lamp","offers":{"price":310,"tags":["a","b"]}}')]
    new = [StructuredItem("json-ld", "Product", '{"name":"Lamp","offers":{"price":279.89,"tags":["a"]},"sku":"1"}')]
    assert changed_paths(old, new) == [
        ("Product.offers.price", "310", "279.89"),
        ("Product.offers.tags[1]", "b", None),
        ("Product.sku", None, "1"),
    ]


def test_items_of_one_kind_are_counted_and_syntaxes_kept_apart():
    old = [StructuredItem("json-ld", "Product", '{"name":"A"}'), StructuredItem("json-ld", "Product", '{"name":"B"}')]
    new = [*old[:1], StructuredItem("json-ld", "Product", '{"name":"C"}'), StructuredItem("microdata", None, '{"title":"T"}')]
    assert changed_paths(old, new) == [("Product[2].name", "B", "C"), ("microdata:item.title", None, "T")]


@given(items, items)
def test_swapping_swaps_values(old, new):
    assert changed_paths(new, old) == [(path, after, before) for path, before, after in changed_paths(old, new)]


def test_opengraph_is_kept_apart_and_does_not_repeat_the_title():
    old = [StructuredItem("opengraph", "article", '{"og:image":"a.png","og:title":"A","og:updated_time":"1"}')]
    new = [StructuredItem("opengraph", "website", '{"og:image":["b.png"],"og:title":"B","og:updated_time":"2"}')]
    assert changed_paths(old, new) == []
    assert changed_opengraph(old, new) == [("og:image", "a.png", None), ("og:image[0]", None, "b.png")]
