"""Which blocks are taken as main content, and what stands in for them. The shipped models are asked, so every page here is a real case."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from trawl_core.extract.blocks import split_tree
from trawl_core.extract.content.block_features import NAMES, blended_features, block_features
from trawl_core.extract.content.choice import (
    BLENDED,
    BLOCK_MODELS,
    BLOCKS,
    CHEAP,
    FAST,
    PAGE_TYPES,
    QUALITY,
    SECONDED,
    best_blocks,
    choice_row,
    judge,
    probabilities_of,
    read_content,
    type_probabilities,
    words_of,
)
from trawl_core.extract.content.forest import load_forest
from trawl_core.extract.content.page_features import BASE, agreement_names
from trawl_core.extract.content.readers import lxml_tree, resiliparse_text, trafilatura_text
from trawl_core.extract.html import extract_html

PROSE = "The ferry leaves at ten from the eastern pier, and comes back before the tide turns, as it has done for sixty years. "
NAV = "<nav class=menu>" + "".join(f"<a href=/{name}>{name}</a> " for name in ("Home", "News", "Boats", "Prices", "Contact")) + "</nav>"
FOOT = "<div class=footer>© Harbour office <a href=/imprint>Imprint</a> <a href=/privacy>Privacy</a></div>"
ARTICLE = f"""<html><head><title>The last ferry</title><meta property="og:type" content="article"></head><body>{NAV}
<article class=post><h1>The last ferry</h1>{"".join(f"<p>{PROSE}{number}</p>" for number in range(12))}</article>
<div class=sidebar><h3>Related</h3><ul><li><a href=/a>Another story</a><li><a href=/b>More of it</a></ul></div>{FOOT}</body></html>"""


def read(html: str, url: str = "http://site.test/news/2026/the-last-ferry", **options):
    return extract_html(html.encode(), url, "text/html; charset=utf-8", **options)


@pytest.mark.parametrize("profile", ["quality", "fast"])
def test_an_article_is_its_paragraphs(profile):
    page = read(ARTICLE, profile=profile)
    assert page.text.count("The ferry leaves") == 12
    for beside in ("Imprint", "Another story", "Prices"):
        assert beside not in page.text
    assert (page.predicted_type, page.page_type) == ("article", "article")


@pytest.mark.parametrize("profile", ["quality", "fast"])
def test_a_table_of_goods_is_kept(profile):
    rows = "".join(f"<li><a href='/p{number}'>Teapot number {number}</a> <span>{number}.00</span></li>" for number in range(80))
    page = read(f"<html><body>{NAV}<main><h1>Teapots</h1><ul>{rows}</ul></main>{FOOT}</body></html>", profile=profile)
    assert "Teapot number 79" in page.text
    assert "Imprint" not in page.text


def test_the_fast_profile_does_not_ask_the_slow_readers(monkeypatch):
    for reader in ("resiliparse_text", "trafilatura_text_of"):
        monkeypatch.setattr(f"trawl_core.extract.content.choice.{reader}", lambda *_: pytest.fail("asked"))
    assert read(ARTICLE, profile="fast").extractor in FAST
    with pytest.raises(pytest.fail.Exception):
        read(ARTICLE)


def test_without_a_second_tree_trafilatura_is_not_asked():
    tree = LexborHTMLParser(ARTICLE)
    content = read_content(split_tree(tree), tree, ARTICLE, "http://site.test/", lxml_tree=lambda: None)
    assert content.extractor in CHEAP
    assert PROSE.strip() in content.text


@pytest.mark.parametrize("profile", ["quality", "fast"])
def test_a_page_of_navigation_alone_still_has_its_text(profile):
    page = read(f"<html><body>{NAV}</body></html>", profile=profile)
    assert "Boats" in page.text
    assert page.extract_status == "ok"


@pytest.mark.parametrize("profile", ["quality", "fast"])
def test_a_short_paragraph_between_long_ones_is_kept(profile):
    long = f"<p>{PROSE * 3}</p>"
    page = read(
        f"<html><body><article>{long}<p>Use <code>pip install zebra</code> to install.</p>{long}</article></body></html>", profile=profile
    )
    assert page.text.count("Use pip install zebra to install.") == 1


@pytest.mark.parametrize("profile", ["quality", "fast"])
def test_a_page_of_few_words_is_kept_whole(profile):
    page = read(
        "<html><body><h1>SHOP</h1><p>Beware of copies.</p><u><strong>PRESS HERE FOR <a href=/f>THE FORM</a></strong></u></body></html>",
        profile=profile,
    )
    assert page.text.split("\n") == ["SHOP", "Beware of copies.", "PRESS HERE FOR THE FORM"]


def test_a_page_without_text_has_no_type():
    page = read("<html><body></body></html>")
    assert (page.page_type, page.predicted_type, page.text) == ("html", None, "")


def test_models_fit_what_they_are_given():
    page = _judged(ARTICLE)
    texts = dict.fromkeys((*QUALITY, *CHEAP, *FAST), PROSE)
    types = type_probabilities(page)
    assert types.shape == (len(PAGE_TYPES),) and types.sum() == pytest.approx(1)
    assert len(page.row) == len(BASE)
    for model, names in (("choice-fast", FAST), ("choice-cheap", CHEAP), ("choice-quality", QUALITY)):
        row = choice_row(page, types, {name: texts[name] for name in names})
        assert row.shape == (1, len(BASE) + len(PAGE_TYPES) + len(agreement_names(names)))
        forest = load_forest(model)
        assert forest.names[: len(names)] == names
        assert forest.feature.max() < row.shape[1]
    assert load_forest("choice-cheap").names[-1] == "gain_of_trafilatura"
    assert load_forest("page-type").names == PAGE_TYPES
    for model, readers in BLOCK_MODELS.items():
        assert load_forest(model).feature.max() < len(NAMES) + 3 * len(readers)
    assert (FAST[-1], CHEAP[-1], QUALITY[-1]) == (BLOCKS, SECONDED, BLENDED)


def test_a_forest_says_what_its_trees_say_one_by_one():
    features = _judged(ARTICLE).features
    forest = load_forest("blocks")
    for row, said in zip(features, forest.predict(features)[:, 0], strict=True):
        total = 0.0
        for root in forest.roots:
            node = root
            while forest.left[node] != node:
                node = forest.left[node] if row[forest.feature[node]] <= forest.threshold[node] else forest.right[node]
            total += forest.value[node]
        assert said == pytest.approx(total)


def test_blended_features_say_what_each_reader_kept():
    split = split_tree(LexborHTMLParser(ARTICLE))
    kept = blended_features(block_features(split), split, ["", "\n".join(block.text for block in split.blocks)])
    own = kept[:, len(NAMES) :]
    assert own.shape[1] == 6
    assert (own[:, 0] == 0).all() and (own[:, 1] == 1).all()
    assert own[0, 3] == own[-1, 5] == -1


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(1, 500)), max_size=40),
)
def test_the_blocks_taken_are_the_likeliest_and_no_other_number_of_them_is_better(pairs):
    probabilities, words = np.array([pair[0] for pair in pairs]), np.array([float(pair[1]) for pair in pairs])
    chosen = best_blocks(probabilities, words)
    if not pairs or probabilities.sum() == 0:
        assert not chosen.any()
        return
    assert probabilities[chosen].min() >= probabilities[~chosen].max(initial=0)

    def expected_f1(taken):
        return 2 * (probabilities * words)[taken].sum() / (words[taken].sum() + (probabilities * words).sum())

    order = np.argsort(-probabilities, kind="stable")
    assert expected_f1(np.flatnonzero(chosen)) == pytest.approx(max(expected_f1(order[: size + 1]) for size in range(len(order))))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "<p>",
                "</p>",
                "<div class=nav>",
                "</div>",
                "<pre>",
                "<a href=x>",
                "</a>",
                "text ",
                "Ж",
                "𝔘 ",
                "1,5. ",
                "<tr><td>",
                "\u2028",
                " \n",
            ]
        ),
        max_size=60,
    )
)
def test_features_are_finite_for_any_markup(parts):
    split = split_tree(LexborHTMLParser("<body>" + "".join(parts)))
    features = block_features(split)
    assert features.shape == (len(split.blocks), len(NAMES))
    assert np.isfinite(features).all()
    assert len(split.surroundings) == len(split.blocks)


def test_words_and_signs_are_counted_per_block():
    split = split_tree(LexborHTMLParser("<p>Two Words.</p><p>One, 2 and 3: go!</p><p>日本語</p>"))
    features = block_features(split)
    column = {name: features[:, at] for at, name in enumerate(NAMES)}
    assert np.expm1(column["log_words"]).round().tolist() == [2, 5, 1]
    assert (column["digits"] * [10, 17, 3]).round().tolist() == [0, 2, 0]
    assert (column["capitals"] * [10, 17, 3]).round().tolist() == [2, 1, 0]
    assert (column["punctuation"] * [2, 5, 1]).round().tolist() == [1, 3, 0]
    assert column["ends_a_sentence"].tolist() == [1, 1, 0]


def test_readers_answer_for_broken_documents():
    assert resiliparse_text("") == ""
    assert trafilatura_text("") is None
    assert lxml_tree("<!-- nothing -->") is None or trafilatura_text("<!-- nothing -->") is None


def _judged(html: str):
    tree = LexborHTMLParser(html)
    split = split_tree(tree)
    features = block_features(split)
    return judge(split, features, words_of(split), probabilities_of("blocks", features), tree, html, "http://site.test/news/a")
