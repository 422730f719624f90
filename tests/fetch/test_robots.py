import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.fetch.robots import MAX_BYTES, MAX_LINE_BYTES, RobotsRules, robots_verdict

US = "TrawlBot"
HOST = "https://site.test"


def allowed(robots: str | bytes, path: str, token: str = US) -> bool:
    body = robots.encode() if isinstance(robots, str) else robots
    return RobotsRules.parse(body, token).allowed(HOST + path)


# What a group of lines says to us about a path.
GROUPS = [
    ("", "/a", True),
    ("User-agent: TrawlBot\nDisallow: /", "/a", False),
    ("User-agent: Other\nDisallow: /", "/a", True),
    ("User-agent: *\nDisallow: /", "/a", False),
    ("user-agent: TRAWLBOT\ndisallow: /", "/a", False),
    # Our own group replaces `*`, even when it holds nothing.
    ("User-agent: *\nDisallow: /\nUser-agent: TrawlBot\nDisallow: /x", "/a", True),
    ("User-agent: TrawlBot\nDisallow:\nUser-agent: *\nDisallow: /", "/a", True),
    ("User-agent: TrawlBot\nDisallow: /x\nUser-agent: *\nDisallow: /", "/x", False),
    # Groups of one token are one group.
    ("User-agent: TrawlBot\nDisallow: /a\nUser-agent: Q\nDisallow: /\nUser-agent: TrawlBot\nDisallow: /b", "/b", False),
    ("User-agent: *\nDisallow: /a\nUser-agent: Q\nDisallow: /q\nUser-agent: *\nDisallow: /b", "/a", False),
    ("User-agent: *\nDisallow: /a\nUser-agent: Q\nDisallow: /q\nUser-agent: *\nDisallow: /b", "/q", True),
    ("User-agent: Q\nUser-agent: TrawlBot\nDisallow: /", "/a", False),
    # The whole token counts: neither its beginning nor a longer name.
    ("User-agent: Trawl\nDisallow: /", "/a", True),
    ("User-agent: TrawlBot-News\nDisallow: /", "/a", True),
    ("User-agent: MyTrawlBot\nDisallow: /", "/a", True),
    ("User-agent: TrawlBot/2.1\nDisallow: /", "/a", False),
    ("User-agent: TrawlBot and friends\nDisallow: /", "/a", False),
    ("User-agent: * # all\nDisallow: /", "/a", False),
    # Rules before any group belong to nobody.
    ("Disallow: /\nUser-agent: TrawlBot\nAllow: /a", "/b", True),
    # Only rules end the list of agents.
    ("User-agent: Q\nSitemap: https://site.test/s.xml\nUser-agent: *\nDisallow: /", "/a", False),
    ("User-agent: TrawlBot\nSomething: else\nUser-agent: *\nDisallow: /", "/a", False),
    ("User-agent: TrawlBot\nCrawl-delay: 5\nUser-agent: Q\nDisallow: /a", "/a", False),
    ("User-agent: TrawlBot\n\nDisallow: /a\n\nDisallow: /b", "/b", False),
    ("User-agent: TrawlBot\nDisallow:\nUser-agent: Q\nDisallow: /", "/a", True),
]

# How lines may be spelled.
SPELLINGS = [
    (b"\xef\xbb\xbfUser-agent: *\nDisallow: /", "/a", False),
    (b"\xef\xbbUser-agent: *\nDisallow: /", "/a", False),
    (b"\xff\xfe" + "User-agent: *\nDisallow: /".encode("utf-16-le"), "/a", False),
    (b"\xfe\xff" + "User-agent: *\r\nDisallow: /".encode("utf-16-be"), "/a", False),
    (b"User-agent: *\r\nDisallow: /a\r\n", "/a", False),
    (b"User-agent: *\rDisallow: /a\r", "/a", False),
    (b"User-agent \t:\t*  \n  Disallow\t:\t/a  # why", "/a", False),
    (b"useragent: *\nDisalow: /a", "/a", False),
    (b"user agent: *\nDissallow: /a", "/a", False),
    (b"User-agent *\nDisallow /a", "/a", False),
    (b"User-agent: *\nDisallow: /a#b", "/a", False),
    (b"User-agent: *\nDisallow: /z\x00\nDisallow: /a", "/a", False),
    (b"User-agent: *\nDisallow: /z\xc2\x85Allow: /a\nDisallow: /a", "/a", False),
    (b"<html><body>User-agent: *<br>Disallow: /</body></html>", "/a", True),
    (b"\xff\xfe\x00User-agent", "/a", True),
]

# Which rule wins on a path.
PATHS = [
    ("Disallow: /dir/", "/DIR/f", True),
    ("Disallow: /trout", "/trouthead/yum.html", False),
    ("Disallow: /trout/", "/trout", True),
    ("Disallow: /\nAllow: /p", "/page", True),
    ("Allow: /d/\nDisallow: /d/leaf.html", "/d/leaf.html", False),
    ("Disallow: /d\nAllow: /d", "/d", True),
    ("Allow: /leaf\nDisallow: /*.html", "/leaf.html", False),
    ("Disallow: /*s=", "/?s=1", False),
    ("Disallow: /*s=", "/s/", True),
    ("disallow: */test", "/test", False),
    ("Disallow: *.pdf", "/x/y.pdf", False),
    ("Disallow: /a/*/c", "/a/b/b/c", False),
    ("Disallow: /*.php$", "/f.php?x", True),
    ("Disallow: /*.php$", "/d/f.php", False),
    ("Disallow: /\nAllow: /$", "/", True),
    ("Disallow: /\nAllow: /$", "/page", False),
    ("Disallow: /price$list", "/price$list/1", False),
    ("Disallow: /f%2A.html", "/f*.html", False),
    ("Disallow: /f%2A.html", "/fx.html", True),
    ("Disallow: /ツ", "/%E3%83%84", False),
    ("Disallow: /a%e3", "/a%E3", False),
    ("Disallow: /a%2Fb", "/a/b", True),
    ("Disallow: /%62%61%7A", "/baz", False),
    ("Disallow: /a?b=c&d=e$", "/a?b=c&d=e", False),
    ("Disallow: /" + "*a" * 30 + "$", "/" + "a" * 60 + "b", True),
    ("Disallow: /", "/robots.txt", True),
]


@pytest.mark.parametrize(("robots", "path", "expected"), GROUPS)
def test_the_group_that_is_ours(robots: str, path: str, expected: bool) -> None:
    assert allowed(robots, path) is expected


@pytest.mark.parametrize(("robots", "path", "expected"), SPELLINGS)
def test_spellings(robots: bytes, path: str, expected: bool) -> None:
    assert allowed(robots, path) is expected


@pytest.mark.parametrize(("rules", "path", "expected"), PATHS)
def test_paths(rules: str, path: str, expected: bool) -> None:
    assert allowed("User-agent: *\n" + rules, path) is expected


def test_a_url_without_path_is_the_root() -> None:
    rules = RobotsRules.parse(b"User-agent: *\nDisallow: /$", US)
    assert not rules.allowed(HOST)
    assert rules.allowed(HOST + "?q")


def test_a_line_is_cut_at_its_cap() -> None:
    path = "/" + "a" * MAX_LINE_BYTES
    assert not allowed(f"User-agent: *\nDisallow: {path}", path)
    kept = MAX_LINE_BYTES - len("Disallow: ")
    assert not allowed(f"User-agent: *\nDisallow: {path}", path[:kept] + "bbb")
    assert allowed(f"User-agent: *\nDisallow: {path}", path[: kept - 1] + "bbb")


def test_the_file_is_cut_at_its_cap_and_half_a_line_is_no_rule() -> None:
    head = "User-agent: *\nDisallow: /first\n"
    filler = "#" * (MAX_BYTES - len(head) - len("\nDisallow: /p")) + "\n"
    body = head + filler + "Disallow: /private\n"
    assert not allowed(body, "/first")
    assert allowed(body, "/page")
    assert allowed(body, "/private")


def test_crawl_delay_of_our_group_and_sitemaps_of_the_file() -> None:
    body = (
        b"Sitemap: https://site.test/a.xml\nUser-agent: *\nCrawl-delay: 30\nDisallow: /x\nUser-agent: TrawlBot\nCrawl-delay: 2.5\n"
        b"Crawl-delay: nan\nCrawl-delay: -1\nDisallow: /y\nSITEMAP:https://site.test/b.xml # b\nSitemap https://site.test/c.xml\n"
        b"Sitemap: https://site.test/a.xml\nSitemap:\n"
    )
    rules = RobotsRules.parse(body, US)
    assert rules.crawl_delay_s == 2.5
    assert rules.sitemaps == ("https://site.test/a.xml", "https://site.test/b.xml", "https://site.test/c.xml")
    assert RobotsRules.parse(body, "Other").crawl_delay_s == 30
    assert RobotsRules.parse(b"", US).crawl_delay_s is None


def test_the_two_rules_without_a_file() -> None:
    assert RobotsRules.allow_all().allowed(HOST + "/a")
    assert not RobotsRules.disallow_all().allowed(HOST + "/a")


@pytest.mark.parametrize(
    ("status", "verdict"),
    [(200, "parse"), (204, "parse"), (404, "allow"), (401, "allow"), (403, "allow"), (410, "allow"), (302, "allow")],
)
def test_an_answer_about_rules(status: int, verdict: str) -> None:
    assert robots_verdict(status) == verdict


@pytest.mark.parametrize("status", [None, 101, 304, 429, 500, 503, 599])
def test_no_answer_about_rules(status: int | None) -> None:
    assert robots_verdict(status) == "unavailable"


LINES = st.lists(
    st.sampled_from(["User-agent: *", "User-agent: TrawlBot", "Disallow: /a", "Allow: /a/b", "X: y", "", "Disallow:", "\u2028"])
)


@given(st.binary(max_size=200) | LINES.map(lambda lines: "\n".join(lines).encode()))
def test_any_bytes_give_rules(body: bytes) -> None:
    rules = RobotsRules.parse(body, US)
    assert rules.allowed(HOST + "/robots.txt")
    assert isinstance(rules.allowed(HOST + "/a/b?c"), bool)


@given(LINES)
def test_unknown_lines_and_comments_change_nothing(lines: list[str]) -> None:
    noisy = [part for line in lines for part in (line, "Host: site.test", "# Disallow: /", "Request-rate: 1/5")]
    for path in ("/a", "/a/b", "/c"):
        assert allowed("\n".join(lines), path) == allowed("\n".join(noisy), path)
