import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.extract.srcset import srcset_urls


@pytest.mark.parametrize(
    ("value", "urls"),
    [
        ("", []),
        ("a.png", ["a.png"]),
        ("a.png 1x, b.png 2x", ["a.png", "b.png"]),
        ("a.png 320w,b.png 640w", ["a.png", "b.png"]),
        ("a.png,b.png 2x", ["a.png,b.png"]),
        ("a.png, b.png 2x", ["a.png", "b.png"]),
        ("a.png,,, b.png", ["a.png", "b.png"]),
        (" \t,, ,a.png\n1.5x\f,\r", ["a.png"]),
        ("/w=1,h=2/a.png 1x, /w=2,h=4/a.png 2x", ["/w=1,h=2/a.png", "/w=2,h=4/a.png"]),
        ("data:image/png;base64,AA,BB 1x, b 2x", ["data:image/png;base64,AA,BB", "b"]),
        ("a 100w 50h, b 50h 100w, c 50h", ["a", "b"]),
        ("a 0w, b -1x, c 0x, d -0x, e .5x, f 1e3x, g 5.x, h +1x", ["c", "d", "e", "f"]),
        ("a 1x 2x, b 1w 1x, c 1w 2w, d 1x 1h, e 1W, f 1q, g x", []),
        ("a 1x (, b 2x), c 2x", ["c"]),
        ("a (b, c 2x", []),
        ("a 000w, b 007w", ["b"]),
        ("a 1w , b 2w ,", ["a", "b"]),
        ("\x0ba 1x", ["\x0ba"]),
        (",,,,", []),
    ],
)
def test_candidates_are_those_of_a_browser(value, urls):
    assert list(srcset_urls(value)) == urls


@given(st.text(" \t,()a1xwh.-e", max_size=60))
def test_any_value_gives_urls_without_space_or_outer_comma(value):
    for url in srcset_urls(value):
        assert url
        assert url == url.strip(" \t,")
        assert url in value


@given(st.lists(st.tuples(st.text("abc/?=&._", min_size=1, max_size=8), st.sampled_from(["", " 2x", " 10w", " 10w 5h"])), max_size=5))
def test_what_is_written_is_read(candidates):
    assert list(srcset_urls(", ".join(url + descriptor for url, descriptor in candidates))) == [url for url, _ in candidates]


@pytest.mark.parametrize(
    "value", ["," * 400_000, "a " + "(" * 400_000, "a (" + "," * 400_000, "a " + "1" * 400_000 + "w", "a 1x," * 80_000]
)
def test_what_a_hostile_page_writes_is_read_soon(value):
    assert len(list(srcset_urls(value))) in (0, 1, 80_000)
