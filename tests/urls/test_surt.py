import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trawl_core.urls.normalize import normalize_url
from trawl_core.urls.surt import url_key

ID = "0123456789abcdef0123456789abcdef"


# Keys that the index tools' own canonicaliser (surt 0.3.1, as cdxj-indexer 1.5.0 calls it) gave for these URLs.
@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://example.org", "org,example)/"),
        ("https://www.example.org:443/a/b/", "org,example)/a/b"),
        ("http://www2.www.example.org/x", "org,example,www)/x"),
        ("http://wwww.example.org/", "org,example,wwww)/"),
        ("http://EXAMPLE.org/A/B?C=D&A=b", "org,example)/a/b?a=b&c=d"),
        ("http://example.org/?", "org,example)/"),
        ("http://example.org/a?a=2&a=&a&a=1", "org,example)/a?a&a=&a=1&a=2"),
        ("http://example.org//a//b/../c/./", "org,example)/a/c"),
        ("http://example.org/../a", "org,example)/../a"),
        ("http://example.org/a%20b/%7Ex/%2525?x=%20%41%c3%a9", "org,example)/a%20b/~x/%25?x=%20a%c3%a9"),
        ("http://example.org/a%25252541?%2525", "org,example)/aa?%25"),
        ("http://example.org/caf\u00e9?\u00fc=1", "org,example)/caf%c3%a9?%c3%bc=1"),
        ("http://b\u00fccher.example/x", "example,xn--bcher-kva)/x"),
        ("http://127.0.0.1:8080/x", "1,0,0,127:8080)/x"),
        ("http://3279880203/blah", "11,0,127,195)/blah"),
        ("http://1.2.3/", "3,0,2,1)/"),
        ("http://[2001:db8::1]/", "2001:db8::1)/"),
        ("http://[::1]:8080/x", "::1:8080)/x"),
        ("http://user:pass@example.org/x", "org,example)/x"),
        ("http://example.org:443/", "org,example:443)/"),
        ("ftp://example.org/file", "org,example)/file"),
        ("dns:example.org", "dns:example.org"),
        ("urn:pageinfo:https://example.org/", "urn:pageinfo:https://example.org"),
        ("urn:a//b/?Q=Z#f", "urn:a//b?q=z"),
        ("metadata://example.org/X.xml", "org,example)/x.xml"),
        ("file:///etc/x", "file:/etc/x"),
        ("example.org/x", "org,example)/x"),
        ("http:///example.org/x", "org,example)/x"),
        (" http://example.org/a\tb\n", "org,example)/ab"),
        ("http://example.org./", "org,example)/"),
        ("http://h.test:99999/", "http://h.test:99999/"),
        ("http://h.test:8a/x", "http://h.test:8a/x"),
        ("", "-"),
        (f"http://example.org/page?jsessionid={ID}&x=1", "org,example)/page?x=1"),
        (f"http://example.org/page?x=1&PHPSESSID={ID}&y=2", "org,example)/page?x=1&y=2"),
        (f"http://example.org/page?x=y&sid={ID}", "org,example)/page?&x=y"),
        ("http://example.org/page?ASPSESSIONIDAQBSDSRT=EOHBLBDDPFCLHKPGGKLILNAM", "org,example)/page"),
        ("http://example.org/page?CFID=11&CFTOKEN=48&d=1", "org,example)/page?d=1"),
        ("http://example.org/(S(4hqa0555fwsecu455xqckv45))/mileg.aspx", "org,example)/mileg.aspx"),
        ("http://example.org/(4hqa0555fwsecu455xqckv45)/mileg.aspx", "org,example)/mileg.aspx"),
        (f"http://example.org/page?sid={ID}0", f"org,example)/page?sid={ID}0"),
    ],
)
def test_keys_are_those_of_the_index_tools(url, key):
    assert url_key(url) == key


@settings(deadline=None)
@given(st.text())
def test_any_text_has_a_key(text):
    key = url_key(text)
    assert key == text or (" " not in key and "\n" not in key)


@pytest.mark.parametrize(
    "url",
    [
        "http://" + "9" * 5000 + "/",
        "http://h.test:" + "9" * 5000 + "/",
        "http://h.test/" + "%25" * 300_000,
        "http://h.test/%" + "25" * 300_000 + "41",
        "http://h.test/?" + "cfid=" * 100_000 + "&cftoken=&",
        "http://h.test/" + "(0123456789abcdefghijklmn)/" * 20_000,
        "http://" + "a." * 100_000 + "/" + "../" * 100_000,
        "http://h.test/?" + "&" * 500_000,
    ],
)
def test_what_a_hostile_archive_holds_has_a_key_soon(url):
    assert url_key(url)


SEGMENT = st.text("abcXYZ019._~-%!$'()*+;:@", max_size=8)


@settings(deadline=None)
@given(
    st.sampled_from(["http://example.org", "https://www.shop.example.co.uk:8443", "http://127.0.0.1:80"]),
    st.lists(SEGMENT, max_size=4),
    st.lists(SEGMENT, max_size=3),
)
def test_a_url_and_its_normal_form_have_one_key(origin, path, query):
    url = f"{origin}/{'/'.join(path)}{'?' if query else ''}{'&'.join(query)}"
    normal = normalize_url(url)
    # Browsers go on with dot segments where the index tools have taken empty ones out.
    if normal is not None and "//" not in url[8:] and "/." not in url:
        assert url_key(normal) == url_key(url)
