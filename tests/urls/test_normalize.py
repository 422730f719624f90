import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.urls.normalize import host_and_port, normalize_url, origin_of, split_url

BASE = "https://docs.example.org/guide/start.html?v=2"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("HTTP://EXAMPLE.org:80/A/../b", "http://example.org/b"),
        ("https://example.org:443", "https://example.org/"),
        ("https://example.org:8443/", "https://example.org:8443/"),
        ("http://example.org/%7Euser/%c3%a9", "http://example.org/~user/%C3%A9"),
        ("http://example.org/a#part", "http://example.org/a"),
        ("http://example.org/a?q=1#part?x", "http://example.org/a?q=1"),
        # What may name another document stays.
        ("http://www.example.org/A/", "http://www.example.org/A/"),
        ("http://example.org/?b=2&a=1&b=1", "http://example.org/?b=2&a=1&b=1"),
        ("http://example.org/?", "http://example.org/?"),
        ("http://example.org/a//b", "http://example.org/a//b"),
        ("http://example.org/a%2376", "http://example.org/a%2376"),
        ("http://example.org/x%25", "http://example.org/x%25"),
        ("http://example.org/a%2Fb", "http://example.org/a%2Fb"),
        ("http://example.org/p%3B1", "http://example.org/p%3B1"),
        # A lone percent sign neither doubles escapes nor becomes one.
        ("http://example.org/100%/%C3%A9", "http://example.org/100%/%C3%A9"),
        ("http://example.org/%%32%45", "http://example.org/%%32E"),
        ("http://example.org/%4%41", "http://example.org/%4%41"),
        # Browsers' readings.
        ("  http://example.org/a\n ", "http://example.org/a"),
        ("http://example.org\\a", "http://example.org/a"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://bücher.example/ü?ü", "http://xn--bcher-kva.example/%C3%BC?%C3%BC"),
        ("http://[2001:DB8::1]:80/", "http://[2001:db8::1]/"),
        ("http://example.org/\ud800", "http://example.org/%EF%BF%BD"),
    ],
)
def test_spelling(url: str, expected: str) -> None:
    assert normalize_url(url) == expected


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("../download/", "https://docs.example.org/download/"),
        ("../../../x", "https://docs.example.org/x"),
        ("//other.test/y", "https://other.test/y"),
        ("?page=2", "https://docs.example.org/guide/start.html?page=2"),
        ("", BASE),
        ("#top", BASE),
        ("next page.html", "https://docs.example.org/guide/next%20page.html"),
        ("./a/%2e%2e/b", "https://docs.example.org/guide/b"),
        ("javascript:void(0)", None),
        ("mailto:crawl@example.org", None),
        ("tel:+1", None),
        ("data:text/html,x", None),
    ],
)
def test_links_are_resolved(link: str, expected: str | None) -> None:
    assert normalize_url(link, BASE) == expected


@pytest.mark.parametrize(
    "url",
    [
        "",
        "docs.example.org",
        "/path",
        "ftp://example.org/",
        "http://",
        "http://a b/",
        "http://example.org:99999/",
        "http://user@example.org/",
        "http://user:secret@example.org/",
        "http://[::1%25eth0]/",
        "https://exa%00mple.org/",
    ],
)
def test_what_is_no_crawlable_url(url: str) -> None:
    assert normalize_url(url) is None


TEXT = st.text(alphabet=st.sampled_from("aZ09%/.?#&=:@;~-_ é\\|^`{}\ud800") | st.characters(), max_size=40)


@given(TEXT)
def test_normalising_twice_changes_nothing(tail: str) -> None:
    once = normalize_url("http://example.org/" + tail)
    if once is not None:
        assert normalize_url(once) == once
        assert once.isascii()
        assert "#" not in once
        assert host_and_port(once)[1] == split_url(once).url_port or 80


@given(TEXT)
def test_any_link_gives_a_url_or_none(link: str) -> None:
    found = normalize_url(link, BASE)
    assert found is None or normalize_url(found, "http://unrelated.test/") == found


def test_columns_of_captures() -> None:
    parts = split_url("https://www.shop.example.co.uk:8443/Tea/?b=2&a=1")
    assert parts.url_host_name == "www.shop.example.co.uk"
    assert parts.url_host_registered_domain == "example.co.uk"
    assert parts.url_host_tld == "uk"
    assert (parts.url_protocol, parts.url_port) == ("https", 8443)
    assert (parts.url_path, parts.url_query) == ("/Tea/", "b=2&a=1")


@pytest.mark.parametrize(
    ("url", "registered", "tld"),
    [
        ("http://example.org/", "example.org", "org"),
        ("http://www2.example.org/index.html?", "example.org", "org"),
        ("http://a.b.example.test/x", "example.test", "test"),
        ("http://localhost/", None, "localhost"),
        ("http://127.0.0.1:8080/x", "127.0.0.1", None),
        ("http://[::1]/x", "[::1]", None),
        ("http://co.uk/", None, "uk"),
    ],
)
def test_hosts(url: str, registered: str | None, tld: str | None) -> None:
    parts = split_url(url)
    assert (parts.url_host_registered_domain, parts.url_host_tld) == (registered, tld)
    assert parts.url_port == (8080 if ":8080" in url else None)


def test_origins_name_their_port() -> None:
    assert origin_of("http://example.org/a") == "http://example.org:80"
    assert origin_of("https://example.org/a?b") == "https://example.org:443"
    assert origin_of("http://[::1]:8000/") == "http://[::1]:8000"
    assert host_and_port("http://[::1]:8000/") == ("::1", 8000)
    with pytest.raises(ValueError, match="normalize_url"):
        origin_of("example.org/a")
