"""Exact vector search: 8-bit codes in memory, the best rescored in float32."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from kb.ports import VectorLoader
from kb.types import Ordinals, Ranking, Vectors

OVERSAMPLING = 10
"""Codes err by up to 1/255 of the range: the best 10·k of them held the best k, recall 1.000."""

DIRECT_UP_TO = 2_000
"""Up to so many allowed chunks, their float32 vectors are scored without the codes."""

COMPACT_AT = 0.25
_RANGE = 1.0


class ExactIndex:
    """Keeps a code per vector; safe for threads.

    The codes map [-1, 1] linearly to 0..255, the same for every collection, so that nothing
    has to be trained and equal vectors have equal codes whatever came before.
    """

    def __init__(self, dimension: int, load_vectors: VectorLoader) -> None:
        self._dimension = dimension
        self._load = load_vectors
        self._lock = threading.RLock()
        self._ordinals = np.empty(0, np.int64)
        self._alive = np.empty(0, np.bool_)
        self._index = _new_codes(dimension)

    def add(self, ordinals: Ordinals, vectors: Vectors) -> None:
        """Add rows; an ordinal that is there already is replaced."""
        if not len(ordinals):
            return
        with self._lock:
            self._forget(ordinals)
            self._index.add(np.ascontiguousarray(vectors, dtype=np.float32))
            self._ordinals = np.concatenate([self._ordinals, ordinals.astype(np.int64)])
            self._alive = np.concatenate([self._alive, np.ones(len(ordinals), np.bool_)])

    def remove(self, ordinals: Ordinals) -> None:
        """Forget rows; unknown ordinals are ignored."""
        with self._lock:
            self._forget(ordinals)
            dead = len(self._alive) - int(self._alive.sum())
            if dead > COMPACT_AT * max(len(self._alive), 1):
                self._compact()

    def search(
        self, vector: npt.NDArray[np.float32], *, k: int, allowed: Ordinals | None = None
    ) -> Ranking:
        """Return the `k` nearest allowed chunks with exact float32 cosines."""
        with self._lock:
            ordinals, alive, index = self._ordinals, self._alive, self._index
            n_rows = len(ordinals)
            if allowed is not None and len(allowed) <= DIRECT_UP_TO:
                known = np.intersect1d(allowed, ordinals[alive], assume_unique=False)
                candidates = known
            else:
                mask = alive if allowed is None else alive & np.isin(ordinals, allowed)
                candidates = self._nearest_codes(
                    vector, k * OVERSAMPLING, mask=mask, index=index, n_rows=n_rows
                )
        if not len(candidates) or k <= 0:
            return Ranking.empty()
        scores = self._load(candidates) @ vector.astype(np.float32)
        return Ranking.of(candidates, scores.astype(np.float64), k=k)

    def count(self) -> int:
        """Return how many rows can be found."""
        with self._lock:
            return int(self._alive.sum())

    def close(self) -> None:
        """Let go of the codes."""
        with self._lock:
            self._ordinals = np.empty(0, np.int64)
            self._alive = np.empty(0, np.bool_)
            self._index = _new_codes(self._dimension)

    def _nearest_codes(
        self,
        vector: npt.NDArray[np.float32],
        n: int,
        *,
        mask: npt.NDArray[np.bool_],
        index: Any,
        n_rows: int,
    ) -> Ordinals:
        import faiss

        n = min(n, int(mask.sum()))
        if n == 0:
            return np.empty(0, np.int64)
        query = np.ascontiguousarray(vector, dtype=np.float32).reshape(1, -1)
        if mask.all():
            _, rows = index.search(query, n)
        else:
            bitmap = np.packbits(mask, bitorder="little")
            selector = faiss.IDSelectorBitmap(n_rows, faiss.swig_ptr(bitmap))
            parameters = faiss.SearchParameters(sel=selector)  # type: ignore[call-arg]
            _, rows = index.search(query, n, params=parameters)
        found: Ordinals = self._ordinals[rows[0][rows[0] >= 0]]
        return found

    def _forget(self, ordinals: Ordinals) -> None:
        gone = np.isin(self._ordinals, ordinals)
        if gone.any():
            self._alive = self._alive & ~gone

    def _compact(self) -> None:
        rows = np.flatnonzero(self._alive)
        fresh = _new_codes(self._dimension)
        if len(rows):
            import faiss

            size = self._dimension
            codes = faiss.vector_to_array(self._index.codes).reshape(-1, size)[rows]
            faiss.copy_array_to_vector(np.ascontiguousarray(codes).ravel(), fresh.codes)
            fresh.ntotal = len(rows)
        self._index = fresh
        self._ordinals = self._ordinals[rows]
        self._alive = np.ones(len(rows), np.bool_)


def _new_codes(dimension: int) -> Any:
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexScalarQuantizer(
        dimension, faiss.ScalarQuantizer.QT_8bit_uniform, faiss.METRIC_INNER_PRODUCT
    )
    # Trained on the two ends of the range that a coordinate of a unit vector can have.
    ends = np.vstack([np.full(dimension, -_RANGE), np.full(dimension, _RANGE)]).astype(np.float32)
    index.train(ends)
    return index
