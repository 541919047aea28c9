"""Plain index engines that the others are tested against: slow, in memory, easy to believe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from kb.ports import VectorLoader
from kb.types import Ordinals, Ranking, Scores, TermIds, Vectors

K1 = 1.2
B = 0.75
"""As fixed in tantivy; Robertson and Zaragoza 2009 name 1.2 to 2 and 0.5 to 0.8."""


class ReferenceLexicalIndex:
    """BM25 over all chunks with rank_bm25's counts; built anew at every commit.

    Its idf is not used: weights come with the question, and rank_bm25 floors the idf of
    frequent words.
    """

    def __init__(self) -> None:
        self._staged: dict[int, TermIds | None] = {}
        self._terms: dict[int, TermIds] = {}
        self._ordinals = np.empty(0, np.int64)
        self._frequencies: list[dict[str, int]] = []
        self._length_factors = np.empty(0, np.float64)

    def add(self, ordinals: Sequence[int], terms: Sequence[TermIds]) -> None:
        """Stage chunks; adding an ordinal again replaces it."""
        self._staged.update(zip(ordinals, terms, strict=True))

    def remove(self, ordinals: Sequence[int]) -> None:
        """Stage removals; unknown ordinals are ignored."""
        self._staged.update(dict.fromkeys(ordinals))

    def commit(self) -> None:
        """Count everything again."""
        from rank_bm25 import BM25Okapi

        for ordinal, terms in self._staged.items():
            if terms is None:
                self._terms.pop(ordinal, None)
            else:
                self._terms[ordinal] = terms
        self._staged = {}
        self._ordinals = np.array(sorted(self._terms), dtype=np.int64)
        words = [[str(t) for t in self._terms[o].tolist()] for o in self._ordinals.tolist()]
        if not any(words):  # rank_bm25 divides by the number of words
            self._frequencies = [{} for _ in words]
            self._length_factors = np.ones(len(words), np.float64)
            return
        counted = BM25Okapi(words, k1=K1, b=B)
        self._frequencies = counted.doc_freqs
        lengths = np.array(counted.doc_len, dtype=np.float64)
        self._length_factors = K1 * (1 - B + B * lengths / counted.avgdl)

    def search(
        self, weights: Mapping[int, float], *, k: int, allowed: Ordinals | None = None
    ) -> Ranking:
        """Return the best `k` allowed chunks that hold at least one term."""
        scores = np.zeros(len(self._ordinals), np.float64)
        for term, weight in weights.items():
            scores += weight * self._saturated(str(term))
        keep = scores > 0
        if allowed is not None:
            keep &= np.isin(self._ordinals, allowed)
        return Ranking.of(self._ordinals[keep], scores[keep], k=max(k, 0))

    def count(self) -> int:
        """Return how many chunks can be found."""
        return len(self._ordinals)

    def close(self) -> None:
        """Drop what was not committed."""
        self._staged = {}

    def _saturated(self, word: str) -> Scores:
        frequencies = np.array([counts.get(word, 0) for counts in self._frequencies], np.float64)
        saturated: Scores = frequencies * (K1 + 1) / (frequencies + self._length_factors)
        return saturated


class ReferenceVectorIndex:
    """A float32 matrix, scanned as a whole."""

    def __init__(self, dimension: int, load_vectors: VectorLoader) -> None:
        self._load = load_vectors
        self._ordinals = np.empty(0, np.int64)
        self._matrix = np.empty((0, dimension), np.float32)

    def add(self, ordinals: Ordinals, vectors: Vectors) -> None:
        """Add rows; an ordinal that is there already is replaced."""
        self.remove(ordinals)
        self._ordinals = np.concatenate([self._ordinals, ordinals.astype(np.int64)])
        self._matrix = np.concatenate([self._matrix, vectors.astype(np.float32)])

    def remove(self, ordinals: Ordinals) -> None:
        """Forget rows; unknown ordinals are ignored."""
        keep = ~np.isin(self._ordinals, ordinals)
        self._ordinals, self._matrix = self._ordinals[keep], self._matrix[keep]

    def search(
        self, vector: npt.NDArray[np.float32], *, k: int, allowed: Ordinals | None = None
    ) -> Ranking:
        """Return the `k` nearest allowed chunks with the cosines of the stored vectors."""
        keep = np.ones(len(self._ordinals), np.bool_)
        if allowed is not None:
            keep = np.isin(self._ordinals, allowed)
        nearest = Ranking.of(
            self._ordinals[keep],
            (self._matrix[keep] @ vector).astype(np.float64),
            k=max(k, 0),
        )
        if not len(nearest):
            return nearest
        scores = self._load(nearest.ordinals) @ vector.astype(np.float32)
        return Ranking.of(nearest.ordinals, scores.astype(np.float64))

    def count(self) -> int:
        """Return how many rows can be found."""
        return len(self._ordinals)

    def close(self) -> None:
        """Let go of the matrix."""
        self._ordinals, self._matrix = self._ordinals[:0], self._matrix[:0]
