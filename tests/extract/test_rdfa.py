from trawl_core.extract.structured import structured_items

URL = "https://shop.test/dir/tea.html"


def items(html):
    """Items of their own."""
    return [item for item in structured_items(html, URL) if item.syntax == "rdfa" and item.within is None]


def test_values_by_element():
    (item,) = items(
        """<div vocab="https://schema.org/" typeof="Product" resource="#tea"><h1 property="name">Green
        tea</h1><img property=image src=i.png><a property=url href="/t">x</a><meta property=sku content=77>
        <time property=releaseDate datetime=2024-01-02>Jan</time><data property=weight value=5>five</data>
        <a property=name href="/ignored" content="said">x</a><b property="schema:color http://schema.org/pattern">green</b>
        <b property="dc:title">t</b></div>"""
    )
    assert (item.type, item.valid) == ("Product", True)
    assert item.fields == {
        "@id": "https://shop.test/dir/tea.html#tea",
        "@type": "https://schema.org/Product",
        "name": ["Green tea", "said"],
        "image": "https://shop.test/dir/i.png",
        "url": "https://shop.test/t",
        "sku": "77",
        "releaseDate": "2024-01-02",
        "weight": "5",
        "color": "green",
        "pattern": "green",
        "dc:title": "t",
    }


def test_nested_items_and_vocabularies():
    (item,) = items(
        """<body vocab="https://schema.org/"><div typeof="Product"><p><i property=offers typeof=Offer><b property=price>3</b></i></p>
        <div vocab="http://other.test/#"><i property=brand typeof="Maker"><b property=name>B</b></i></div></div>"""
    )
    assert item.fields == {
        "@type": "https://schema.org/Product",
        "offers": {"@type": "https://schema.org/Offer", "price": "3"},
        "brand": {"@type": "http://other.test/#Maker", "name": "B"},
    }


def test_a_repeated_property_keeps_its_order():
    (item,) = items('<div vocab="https://schema.org/" typeof=Thing>' + "".join(f"<b property=name>{n}</b>" for n in range(1, 6)) + "</div>")
    assert item.fields["name"] == ["1", "2", "3", "4", "5"]


def test_statements_about_one_resource_make_one_item():
    ann, ben = items(
        """<div vocab="https://schema.org/"><div resource="#a" typeof=Person><b property=name>Ann</b></div>
        <div resource="#b" typeof=Person><b property=name>Ben</b></div>
        <p about="#a"><b property=email>a@x.test</b></p><div resource="#a"><b property=telephone>1</b></div></div>"""
    )
    assert ann.fields == {"@id": URL + "#a", "@type": "https://schema.org/Person", "name": "Ann", "email": "a@x.test", "telephone": "1"}
    assert ben.fields["name"] == "Ben"


def test_an_item_of_two_types_inside_another_is_its_part():
    (item,) = items(
        '<div vocab="https://schema.org/" typeof=WebPage><i property=mainEntity typeof="Product Car"><b property=name>x</b></i></div>'
    )
    assert item.fields["mainEntity"]["@type"] == ["https://schema.org/Product", "https://schema.org/Car"]


def test_items_in_a_circle_end():
    found = items(
        """<div vocab="https://schema.org/"><div resource="/a" typeof=Thing><i property=x resource="/b" typeof=Thing>
        <i property=y resource="/a" typeof=Thing><i property=z resource="/b" typeof=Thing></i></i></i></div></div>"""
    )
    for item in found:
        item.columns()
    assert [item.fields["@id"] for item in found] == ["https://shop.test/a"]


def test_no_type_no_item():
    assert items('<meta property="og:title" content=x><p property=name>y</p>') == []


def test_many_properties_deep_down_are_read_once():
    html = "<div vocab='https://schema.org/' typeof=Thing>" + "<div>" * 5000 + "<b property=name>x</b>" * 3000
    (item,) = items(html)
    assert len(item.fields["name"]) == 3000


def test_items_beyond_the_most_give_no_values_to_others():
    part = "<i property=part typeof=Part><b property=name>x</b></i>"
    (item, told) = items(f"<div vocab='https://schema.org/' typeof=Thing>{part * 5001}</div>")
    assert (len(item.fields["part"]), "name" in item.fields) == (4999, False)
    assert (told.fields, told.problems) == (None, ("more than 5000 items: the others were left out",))
