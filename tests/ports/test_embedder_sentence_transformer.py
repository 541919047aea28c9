"""What only the sentence-transformers embedder must do, tried on a model laid out as bge-m3."""

from __future__ import annotations

import shutil
import socket
import sys
from pathlib import Path

import numpy as np
import pytest

from kb.errors import MissingExtraError, ModelError
from kb.models.folders import ModelFolder, content_revision
from kb.models.sentence_transformer import SentenceTransformerEmbedder
from kb.ports import Embedder
from kb.types import ModelIdentity, Vectors

from .conftest import HAS_TORCH, MAX_TOKENS, NO_TORCH, write_json

COMMIT = "5617a9f61b028005a4858fdac845db406aefb181"
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason=NO_TORCH)


def opened(folder: Path | str, *, dtype: str = "float32") -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder(str(folder), device="cpu", dtype=dtype)


@pytest.fixture
def copied(xlm_roberta: Path, tmp_path: Path) -> Path:
    folder: Path = shutil.copytree(xlm_roberta, tmp_path / "copy")
    return folder


def cls_vector(folder: Path, text: str) -> Vectors:
    """Return what transformers alone says: the first token's state, brought to length one."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    with torch.inference_mode():
        state = model.eval()(**tokenizer(text, return_tensors="pt")).last_hidden_state[0, 0]
    vector: Vectors = (state / state.norm()).numpy()
    return vector


def test_its_identity_is_read_from_the_folder(tiny_bge: Embedder, xlm_roberta: Path) -> None:
    assert tiny_bge.identity == ModelIdentity(
        name=str(xlm_roberta.resolve()),
        revision=tiny_bge.identity.revision,
        dimension=32,
        max_tokens=MAX_TOKENS,
        pooling="cls",
    )
    assert tiny_bge.identity.revision.startswith("sha256:")


def test_vectors_are_the_first_tokens_as_the_folder_says(
    tiny_bge: Embedder, xlm_roberta: Path
) -> None:
    for text in ("the tea is picked in spring", "茶树在春天采摘"):
        expected = cls_vector(xlm_roberta, text)
        np.testing.assert_allclose(tiny_bge.embed_passages([text])[0], expected, atol=1e-5)
        np.testing.assert_allclose(tiny_bge.embed_query(text), expected, atol=1e-5)


def test_the_marks_are_counted(tiny_bge: Embedder) -> None:
    assert tiny_bge.count_tokens("") == 2
    assert tiny_bge.count_tokens("茶树") == 2 + 3  # with the word's beginning


def test_a_long_text_is_the_mean_of_its_windows_weighted_by_their_tokens(
    tiny_bge: Embedder,
) -> None:
    windows = [
        "the cat sleeps on the sill, it is sunny today.\n",
        "茶树在春天采摘，今天晴朗，猫睡觉。",
    ]
    counts = np.array([tiny_bge.count_tokens(window) for window in windows])
    assert max(counts) <= MAX_TOKENS < tiny_bge.count_tokens("".join(windows))
    mean = counts @ tiny_bge.embed_passages(windows)
    expected = mean / np.linalg.norm(mean)
    text = "".join(windows)
    np.testing.assert_allclose(tiny_bge.embed_passages(["ok", text])[1], expected, atol=1e-5)
    np.testing.assert_allclose(tiny_bge.embed_query(text), expected, atol=1e-5)


def test_no_part_of_a_long_text_is_lost(tiny_bge: Embedder) -> None:
    long = "the cat sleeps on the sill. " * 30
    rows = tiny_bge.embed_passages([long + "a", long + "茶树在春天采摘" * 9, "ok"])
    tail = tiny_bge.embed_query("茶树在春天采摘" * 4)
    assert float(rows[1] @ tail) > float(rows[0] @ tail)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(rows[2], tiny_bge.embed_passages(["ok"])[0], atol=1e-5)


def test_a_long_question_and_a_text_without_spaces_are_windowed_too(tiny_bge: Embedder) -> None:
    long = "茶" * 1_000
    assert float(tiny_bge.embed_query(long) @ tiny_bge.embed_query(long + "猫" * 1_000)) < 0.999


def test_prompts_are_pinned_and_put_before_texts(copied: Path) -> None:
    write_json(
        copied / "config_sentence_transformers.json",
        {"__version__": {}, "prompts": {"query": "ask: ", "passage": "read: "}},
    )
    embedder = opened(copied)
    assert (embedder.identity.query_prefix, embedder.identity.passage_prefix) == ("ask: ", "read: ")
    np.testing.assert_allclose(
        embedder.embed_query("tea"), cls_vector(copied, "ask: tea"), atol=1e-5
    )
    passage = embedder.embed_passages(["tea"])[0]
    np.testing.assert_allclose(passage, cls_vector(copied, "read: tea"), atol=1e-5)


def test_a_default_prompt_is_for_neither_questions_nor_passages(copied: Path) -> None:
    write_json(
        copied / "config_sentence_transformers.json",
        {"__version__": {}, "prompts": {"sts": "like: "}, "default_prompt_name": "sts"},
    )
    embedder = opened(copied)
    np.testing.assert_allclose(embedder.embed_query("tea"), cls_vector(copied, "tea"), atol=1e-5)
    assert embedder.identity.query_prefix == ""


def test_the_revision_changes_with_the_weights_and_not_with_the_notes(copied: Path) -> None:
    before = opened(copied).identity.revision
    (copied / "README.md").write_text("notes", encoding="utf-8")
    (copied / "onnx").mkdir()
    (copied / "onnx" / "model.bin").write_bytes(b"other engine")
    assert opened(copied).identity.revision == before
    write_json(copied / "sentence_bert_config.json", {"max_seq_length": 32})
    shorter = opened(copied).identity
    assert shorter.max_tokens == 32
    retrained = bytearray((copied / "pytorch_model.bin").read_bytes())
    retrained[-1] ^= 1
    (copied / "pytorch_model.bin").write_bytes(retrained)
    assert len({before, shorter.revision, content_revision(copied)}) == 3


def test_a_snapshot_of_the_hubs_cache_is_pinned_by_its_commit(
    xlm_roberta: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshots = tmp_path / "models--tea--m3" / "snapshots"
    shutil.copytree(xlm_roberta, snapshots / COMMIT)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    identity = opened("tea/m3").identity
    assert (identity.name, identity.revision) == ("tea/m3", COMMIT)


def test_nothing_is_fetched(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert opened(copied).embed_query("tea").shape == (32,)
    (copied / "pytorch_model.bin").unlink()
    with pytest.raises(ModelError, match="not on this machine"):
        opened(copied)
    with pytest.raises(ModelError, match="not on this machine") as caught:
        opened("nobody/no-such-model")
    assert "hf download nobody/no-such-model" in caught.value.hint


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_shorter_floats_give_nearly_the_same_vectors(
    copied: Path, tiny_bge: Embedder, dtype: str
) -> None:
    embedder = opened(copied, dtype=dtype)
    texts = ["the tea is picked in spring", "猫在窗台上睡觉"]
    rows, exact = embedder.embed_passages(texts), tiny_bge.embed_passages(texts)
    assert rows.dtype == np.float32
    assert ((rows * exact).sum(axis=1) > 0.98).all()
    assert not np.array_equal(rows, exact)


@pytest.mark.parametrize(
    ("device", "dtype", "problem"),
    [("warp", "float32", "warp"), ("cuda:99", "float32", "cuda:99"), ("cpu", "int4", "int4")],
)
def test_an_unknown_device_or_dtype_is_named(
    xlm_roberta: Path, device: str, dtype: str, problem: str
) -> None:
    with pytest.raises(ModelError, match=problem):
        SentenceTransformerEmbedder(str(xlm_roberta), device=device, dtype=dtype)


@pytest.mark.parametrize("content", [b"", b"{}", b"{no such format"])
@pytest.mark.parametrize("file", ["pytorch_model.bin", "config.json", "tokenizer.json"])
def test_damaged_files_are_an_error_of_the_model(copied: Path, file: str, content: bytes) -> None:
    (copied / file).write_bytes(content)
    with pytest.raises(ModelError, match="cannot be loaded"):
        opened(copied)


@needs_torch
def test_a_static_model_is_taken_without_a_limit_of_length(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import StaticEmbedding
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = {word: n for n, word in enumerate(["[UNK]", "tea", "cat", "spring"])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    weights = np.eye(4, 6, dtype=np.float32)
    module = StaticEmbedding(tokenizer, embedding_weights=weights)
    SentenceTransformer(modules=[module], device="cpu").save(str(tmp_path / "static"))
    embedder = opened(tmp_path / "static")
    assert embedder.identity.dimension == 6
    assert embedder.count_tokens("tea in spring") == 3
    row = embedder.embed_passages(["tea " * 5_000 + "spring " * 5_000])[0]
    assert row[[1, 3]].tolist() == pytest.approx([0.5**0.5] * 2, abs=1e-5)


def test_an_english_model_finds_the_passage_of_a_question(minilm: Embedder) -> None:
    passages = [
        "The tea harvest begins in early April, when the first leaves open.",
        "To change a bicycle tube, let the air out and lift the tyre off the rim.",
        "Our office is closed on public holidays.",
    ]
    cosines = minilm.embed_passages(passages) @ minilm.embed_query("How do I repair a flat tyre?")
    assert int(cosines.argmax()) == 1
    assert minilm.identity.pooling == "mean"
    assert minilm.identity.dimension == 384


def test_without_the_library_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_json(tmp_path / "modules.json", [{"path": ""}])
    write_json(tmp_path / "config.json", {})
    (tmp_path / "model.safetensors").touch()
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError) as caught:
        opened(tmp_path)
    assert caught.value.hint == "pip install 'kb-cited[bge]'"


def test_dimension_and_pooling_are_read_without_loading(xlm_roberta: Path) -> None:
    folder = ModelFolder("tea/m3", xlm_roberta, None)
    assert (folder.dimension, folder.pooling) == (32, "cls")
    assert folder.size_bytes > (xlm_roberta / "pytorch_model.bin").stat().st_size
