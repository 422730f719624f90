import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.warc.sniff import declared_mime, sniff_mime, types_disagree

HTML = b"<!DOCTYPE html><html><title>t</title>"


@pytest.mark.parametrize(
    ("payload", "declared", "mime"),
    [
        (HTML, "text/html; charset=utf-8", "text/html"),
        (HTML, None, "text/html"),
        (HTML, "text/plain", "text/html"),
        (HTML, "application/octet-stream", "text/html"),
        (b"\xef\xbb\xbf  \n<!-- note --> <HTML lang=en>", None, "text/html"),
        ("<html><p>x".encode("utf-16"), None, "text/html"),
        (b"just words, no tag", "text/html", "text/html"),
        (b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'/>", "application/xhtml+xml", "application/xhtml+xml"),
        (b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'/>", None, "application/xhtml+xml"),
        (b"<?xml version='1.0'?><html>", "text/html", "text/html"),
        (b'<?xml version="1.0"?>\n<rss version="2.0"></rss>', "text/xml", "application/rss+xml"),
        (b'<?xml version="1.0"?>\n<rss version="2.0"></rss>', "text/html", "application/rss+xml"),
        (b'<feed xmlns="http://www.w3.org/2005/Atom"></feed>', "application/xml", "application/atom+xml"),
        (b"<?xml version='1.0'?><!DOCTYPE rdf:RDF [<!ENTITY a 'b'>]><rdf:RDF/>", None, "application/rss+xml"),
        (b"<?xml version='1.0'?><?xml-stylesheet href='a.xsl'?><urlset/>", "text/xml", "application/xml"),
        (b"<urlset><url/></urlset>", "application/xml", "application/xml"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml", "image/svg+xml"),
        (b'{"a": [1, 2]}', "text/html", "application/json"),
        (b'{"a": [1, 2]}', "text/plain", "application/json"),
        (b' [{"@type": "Product"}]', "application/ld+json", "application/ld+json"),
        (b'{"a": "' + b"x" * 100_000 + b'"}', None, "application/json"),
        (b"{not json}", "application/json", "text/plain"),
        (b"[a] footnote", None, "text/plain"),
        (b"%PDF-1.7\n", "text/html", "application/pdf"),
        (b"\r\n junk\n%PDF-1.4\n1 0 obj\n<<>>\nendobj\n", None, "application/pdf"),
        (b"how to spell %PDF- in a text", "text/plain", "text/plain"),
        (gzip.compress(b"x", mtime=0), "text/xml", "application/gzip"),
        (b"\x89PNG\r\n\x1a\n\x00", "text/html", "image/png"),
        (b"\xff\xd8\xff\xe0\x00", None, "image/jpeg"),
        (b"GIF89a\x01", None, "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", None, "image/webp"),
        (b"BMW is two letters of a bitmap", None, "text/plain"),
        (b"ID3 is a tag format", "text/plain", "text/plain"),
        (b"a,b\n1,2\n", "text/csv", "text/csv"),
        (b"# Title\n", "text/markdown; charset=utf-8", "text/markdown"),
        (b"words", "image/png", "text/plain"),
        (b"<html><body><p>before</p>\x00<p>after</p>", None, "text/html"),
        (b"<p>bell \x07</p>", "text/html", "text/html"),
        (b"<?xml version='1.0'?><rss>\x00</rss>", None, "application/rss+xml"),
        (b"%PDF", "application/pdf", "application/pdf"),
        (b"\x00\x01\x02", None, "application/octet-stream"),
        (b"\x00\x01\x02", "application/x-thing", "application/x-thing"),
        (b"\x00\x01\x02", "text/html", "application/octet-stream"),
        (b"", "text/html; charset=x", "text/html"),
        (b"", None, "application/octet-stream"),
        (b"words", "nonsense", "text/plain"),
    ],
)
def test_content_decides(payload, declared, mime):
    assert sniff_mime(payload, declared) == mime


def test_deeply_nested_json_is_no_crash():
    assert sniff_mime(b"[" * 50_000, None) in ("text/plain", "application/json")


def test_declared_type_is_reduced_to_its_essence():
    assert declared_mime(" Text/HTML ;charset=utf-8") == "text/html"
    assert declared_mime("text/html, text/plain") is None
    assert declared_mime("") is None
    assert declared_mime(None) is None


@given(st.binary(max_size=300), st.one_of(st.none(), st.text(max_size=30)))
def test_every_payload_has_a_media_type(payload, declared):
    assert declared_mime(sniff_mime(payload, declared)) is not None


@pytest.mark.parametrize(
    ("declared", "detected", "disagree"),
    [
        ("text/html", "application/pdf", True),
        ("text/html", "application/rss+xml", True),
        ("text/plain", "text/html", True),
        ("application/json", "text/plain", True),
        ("image/png", "image/jpeg", True),
        ("text/xml", "application/rss+xml", False),
        ("application/xhtml+xml", "text/html", False),
        ("application/json", "application/ld+json", False),
        ("application/x-gzip", "application/gzip", False),
        ("text/css", "text/plain", False),
        ("application/octet-stream", "application/pdf", False),
        (None, "text/html", False),
        ("text/html", None, False),
    ],
)
def test_types_that_disagree(declared, detected, disagree):
    assert types_disagree(declared, detected) is disagree
