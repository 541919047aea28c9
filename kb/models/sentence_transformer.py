"""Embeds with any sentence-transformers model that is on this machine, such as BAAI/bge-m3."""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Sequence
from dataclasses import replace
from pickle import UnpicklingError
from typing import Any

import numpy as np
import numpy.typing as npt

from kb.errors import MissingExtraError, ModelError
from kb.models.folders import ModelFolder, content_revision, find_model, hub_cache, model_at
from kb.models.guards import encodable, unit_rows
from kb.text import collapse_whitespace
from kb.types import ModelIdentity, Vectors

BATCH = 32
"""Texts in one pass, of like length (the library sorts them); its own default."""

MAX_WHY_CHARACTERS = 300
_DTYPES = ("float32", "bfloat16", "float16")
_PASSAGE_PROMPTS = ("document", "passage", "corpus")
_UNLIMITED_TOKENS = 1_000_000
# What the libraries let out over damaged files, unknown devices and unfit configurations.
_LOADING_ERRORS = (
    OSError,
    EOFError,
    ValueError,
    TypeError,
    KeyError,
    RuntimeError,
    AssertionError,
    UnpicklingError,
)
_SPLIT_MARKS = "\n。！？；.!?;，, "


class SentenceTransformerEmbedder:
    """Embeds with torch; safe for threads. Nothing is ever downloaded.

    A text over the model's length is cut into windows; its vector is the mean of theirs,
    weighted by their tokens, so that no part of it is lost.
    """

    def __init__(
        self,
        name_or_folder: str,
        *,
        device: str,
        dtype: str,
        revision: str | None = None,
        name: str | None = None,
    ) -> None:
        """Load the model: seconds, and more for the first one in a process.

        Args:
            name_or_folder: A folder with `modules.json`, or a name in the hub's cache.
            device: `auto` for the best there is, or torch's name of one.
            dtype: `float32`, `bfloat16` or `float16`; moves vectors too little to be pinned.
            revision: To be pinned; None for the snapshot's commit or a hash of the files.
            name: To be pinned; None for `name_or_folder`.

        Raises:
            MissingExtraError: sentence-transformers is not installed.
            ModelError: The model is not here, or not loadable on this device.
        """
        found = model_at(name_or_folder) or find_model(name_or_folder, cache=hub_cache(os.environ))
        if found is None:
            raise ModelError(
                f"embedding model {name_or_folder!r} is not on this machine",
                hint=f"`hf download {name_or_folder}` fetches a model of the hub.",
            )
        if dtype not in _DTYPES:
            raise ModelError(
                f"embedding.dtype = {dtype!r} is unknown", hint=f"Known: {', '.join(_DTYPES)}."
            )
        found = replace(found, name=name or found.name)
        self._name = found.name
        self._model = _loaded(found, device=device, dtype=dtype)
        prompts: dict[str, str] = self._model.prompts
        self._query_prompt = prompts.get("query") or ""
        passage_prompts = (prompts.get(key) for key in _PASSAGE_PROMPTS)
        self._passage_prompt = next((prompt for prompt in passage_prompts if prompt), "")
        # A tokenizer's truncation is state: counting must not touch the one that encodes.
        self._counter = copy.deepcopy(self._model.tokenizer)
        self._counting = threading.Lock()
        probe = self._encoded(["dimension"], is_query=False)
        length = getattr(self._model, "max_seq_length", None)
        self._identity = ModelIdentity(
            name=self._name,
            revision=revision or found.revision or content_revision(found.folder),
            dimension=int(probe.shape[1]),
            max_tokens=int(min(length or _UNLIMITED_TOKENS, _UNLIMITED_TOKENS)),
            query_prefix=self._query_prompt,
            passage_prefix=self._passage_prompt,
            pooling=found.pooling,
            normalized=True,
        )

    @property
    def identity(self) -> ModelIdentity:
        """What is pinned in a collection that this model embeds."""
        return self._identity

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (n, dim), rows of length 1; (0, dim) for no texts.

        Raises:
            ModelError: A vector has a value that is not finite (float16 may overflow).
        """
        return self._embed(texts, is_query=False)

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        """Return float32 (dim,) of length 1.

        Raises:
            ModelError: See `embed_passages`.
        """
        row: npt.NDArray[np.float32] = self._embed([text], is_query=True)[0]
        return row

    def count_tokens(self, text: str) -> int:
        """Return the model's token count, passage prompt and marks included."""
        return self._n_tokens(self._passage_prompt + encodable(text))

    def _embed(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        if not texts:
            return np.empty((0, self._identity.dimension), np.float32)
        prompt = self._query_prompt if is_query else self._passage_prompt
        windows: list[str] = []
        owners: list[int] = []
        for owner, text in enumerate(texts):
            parts = self._windows(encodable(text), prompt)
            windows += parts
            owners += [owner] * len(parts)
        rows = self._encoded(windows, is_query=is_query)
        if len(windows) == len(texts):
            return rows
        weights = np.array([self._n_tokens(window) for window in windows], dtype=np.float64)
        sums = np.zeros((len(texts), rows.shape[1]), np.float64)
        np.add.at(sums, np.array(owners), rows * weights[:, None])
        return unit_rows(sums, model=self._name)

    def _encoded(self, windows: Sequence[str], *, is_query: bool) -> Vectors:
        encode = self._model.encode_query if is_query else self._model.encode_document
        rows: npt.NDArray[np.float32] = encode(
            list(windows),
            prompt=self._query_prompt if is_query else self._passage_prompt,
            batch_size=BATCH,
            show_progress_bar=False,
            convert_to_numpy=True,
            normalize_embeddings=True,
        )
        return unit_rows(rows, model=self._name)

    def _windows(self, text: str, prompt: str) -> list[str]:
        """Cut a text in halves until each fits, where a line or a sentence ends near the middle."""
        if len(text) <= 1 or self._n_tokens(prompt + text) <= self._identity.max_tokens:
            return [text]
        middle = _cut(text)
        return self._windows(text[:middle], prompt) + self._windows(text[middle:], prompt)

    def _n_tokens(self, text: str) -> int:
        with self._counting:
            if not callable(self._counter):  # of static models: has neither marks nor a limit
                return len(self._counter.encode(text, add_special_tokens=False).ids)
            encoded = self._counter(text, truncation=False, padding=False, verbose=False)
        return len(encoded["input_ids"])


def _loaded(found: ModelFolder, *, device: str, dtype: str) -> Any:
    try:
        import torch
        import transformers
        from safetensors import SafetensorError
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingExtraError(f"embedding model {found.name!r}", "bge") from error
    transformers_logging: Any = transformers.utils.logging
    transformers_logging.disable_progress_bar()
    try:
        model = SentenceTransformer(
            str(found.folder),
            device=None if device == "auto" else device,
            local_files_only=True,
            trust_remote_code=False,
        )
        # Newer transformers load in the type of the file, older ones in float32.
        return model.to(getattr(torch, dtype)).eval()
    except (*_LOADING_ERRORS, SafetensorError) as error:
        why = collapse_whitespace(str(error))[:MAX_WHY_CHARACTERS]
        raise ModelError(
            f"embedding model {found.name!r} cannot be loaded on device {device!r}: {why}",
            hint="Check embedding.device, or fetch the model's files again.",
        ) from error


def _cut(text: str) -> int:
    middle, quarter = len(text) // 2, len(text) // 4
    for mark in _SPLIT_MARKS:
        after = text.find(mark, middle, middle + quarter) + 1
        if after:
            return after
        before = text.rfind(mark, quarter, middle) + 1
        if before:
            return before
    return middle
