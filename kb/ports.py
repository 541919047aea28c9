"""The Protocols through which the rooms meet; engines implement them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from kb.types import (
    DocumentRecord,
    ModelIdentity,
    Ordinals,
    ParsedDocument,
    Passage,
    Ranking,
    Section,
    TermIds,
    Vectors,
)

Progress = Callable[[Mapping[str, object]], None]
"""Takes an event such as `{"event": "document", "uri": …}`; must not block for long."""

VectorLoader = Callable[[Ordinals], Vectors]
"""Gives the stored float32 vectors (n, dim), in the order asked for."""


@runtime_checkable
class Embedder(Protocol):
    """Turns text into vectors of length 1; safe to call from several threads."""

    @property
    def identity(self) -> ModelIdentity:
        """What is pinned in a collection that this model embeds."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (n, dim), rows of length 1; (0, dim) for no texts."""

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        """Return float32 (dim,) of length 1."""

    def count_tokens(self, text: str) -> int:
        """Return the model's own token count, or an upper estimate where it has no tokenizer."""


class Reranker(Protocol):
    """Scores passages against one question, jointly."""

    @property
    def name(self) -> str:
        """The model as the user named it."""

    def score(self, query: str, passages: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return float64 (n,), higher is better, no fixed range."""


class LexicalIndex(Protocol):
    """Finds chunks that share terms with a question; ids are analyzer term ids."""

    def add(self, ordinals: Sequence[int], terms: Sequence[TermIds]) -> None:
        """Stage chunks; adding an ordinal again replaces it. Visible after `commit`."""

    def remove(self, ordinals: Sequence[int]) -> None:
        """Stage removals; unknown ordinals are ignored. Takes effect with `commit`."""

    def commit(self) -> None:
        """Make everything staged durable (fsync) and searchable."""

    def search(
        self, weights: Mapping[int, float], *, k: int, allowed: Ordinals | None = None
    ) -> Ranking:
        """Return the best `k` chunks that hold at least one term.

        Args:
            weights: Term id to weight (an idf, > 0). A term's weight multiplies its
                saturated frequency.
            k: How many to return.
            allowed: Sorted ordinals that may appear; None for all. The engine goes on
                until `k` allowed ones are found or the list ends.
        """

    def count(self) -> int:
        """Return how many chunks the engine holds, removed but unmerged ones excluded."""

    def close(self) -> None:
        """Let go of files and threads; the index can be opened again."""


class VectorIndex(Protocol):
    """Finds the vectors nearest to a question's by cosine; rows have length 1."""

    def add(self, ordinals: Ordinals, vectors: Vectors) -> None:
        """Add rows; an ordinal that is there already is replaced."""

    def remove(self, ordinals: Ordinals) -> None:
        """Forget rows; unknown ordinals are ignored."""

    def search(
        self, vector: npt.NDArray[np.float32], *, k: int, allowed: Ordinals | None = None
    ) -> Ranking:
        """Return the `k` nearest allowed chunks with exact float32 cosines as scores."""

    def count(self) -> int:
        """Return how many rows can be found."""

    def close(self) -> None:
        """Let go of files and threads."""


class Parser(Protocol):
    """Reads one format; runs in a child process for heavy formats."""

    @property
    def name(self) -> str:
        """Short name, such as `pdf`."""

    def parse(self, path: Path, options: Mapping[str, object]) -> ParsedDocument:
        """Read a file.

        Raises:
            DocumentError: With a code and a hint; never a library's own error.
        """


class CollectionView(Protocol):
    """What a search may see of one collection: a state that does not move under it.

    Obtained from the store for the length of one search; rows it names stay readable
    until it is released.
    """

    @property
    def name(self) -> str:
        """The collection's name."""

    @property
    def model(self) -> ModelIdentity:
        """The model that its vectors were made by."""

    @property
    def analyzer(self) -> str:
        """Name and version of its analyzer, such as `multilingual/1`."""

    @property
    def ordinals(self) -> Ordinals:
        """All visible chunks, sorted, int64 (n_chunks,)."""

    @property
    def n_terms(self) -> int:
        """Sum of the visible chunks' term counts (for the mean length in BM25)."""

    @property
    def lexical(self) -> LexicalIndex:
        """The lexical engine; pass `ordinals` or a subset as `allowed`."""

    @property
    def vectors(self) -> VectorIndex:
        """The vector engine; pass `ordinals` or a subset as `allowed`."""

    def document_frequencies(self, term_ids: Sequence[int]) -> npt.NDArray[np.int64]:
        """Return in how many visible chunks each term stands, int64 (n,)."""

    def term_sequences(self, ordinals: Ordinals) -> tuple[TermIds, npt.NDArray[np.int64]]:
        """Return the chunks' term ids end to end, and n+1 offsets into them."""

    def load_vectors(self, ordinals: Ordinals) -> Vectors:
        """Return stored float32 vectors (n, dim) in the order asked for."""

    def scripts(self, ordinals: Ordinals) -> list[str]:
        """Return each chunk's dominant script."""

    def document_ids(self, ordinals: Ordinals) -> npt.NDArray[np.int64]:
        """Return each chunk's document row."""

    def passages(self, ordinals: Ordinals) -> list[Passage]:
        """Return chunks with their documents, in the order asked for.

        Raises:
            DamagedError: A stored text does not match its checksum.
        """

    def neighbours(self, passage: Passage, *, before: int, after: int) -> list[Passage]:
        """Return the passage with up to so many chunks around it in its document, in order."""

    def sections(self, document: DocumentRecord) -> list[Section]:
        """Return a visible document's outline in text order."""

    def allowed(self, *, path: str | None, where: Mapping[str, str]) -> Ordinals:
        """Return the visible chunks that pass the filters, sorted.

        Args:
            path: A glob over uri paths (`*`, `**`, `?`, `[…]`), or None.
            where: Metadata key to value; compared as text; all must hold.
        """
