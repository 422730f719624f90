import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trawl_core.extract.content.choice import CHEAP
from trawl_core.extract.html import MAX_TRAFILATURA_DEPTH, extract_html
from trawl_core.extract.page import EXTRACTOR_VERSION
from trawl_core.lake.comparison import text_sha256, tokens

URL = "http://site.test/dir/page.html"
PROSE = "The ferry leaves at eight and comes back at noon, when the tide is high enough to land at the old stone pier. "
PAGE = f"""<!doctype html><html lang="en-GB"><head><title>Ferry times | Harbour office</title>
<meta name=description content="When  it sails"><meta name=author content="Ann Bee"><meta property="og:site_name" content="Harbour office">
<meta property="article:published_time" content="2024-05-06T07:08:09Z"><meta property="article:modified_time" content="2024-06-01">
<link rel=canonical href="/ferry"></head><body><nav><a href="/">Home</a> <a href="/news">News</a></nav>
<main><h1>Ferry times</h1><p>{PROSE * 3}</p><h2>Prices</h2><table><tr><td>Adult</td><td>4.50</td></tr></table>
<p>{PROSE * 2}<a href="http://other.test/" rel=nofollow>more</a></p></main><footer>Imprint</footer></body></html>"""


def test_a_whole_page():
    page = extract_html(PAGE.encode(), URL, "text/html; charset=utf-8", scope=lambda url: None if "site.test" in url else "host")
    assert (page.title, page.description, page.author, page.site_name) == ("Ferry times", "When it sails", "Ann Bee", "Harbour office")
    assert (page.date_published, page.date_modified, page.language) == ("2024-05-06", "2024-06-01", "en")
    assert (page.charset, page.charset_source, page.mime_detected, page.predicted_type) == ("utf-8", "header", "text/html", "article")
    assert (page.extract_status, page.extract_error, page.extractor_version) == ("ok", None, EXTRACTOR_VERSION)
    assert page.page_type == page.predicted_type
    assert page.canonical_hint == "http://site.test/ferry"
    assert [(heading.level, heading.text) for heading in page.headings] == [(1, "Ferry times"), (2, "Prices")]
    assert [(link.url, link.rel, link.in_scope) for link in page.outlinks] == [
        ("http://site.test/ferry", "canonical", True),
        ("http://site.test/", "", True),
        ("http://site.test/news", "", True),
        ("http://other.test/", "nofollow", False),
    ]
    lines = page.text.split("\n")
    assert PROSE.strip() in page.text
    assert "Prices" in lines
    assert "Imprint" not in page.text
    assert "" not in lines
    assert (page.text_chars, page.text_words, page.text_sha256) == (len(page.text), len(tokens(page.text)), text_sha256(page.text))
    assert page.html_bytes == len(PAGE.encode())
    assert 0 < page.link_density < 0.2
    assert not page.needs_browser
    assert "Imprint" in [block.text for block in page.blocks if not block.in_main]


def test_without_scope_links_are_not_judged():
    assert {link.in_scope for link in extract_html(PAGE.encode(), URL).outlinks} == {None}


def test_the_same_page_twice_gives_the_same(monkeypatch):
    assert [extract_html(PAGE.encode(), URL) for _ in range(6)] == [extract_html(PAGE.encode(), URL)] * 6


def test_a_bare_fragment_has_text():
    page = extract_html(b"<p>A lone sentence in a fragment without a body, which is long enough to be told.</p>", URL)
    assert page.text == "A lone sentence in a fragment without a body, which is long enough to be told."


def test_nesting_beyond_lxml_keeps_the_text():
    body = ("<div>" * (MAX_TRAFILATURA_DEPTH + 10) + f"<p>{PROSE}</p>").encode()
    page = extract_html(body, URL)
    assert (page.extractor in CHEAP, page.text) == (True, PROSE.strip())
    deeper = extract_html(("<b>" * 30_000 + f"<p>{PROSE}</p>").encode(), URL)
    assert PROSE.strip() in deeper.text


def test_a_large_page_is_read_without_trafilatura():
    page = extract_html(("<body>" + f"<p>{PROSE}</p>" * 48_000).encode(), URL)
    assert page.extractor in CHEAP
    assert page.text.count("ferry") == 48_000


def test_a_long_script_hides_nothing():
    body = (
        b"<html><body><script>var a = '"
        + b"x" * 3_000_000
        + b"';</script><h1>Heading behind</h1><p>"
        + PROSE.encode()
        + b"</p></body></html>"
    )
    page = extract_html(body, URL)
    assert [heading.text for heading in page.headings] == ["Heading behind"]
    assert PROSE.strip() in page.text


def test_null_bytes_hide_nothing():
    assert "after" in extract_html(b"<html><body><p>before</p>\x00<p>after</p></body></html>", URL).text


def test_where_trafilatura_misses_the_blocks_are_the_text():
    rows = "".join(f"<li><a href='/p{number}'>Teapot number {number}</a> <span>{number}.00</span></li>" for number in range(80))
    page = extract_html(f"<html><body><main><h1>Teapots</h1><ul>{rows}</ul></main></body></html>".encode(), URL)
    assert "Teapot number 79" in page.text
    assert page.extract_status == "ok"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "empty"),
        (b"<html><body></body></html>", "shows none"),
        (b"<html><head><title>Only a title</title></head></html>", "shows none"),
        (b"<html><body><div id=app></div><script src=a.js></script></body></html>", "scripts"),
        (b"<html><body><noscript>Please enable JavaScript</noscript><script>go()</script></body></html>", "scripts"),
    ],
)
def test_no_text_has_a_reason(body, reason):
    page = extract_html(body, URL)
    assert (page.text, page.extract_status, page.text_sha256) == ("", "empty", None)
    assert reason in page.extract_error


def test_lists_in_table_cells_are_kept():
    cells = "<tr><td>Mon</td><td><ul><li>from ten</li><li>to noon</li></ul></td></tr><tr><td>Tue</td><td><ol><li>closed</li></ol></td></tr>"
    page = extract_html(f"<html><body><main><p>{PROSE * 3}</p><table>{cells}</table><p>{PROSE * 2}</p></main></body></html>".encode(), URL)
    for word in ("Mon", "from ten", "to noon", "Tue", "closed"):
        assert word in page.text


def test_indentation_of_programs_is_kept():
    code = "def sail():\n    return tide\n\nclass Pier:\n    stone = True"
    page = extract_html(
        f"<html><body><article><h1>Code</h1><p>{PROSE * 4}</p><pre><code>{code}</code></pre></article></body></html>".encode(), URL
    )
    assert "\n    return tide\n" in page.text


@pytest.mark.parametrize(
    ("head", "body", "title"),
    [
        ("<title>Tea - Shop</title>", "<h1>Tea</h1>", "Tea"),
        ("<title>How to brew green tea | The Shop</title>", "", "How to brew green tea"),
        ('<title>x</title><meta property="og:title" content="Brewing">', "", "Brewing"),
        ("", "<h1>Only <b>heading</b>¶</h1>", "Only heading"),
        ("<title>\n A  B </title>", "<h1>Other</h1>", "A B"),
        ("", "<p>x</p>", None),
    ],
)
def test_title(head, body, title):
    assert extract_html(f"<html><head>{head}</head><body>{body}<p>{PROSE}</p></body></html>".encode(), URL).title == title


@pytest.mark.parametrize(
    ("head", "body", "published"),
    [
        ('<script type="application/ld+json">{"datePublished": "2023-02-03T10:00:00+01:00"}</script>', "", "2023-02-03"),
        ("", '<time itemprop="datePublished" datetime="2022-01-02">x</time>', "2022-01-02"),
        ("", '<script>var offer = {"expires": "2031-01-31"};</script>', None),
        ('<meta property="article:published_time" content="2023-13-45">', "", None),
        ("", "", None),
        ('<meta name="pubdate" content="Mon, 06 May 2024 07:08:09 QQT">', "", "2024-05-06"),
    ],
)
def test_dates_come_from_real_signals(head, body, published):
    page = extract_html(
        f"<html><head>{head}</head><body><article><h1>News</h1><p>{PROSE * 4}</p></article>{body}</body></html>".encode(), URL
    )
    assert page.date_published == published


@pytest.mark.parametrize(
    ("root", "text", "language"),
    [
        ("<html lang='pt-BR'>", PROSE, "pt"),
        ("<html lang=''>", PROSE * 3, "en"),
        ("<html>", "Der Fährmann fährt um acht Uhr ab und kommt am Mittag zurück, wenn das Wasser hoch genug steht. " * 3, "de"),
        ("<html>", "Паром уходит в восемь часов и возвращается в полдень, когда вода стоит высоко. " * 3, "ru"),
        ("<html>", "船は八時に出て、正午に戻ります。" * 5, "ja"),
        ("<html>", "渡轮八点出发，中午返回。" * 5, "zh"),
        ("<html>", "short", None),
    ],
)
def test_language(root, text, language):
    assert extract_html(f"{root}<meta charset=utf-8><body><p>{text}</p></body></html>".encode(), URL).language == language


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 40))
def test_mutated_pages_raise_nothing(seed, mutations):
    generator = random.Random(seed)
    body = bytearray(PAGE.encode())
    for _ in range(mutations):
        at = generator.randrange(len(body))
        body[at : at + generator.randrange(6)] = (
            generator.randbytes(generator.randrange(4)) if generator.random() < 0.5 else b"<>\"'&/="[: generator.randrange(7)]
        )
    page = extract_html(bytes(body[: generator.randrange(1, len(body))]), URL, "text/html")
    assert bool(page.text) == (page.extract_status == "ok")
    assert bool(page.text) != bool(page.extract_error)
