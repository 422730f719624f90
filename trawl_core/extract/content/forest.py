"""Decision trees as flat arrays, evaluated with numpy: what `bench.train_content` writes and extraction reads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

_NODE_ARRAYS = ("feature", "threshold", "left", "right", "value", "roots", "outputs")


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
        node = np.broadcast_to(self.roots, (len(rows), len(self.roots))).copy()
        flat, start = rows.ravel(), (np.arange(len(rows)) * rows.shape[1])[:, None]
        for _ in range(self.depth):
            goes_left = flat[start + self.feature[node]] <= self.threshold[node]
            node = np.where(goes_left, self.left[node], self.right[node])
        leaves = self.value[node]
        if len(self.names) == 1:
            return leaves.sum(axis=1, keepdims=True)
        return np.stack([leaves[:, self.outputs == output].sum(axis=1) for output in range(len(self.names))], axis=1)

    def save(self, path: str) -> None:
        arrays = {name: getattr(self, name) for name in _NODE_ARRAYS}
        np.savez_compressed(path, names=np.array(self.names), depth=np.array(self.depth), **arrays)


@cache
def load_forest(name: str) -> Forest:
    """The forest that is shipped as `<name>.npz`."""
    with files(__package__).joinpath(f"{name}.npz").open("rb") as file, np.load(file) as data:
        return Forest(**{key: data[key] for key in _NODE_ARRAYS}, names=tuple(map(str, data["names"])), depth=int(data["depth"]))
