"""Train the models of trawl_core.extract.content on WCXB and the article extraction benchmark, and say how good they are.

    python -m bench.train_content ../shared/data            train, print the cross-validation, write the models
    python -m bench.train_content ../shared/data --check    only the cross-validation

The folder holds `wcxb/` and `aeb/` as their README says. All figures are of pages whose host no model had seen: five folds, grouped
by host; the page models are trained on what block models of the other folds say.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import pickle
import shutil
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import lightgbm
import numpy as np
from rich.console import Console
from rich.table import Table
from selectolax.lexbor import LexborHTMLParser
from sklearn.model_selection import GroupKFold

from bench.extraction_scores import article_f1, shingle_counts, word_f1
from bench.extraction_truth import Truth, read_truth
from trawl_core.extract import blocks, charset, class_names, content, guards
from trawl_core.extract.blocks import Split, split_tree
from trawl_core.extract.charset import decode
from trawl_core.extract.content import block_features as features_of_blocks
from trawl_core.extract.content import readers
from trawl_core.extract.content.block_features import blended_features, block_features
from trawl_core.extract.content.choice import (
    BLENDED,
    BLOCK_MODELS,
    BLOCKS,
    CHEAP,
    FAST,
    LEAST_GAIN,
    PAGE_TYPES,
    QUALITY,
    RESILIPARSE,
    SECONDED,
    SURELY_ARTICLE,
    TRAFILATURA,
    Page,
    block_texts,
    choice_row,
    judge,
    taken_text,
    words_of,
)
from trawl_core.extract.content.forest import Forest
from trawl_core.extract.content.readers import resiliparse_text, trafilatura_text
from trawl_core.extract.guards import defuse

CACHE = Path(__file__).with_name(".cache") / "train_content"
_MAKE_SAMPLES = (blocks, charset, class_names, guards, features_of_blocks, readers)
FOLDS = 5
_IS_CONTENT = 0.6
# Articles of the second set count more: there are fewer of them, and its truth is stricter.
_ARTICLE_WEIGHT = 2.0
_BLOCKS = {
    "objective": "binary",
    "learning_rate": 0.1,
    "num_leaves": 24,
    "max_depth": 7,
    "min_data_in_leaf": 80,
    "feature_fraction": 0.6,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambda_l2": 5,
}
_BLOCK_TREES = 120
_PAGE = {
    "objective": "l2",
    "learning_rate": 0.05,
    "num_leaves": 6,
    "max_depth": 4,
    "min_data_in_leaf": 12,
    "feature_fraction": 0.3,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "lambda_l2": 3,
}
_PAGE_TREES = 100
_TYPE_TREES = 60
_COMMON = {"verbose": -1, "num_threads": 1, "seed": 7, "deterministic": True}


@dataclass
class Sample:
    """A page with what extractors read in it; `labels` are 1 for blocks that the truth holds."""

    truth: Truth
    source: str
    split: Split
    features: np.ndarray
    words: np.ndarray
    labels: np.ndarray
    texts: dict[str, str]

    @property
    def tree(self) -> LexborHTMLParser:
        return LexborHTMLParser(self.source)

    def seen_by(self, kind: str) -> np.ndarray:
        seen = BLOCK_MODELS[kind]
        return blended_features(self.features, self.split, [self.texts[reader] for reader in seen]) if seen else self.features

    @property
    def host(self) -> str:
        return urlsplit(self.truth.url).hostname or self.truth.name

    def score(self, text: str) -> float:
        if self.truth.is_article_benchmark:
            right, too_much, missed = shingle_counts(text, self.truth.text)
            return 2 * right / (2 * right + too_much + missed)
        return word_f1(text, self.truth.text)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.train_content", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path, help="the folder that holds wcxb/ and aeb/")
    parser.add_argument("--check", action="store_true", help="write no model")
    arguments = parser.parse_args()
    samples = read_samples(arguments.data)
    folds = list(GroupKFold(FOLDS, shuffle=True, random_state=1).split(samples, groups=[sample.host for sample in samples]))
    probabilities = {kind: cross_validated_blocks(samples, folds, kind) for kind in BLOCK_MODELS}
    pages = judge_pages(samples, probabilities[BLOCKS])
    types = cross_validated_types(pages, folds)
    choices = read_choices(samples, pages, types, probabilities)
    picks = pick(choices, pages, types, folds)
    report(samples, choices, picks, types)
    if not arguments.check:
        write_models(samples, pages, choices, picks)


def read_samples(data: Path) -> list[Sample]:
    """What is slow to make is kept under bench/.cache until the code that makes it changes."""
    code = hashlib.sha256(b"".join(Path(str(module.__file__)).read_bytes() for module in _MAKE_SAMPLES)).hexdigest()[:16]
    cache = CACHE / f"samples-{code}.pickle"
    if not cache.exists():
        shutil.rmtree(cache.parent, ignore_errors=True)
        cache.parent.mkdir(parents=True)
        with ProcessPoolExecutor() as pool:
            cache.write_bytes(pickle.dumps(list(pool.map(_sample, read_truth(data), chunksize=8))))
    return pickle.loads(cache.read_bytes())


def _sample(truth: Truth) -> Sample:
    source = defuse(decode(truth.body, None).text.replace("\x00", ""))[0]
    split = split_tree(LexborHTMLParser(source))
    texts = {RESILIPARSE: resiliparse_text(source), TRAFILATURA: trafilatura_text(source) or ""}
    return Sample(truth, source, split, block_features(split), words_of(split), _labels(split, truth.text), texts)


def _labels(split: Split, truth: str) -> np.ndarray:
    """Share of each block's word trigrams that the truth holds; blocks of one or two words as a whole."""
    words = truth.lower().split()
    known = {tuple(words[at : at + size]) for size in (1, 2, 3) for at in range(len(words) - size + 1)}
    labels = []
    for block in split.blocks:
        own = block.text.lower().split()
        size = min(3, len(own))
        grams = [tuple(own[at : at + size]) for at in range(len(own) - size + 1)] if own else []
        labels.append(sum(gram in known for gram in grams) / len(grams) if grams else 0.0)
    return (np.array(labels) > _IS_CONTENT).astype(int)


# the block model ---------------------------------------------------------------------------------------------------


def fit_blocks(samples: list[Sample], kind: str) -> lightgbm.Booster:
    """Each page counts alike, and in it each block by its words."""
    samples = [sample for sample in samples if len(sample.labels)]
    weights = [(sample.words + 1) ** 0.7 for sample in samples]
    weight = np.concatenate([own / own.sum() for own in weights])
    data = lightgbm.Dataset(
        np.vstack([sample.seen_by(kind) for sample in samples]),
        np.concatenate([sample.labels for sample in samples]),
        weight=weight * len(weight) / weight.sum(),
    )
    return lightgbm.train({**_BLOCKS, **_COMMON}, data, _BLOCK_TREES)


def cross_validated_blocks(samples: list[Sample], folds: list, kind: str) -> list[np.ndarray]:
    found: list[np.ndarray] = [np.zeros(0)] * len(samples)
    for train, test in folds:
        model = fit_blocks([samples[at] for at in train], kind)
        for at in test:
            if len(samples[at].labels):
                found[at] = np.asarray(model.predict(samples[at].seen_by(kind)))
    return found


# the page models ---------------------------------------------------------------------------------------------------

CHOICES = {"choice-fast": FAST, "choice-cheap": CHEAP, "choice-quality": QUALITY}


@dataclass
class Pages:
    """What the page models see and what they should say, of pages whose blocks were judged by models that had not seen them."""

    rows: np.ndarray
    types: np.ndarray
    weight: np.ndarray
    judged: list[Page]


def judge_pages(samples: list[Sample], probabilities: list[np.ndarray]) -> Pages:
    judged = [
        judge(sample.split, sample.features, sample.words, probability, sample.tree, sample.source, sample.truth.url)
        for sample, probability in zip(samples, probabilities, strict=True)
    ]
    types = np.array([PAGE_TYPES.index(sample.truth.page_type) for sample in samples])
    weight = np.array([_ARTICLE_WEIGHT if sample.truth.is_article_benchmark else 1.0 for sample in samples])
    return Pages(np.array([page.row for page in judged], np.float32), types, weight, judged)


def fit_types(rows: np.ndarray, types: np.ndarray) -> lightgbm.Booster:
    parameters = {**_PAGE, **_COMMON, "objective": "multiclass", "num_class": len(PAGE_TYPES), "learning_rate": 0.08}
    return lightgbm.train(parameters, lightgbm.Dataset(rows, types), _TYPE_TREES)


def cross_validated_types(pages: Pages, folds: list) -> np.ndarray:
    found = np.zeros((len(pages.types), len(PAGE_TYPES)))
    for train, test in folds:
        found[test] = np.asarray(fit_types(pages.rows[train], pages.types[train]).predict(pages.rows[test]))
    return found


@dataclass
class Choices:
    """Of each page and choice what the choice sees (`rows`), and of each extractor the text and its score."""

    rows: dict[str, np.ndarray]
    scores: dict[str, np.ndarray]
    texts: list[dict[str, str]]


def read_choices(samples: list[Sample], pages: Pages, types: np.ndarray, probabilities: dict[str, list[np.ndarray]]) -> Choices:
    rows: dict[str, list[np.ndarray]] = {choice: [] for choice in CHOICES}
    texts = []
    for at, (sample, page, own) in enumerate(zip(samples, pages.judged, types, strict=True)):
        article = float(own[0])
        opinions = {model: taken_text(model, page, probabilities[model][at], article) for model in (SECONDED, BLENDED)}
        found = {**block_texts(page, article), **sample.texts, **opinions}
        for choice, names in CHOICES.items():
            rows[choice].append(choice_row(page, own, {name: found[name] for name in names}))
        texts.append(found)
    scores = {name: np.array([sample.score(own[name]) for sample, own in zip(samples, texts, strict=True)]) for name in texts[0]}
    return Choices({choice: np.vstack(own) for choice, own in rows.items()}, scores, texts)


def fit_outputs(rows: np.ndarray, targets: np.ndarray, weight: np.ndarray) -> list[lightgbm.Booster]:
    """One model a column of `targets`."""
    return [lightgbm.train({**_PAGE, **_COMMON}, lightgbm.Dataset(rows, target, weight=weight), _PAGE_TREES) for target in targets.T]


def targets_of(choices: Choices, choice: str) -> np.ndarray:
    """Of each extractor how much better it is than the mean of those that the choice is between."""
    scores = np.stack([choices.scores[name] for name in CHOICES[choice]], axis=1)
    return scores - scores.mean(axis=1, keepdims=True)


def cross_validated(rows: np.ndarray, targets: np.ndarray, weight: np.ndarray, folds: list) -> np.ndarray:
    found = np.zeros_like(targets)
    for train, test in folds:
        models = fit_outputs(rows[train], targets[train], weight[train])
        found[test] = np.stack([np.asarray(model.predict(rows[test])) for model in models], axis=1)
    return found


@dataclass
class Picks:
    """Extractor of each page, as models choose it that had not seen the page; `gain` is that of the quality choice over the cheap one."""

    of: dict[str, list[str]]
    gain: np.ndarray
    expected_gain: np.ndarray


def pick(choices: Choices, pages: Pages, types: np.ndarray, folds: list) -> Picks:
    picks = {}
    for choice, names in CHOICES.items():
        expected = cross_validated(choices.rows[choice], targets_of(choices, choice), pages.weight, folds)
        best = [names[at] for at in np.argmax(expected, axis=1)]
        picks[choice] = [names[-1] if own[0] > SURELY_ARTICLE else name for own, name in zip(types, best, strict=True)]
    quality = picks["choice-quality"]
    gain = np.array(
        [
            choices.scores[best][at] - choices.scores[cheap][at]
            for at, (best, cheap) in enumerate(zip(quality, picks["choice-cheap"], strict=True))
        ]
    )
    expected_gain = cross_validated(choices.rows["choice-cheap"], gain[:, None], pages.weight, folds)[:, 0]
    return Picks(picks, gain, expected_gain)


def report(samples: list[Sample], choices: Choices, picks: Picks, types: np.ndarray) -> None:
    table = Table("text of", "WCXB word F1", "articles 4-gram F1", *PAGE_TYPES, "trafilatura run on WCXB, on articles")
    for name in choices.texts[0]:
        _add_row(table, name, samples, choices, [name] * len(samples))
    for choice, own in picks.of.items():
        _add_row(table, choice, samples, choices, own)
    of_articles = np.array([sample.truth.is_article_benchmark for sample in samples])
    for least in (LEAST_GAIN, *np.quantile(picks.expected_gain, (0.2, 0.3, 0.4, 0.5))):
        asked = picks.expected_gain > least
        own = [best if use else cheap for best, cheap, use in zip(picks.of["choice-quality"], picks.of["choice-cheap"], asked, strict=True)]
        _add_row(table, f"gain > {least:.4f}", samples, choices, own, f"{asked[~of_articles].mean():.0%}, {asked[of_articles].mean():.0%}")
    console = Console(width=200)
    console.print(table)
    right = [PAGE_TYPES[int(np.argmax(own))] == sample.truth.page_type for own, sample in zip(types, samples, strict=True)]
    console.print(f"page type right on {np.mean(np.array(right)[~of_articles]):.3f} of WCXB")


def _add_row(table: Table, label: str, samples: list[Sample], choices: Choices, picks: list[str], asked: str = "") -> None:
    of_type: dict[str, list[float]] = {kind: [] for kind in PAGE_TYPES}
    counts = []
    for at, (sample, name) in enumerate(zip(samples, picks, strict=True)):
        if sample.truth.is_article_benchmark:
            counts.append(shingle_counts(choices.texts[at][name], sample.truth.text))
        else:
            of_type[sample.truth.page_type].append(choices.scores[name][at])
    every = [score for scores in of_type.values() for score in scores]
    by_type = [f"{np.mean(scores):.3f}" for scores in of_type.values()]
    table.add_row(label, f"{np.mean(every):.4f}", f"{article_f1(counts):.4f}", *by_type, asked)


# writing -----------------------------------------------------------------------------------------------------------


def write_models(samples: list[Sample], pages: Pages, choices: Choices, picks: Picks) -> None:
    folder = Path(content.__file__).parent
    forests = {}
    for kind in BLOCK_MODELS:
        forests[kind] = forest_of(
            [fit_blocks(samples, kind)], ("is_content",), np.vstack([sample.seen_by(kind) for sample in samples[:20]])
        )
    for choice, names in CHOICES.items():
        targets = targets_of(choices, choice)
        outputs = names
        if choice == "choice-cheap":
            outputs, targets = (*names, "gain_of_trafilatura"), np.column_stack([targets, picks.gain])
        forests[choice] = forest_of(fit_outputs(choices.rows[choice], targets, pages.weight), outputs, choices.rows[choice])
    forests["page-type"] = forest_of([fit_types(pages.rows, pages.types)], PAGE_TYPES, pages.rows)
    for name, forest in forests.items():
        forest.save(str(folder / f"{name}.npz"))


def forest_of(models: list[lightgbm.Booster], names: tuple[str, ...], rows: np.ndarray) -> Forest:
    """The trees of one model an output, or of one model that has all outputs in turn. Says of `rows` what the models say, or raises."""
    nodes: dict[str, list[float]] = {name: [] for name in ("feature", "threshold", "left", "right", "value")}
    roots, outputs, depth = [], [], 0

    def add(node: dict, level: int) -> int:
        nonlocal depth
        depth = max(depth, level)
        at = len(nodes["feature"])
        for values in nodes.values():
            values.append(0)
        if "split_index" in node:
            assert node["decision_type"] == "<="
            nodes["feature"][at], nodes["threshold"][at] = node["split_feature"], node["threshold"]
            nodes["left"][at], nodes["right"][at] = add(node["left_child"], level + 1), add(node["right_child"], level + 1)
        else:
            nodes["left"][at] = nodes["right"][at] = at
            nodes["value"][at] = node["leaf_value"]
        return at

    for number, model in enumerate(models):
        for at, tree in enumerate(model.dump_model()["tree_info"]):
            roots.append(add(tree["tree_structure"], 0))
            outputs.append(number if len(models) > 1 else at % len(names))
    forest = Forest(
        feature=np.array(nodes["feature"], np.int16),
        threshold=np.array(nodes["threshold"], np.float64),
        left=np.array(nodes["left"], np.int32),
        right=np.array(nodes["right"], np.int32),
        value=np.array(nodes["value"], np.float64),
        roots=np.array(roots, np.int32),
        outputs=np.array(outputs, np.int16),
        names=names,
        depth=depth,
    )
    wanted = np.column_stack([np.asarray(model.predict(rows, raw_score=True)).reshape(len(rows), -1) for model in models])
    np.testing.assert_allclose(forest.predict(rows), wanted, atol=1e-6)
    return forest


if __name__ == "__main__":
    # Not main() itself: what is kept must have names that other modules find.
    importlib.import_module("bench.train_content").main()
