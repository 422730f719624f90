import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trawl_core.extract.json_text import extract_json
from trawl_core.extract.router import extract_document
from trawl_core.warc.sniff import sniff_mime

URL = "http://site.test/dir/document"


def extract(body, declared=None, scope=None):
    return extract_document(body, URL, declared, mime_detected=sniff_mime(body, declared), scope=scope)


def pdf(text, info="", trailer="", stream=None):
    """A PDF of one page that shows `text`, or what `stream` draws, with a right cross-reference table."""
    if stream is None:
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET" if text else "72 72 m 100 100 l S"
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 5 0 R>>>>/Contents 4 0 R>>",
        f"<</Length {len(stream)}>>stream\n{stream}\nendstream",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        f"<<{info}>>",
    ]
    body, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj{content}endobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    return f"{body}xref\n0 7\n0000000000 65535 f \n{table}trailer<</Size 7/Root 1 0 R/Info 6 0 R{trailer}>>\nstartxref\n{len(body)}\n%%EOF".encode()


def test_pdf():
    page = extract(pdf("Harbour rules", "/Title(Rules)/Author(Ann Bee)/CreationDate(D:20240506120000Z)"), "application/pdf")
    assert (page.extractor, page.page_type, page.extract_status) == ("pypdfium2", "pdf", "ok")
    assert (page.text, page.title, page.author, page.date_published) == ("Harbour rules", "Rules", "Ann Bee", "2024-05-06")
    assert [block.text for block in page.blocks] == ["Harbour rules"]
    assert page.page_count == 1


def test_pdf_without_text_broken_and_encrypted():
    drawn = extract(pdf(""), "application/pdf")
    assert (drawn.extract_status, drawn.text) == ("empty", "")
    assert "hold none" in drawn.extract_error
    image = "q 200 0 0 200 72 400 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x7f EI Q"
    scanned = extract(pdf("", stream=image), "application/pdf")
    assert scanned.extract_status == "empty" and "scanned" in scanned.extract_error
    broken = extract(b"%PDF-1.7\nnothing of the kind")
    assert (broken.extract_status, broken.page_type) == ("broken", "pdf")
    key = "00" * 32
    encrypted = pdf("secret", trailer=f"/ID[<00><00>]/Encrypt<</Filter/Standard/V 1/R 2/O<{key}>/U<{key}>/P -4>>")
    assert extract(encrypted).extract_status == "encrypted"


def test_json_leaves_have_paths():
    body = b'{"title": "Tide table", "rows": [{"at": "noon", "m": 3}, "x"], "self": "http://site.test/b", "empty": ""}'
    page = extract(body, "application/json", scope=lambda url: None)
    assert page.text.split("\n") == ["title: Tide table", "rows[0].at: noon", "rows[1]: x", "self: http://site.test/b"]
    assert (page.title, page.extractor, page.charset) == ("Tide table", "json", "utf-8")
    assert [(link.url, link.in_scope) for link in page.outlinks] == [("http://site.test/b", True)]


@pytest.mark.parametrize(
    ("written", "day"),
    [("D:20240506", "2024-05-06"), ("2024-05-06T10:00", "2024-05-06"), ("D:20241345", None), ("D:2024", None), ("yesterday", None)],
)
def test_pdf_dates(written, day):
    assert extract(pdf("Rules", f"/ModDate({written})")).date_modified == day


def test_json_pointers_choose_the_text():
    body = b'{"data": {"items": [{"title": "Noon", "body": "High", "href": "/a"}, {"title": "Dusk", "a/b": "x"}]}, "self": "http://site.test/b"}'

    def text(*pointers):
        return extract_json(body, URL, "application/json", "application/json", pointers=pointers).text.split("\n")

    assert text("/data/items/*/title") == ["data.items[0].title: Noon", "data.items[1].title: Dusk"]
    assert text("/data/items/0/body", "/data/items/1/a~1b") == ["data.items[0].body: High", "data.items[1].a/b: x"]
    assert text("/data/nothing", "/data/items/7", "/self/x") == text()
    assert len(text()) == 6
    page = extract_json(body, URL, None, "application/json", pointers=["/self"])
    assert [link.url for link in page.outlinks] == ["http://site.test/a", "http://site.test/b"]


def test_json_lines_lose_only_what_is_broken():
    page = extract(b'{"a": "x"}\n{"a": "y"}\n{"a": "z", "b":\n')
    assert (page.text, page.extract_status) == ("[0].a: x\n[1].a: y", "broken")
    assert "line 3" in page.extract_error
    assert page.mime_detected == "application/x-ndjson"


def test_json_lines_and_what_is_no_json():
    lines = extract_document(b'{"a": "x"}\n{"a": "y"}\n', URL, None, mime_detected="application/x-ndjson")
    assert lines.text == "[0].a: x\n[1].a: y"
    for body in (b'{"a": ', b"[" * 100_000):
        page = extract_document(body, URL, None, mime_detected="application/json")
        assert (page.extract_status, page.text) == ("broken", "")
        assert "not JSON" in page.extract_error
    assert extract(b"[1, 2]", "application/json").extract_status == "empty"


RSS = b"""<?xml version="1.0"?><rss version="2.0"><channel><title>Harbour news</title><description>All of it</description><language>en-gb</language>
<item><title>Ferry late</title><link>/late</link><description>&lt;p&gt;It was &lt;b&gt;fog&lt;/b&gt;.&lt;/p&gt;</description></item>
<item><title>Pier open</title><link>http://site.test/open</link></item></channel></rss>"""


def test_rss():
    page = extract(RSS, "application/rss+xml", scope=lambda url: None)
    assert (page.page_type, page.extractor, page.title, page.language) == ("feed", "feed", "Harbour news", "en")
    assert page.text.split("\n") == ["Harbour news", "All of it", "Ferry late", "It was fog.", "Pier open"]
    assert [(link.url, link.text) for link in page.outlinks] == [
        ("http://site.test/late", "Ferry late"),
        ("http://site.test/open", "Pier open"),
    ]


def test_atom_and_an_empty_feed():
    atom = b'<feed xmlns="http://www.w3.org/2005/Atom"><title>A</title><entry><title>E</title><content type="html">&lt;i&gt;x&lt;/i&gt;</content></entry></feed>'
    assert extract(atom).text.split("\n") == ["A", "E", "x"]
    assert extract(b'<rss version="2.0"><channel></channel></rss>').extract_status == "empty"


def test_xml_text_and_entities():
    page = extract(b"<?xml version='1.0'?><menu><dish>Soup</dish><!-- no --><dish>Bread &amp; oil</dish></menu>", "application/xml")
    assert (page.page_type, page.text) == ("xml", "Soup\nBread & oil")
    bomb = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY f SYSTEM "file:///etc/hostname"><!ENTITY b "bbbb">]><a>x &f; &b;</a>'
    assert extract(bomb, "application/xml").text == "x\n&f;\n&b;"
    assert extract_document(b"   ", URL, None, mime_detected="application/xml").extract_status == "broken"


def test_a_sitemap_is_its_urls():
    body = b"""<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
    <url><loc>http://site.test/a</loc><lastmod>2024-05-06</lastmod><priority>0.5</priority></url><url><loc>/b</loc></url></urlset>"""
    page = extract(body, "text/xml", scope=lambda url: None)
    assert page.text == "http://site.test/a 2024-05-06T00:00:00Z\nhttp://site.test/b"
    assert [(link.url, link.in_scope) for link in page.outlinks] == [("http://site.test/a", True), ("http://site.test/b", True)]
    assert (page.page_type, page.extractor, page.charset) == ("xml", "sitemap", "utf-8")
    assert extract(b"<sitemapindex></sitemapindex>", "text/xml").extract_status == "empty"


def test_plain_text_keeps_its_lines():
    page = extract("One “quoted” line\n\n  two\n".encode("cp1252"), "text/plain; charset=iso-8859-1")
    assert (page.text, page.page_type, page.charset) == ("One “quoted” line\ntwo", "text", "windows-1252")
    assert [block.position for block in page.blocks] == [0, 1]


@pytest.mark.parametrize(
    ("body", "declared", "status"),
    [
        (b"", "text/html", "empty"),
        (b"\x89PNG\r\n\x1a\n....", "text/html", "unsupported"),
        (b"PK\x03\x04....", None, "unsupported"),
        (b" \n ", "text/plain", "empty"),
    ],
)
def test_what_gives_no_text_says_why(body, declared, status):
    page = extract(body, declared)
    assert (page.extract_status, page.text, page.html_bytes) == (status, "", len(body))
    assert page.extract_error


def test_content_wins_over_the_declared_type():
    assert extract(b"<!doctype html><p>Sent as text", "text/plain").mime_detected == "text/html"
    assert extract(pdf("Sent as HTML"), "text/html").text == "Sent as HTML"
    assert extract(RSS, "text/html").page_type == "feed"


@settings(deadline=None)  # the first page loads models
@given(
    st.binary(max_size=200),
    st.sampled_from(
        ["text/html", "application/pdf", "application/json", "application/xml", "application/rss+xml", "text/plain", "image/png"]
    ),
)
def test_any_bytes_as_any_type_give_a_page(body, mime):
    page = extract_document(body, URL, None, mime_detected=mime)
    assert page.text or page.extract_status != "ok"
    assert (page.extract_status == "ok") == (page.extract_error is None)


def test_a_gzip_file_is_what_it_holds():
    urls = gzip.compress(b"https://site.test/a\nhttps://site.test/b\n")
    page = extract(urls, "application/gzip")
    assert (page.text, page.page_type, page.mime_detected) == ("https://site.test/a\nhttps://site.test/b", "text", "application/gzip")
    sitemap = gzip.compress(b"<urlset><url><loc>http://site.test/a</loc></url></urlset>") + b"plain bytes behind it"
    assert extract(sitemap, "application/xml").text == "http://site.test/a"
    assert extract(gzip.compress(gzip.compress(b"<p>twice</p>"))).text == "twice"
    for bad, status, reason in (
        (gzip.compress(b"\x89PNG\r\n\x1a\n...."), "unsupported", "image/png"),
        (gzip.compress(gzip.compress(gzip.compress(gzip.compress(b"x")))), "unsupported", "inside"),
        (gzip.compress(RSS)[:-20], "broken", "not read whole"),
    ):
        page = extract(bad)
        assert page.extract_status == status and reason in page.extract_error
    assert page.text.startswith("Harbour news")


@pytest.mark.parametrize(
    ("stream", "text"),
    [
        ("BT /F1 12 Tf 72 720 Td (Before image) Tj ET BI /W 4 /H 4 /CS /G /BPC 8 ID 0123456789", "Before image"),
        ("BT /F1 12 Tf 72 720 Td [(This)-400(chapter)-400(deals)-400(with)-400(tides)] TJ ET", "This chapter deals with tides"),
        ("BT /F1 12 Tf 3 Tc 72 720 Td (Postal service) Tj ET", "Postal service"),
        (
            "q 1 0 0 1 72 700 cm BT /F1 12 Tf 1 0 0 1 0 0 Tm (North mill) Tj 1 0 0 1 0 -20 Tm (Second line) Tj ET Q",
            "North mill\nSecond line",
        ),
    ],
)
def test_pdf_of_odd_make(stream, text):
    page = extract(pdf("", stream=stream), "application/pdf")
    assert (page.text, page.extract_status) == (text, "ok")


def test_a_pdf_whose_tables_lead_to_themselves_and_one_that_is_cut():
    looped = pdf("Loop test")
    place = int(looped.rsplit(b"startxref\n", 1)[1].split()[0])
    assert extract(looped.replace(b"/Info 6 0 R", b"/Info 6 0 R/Prev %d" % place), "application/pdf").text == "Loop test"
    for cut in (4, 9, 200):
        page = extract(looped[:cut], "application/pdf")
        assert (page.extract_status, page.text, page.page_type) == ("broken", "", "pdf")
