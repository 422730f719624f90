"""The embedding model: real weights, checked, the same vector whatever stands beside a text."""

import socket

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trawl_core.errors import SearchError
from trawl_core.search import embed as module
from trawl_core.search.embed import MODEL_ID, MODELS, TOKENIZER, WEIGHTS, MiniLM, embed, load_model, verified

TEXTS = [
    "A connection pool keeps sockets open between requests.",
    "Idle sockets are reused instead of being opened anew.",
    "Bake the bread for forty minutes until the crust is brown.",
    "",
    "x" * 5000,
    "queue " * 400,
]


def test_vectors_are_unit_length_and_typed():
    vectors = embed(TEXTS)
    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_no_texts_give_no_vectors():
    assert embed([]).shape == (0, 384)


def test_near_meanings_are_nearer_than_far_ones():
    pool, sockets, bread = embed(TEXTS[:3])
    assert pool @ sockets > pool @ bread + 0.2


def test_vector_depends_neither_on_batch_nor_on_order_nor_on_threads():
    together = embed(TEXTS)
    assert np.array_equal(together[::-1], embed(TEXTS[::-1]))
    assert np.array_equal(together, np.vstack([embed([text]) for text in TEXTS]))
    assert np.array_equal(together, MiniLM(threads=1).embed(TEXTS))


def test_unencodable_text_is_embedded():
    assert np.isfinite(embed(["half a pair \ud800", "nul \0 inside"])).all()


@settings(max_examples=20, deadline=None)
@given(st.text(max_size=60))
def test_every_text_has_a_finite_unit_vector(text):
    (vector,) = embed([text])
    assert abs(float(np.linalg.norm(vector)) - 1) < 1e-4


def test_works_with_the_network_cut(monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("the model asked for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert MiniLM(threads=1).embed(["offline"]).shape == (1, 384)


def test_model_is_loaded_once():
    assert load_model() is load_model()
    assert MODEL_ID in MODELS


def test_unknown_model_is_named():
    with pytest.raises(SearchError, match=r"no-such-model.*Materialize chunks"):
        load_model("no-such-model")


@pytest.fixture
def model_folder(tmp_path):
    for file in (WEIGHTS, TOKENIZER):
        (tmp_path / file.name).write_bytes(verified(file, {}))
    return tmp_path


def test_folder_of_the_environment_is_used(model_folder):
    vectors = MiniLM(threads=1, environ={"TRAWL_MODEL_PATH": str(model_folder)}).embed(TEXTS[:1])
    assert np.array_equal(vectors, embed(TEXTS[:1]))


@pytest.mark.parametrize("name", [WEIGHTS.name, TOKENIZER.name])
def test_damaged_file_is_named_with_what_to_do(model_folder, name):
    damaged = bytearray((model_folder / name).read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (model_folder / name).write_bytes(damaged)
    with pytest.raises(SearchError, match=rf"{name} is damaged.*TRAWL_MODEL_PATH"):
        MiniLM(environ={"TRAWL_MODEL_PATH": str(model_folder)})


@pytest.mark.parametrize("name", [WEIGHTS.name, TOKENIZER.name])
def test_missing_file_is_named_with_what_to_do(model_folder, name):
    (model_folder / name).unlink()
    with pytest.raises(SearchError, match=rf"{name} can't be read.*TRAWL_MODEL_PATH"):
        MiniLM(environ={"TRAWL_MODEL_PATH": str(model_folder)})


def test_missing_package_is_named_with_what_to_do():
    absent = module.ModelFile("model.onnx", "no-such-distribution-of-weights", "x/model.onnx", "0" * 64)
    with pytest.raises(SearchError, match=r"no-such-distribution-of-weights.*not installed.*pip install"):
        verified(absent, {})
