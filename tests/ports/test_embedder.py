"""What every embedder must do, tried on all of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from kb.ports import Embedder

TEXTS = [
    "The tea is picked in spring.",
    "茶树在春天采摘。",
    "the cat sleeps on the sill, 猫在窗台上睡觉",
    "ok",
    "a long one " * 20,
]
AWKWARD = ["", " ", "\n\t", "\x00", "\ud800", "\U0001f375", "\u200b", "．．．"]


def test_an_embedder_meets_the_port(embedder: Embedder) -> None:
    assert isinstance(embedder, Embedder)
    identity = embedder.identity
    assert identity.normalized
    assert identity.dimension > 0
    assert identity.max_tokens > 0
    assert identity.revision


def test_passages_become_float32_rows_of_length_one(embedder: Embedder) -> None:
    rows = embedder.embed_passages(TEXTS)
    assert rows.dtype == np.float32
    assert rows.shape == (len(TEXTS), embedder.identity.dimension)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)


def test_no_passages_become_no_rows(embedder: Embedder) -> None:
    rows = embedder.embed_passages([])
    assert rows.shape == (0, embedder.identity.dimension)
    assert rows.dtype == np.float32


def test_a_question_becomes_one_vector_of_length_one(embedder: Embedder) -> None:
    vector = embedder.embed_query("什么时候采茶？")
    assert vector.dtype == np.float32
    assert vector.shape == (embedder.identity.dimension,)
    assert float(np.linalg.norm(vector)) == pytest.approx(1.0, abs=1e-6)


def test_different_texts_have_different_vectors_and_equal_ones_equal(embedder: Embedder) -> None:
    rows = embedder.embed_passages([*TEXTS, *TEXTS])
    # The composition of a batch moves vectors by some 1e-7 in torch.
    np.testing.assert_allclose(rows[: len(TEXTS)], rows[len(TEXTS) :], atol=1e-5)
    cosines = rows[: len(TEXTS)] @ rows[: len(TEXTS)].T
    assert (cosines[~np.eye(len(TEXTS), dtype=bool)] < 0.999).all()


def test_rows_keep_the_order_of_the_texts(embedder: Embedder) -> None:
    texts = [f"{'word ' * (n * 7 % 6)}number {n}" for n in range(70)]
    rows = embedder.embed_passages(texts)
    alone = np.vstack([embedder.embed_passages([text]) for text in texts[::9]])
    np.testing.assert_allclose(rows[::9], alone, atol=1e-5)


def test_awkward_texts_have_vectors_too(embedder: Embedder) -> None:
    rows = embedder.embed_passages(AWKWARD)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)
    for text in AWKWARD:
        assert np.isfinite(embedder.embed_query(text)).all()
        assert embedder.count_tokens(text) >= 0


@pytest.mark.parametrize("char", ["\x00", chr(0xD800), chr(0xDFFF)], ids=["nul", "high", "low"])
def test_what_cannot_be_encoded_is_replaced_and_the_rest_of_the_text_counts(
    embedder: Embedder, char: str
) -> None:
    spoiled, replaced, cut = embedder.embed_passages(
        [f"tea{char} in spring", "tea\ufffd in spring", "tea"]
    )
    np.testing.assert_allclose(spoiled, replaced, atol=1e-5)
    assert float(spoiled @ cut) < 0.999


def test_longer_texts_have_more_tokens(embedder: Embedder) -> None:
    for text in ("spring tea ", "春天的茶"):
        counts = [embedder.count_tokens(text * n) for n in (1, 10, 100)]
        assert counts == sorted(set(counts))
        assert counts[-1] >= 100


def test_threads_get_the_vectors_that_one_thread_gets(embedder: Embedder) -> None:
    def embed(n: int) -> np.ndarray:
        embedder.count_tokens(TEXTS[n % len(TEXTS)] * 30)
        return np.vstack([embedder.embed_passages(TEXTS), embedder.embed_query(TEXTS[0])])

    expected = embed(0)
    with ThreadPoolExecutor(4) as pool:
        for rows in pool.map(embed, range(12)):
            np.testing.assert_allclose(rows, expected, atol=1e-5)
