"""Decision trees as flat arrays, evaluated with numpy: what `bench.train_content` writes and extraction reads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import NamedTuple

import numpy as np

_NODE_ARRAYS = ("feature", "threshold", "left", "right", "value", "roots", "outputs")
_ROWS_AT_ONCE = 256
"""So that what is looked up for them stays in the processor's cache."""


class _Complete(NamedTuple):
    """The trees filled up to one depth: node `i` of a level has the children `2i` and `2i + 1` on the next, the trees of a level stand
    one behind the other. Per level feature and threshold, of the last one the values."""

    features: list[np.ndarray]
    thresholds: list[np.ndarray]
    values: np.ndarray


@dataclass(frozen=True)
class Forest:
    """Additive trees with one or more outputs.

    Node `i` sends a row to `left[i]` when its `feature[i]` is at most `threshold[i]`, else to `right[i]`; a leaf leads to itself and
    holds `value[i]`. Tree `t` starts at `roots[t]` and adds to output `outputs[t]`. `names` are those of the outputs.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    roots: np.ndarray
    outputs: np.ndarray
    names: tuple[str, ...]
    depth: int

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """(n, features) float32 → (n, outputs) float64: the sums of the trees' leaves."""
        parts = [self._leaves(rows[start : start + _ROWS_AT_ONCE]) for start in range(0, len(rows), _ROWS_AT_ONCE)]
        leaves = np.concatenate(parts) if parts else np.zeros((0, len(self.roots)))
        if len(self.names) == 1:
            return leaves.sum(axis=1, keepdims=True)
        return np.stack([leaves[:, self.outputs == output].sum(axis=1) for output in range(len(self.names))], axis=1)

    def _leaves(self, rows: np.ndarray) -> np.ndarray:
        """(n, trees): the value that each tree has for each row."""
        complete = self._complete
        flat, start = np.ravel(rows), (np.arange(len(rows)) * rows.shape[1])[:, None]
        at = np.broadcast_to(np.arange(len(self.roots)), (len(rows), len(self.roots)))
        for features, thresholds in zip(complete.features, complete.thresholds, strict=True):
            goes_right = flat.take(features.take(at) + start) > thresholds.take(at)
            at = at * 2
            at += goes_right
        return complete.values.take(at)

    @cached_property
    def _complete(self) -> _Complete:
        node = self.roots.astype(np.int64)
        features, thresholds = [], []
        for _ in range(self.depth):
            features.append(self.feature[node].astype(np.int64))
            # The largest float32 that is not above: rows are float32, and comparing them so is exact and needs no conversion.
            exact = self.threshold[node]
            rounded = exact.astype(np.float32)
            thresholds.append(np.where(rounded > exact, np.nextafter(rounded, np.float32(-np.inf)), rounded))
            node = np.stack([self.left[node], self.right[node]], axis=1).ravel()
        return _Complete(features, thresholds, self.value[node])

    def save(self, path: str) -> None:
        arrays = {name: getattr(self, name) for name in _NODE_ARRAYS}
        np.savez_compressed(path, names=np.array(self.names), depth=np.array(self.depth), **arrays)


@cache
def load_forest(name: str) -> Forest:
    """The forest that is shipped as `<name>.npz`."""
    with files(__package__).joinpath(f"{name}.npz").open("rb") as file, np.load(file) as data:
        return Forest(**{key: data[key] for key in _NODE_ARRAYS}, names=tuple(map(str, data["names"])), depth=int(data["depth"]))
