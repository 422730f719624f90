"""Items of each syntax in the one schema of docs/structured.md."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.extract.items import Item
from trawl_core.extract.mapping.entities import MAPPERS, with_entities
from trawl_core.extract.mapping.vocabulary import kind_of
from trawl_core.extract.structured import structured_items

URL = "https://shop.test/dir/tea.html"


def read(*nodes):
    """Items of a page with these nodes in one block of JSON-LD."""
    text = json.dumps({"@context": "https://schema.org", "@graph": nodes}).replace("<", "\\u003c")
    return structured_items(f'<script type="application/ld+json">{text}</script>', URL)


def entity(node, *others):
    item = read(node, *others)[0]
    return item.entity.fields, list(item.problems)


def test_a_product_with_an_offer():
    fields, problems = entity(
        {
            "@type": "Product",
            "name": " Green\n tea &amp; lid ",
            "description": "Dry leaves.",
            "image": ["a.jpg", {"@type": "ImageObject", "url": "/b.jpg"}, "a.jpg"],
            "brand": {"@type": "Brand", "name": "Arno"},
            "sku": 77,
            "gtin13": "4006381333931",
            "offers": {
                "@type": "Offer",
                "price": 3.5,
                "priceCurrency": "eur",
                "availability": "http://schema.org/InStock",
                "itemCondition": "https://schema.org/NewCondition",
                "priceValidUntil": "2026-12-31",
                "seller": {"@type": "Organization", "name": "Shop"},
            },
            "aggregateRating": {"@type": "AggregateRating", "ratingValue": "4,5", "reviewCount": "1,204", "ratingCount": 1300},
        }
    )
    assert problems == []
    assert fields == {
        "name": "Green tea & lid",
        "description": "Dry leaves.",
        "images": ["https://shop.test/dir/a.jpg", "https://shop.test/b.jpg"],
        "brand": "Arno",
        "sku": "77",
        "gtin": "4006381333931",
        "price": "3.5",
        "currency": "EUR",
        "availability": "InStock",
        "offers": [
            {
                "price": "3.5",
                "currency": "EUR",
                "availability": "InStock",
                "condition": "NewCondition",
                "valid_until": "2026-12-31",
                "seller": "Shop",
            }
        ],
        "rating_value": 4.5,
        "rating_best": 5,
        "rating_worst": 1,
        "rating_count": 1300,
        "review_count": 1204,
    }


def test_several_offers_are_summed_up():
    offers = [
        {"price": "20.00", "priceCurrency": "EUR", "availability": "OutOfStock"},
        {"price": "9.50", "priceCurrency": "EUR", "availability": "in stock"},
        {"price": "1.00", "priceCurrency": "USD"},
    ]
    fields, problems = entity({"@type": "Product", "name": "x", "offers": offers})
    assert (fields["price"], fields["price_high"], fields["currency"], fields["availability"]) == ("9.50", "20.00", "EUR", "InStock")
    assert (len(fields["offers"]), problems) == (3, [])


@pytest.mark.parametrize(
    ("offer", "given"),
    [
        ({"@type": "AggregateOffer", "lowPrice": "1", "highPrice": "2.5", "priceCurrency": "EUR"}, ("1", "2.5", "EUR")),
        (
            {"@type": "AggregateOffer", "offers": [{"price": "3", "priceCurrency": "EUR"}, {"price": "4", "priceCurrency": "EUR"}]},
            ("3", "4", "EUR"),
        ),
        ({"priceSpecification": {"price": "5", "priceCurrency": "EUR"}}, ("5", None, "EUR")),
        (
            {
                "priceSpecification": [
                    {"priceType": "https://schema.org/ListPrice", "price": "9", "priceCurrency": "EUR"},
                    {"price": "7", "priceCurrency": "EUR"},
                ]
            },
            ("7", None, "EUR"),
        ),
        ({"price": {"@value": "8"}, "priceCurrency": "EUR"}, ("8", None, "EUR")),
    ],
)
def test_where_prices_stand(offer, given):
    fields, problems = entity({"@type": "Product", "name": "x", "offers": offer})
    assert ((fields.get("price"), fields.get("price_high"), fields.get("currency")), problems) == (given, [])


@pytest.mark.parametrize(
    ("node", "problem"),
    [
        ({"@type": "Product"}, "name: missing"),
        ({"@type": "Product", "name": "x", "offers": {"priceCurrency": "EUR"}}, "offers.price: missing"),
        ({"@type": "Product", "name": "x", "offers": {"price": "5"}}, "offers.priceCurrency: missing"),
        (
            {"@type": "Product", "name": "x", "offers": {"price": "5", "priceCurrency": "Euros"}},
            "offers.priceCurrency: 'Euros' is no ISO 4217 code",
        ),
        ({"@type": "Product", "name": "x", "offers": {"price": "ask us", "priceCurrency": "EUR"}}, "offers.price: 'ask us' is no price"),
        ({"@type": "Product", "name": "x", "offers": {"price": -1, "priceCurrency": "EUR"}}, "offers.price: '-1' is no price"),
        (
            {"@type": "Product", "name": "x", "offers": {"price": "1.299,00 €"}},
            "offers.price: '1.299,00 €' is no plain number, read as 1299.00",
        ),
        (
            {"@type": "Product", "name": "x", "offers": {"price": 1, "priceCurrency": "EUR", "availability": "soon"}},
            "offers.availability: 'soon' is none of InStock, ",
        ),
        ({"@type": "Product", "name": "x", "gtin": "4006381333932"}, "gtin: '4006381333932' is no GTIN: wrong length or check digit"),
        (
            {"@type": "Product", "name": "x", "aggregateRating": {"ratingValue": 6}},
            "aggregateRating.ratingValue: 6 lies outside the scale 1 to 5",
        ),
        ({"@type": "Product", "name": "x", "aggregateRating": {"ratingCount": "many"}}, "aggregateRating.ratingValue: missing"),
        ({"@type": "Product", "name": "x", "image": "https://"}, "image: 'https://' is no URL"),
        ({"@type": "Article"}, "headline: missing"),
        ({"@type": "Article", "headline": "x", "datePublished": "05/06/2024"}, "datePublished: '05/06/2024' is no ISO 8601 date"),
        ({"@type": "Organization"}, "name: missing"),
        ({"@type": "Event", "startDate": "2024-01-01", "location": "x"}, "name: missing"),
        ({"@type": "Event", "name": "x", "location": "x"}, "startDate: missing"),
        ({"@type": "Event", "name": "x", "startDate": "2024-01-01"}, "location: missing"),
        (
            {"@type": "Event", "name": "x", "location": "x", "startDate": "2024-05-06T20:00", "endDate": "2024-05-06T19:00"},
            "endDate: 2024-05-06T19:00:00 lies before the start, 2024-05-06T20:00:00",
        ),
        ({"@type": "BreadcrumbList"}, "itemListElement: missing"),
        ({"@type": "BreadcrumbList", "itemListElement": [{"position": 1}]}, "itemListElement.name: missing at place 1"),
        ({"@type": "BreadcrumbList", "itemListElement": [{"name": "x"}]}, "itemListElement.position: missing at place 1"),
        (
            {"@type": "BreadcrumbList", "itemListElement": [{"position": 1, "name": "x"}, {"position": 1, "name": "y"}]},
            "itemListElement: two steps have one position",
        ),
    ],
)
def test_what_is_wrong_is_listed(node, problem):
    item = read(node)[0]
    assert not item.valid
    assert any(found.startswith(problem) for found in item.problems), item.problems


@pytest.mark.parametrize(
    "said", ["https://schema.org/InStock", "http://schema.org/InStock/", "schema:InStock", "InStock", "in stock", "in_stock", "IN-STOCK"]
)
def test_terms_are_bare(said):
    fields, problems = entity({"@type": "Product", "name": "x", "offers": {"price": 1, "priceCurrency": "EUR", "availability": said}})
    assert (fields["availability"], problems) == ("InStock", [])


def test_expanded_and_prefixed_names():
    schema = "http://schema.org/"
    expanded = {
        "@type": [f"{schema}Product"],
        f"{schema}name": [{"@value": "Tea", "@language": "en"}],
        f"{schema}image": [{"@list": [{"@id": "https://shop.test/a.png"}]}],
        f"{schema}offers": [{"@type": f"{schema}Offer", f"{schema}price": [{"@value": 3}], f"{schema}priceCurrency": [{"@value": "EUR"}]}],
    }
    prefixed = {
        "@type": "schema:Product",
        "schema:name": "Tea",
        "schema:image": "/a.png",
        "schema:offers": {"schema:price": 3, "schema:priceCurrency": "EUR"},
    }
    for node in (expanded, prefixed):
        fields, problems = entity(node)
        assert problems == []
        assert (fields["name"], fields["images"], fields["price"]) == ("Tea", ["https://shop.test/a.png"], "3")


def test_a_rating_on_another_scale():
    fields, problems = entity(
        {"@type": "Product", "name": "x", "aggregateRating": {"ratingValue": "92", "bestRating": 100, "worstRating": 0}}
    )
    assert (fields["rating_value"], fields["rating_best"], fields["rating_worst"], problems) == (92, 100, 0, [])
    fields, problems = entity({"@type": "Product", "name": "x", "aggregateRating": {"ratingValue": "8.5/10"}})
    assert (fields["rating_value"], fields["rating_best"], problems) == (8.5, 10, [])


@pytest.mark.parametrize("code", ["4006381333931", "96385074", "036000291452", "978-3-16-148410-0", "0-306-40615-2", "isbn:9783161484100"])
def test_good_codes(code):
    assert entity({"@type": "Product", "name": "x", "gtin": code})[1] == []


def test_an_article_by_people_of_the_graph():
    fields, problems = entity(
        {
            "@type": ["Thing", "NewsArticle"],
            "headline": "Tides",
            "author": [{"@id": "#ann"}, {"@type": "Person", "name": "Ben"}, "Cleo"],
            "publisher": {"@id": "https://shop.test/#org"},
            "datePublished": "2024-05-06T10:00:00Z",
            "dateModified": "May 7, 2024",
            "keywords": "sea, wind,sea",
            "mainEntityOfPage": {"@type": "WebPage", "@id": "https://shop.test/tides"},
            "image": {"@id": "#picture"},
        },
        {"@type": "Person", "@id": "#ann", "name": "Ann"},
        {"@type": "Organization", "@id": "https://shop.test/#org", "name": "The Post"},
        {"@type": "ImageObject", "@id": "#picture", "contentUrl": "/p.png"},
    )
    assert problems == []
    assert fields == {
        "headline": "Tides",
        "authors": ["Ann", "Ben", "Cleo"],
        "publisher": "The Post",
        "published": "2024-05-06T10:00:00+00:00",
        "modified": "2024-05-07",
        "keywords": ["sea", "wind"],
        "url": "https://shop.test/tides",
        "images": ["https://shop.test/p.png"],
    }


def test_an_organization():
    fields, problems = entity(
        {
            "@type": "Restaurant",
            "name": "Hall",
            "logo": {"@type": "ImageObject", "url": "/logo.svg"},
            "email": "mailto:us@hall.test",
            "telephone": "+49 1",
            "sameAs": ["https://social.test/hall"],
            "address": {"streetAddress": "Main 1", "postalCode": 10115, "addressCountry": {"@type": "Country", "name": "DE"}},
        }
    )
    assert problems == []
    assert fields == {
        "name": "Hall",
        "logo": "https://shop.test/logo.svg",
        "email": "us@hall.test",
        "telephone": "+49 1",
        "same_as": ["https://social.test/hall"],
        "address": {"street": "Main 1", "postal_code": "10115", "country": "DE"},
    }


def test_an_event():
    fields, problems = entity(
        {
            "@type": "MusicEvent",
            "name": "Night",
            "startDate": "2024-05-06T20:00:00+02:00",
            "endDate": "2024-05-06",
            "eventStatus": "https://schema.org/EventPostponed",
            "eventAttendanceMode": "OfflineEventAttendanceMode",
            "location": {"@type": "Place", "name": "Hall", "address": "Main 1", "url": "/hall"},
            "performer": [{"name": "Trio"}, {"name": "Duo"}],
            "organizer": {"name": "Town"},
            "offers": {"price": "0", "priceCurrency": "EUR"},
        }
    )
    assert problems == []
    assert fields == {
        "name": "Night",
        "start": "2024-05-06T20:00:00+02:00",
        "end": "2024-05-06",
        "status": "EventPostponed",
        "attendance": "OfflineEventAttendanceMode",
        "location": "Hall",
        "location_address": {"text": "Main 1"},
        "location_url": "https://shop.test/hall",
        "performers": ["Trio", "Duo"],
        "organizer": "Town",
        "price": "0",
        "currency": "EUR",
        "offers": [{"price": "0", "currency": "EUR"}],
    }


def test_breadcrumbs_stand_in_the_order_of_their_positions():
    steps = [
        {"@type": "ListItem", "position": 3, "name": "Tea"},
        {"@type": "ListItem", "position": "1", "item": {"@id": "https://shop.test/", "name": "Home"}},
        {"@type": "ListItem", "position": 2, "name": "Drinks", "item": "/drinks"},
    ]
    fields, problems = entity({"@type": "BreadcrumbList", "itemListElement": steps})
    assert problems == []
    assert fields["items"] == [
        {"position": 1, "name": "Home", "url": "https://shop.test/"},
        {"position": 2, "name": "Drinks", "url": "https://shop.test/drinks"},
        {"position": 3, "name": "Tea"},
    ]


def test_parts_that_a_page_is_about_are_rows_of_their_own():
    page = {
        "@type": "WebPage",
        "mainEntity": {"@type": "Product", "name": "Tea"},
        "breadcrumb": {"@type": "BreadcrumbList", "itemListElement": [{"position": 1, "name": "Home"}]},
        "publisher": {"@type": "Organization", "name": "no part"},
    }
    listing = {"@type": "ItemList", "itemListElement": [{"@type": "ListItem", "item": {"@type": "Product", "name": name}} for name in "AB"]}
    found = read(page, listing)
    assert [(item.position, item.within, item.type, item.entity and item.entity.kind) for item in found] == [
        (0, None, "WebPage", None),
        (1, 0, "Product", "Product"),
        (2, 0, "BreadcrumbList", "BreadcrumbList"),
        (3, None, "ItemList", None),
        (4, 3, "Product", "Product"),
        (5, 3, "Product", "Product"),
    ]


JSON_LD = '<script type="application/ld+json">{"@type":"Product","name":"J"}</script>'
BROKEN = '<script type="application/ld+json">{"@type":"Product","name":</script>'
NAMELESS = '<script type="application/ld+json">{"@type":"Product"}</script>'
MICRODATA = '<div itemscope itemtype="https://schema.org/Product"><b itemprop=name>M</b></div>'
RDFA = '<div vocab="https://schema.org/" typeof="Product"><b property=name>R</b></div>'
OPENGRAPH = '<meta property="og:type" content="product"><meta property="og:title" content="O">'


@pytest.mark.parametrize(
    ("page", "preferred"),
    [
        (JSON_LD + MICRODATA + RDFA + OPENGRAPH, ["J"]),
        (BROKEN + MICRODATA + RDFA + OPENGRAPH, ["M"]),
        (NAMELESS + MICRODATA + RDFA, ["M"]),
        (NAMELESS + RDFA + OPENGRAPH, ["R"]),
        (OPENGRAPH, ["O"]),
        (NAMELESS, [None]),
        (JSON_LD + JSON_LD.replace("J", "K") + MICRODATA, ["J", "K"]),
    ],
)
def test_each_syntax_falls_back_to_the_next(page, preferred):
    found = structured_items(page, URL)
    assert [item.entity.fields.get("name") for item in found if item.preferred] == preferred
    assert {item.preferred for item in found if item.entity is None} <= {None}


@pytest.mark.parametrize(
    ("page", "syntax"),
    [
        (
            """<div itemscope itemtype="https://schema.org/Product"><h1 itemprop=name>Tea</h1><img itemprop=image src=t.png>
            <div itemprop=offers itemscope itemtype="https://schema.org/Offer"><b itemprop=price content="3.50">3,50</b>
            <meta itemprop=priceCurrency content=EUR><link itemprop=availability href="https://schema.org/SoldOut"></div></div>""",
            "microdata",
        ),
        (
            """<div vocab="https://schema.org/" typeof="Product"><h1 property=name>Tea</h1><img property=image src=t.png>
            <div property=offers typeof=Offer><b property=price content="3.50">3,50</b>
            <meta property=priceCurrency content=EUR><link property=availability href="https://schema.org/SoldOut"></div></div>""",
            "rdfa",
        ),
        (
            """<meta property="og:type" content="product"><meta property="og:title" content="Tea"><meta property="og:image" content="t.png">
            <meta property="product:price:amount" content="3.50"><meta property="product:price:currency" content="EUR">
            <meta property="product:availability" content="sold out">""",
            "opengraph",
        ),
    ],
)
def test_one_product_in_every_syntax(page, syntax):
    (item,) = structured_items(page, URL)
    assert (item.syntax, item.problems) == (syntax, ())
    assert item.entity.fields == {
        "name": "Tea",
        "images": ["https://shop.test/dir/t.png"],
        "price": "3.50",
        "currency": "EUR",
        "availability": "SoldOut",
        "offers": [{"price": "3.50", "currency": "EUR", "availability": "SoldOut"}],
    }


def test_an_article_in_opengraph():
    page = "".join(
        f'<meta property="{name}" content="{value}">'
        for name, value in (
            ("og:type", "article"),
            ("og:title", "Tides"),
            ("og:site_name", "The Post"),
            ("article:published_time", "2024-05-06T10:00:00+02:00"),
            ("article:author", "Ann"),
            ("article:tag", "sea"),
            ("article:tag", "wind"),
        )
    )
    (item,) = structured_items(page, URL)
    assert item.entity.fields == {
        "headline": "Tides",
        "publisher": "The Post",
        "published": "2024-05-06T10:00:00+02:00",
        "authors": ["Ann"],
        "keywords": ["sea", "wind"],
    }
    (other,) = structured_items(page.replace("article", "website"), URL)
    assert other.entity is None


def test_references_are_resolved_against_the_base():
    (item,) = structured_items('<base href="https://cdn.test/x/">' + JSON_LD.replace('"name"', '"image":"i.png","name"'), URL)
    assert item.entity.fields["images"] == ["https://cdn.test/x/i.png"]


@pytest.mark.parametrize(
    ("types", "kind"),
    [
        ("Product", "Product"),
        ("https://schema.org/BlogPosting", "Article"),
        ("schema:Restaurant", "Organization"),
        (["Thing", "Car"], "Product"),
        ("https://schema.org/Festival https://schema.org/Thing", "Event"),
        ("http://other.test/Product", None),
        ("WebPage", None),
        (None, None),
        (3, None),
    ],
)
def test_which_types_are_one_of_the_five(types, kind):
    assert kind_of(types) == kind


_TEXT = """
@id @type @value @list name headline image offers price priceCurrency availability aggregateRating ratingValue bestRating
worstRating itemListElement item position author datePublished startDate endDate location address url gtin mainEntity
"""
_NAMES = st.sampled_from(_TEXT.split())
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_NAMES, inner, max_size=6),
    max_leaves=25,
)


@given(st.sampled_from(sorted(MAPPERS)), st.dictionaries(_NAMES, _VALUES, max_size=10))
def test_any_item_gives_an_entity(kind, fields):
    for item in with_entities([Item("json-ld", kind, {**fields, "@type": kind})], URL):
        item.columns()
        assert item.entity is not None or item.within is not None
