import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.extract.guards import MAX_DEPTH, defuse, is_deeper_than
from trawl_core.extract.links import Link, find_links, find_links_in_text, parse_refresh
from trawl_core.urls.references import KnownLinks

URL = "http://site.test/dir/page.html"


def links(html, url=URL):
    return find_links(html.encode(), url).links


def test_links_in_document_order_each_once():
    html = """<head><link rel="next" href="p2"><link rel=stylesheet href=s.css><link rel="alternate stylesheet" href=t.css></head>
    <a href="/a#x">First</a><iframe src="f"></iframe><map><area href="m" alt="Map"></map><a href="/a">Again</a>
    <a href="#top">Top</a><a href="">Self</a><a href="mailto:x@site.test">m</a><a href="javascript:void(0)">j</a><a>none</a>"""
    assert links(html) == (
        Link("http://site.test/dir/p2", "next", "", "link"),
        Link("http://site.test/a", "", "First", "a"),
        Link("http://site.test/dir/f", "", "", "iframe"),
        Link("http://site.test/dir/m", "", "Map", "area"),
    )


def test_frames():
    assert [link.url for link in links('<frameset><frame src="one"><frame src="two"></frameset>')] == [
        "http://site.test/dir/one",
        "http://site.test/dir/two",
    ]


def test_links_of_templates_do_not_count_but_those_of_noscript_do():
    found = links("<template><a href=t>t</a></template><noscript><a href=n>n</a></noscript>")
    assert [link.url for link in found] == ["http://site.test/dir/n"]


def test_anchor_text_is_that_of_the_whole_element_or_its_image():
    found = links('<a href=a> one <b>two</b>\n three </a><a href=b><img src=i alt="A picture"></a>')
    assert [link.text for link in found] == ["one two three", "A picture"]


def test_nofollow_is_kept_unless_another_link_to_the_url_lacks_it():
    first, second = links('<a rel="NoFollow UGC" href=a>a</a><a rel=nofollow href=b></a><a href=b>b</a>')
    assert (first.rel, first.nofollow) == ("nofollow ugc", True)
    assert (second.rel, second.text, second.nofollow) == ("", "b", False)


def test_base_element():
    found = find_links(b'<base href="/base/path/"><a href="x">x</a><base href="/no/">', URL)
    assert found.base == "http://site.test/base/path/"
    assert found.links[0].url == "http://site.test/base/path/x"


def test_base_of_another_scheme_is_ignored():
    assert find_links(b'<base href="data:text/plain,x"><a href="x">x</a>', URL).links[0].url == "http://site.test/dir/x"


def test_canonical_hint_is_the_first_of_the_head():
    html = b'<head><link rel="Canonical" href="../c?b=1#f"><link rel=canonical href=/second></head><body><link rel=canonical href=/body>'
    assert find_links(html, URL).canonical_hint == "http://site.test/c?b=1"
    assert find_links(b"<head></head><body><p>x<link rel=canonical href=/body>", URL).canonical_hint is None


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<meta http-equiv="refresh" content="0; url=next.html">', (0.0, "http://site.test/dir/next.html")),
        ("<META HTTP-EQUIV=Refresh CONTENT=\"5;URL='/q'\">", (5.0, "http://site.test/q")),
        ('<meta http-equiv=refresh content="0;URL=\nhttp://www.d.test/index.php">', (0.0, "http://www.d.test/index.php")),
        ('<base href="/base/path/"><meta http-equiv=refresh content="1;url=rel/t.html">', (1.0, "http://site.test/base/path/rel/t.html")),
        ('<noscript><meta http-equiv=refresh content="0;url=x"></noscript>', None),
        ('<template><meta http-equiv=refresh content="0;url=x"></template>', None),
        ('<!-- <meta http-equiv=refresh content="0;url=x"> -->', None),
        ('<meta http-equiv=refresh content="30">', None),
        ('<meta http-equiv=refresh content="0;url=javascript:x()">', None),
    ],
)
def test_meta_refresh(html, expected):
    assert find_links(html.encode(), URL).meta_refresh == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("0;url=a", (0.0, "a")),
        ("3.7, url = 'a' tail", (3.0, "a")),
        ("2 a", (2.0, "a")),
        ("0;urlx", (0.0, "urlx")),
        (' 0 ; URL="a b" ', (0.0, "a b")),
        ("url=a", None),
        ("soon;url=a", None),
        ("", None),
        ("7;", None),
    ],
)
def test_parse_refresh(content, expected):
    assert parse_refresh(content) == expected


def test_declared_charset_is_used_for_anchor_text():
    html = "<a href=a>Привет</a>".encode("cp1251")
    assert find_links(html, URL, "windows-1251").links[0].text == "Привет"


def test_deep_nesting_keeps_links():
    html = "<div>" * (MAX_DEPTH + 5) + '<a href="deep">deep</a>'
    assert [link.url for link in links(html)] == ["http://site.test/dir/deep"]


def test_a_tag_with_too_many_attributes_is_cut():
    html = "<p " + " ".join(f"a{number}=1" for number in range(30_000)) + '>text</p><a href="after">after</a>'
    text, what = defuse(html)
    assert len(text) < len(html) / 2
    assert "attributes" in what
    assert [link.url for link in links(html)] == ["http://site.test/dir/after"]


@pytest.mark.parametrize(
    ("html", "deeper"),
    [
        ("<div>" * 10 + "</div>" * 10, True),
        ("<div></div>" * 100, False),
        ("<p>x" * 100, False),
        ("<!-- " + "<div>" * 10 + " -->", False),
        ("<script>" + "<div>" * 10 + "</script>", False),
        ("<ul><li>" * 10, True),
    ],
)
def test_depth_by_tags(html, deeper):
    assert is_deeper_than(html, 9) is deeper


@given(st.text(alphabet=st.sampled_from("<>/=\"' abhrefmtscip&;:.#?-!"), max_size=300))
def test_any_markup_gives_links_that_are_absolute_and_unique(html):
    urls = [link.url for link in links(html)]
    assert len(urls) == len(set(urls))
    assert all(url.startswith(("http://", "https://")) for url in urls)


def test_formatting_that_is_never_closed_ends():
    html = "".join(f"<b id={number}><p>" for number in range(9000)) + '<a href="after">after</a>'
    text, what = defuse(html)
    assert "never closed" in what
    assert "<b" not in text
    assert [link.url for link in links(html)] == ["http://site.test/dir/after"]


def test_ordinary_pages_are_left_alone():
    html = "<ul>" + "<li><b>x</b> <i>y</i><p>z" * 5000 + "</ul>"
    assert defuse(html) == (html, None)


def test_ends_of_what_was_never_opened_hide_no_depth():
    assert is_deeper_than("<div></x>" * 10, 9)
    assert not is_deeper_than("<div></div>" * 10, 9)


def test_fragments_name_no_other_page() -> None:
    assert [link.url for link in links('<a href="a#b">1</a><a href="#c">2</a><a href="a#d">3</a><a href="a  #e">4</a>')] == [
        "http://site.test/dir/a",
        "http://site.test/dir/a%20%20",
    ]


def test_of_known_links_only_the_first_is_read() -> None:
    known = KnownLinks({"http://site.test/dir/a", "http://site.test/dir/b", "http://site.test/dir/?q"}.__contains__)
    html = '<a href="a">1</a><a href="b#c">2</a><a href="../dir/b">3</a><a href="?q">4</a><a href="c">5</a><a href="a">6</a>'
    for _ in range(2):
        assert [link.text for link in find_links_in_text(html, "http://site.test/dir/", known).links] == ["1", "5"]
    # A reference that the document's own name completes leads elsewhere from its neighbour.
    assert [link.text for link in find_links_in_text(html, "http://site.test/dir/x", known).links] == ["1", "4", "5"]
    assert [link.text for link in find_links_in_text(html, "http://site.test/other/", known).links] == ["1", "2", "4", "5"]
    rooted = '<a href="/">0</a><a href="/dir/b">1</a><a href="b">2</a>'
    for url in ("http://site.test/", "http://site.test/other/", "http://other.test/"):
        found = [link.text for link in find_links_in_text(rooted, url, known).links]
        assert found == (["0", "1", "2"] if "other.test" in url else ["0", "2"])
