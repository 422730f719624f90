import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from trawl_core.extract.blocks import page_blocks, split_tree


def texts(html):
    return [block.text for block in page_blocks(html)]


def test_blocks_in_order_with_hash_and_position():
    blocks = page_blocks("<title>t</title><h1>One</h1><p>Some  <b>bold</b>\n text</p>loose<div>tail<p>in</p>end</div>")
    assert [block.text for block in blocks] == ["One", "Some bold text", "loose", "tail", "in", "end"]
    assert [block.position for block in blocks] == list(range(6))
    assert blocks[1].hash == xxhash.xxh3_64_intdigest(b"Some bold text")


@pytest.mark.parametrize(
    "html",
    [
        "<script>var a</script>",
        "<style>p{}</style>",
        "<template><p>x</p></template>",
        "<p hidden>x</p>",
        "<div style='color:red; display : none'><p>x</p></div>",
        "<p style=visibility:hidden>x",
        "<select><option>x</select>",
        "<svg><title>x</title></svg>",
        "<p></p><noscript>x</noscript>",
        "<!-- x -->",
        "<head><title>x</title></head>",
        "",
        "<frameset><frame src=x></frameset>",
    ],
)
def test_what_is_not_shown_is_no_block(html):
    assert texts(html) == []


def test_table_rows_are_blocks_with_joined_cells():
    html = "<table><tr><th>Name<th>Price<tr><td><p>Tea</p><td>3 <b>€</b><tr><td><ul><li>a<li>b</ul><td>c</table><p>after"
    assert texts(html) == ["Name | Price", "Tea | 3 €", "a b | c", "after"]


def test_layout_tables_are_taken_apart():
    html = "<table><tr><td><p>one</p><p>two</p><table><tr><td>x<td>y</table></td></tr></table>"
    assert texts(html) == ["one", "two", "x | y"]
    long = "word " * 300
    assert texts(f"<table><tr><td><p>{long}</p><p>{long}</p></table>") == [long.strip()] * 2


def test_line_breaks():
    assert texts("<p>one<br>two<br><br>three<br> <br>four</p>") == ["one two", "three", "four"]


def test_heading_trail_and_permalink_sign():
    html = "<h1>A<a href=#a>¶</a></h1><p>a</p><h2>B</h2><p>b</p><h3>C</h3><p>c</p><h2>D</h2><p>d</p>"
    assert [(block.heading, block.text) for block in page_blocks(html)] == [
        ("", "A"),
        ("A", "a"),
        ("A", "B"),
        ("A › B", "b"),
        ("A › B", "C"),
        ("A › B › C", "c"),
        ("A", "D"),
        ("A › D", "d"),
    ]


def test_what_stands_beside_the_content():
    html = """<header><h1>Site</h1></header><nav><a href=/>Home</a></nav><article><header><h2>Title</h2></header><p>Body</p>
    <aside>Related</aside></article><div role=navigation>More</div><footer>Foot</footer>"""
    assert [(block.text, block.in_main) for block in page_blocks(html)] == [
        ("Site", False),
        ("Home", False),
        ("Title", True),
        ("Body", True),
        ("Related", False),
        ("More", False),
        ("Foot", False),
    ]
    assert page_blocks(html)[3].heading == "Title"


def test_a_main_element_is_the_content():
    html = "<div>before</div><main><p>inside</p><nav>toc</nav></main><div>after</div>"
    assert [(block.text, block.in_main) for block in page_blocks(html)] == [
        ("before", False),
        ("inside", True),
        ("toc", False),
        ("after", False),
    ]
    assert page_blocks("<main></main><p>x</p>")[0].in_main


def test_link_density_and_depth():
    split = split_tree(LexborHTMLParser("<div><p>abcd<a href=x>efgh</a></p></div>"))
    assert (split.chars, split.link_chars, split.link_density) == (8, 4, 0.5)
    assert split.depth == 4
    assert split_tree(LexborHTMLParser("")).link_density == 0


def test_deep_nesting_and_widthless_characters():
    assert texts("<div>" * 3000 + "dee\u200bp\xa0 end") == ["deep end"]


def test_markup_that_confuses_parsers():
    assert texts("<p>kept<select><option>a<select><option>b</p><p>x</p>")[0] == "kept"
    assert "after" in texts("<p>be\x00fore</p><p>after</p>")


@given(st.text(alphabet=st.sampled_from("<>/=\"' abdhilmnoprtuvy\n&;1"), max_size=300))
def test_any_markup_gives_normal_blocks(html):
    blocks = page_blocks(html)
    assert [block.position for block in blocks] == list(range(len(blocks)))
    assert all(block.text and block.text == " ".join(block.text.split()) for block in blocks)


@given(st.lists(st.text(alphabet="abc def", min_size=1).filter(str.strip), max_size=10))
def test_paragraphs_come_back(paragraphs):
    html = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    assert texts(html) == [" ".join(paragraph.split()) for paragraph in paragraphs]
