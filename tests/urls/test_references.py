"""References are resolved as normalize_url resolves them, whichever way they go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.urls.normalize import normalize_url
from trawl_core.urls.references import KnownLinks, References

BASES = [
    "http://site.test/",
    "http://site.test:81/dir/page.html",
    "https://site.test/a/b/?x=/y/z",
    "http://[::1]:8080/a//b",
    "http://site.test/%E2%82%AC/x",
    "http://site.test/a%",
    "http://site.test/a/b/c/d/e/f/g/h/i",
    "http://site.test",
    "http://SITE.test/a/../b",
    "http://user@site.test/a/b",
    "http://site.test/a/b#c",
]
REFERENCES = [
    "/",
    "/a",
    "/a/",
    "a",
    "a/b.html",
    "a/b/",
    "a?x=1",
    "/a?x=1&y=/z?w",
    "?x=1",
    "#",
    "#a",
    "a#b",
    "a#b#c",
    "/a//b",
    "//other.test/x",
    "a//b",
    "../a",
    "../../a?b",
    "../../../../../../../../a",
    "..//a",
    "../",
    "../../",
    "../..a",
    "../a/../b",
    "./a",
    "a/../b",
    "a/.",
    "a/..",
    ".a",
    "a.b",
    "..a",
    "a..",
    "a/.b",
    "/.",
    "/..",
    "/..a",
    "http:a",
    "https:a",
    "http://other.test/a",
    "mailto:x",
    "javascript:void(0)",
    "a:b",
    "a/b:c",
    "C:/x",
    "a%41",
    "a%zz",
    "a%",
    "?",
    "/?",
    "a?",
    "a?'x'",
    'a?"x',
    "a\\b",
    "a;b",
    "a,b",
    "a@b",
    "~a",
    "/~a/",
    "-a",
    "_a",
    "a+b",
    "a|b",
    "a^b",
    "a?a|b",
    "a?<b>",
    "a?x:y",
    "é",
    "/é",
    "a?é",
    "a{b}",
]


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("reference", [*REFERENCES, "", " a", "a ", "a b", "a\tb", "a\n", "a#b\n", "a?b\n", "a#\ud800", "a\ud800", "a\x00"])
def test_every_form(base, reference):
    assert References(base)(reference) == normalize_url(reference, base)


@given(st.sampled_from(BASES), st.text("ab1.~-_/?#%=&+;:@'\\ é\n", max_size=12))
def test_any_text(base, reference):
    assert References(base)(reference) == normalize_url(reference, base)


def test_what_is_kept_of_known_links_is_bounded():
    known = KnownLinks(lambda url: True)
    for number in range(15_000):
        folder = f"http://site.test/{number}/"
        assert known.leads_to(f"{folder}a", "a", folder)
        assert known.settled(folder)[1] == {"a"}
    assert len(known._kept) <= 20_000
