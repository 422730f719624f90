"""What a model sees of a whole page: its blocks as judged, how far the extractors agree, its markup, its URL, its wording."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

import numpy as np
from selectolax.lexbor import LexborHTMLParser

from trawl_core.extract.blocks import Split
from trawl_core.extract.content.block_features import OWN

_TAGS = [
    "p",
    "li",
    "a",
    "img",
    "form",
    "input",
    "table",
    "article",
    "time",
    "h1",
    "h2",
    "h3",
    "button",
    "iframe",
    "select",
    "blockquote",
    "pre",
    "video",
    "dt",
]
_WORDS = [
    "add to cart",
    "price",
    "reply",
    "posted",
    "comments",
    "review",
    "sku",
    "forum",
    "thread",
    "read more",
    "copyright",
    "joined",
    "product",
    "©",
    "author",
    "published",
    "share",
    "learn more",
    "contact",
    "view all",
    "$",
    "votes",
    "member",
]
_TYPES = (
    ("schema_article", ("article", "newsarticle", "blogposting", "report")),
    ("schema_product", ("product", "offer", "productgroup")),
    ("schema_forum", ("discussionforumposting", "qapage", "question", "answer", "comment")),
    ("schema_list", ("itemlist", "collectionpage", "searchresultspage")),
    ("schema_breadcrumbs", ("breadcrumblist",)),
)
_URL_WORDS = (
    ("url_date", r"/20\d\d/"),
    ("url_product", r"product|shop|/p/|item|dp/"),
    ("url_forum", r"forum|thread|topic|viewtopic|question|/t/|/r/"),
    ("url_list", r"categor|collection|tag|archive|list|search"),
    ("url_docs", r"doc|guide|api|reference|manual|wiki|help"),
    ("url_news", r"blog|news|article|post|story"),
)
_URL_PATTERNS = [re.compile(pattern) for _, pattern in _URL_WORDS]
_SCHEMA_TYPE = re.compile(r'"@type"\s*:\s*(\[[^\]]*\]|"[^"]*")')
_AVERAGED = ["link_share", "in_main", "punctuation", "ends_a_sentence", "short_words", "beside", "main", "article", "beside_names"]
_AVERAGED_CHOSEN = ["link_share", "punctuation", "short_words", "ends_a_sentence", "beside_names", "in_main"]

BASE = (
    [
        "log_words",
        "blocks",
        "expected_f1",
        "certainty",
        "expected_share",
        "switches",
        "switches_per_block",
        "chosen_mean",
        "chosen_largest",
        "chosen_upper_quartile",
    ]
    + [f"page_{name}" for name in _AVERAGED]
    + ["headings", "repeated"]
    + [f"chosen_{name}" for name in _AVERAGED_CHOSEN]
    + ["log_source"]
    + [f"tag_{name}" for name in _TAGS]
    + ["og_article", "og_product", *(name for name, _ in _TYPES)]
    + ["url_depth", "url_last", "url_dashes", "url_digits", "url_folder", "url_query", *(name for name, _ in _URL_WORDS)]
    + [f"says_{word}" for word in _WORDS]
)


def page_features(
    split: Split,
    features: np.ndarray,
    probabilities: np.ndarray,
    chosen: np.ndarray,
    words: np.ndarray,
    tree: LexborHTMLParser,
    source: str,
    url: str,
) -> list[float]:
    """len(BASE) numbers. `features` are the blocks', `probabilities` and `chosen` what the block model says of each, `words` its
    number of words."""
    row: list[float] = [*_judgement(probabilities, chosen, words), *_averages(features, chosen, words)]
    row.append(float(np.log1p(len(source))))
    row += [float(np.log1p(split.tags[tag])) for tag in _TAGS]
    row += _markup(tree)
    row += _address(url)
    said = "\n".join(block.text for block in split.blocks).lower()
    row += [float(np.log1p(said.count(word))) for word in _WORDS]
    return row


def agreement(texts: Mapping[str, str], page_words: float) -> list[float]:
    """Of each extractor's text the words, absolute and as a share of the page's; of each two, what each has of the other."""
    bags = [Counter(text.lower().split()) for text in texts.values()]
    sizes = [bag.total() for bag in bags]
    row = [float(np.log1p(size)) for size in sizes] + [size / (page_words + 1) for size in sizes]
    for first in range(len(bags)):
        for second in range(first + 1, len(bags)):
            shared = _shared(bags[first], bags[second])
            row += [shared / max(1, sizes[first]), shared / max(1, sizes[second])]
    return row


def agreement_names(extractors: Sequence[str]) -> list[str]:
    names = [f"log_words_{name}" for name in extractors] + [f"share_{name}" for name in extractors]
    for first, name in enumerate(extractors):
        for other in extractors[first + 1 :]:
            names += [f"{name}_in_{other}", f"{other}_in_{name}"]
    return names


def _shared(first: Counter[str], second: Counter[str]) -> int:
    if len(first) > len(second):
        first, second = second, first
    return sum(min(count, second[word]) for word, count in first.items() if word in second)


def _judgement(probabilities: np.ndarray, chosen: np.ndarray, words: np.ndarray) -> list[float]:
    total = float(words.sum()) + 1
    if not len(probabilities):
        return [float(np.log1p(total)), *([0.0] * 9)]
    expected = probabilities * words
    picked = words[chosen]
    switches = float(np.abs(np.diff(chosen.astype(int))).sum())
    return [
        float(np.log1p(total)),
        float(len(probabilities)),
        2 * float(expected[chosen].sum()) / (float(picked.sum() + expected.sum()) + 1e-9),
        float((np.abs(probabilities - 0.5) * words).sum()) / total,
        float(expected.sum()) / total,
        switches,
        switches / len(probabilities),
        float(picked.mean()) if len(picked) else 0.0,
        float(picked.max() / max(1, picked.sum())) if len(picked) else 0.0,
        float(np.percentile(picked, 75)) if len(picked) else 0.0,
    ]


def _averages(features: np.ndarray, chosen: np.ndarray, words: np.ndarray) -> list[float]:
    """Means over words, of the page and of what was chosen of it."""
    if not len(features):
        return [0.0] * (len(_AVERAGED) + 2 + len(_AVERAGED_CHOSEN))
    weights = words / max(1.0, float(words.sum()))
    row = (weights @ features[:, [OWN.index(name) for name in _AVERAGED]]).tolist()
    row += [float((features[:, OWN.index("level")] > 0).sum()), float((features[:, OWN.index("repeats")] > 1).mean())]
    weights = words * chosen / max(1.0, float((words * chosen).sum()))
    return row + (weights @ features[:, [OWN.index(name) for name in _AVERAGED_CHOSEN]]).tolist()


def _markup(tree: LexborHTMLParser) -> list[float]:
    kind = tree.css_first('meta[property="og:type"]')
    og_type = (kind.attributes.get("content") or "").lower() if kind is not None else ""
    published = tree.css_first('meta[property="article:published_time"]') is not None
    types: set[str] = set()
    for node in tree.css("script[type]"):
        if "ld+json" in (node.attributes.get("type") or "").lower():
            for found in _SCHEMA_TYPE.findall(node.text() or ""):
                types.update(_names(found))
    types.update((node.attributes.get("itemtype") or "").rpartition("/")[2].lower() for node in tree.css("[itemtype]"))
    return [
        float("article" in og_type or published),
        float("product" in og_type),
        *(float(not types.isdisjoint(names)) for _, names in _TYPES),
    ]


def _names(found: str) -> list[str]:
    try:
        value = json.loads(found)
    except ValueError:
        return []
    return [name.lower() for name in (value if isinstance(value, list) else [value]) if isinstance(name, str)]


def _address(url: str) -> list[float]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return [0.0] * (6 + len(_URL_WORDS))
    path = parts.path.lower()
    segments = [segment for segment in path.split("/") if segment]
    last = segments[-1] if segments else ""
    shape = (len(segments), len(last), last.count("-"), sum(map(str.isdigit, path)), path.endswith("/"), len(parts.query))
    return [*map(float, shape), *(float(bool(pattern.search(path))) for pattern in _URL_PATTERNS)]
