"""Which blocks are the main content, and which extractor reads a page best.

The block model gives each block a probability; the blocks taken are those that make the expected word F1 largest. A model of the
page says what kind of page it is, and another how well each way to read it does:

    blocks       the blocks that the model takes
    markup       the blocks that the markup calls main content
    resiliparse  its main content with comments
    trafilatura  its text without comments
    seconded     the blocks that a second model takes, which sees too what resiliparse kept of each
    blended      the blocks that a third model takes, which sees what both kept

The `fast` profile chooses between the first two. `quality` chooses among all, but runs trafilatura, by far the dearest, only where a
model expects a gain. `python -m bench.train_content` makes the models and prints what they are worth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import Literal

import numpy as np
from lxml import etree
from selectolax.lexbor import LexborHTMLParser

from trawl_core.extract.blocks import Split, Surroundings
from trawl_core.extract.content.block_features import blended_features, block_features
from trawl_core.extract.content.forest import load_forest
from trawl_core.extract.content.page_features import agreement, page_features
from trawl_core.extract.content.readers import resiliparse_text, trafilatura_text_of

Profile = Literal["quality", "fast"]

BLOCKS, MARKUP, RESILIPARSE, TRAFILATURA = "blocks", "markup", "resiliparse", "trafilatura"
SECONDED, BLENDED = "seconded", "blended"
# The models of blocks, and the readers whose texts each sees.
BLOCK_MODELS: Mapping[str, tuple[str, ...]] = {BLOCKS: (), SECONDED: (RESILIPARSE,), BLENDED: (RESILIPARSE, TRAFILATURA)}
PAGE_TYPES = ("article", "collection", "documentation", "forum", "listing", "product", "service")
# It is quadratic in nesting: 5,000 levels take half a second, 20,000 ten.
MAX_RESILIPARSE_DEPTH = 2_000
# What each choice is between; the last is taken of pages that are articles for sure.
FAST = (MARKUP, BLOCKS)
CHEAP = (MARKUP, RESILIPARSE, BLOCKS, SECONDED)
QUALITY = (MARKUP, RESILIPARSE, TRAFILATURA, BLENDED)

# The probability from which on a block is taken of pages that are articles for sure, where little stands between the paragraphs, and by
# the blended model of others.
LEAST_IN_ARTICLES: Mapping[str, float] = {BLOCKS: 0.5, SECONDED: 0.6, BLENDED: 0.6}
BLENDED_LEAST = 0.5
SURELY_ARTICLE = 0.9
# How many blocks may be left out between two that are taken, and be taken too for what they are.
MAX_GAP = 12
MAX_GAP_OF_ALIKE = 2
# A page of fewer words is taken as its markup says: there is next to nothing for a model to judge by.
FEW_WORDS = 80
_BEHIND = frozenset({"pre", "tr", "td", "th", "dd"})
_BETWEEN = _BEHIND | {"dt", "li", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6"}
# Expected gain in F1 over the cheap choice from which on trafilatura is run: it is, on about 56 % of WCXB and 70 % of the articles.
LEAST_GAIN = 0.0025


@dataclass(frozen=True)
class Content:
    """Main content, a block a line; the extractor that gave it; the kind of page, one of PAGE_TYPES."""

    text: str
    extractor: str
    page_type: str


@dataclass(frozen=True)
class Page:
    """A page as the block model sees it: `features`, `probabilities` and `words` of each block, `row` those of the page."""

    split: Split
    features: np.ndarray
    words: np.ndarray
    probabilities: np.ndarray
    row: list[float]


LxmlTree = Callable[[], etree._Element | None]


def read_content(
    split: Split, tree: LexborHTMLParser, source: str, url: str, *, profile: Profile = "quality", lxml_tree: LxmlTree | None = None
) -> Content:
    """`lxml_tree` gives the tree for trafilatura; None where it can't read the page or must not."""
    features = block_features(split)
    words = words_of(split)
    page = judge(split, features, words, probabilities_of("blocks", features), tree, source, url)
    types = type_probabilities(page)
    page_type = PAGE_TYPES[int(np.argmax(types))]
    if words.sum() < FEW_WORDS:
        return Content(block_texts(page, 0.0)[MARKUP], MARKUP, page_type)
    if profile == "fast":
        text, extractor = _choose("choice-fast", FAST, page, types, block_texts(page, float(types[0])))
        return Content(text, extractor, page_type)
    texts = {**block_texts(page, float(types[0])), RESILIPARSE: resiliparse_text(source) if split.depth <= MAX_RESILIPARSE_DEPTH else ""}
    texts[SECONDED] = _second_opinion(SECONDED, page, types, texts)
    row = choice_row(page, types, {name: texts[name] for name in CHEAP})
    gain = load_forest("choice-cheap").predict(row)[0][len(CHEAP)]
    if lxml_tree is not None and gain > LEAST_GAIN and (read := lxml_tree()) is not None:
        texts[TRAFILATURA] = trafilatura_text_of(read) or ""
        texts[BLENDED] = _second_opinion(BLENDED, page, types, texts)
        text, extractor = _choose("choice-quality", QUALITY, page, types, texts)
    else:
        text, extractor = _choose("choice-cheap", CHEAP, page, types, texts)
    return Content(text, extractor, page_type)


def judge(
    split: Split, features: np.ndarray, words: np.ndarray, probabilities: np.ndarray, tree: LexborHTMLParser, source: str, url: str
) -> Page:
    chosen = best_blocks(probabilities, words)
    return Page(split, features, words, probabilities, page_features(split, features, probabilities, chosen, words, tree, source, url))


def words_of(split: Split) -> np.ndarray:
    return np.array([block.text.count(" ") + 1 for block in split.blocks], np.float64)


def probabilities_of(model: str, features: np.ndarray) -> np.ndarray:
    """(n,) probability of each block to be main content."""
    return 1 / (1 + np.exp(-load_forest(model).predict(features)[:, 0])) if len(features) else np.zeros(0)


def best_blocks(probabilities: np.ndarray, words: np.ndarray) -> np.ndarray:
    """(n,) bool: the set of blocks whose expected word F1 is the largest, by their probabilities."""
    order = np.argsort(-probabilities, kind="stable")
    taken, expected = np.cumsum(words[order]), np.cumsum((probabilities * words)[order])
    chosen = np.zeros(len(probabilities), bool)
    if len(order) and expected[-1] > 0:
        chosen[order[: int(np.argmax(2 * expected / (taken + expected[-1]))) + 1]] = True
    return chosen


def with_what_belongs(split: Split, chosen: np.ndarray) -> np.ndarray:
    """`chosen`, with the table rows, programs, list items and headings between chosen blocks, and the rows and programs right behind one;
    and with what stands between two in the same place as they do, such as a short paragraph between long ones.

    A program looks like nothing that a model of prose expects, and nobody wants the text around it without it."""
    belongs = chosen.copy()
    around = split.surroundings
    last = -1
    for at in np.flatnonzero(chosen).tolist():
        if 0 <= last < at - 1 and at - last <= MAX_GAP + 1:
            alike = at - last <= MAX_GAP_OF_ALIKE + 1 and _place(around[last]) == _place(around[at])
            for between in range(last + 1, at):
                tags = {around[at].tag} if alike and _place(around[between]) == _place(around[at]) else _BETWEEN
                belongs[between] = _may_belong(around[between], tags)
        last = at
    for at in range(1, len(belongs)):
        if not belongs[at] and belongs[at - 1]:
            belongs[at] = _may_belong(around[at], _BEHIND)
    return belongs


def _place(around: Surroundings) -> tuple[str, int, int, int, int]:
    return around.tag, around.depth, around.beside_names, around.article, around.main


def _may_belong(around: Surroundings, tags: Set[str]) -> bool:
    return around.tag in tags and not around.beside and around.link_chars <= around.chars / 2


def type_probabilities(page: Page) -> np.ndarray:
    """(len(PAGE_TYPES),) probability of each kind of page."""
    sums = load_forest("page-type").predict(np.array([page.row], np.float32))[0]
    powers = np.exp(sums - sums.max())
    return powers / powers.sum()


def block_texts(page: Page, article: float) -> dict[str, str]:
    """What the blocks alone give. `article` is the probability that the page is one."""
    in_main = np.array([block.in_main for block in page.split.blocks], bool)
    return {
        BLOCKS: taken_text(BLOCKS, page, page.probabilities, article),
        MARKUP: text_of(page.split, in_main if in_main.any() else ~in_main),
    }


def taken_text(model: str, page: Page, probabilities: np.ndarray, article: float) -> str:
    """The blocks that a model takes by the probabilities it gives them."""
    if article > SURELY_ARTICLE:
        chosen = probabilities > LEAST_IN_ARTICLES[model]
    else:
        chosen = probabilities > BLENDED_LEAST if model == BLENDED else best_blocks(probabilities, page.words)
    return text_of(page.split, with_what_belongs(page.split, chosen))


def _second_opinion(model: str, page: Page, types: np.ndarray, texts: Mapping[str, str]) -> str:
    features = blended_features(page.features, page.split, [texts[reader] for reader in BLOCK_MODELS[model]])
    return taken_text(model, page, probabilities_of(model, features), float(types[0]))


def text_of(split: Split, chosen: np.ndarray) -> str:
    """The blocks taken, one a line; preformatted ones as they were written."""
    written = split.preformatted
    return "\n".join(written.get(block.position, block.text) for block, taken in zip(split.blocks, chosen, strict=True) if taken)


def choice_row(page: Page, types: np.ndarray, texts: Mapping[str, str]) -> np.ndarray:
    """(1, features) of a page and of the texts to choose from, which must be in the order of the choice."""
    return np.array([[*page.row, *types, *agreement(texts, float(page.words.sum()))]], np.float32)


def _choose(choice: str, names: tuple[str, ...], page: Page, types: np.ndarray, texts: Mapping[str, str]) -> tuple[str, str]:
    """The best text and its extractor; one that is empty only where all are."""
    if types[0] > SURELY_ARTICLE and texts.get(names[-1]):
        return texts[names[-1]], names[-1]
    scores = load_forest(choice).predict(choice_row(page, types, {name: texts[name] for name in names}))[0][: len(names)]
    for at in np.argsort(-scores, kind="stable"):
        if texts[names[at]]:
            return texts[names[at]], names[at]
    return texts[MARKUP], MARKUP
