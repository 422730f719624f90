"""How good the texts of both profiles are, by models that had not seen the page; and what trafilatura reads of the same pages."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from sklearn.model_selection import GroupKFold
from trafilatura import bare_extraction

from bench import train_content
from bench.extraction_scores import article_f1, shingle_counts
from bench.train_content import FOLDS, Sample
from trawl_core.extract.content.choice import BLOCK_MODELS, BLOCKS, LEAST_GAIN

TRAFILATURA = {"trafilatura, default": {}, "trafilatura, no comments": {"include_comments": False}}


def cross_validated_scores(data: Path) -> dict[str, dict[str, float]]:
    """For each profile and each setting of trafilatura the mean word F1 on WCXB (`wcxb`) and the 4-gram F1 on the article extraction
    benchmark (`articles`), as `python -m bench.train_content` finds them: five folds, grouped by host."""
    samples = train_content.read_samples(data)
    folds = list(GroupKFold(FOLDS, shuffle=True, random_state=1).split(samples, groups=[sample.host for sample in samples]))
    probabilities = {kind: train_content.cross_validated_blocks(samples, folds, kind) for kind in BLOCK_MODELS}
    pages = train_content.judge_pages(samples, probabilities[BLOCKS])
    types = train_content.cross_validated_types(pages, folds)
    choices = train_content.read_choices(samples, pages, types, probabilities)
    picks = train_content.pick(choices, pages, types, folds)
    best, cheap, asked = picks.of["choice-quality"], picks.of["choice-cheap"], picks.expected_gain > LEAST_GAIN
    texts = {
        "quality": [
            own[one if use else other] for own, one, other, use in zip(choices.texts, best, cheap, np.asarray(asked).tolist(), strict=True)
        ],
        "fast": [own[name] for own, name in zip(choices.texts, picks.of["choice-fast"], strict=True)],
    }
    with ProcessPoolExecutor() as pool:
        read = list(pool.map(_trafilatura_texts, [sample.source for sample in samples], chunksize=8))
    for at, name in enumerate(TRAFILATURA):
        texts[name] = [own[at] for own in read]
    return {name: _scores(samples, own) for name, own in texts.items()}


def _scores(samples: list[Sample], texts: list[str]) -> dict[str, float]:
    judged = list(zip(samples, texts, strict=True))
    words = [sample.score(text) for sample, text in judged if not sample.truth.is_article_benchmark]
    counts = [shingle_counts(text, sample.truth.text) for sample, text in judged if sample.truth.is_article_benchmark]
    return {"wcxb": round(float(np.mean(words)), 4), "articles": round(article_f1(counts), 4)}


def _trafilatura_texts(source: str) -> list[str]:
    documents = [bare_extraction(source, **settings) for settings in TRAFILATURA.values()]
    return [(document.text or "") if document is not None else "" for document in documents]
