from __future__ import annotations

import pytest

from trawl_core.errors import ConfigError
from trawl_core.selector_syntax import css_parts, is_xpath
from trawl_core.sites import parse_sites

HEAD = """user_agent: "TrawlBot/1.0 (+https://bot.test/)"
sites:
  - domain: shop.test
    seeds: [https://shop.test/]
    extraction:
      - pattern: /p/
        page_type: product
        selectors:
"""


@pytest.mark.parametrize(
    ("selector", "parts"),
    [
        ("h1", [("h1", None)]),
        ("h1::text", [("h1", None)]),
        ("a::attr(href)", [("a", "href")]),
        ("::attr(data-id)", [("", "data-id")]),
        ("h1::text, a[title='x,y']::attr( title )", [("h1", None), ("a[title='x,y']", "title")]),
        (":is(h1, h2) > b", [(":is(h1, h2) > b", None)]),
        (r"a[b=\"\\,\"], i", [(r"a[b=\"\\,\"]", None), ("i", None)]),
    ],
)
def test_alternatives_and_what_they_take(selector, parts):
    assert list(css_parts(selector)) == parts


def test_what_is_xpath():
    assert [is_xpath(text) for text in ("//h1", "./a", "(//a)[1]", "/html", "h1", ".price", "::attr(x)")] == [True] * 4 + [False] * 3


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("name: {css: 'h1['}", "9: sites.0.extraction.0.selectors.name.css: the CSS selector 'h1[' can't be read"),
        ("name: {css: 'h1::txt'}", "the CSS selector 'h1::txt' can't be read; besides CSS it may end in ::text or ::attr(name)."),
        ("name: {css: 'h1, b::c, i'}", "the CSS selector 'h1, b::c, i' can't be read at 'b::c';"),
        ("name: {xpath: '//h1['}", "9: sites.0.extraction.0.selectors.name.xpath: the XPath '//h1[' can't be read: Invalid expression."),
        ("name: {xpath: 'x:h1'}", "the XPath 'x:h1' can't be read: Undefined namespace prefix."),
        ("name: 'h1 >'", "9: sites.0.extraction.0.selectors.name.css: the CSS selector 'h1 >' can't be read"),
        ("name: {css: h1, xpath: //h1}", "9: sites.0.extraction.0.selectors.name: a field has css or xpath, not both."),
        ("name: {type: int}", "a field needs css or xpath (or fields, which group others)."),
        ("offers: {css: li, fields: {cost: {css: 'i::'}}}", "9: sites.0.extraction.0.selectors.offers.fields.cost.css: the CSS selector"),
        ("name: h1\n        pagination: {follow_next: 'a::next'}", "10: sites.0.extraction.0.pagination.follow_next: the CSS selector"),
        ("name: {css: h1, tpye: int}", "9: unknown key 'tpye', did you mean 'type'?"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_line(line, complaint):
    with pytest.raises(ConfigError) as error:
        parse_sites(f"{HEAD}          {line}\n", "sites.yaml")
    assert complaint in str(error.value)
    assert str(error.value).startswith("sites.yaml:")


def test_a_text_alone_is_a_selector():
    config = parse_sites(f"{HEAD}          name: h1::text\n          cost: //b/text()\n")
    selectors = config.sites[0].extraction[0].selectors
    assert (selectors["name"].css, selectors["cost"].xpath) == ("h1::text", "//b/text()")
