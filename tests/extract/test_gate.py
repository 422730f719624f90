from datetime import date

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from trawl_core.extract.blocks import block_hash, page_blocks
from trawl_core.extract.gate import Before, Lines, count_lines, is_sampled, reads_as_before, same_lines, surely_changed, text_lines
from trawl_core.extract.reread import reread_html

SITE = ["Home", "Contact"]
ALL_PAGES = 10


def lines(texts, beside=()):
    return Lines.of_rows([{"hash": block_hash(text), "in_main": text not in beside} for text in texts])


def counts(pages):
    rows = [(url, block_hash(text)) for url, texts in enumerate(pages) for text in texts]
    return count_lines(pl.DataFrame(rows, schema={"url": pl.Int64, "hash": pl.UInt64}, orient="row"))


def before(texts, text, earlier, beside=(), extractor="markup"):
    shown, in_text = lines(texts, beside), text_lines("\n".join(text))
    return Before(
        shown, earlier.common(shown.hashes) & ~pl.Series(shown.hashes).is_in(in_text.tolist()).to_numpy(), in_text, extractor, "product"
    )


def decide(old, new, old_site, new_site, text=("Tea",), beside=("Home", "Contact")):
    """Whether a page that shows `new` after `old` is the same, on a site of which all other pages show `old_site` and `new_site`."""
    earlier, tonight = (counts([shown, *[site] * (ALL_PAGES - 1)]) for shown, site in ((old, old_site), (new, new_site)))
    return same_lines(before(old, text, earlier, beside), lines(new, beside), earlier, tonight)


@pytest.mark.parametrize(
    ("old", "new", "old_site", "new_site", "same"),
    [
        (["Home", "Tea", "Release 1"], ["Home", "Tea", "Release 2"], ["Home", "Release 1"], ["Home", "Release 2"], True),
        (["Home", "Tea", "Release 1"], ["Home", "Coffee", "Release 2"], ["Home", "Release 1"], ["Home", "Release 2"], False),
        (["Home", "Tea"], ["Home", "Contact", "Tea"], SITE, SITE, True),
        (["Home", "Tea", "Green"], ["Home", "Green", "Tea"], SITE, SITE, False),
        (["Home", "Tea"], ["Home", "Tea", "Tea"], SITE, SITE, False),
        (["Home", "Tea", "In stock"], ["Home", "Tea", "Sold out"], ["In stock", "Sold out"], ["In stock", "Sold out"], False),
        (["Tea", "In stock"], ["Tea"], ["In stock"], ["In stock"], False),
        (["Home"], ["Contact"], SITE, SITE, False),
    ],
    ids=["template", "content", "beside", "order", "twice", "common on both nights", "gone here alone", "nothing of its own"],
)
def test_which_lines_make_a_page_another(old, new, old_site, new_site, same):
    assert decide(old, new, old_site, new_site) is same


def test_what_the_template_puts_into_the_text_is_content():
    old, new = ["Home", "Tea", "Green leaves."], ["Home", "Tea", "Sale until Monday!", "Green leaves."]
    assert not decide(old, new, ["Home"], ["Home", "Sale until Monday!"], text=("Tea", "Green leaves."))
    beside_it = ["Sale until Monday!", "Home", "Tea", "Green leaves."]
    assert decide(old, beside_it, ["Home"], ["Home", "Sale until Monday!"], text=("Tea", "Green leaves."))


def test_a_line_of_the_text_is_never_left_out():
    old, new = ["Tea", "Free delivery until May"], ["Tea", "Free delivery until June"]
    site = [["Free delivery until May"], ["Free delivery until June"]]
    assert decide(old, new, *site)
    assert not decide(old, new, *site, text=("Tea", "Free delivery until May"))


def test_few_pages_have_no_common_lines():
    few = counts([["Release 1"]] * 4)
    assert not few.common(lines(["Release 1"]).hashes).any()
    assert counts([["Release 1"]] * 5).common(lines(["Release 1"]).hashes).all()
    assert not counts([]).common(lines(["Release 1"]).hashes).any()


WORDS = st.sampled_from(["Home", "Contact", "Release 1", "Release 2", "Tea", "Coffee", "Sold out", "In stock"])
PAGE = st.lists(WORDS, max_size=6)


@given(PAGE, PAGE, PAGE, PAGE, PAGE, st.sets(WORDS))
def test_what_is_decided_before_all_pages_are_known_holds(old, new, old_site, new_site, text, beside):
    earlier, tonight = counts([old, *[old_site] * 6]), counts([new, *[new_site] * 6])
    then, now = before(old, text, earlier, beside), lines(new, beside)
    same = same_lines(then, now, earlier, tonight)
    assert not (same and surely_changed(then, now))
    assert same or old != new


@given(PAGE, PAGE, PAGE, st.sets(WORDS))
def test_another_order_or_number_of_own_lines_is_a_change(old, new, site, beside):
    earlier, tonight = counts([old, *[site] * 6]), counts([new, *[site] * 6])
    own = [[text for text in page if text not in site] for page in (old, new)]
    assume(own[0] != own[1])
    assert not same_lines(before(old, [], earlier, beside), lines(new, beside), earlier, tonight)


def test_the_sample_is_a_matter_of_date_and_url():
    urls = [f"https://docs.example.org/{number}" for number in range(2000)]
    chosen = {day: [url for url in urls if is_sampled(date(2026, 11, day), url, 0.1)] for day in (1, 2)}
    assert all(150 < len(found) < 250 for found in chosen.values())
    assert chosen[1] != chosen[2]
    assert not any(is_sampled(date(2026, 11, 1), url, 0.0) for url in urls)
    assert all(is_sampled(date(2026, 11, 1), url, 1.0) for url in urls)


def html(*paragraphs, title="Tea"):
    return f"<title>{title}</title><nav>Home</nav><main>{''.join(f'<p>{one}</p>' for one in paragraphs)}</main>".encode()


URL = "https://docs.example.org/tea"
LONG = [f"Paragraph {number} tells of leaves, of water and of the time that both need." for number in range(9)]


def seen(body, extractor="markup"):
    blocks = page_blocks(body.decode())
    none = counts([])
    return before([block.text for block in blocks], [], none, beside=("Home",), extractor=extractor)


@pytest.mark.parametrize("extractor", ["markup", "resiliparse"])
def test_a_changed_page_is_read_by_the_extractor_of_before(extractor):
    page, state = reread_html(html(*LONG, "Now with milk, which is new tonight."), URL, None, seen(html(*LONG), extractor), decided=False)
    assert (state, page.extractor, page.predicted_type) == ("read_as_before", extractor, "product")
    assert page.text.endswith("Now with milk, which is new tonight.")
    assert page.text_words > 100


def test_a_page_of_another_kind_or_of_a_dear_extractor_is_read_anew():
    other = html("Nothing is as it was.", "Neither here nor there.")
    assert reread_html(other, URL, None, seen(html(*LONG)))[1] == "read"
    assert reread_html(html(*LONG, "More"), URL, None, seen(html(*LONG), "trafilatura"), decided=False)[1] == "read"
    assert not reads_as_before(seen(html(*LONG), "blended"), lines(LONG))


def test_an_added_line_alone_may_be_the_template_and_a_lost_one_may_not():
    assert reread_html(html(*LONG, "More"), URL, None, seen(html(*LONG)))[1] == "open"
    assert reread_html(html(*LONG[1:]), URL, None, seen(html(*LONG)))[1] == "read_as_before"


def test_a_page_with_the_same_lines_is_not_read():
    page, state = reread_html(html(*LONG, title="Green tea"), URL, None, seen(html(*LONG)))
    assert (state, page.title, page.text, page.extract_status) == ("same", "Green tea", "", "ok")
    assert [block.text for block in page.blocks] == ["Home", *LONG]


@pytest.mark.parametrize("body", [b"", b"<" * 5000, b"<b id=1><p>" * 4000, b"\x00\xff", html(*LONG)[:200]])
@pytest.mark.parametrize("decided", [None, True, False])
def test_any_body_is_compared(body, decided):
    page, state = reread_html(body, URL, None, seen(html(*LONG)), decided=decided)
    assert page.text or page.extract_error or state in ("same", "open")
