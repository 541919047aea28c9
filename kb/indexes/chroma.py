"""Vector search in Chroma: an HNSW graph on disk, its finds rescored in float32."""

from __future__ import annotations

import logging
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kb.errors import DamagedError, StoreError
from kb.ports import VectorLoader
from kb.types import Ordinals, Ranking, Vectors

logger = logging.getLogger(__name__)

BATCH = 5_000
"""Chroma takes at most 5,461 rows at once."""

DIRECT_UP_TO = 20_000
"""Up to so many allowed chunks, their vectors are scored without the graph: Chroma's own
filters cost 40 times the plain search, and 200 times where most rows pass."""

NEARLY_ALL = 0.9
"""From this share of the rows on, the graph's finds are mostly allowed ones."""

OVERSAMPLING = 10
LEAST_FETCH = 200
"""At 12,000 random vectors, the best 10 of 200 rescored finds held the best 10 of all."""

_COLLECTION = "vectors"
# Wider than Chroma's defaults (100, 100, 16), which missed a tenth of the best on random vectors.
_GRAPH = {"space": "ip", "ef_construction": 200, "ef_search": 200, "max_neighbors": 32}


class ChromaIndex:
    """One Chroma database in a folder, which no other process may open; safe for threads.

    A database that cannot be read is thrown away: the index is empty then, which its owner
    sees by `count` and fills again.
    """

    def __init__(self, folder: Path, dimension: int, load_vectors: VectorLoader) -> None:
        self._folder = folder
        self._dimension = dimension
        self._load = load_vectors
        self._lock = threading.RLock()
        folder.mkdir(parents=True, exist_ok=True)
        self._client, self._collection, self._held = self._opened()

    def add(self, ordinals: Ordinals, vectors: Vectors) -> None:
        """Add rows; an ordinal that is there already is replaced.

        Raises:
            StoreError: Chroma could not write.
        """
        from chromadb.errors import ChromaError

        rows = np.ascontiguousarray(vectors, dtype=np.float32).reshape(-1, self._dimension)
        with self._lock:
            try:
                for first in range(0, len(ordinals), BATCH):
                    part = ordinals[first : first + BATCH]
                    self._collection.upsert(ids=_keys(part), embeddings=rows[first : first + BATCH])
                    self._held = np.union1d(self._held, part.astype(np.int64))
            except ChromaError as error:
                raise _write_error(error) from error

    def remove(self, ordinals: Ordinals) -> None:
        """Forget rows; unknown ordinals are ignored.

        Raises:
            StoreError: Chroma could not write.
        """
        from chromadb.errors import ChromaError

        with self._lock:
            gone = np.intersect1d(self._held, ordinals)
            try:
                for first in range(0, len(gone), BATCH):
                    part = gone[first : first + BATCH]
                    self._collection.delete(ids=_keys(part))
                    self._held = np.setdiff1d(self._held, part, assume_unique=True)
            except ChromaError as error:
                raise _write_error(error) from error

    def search(
        self, vector: npt.NDArray[np.float32], *, k: int, allowed: Ordinals | None = None
    ) -> Ranking:
        """Return the `k` nearest allowed chunks with exact float32 cosines.

        Raises:
            DamagedError: Chroma could not read its own files.
        """
        held = self._held
        known = held if allowed is None else np.intersect1d(held, allowed)
        if k <= 0 or not len(known):
            return Ranking.empty()
        query = np.ascontiguousarray(vector, dtype=np.float32)
        if len(known) <= DIRECT_UP_TO and len(known) < NEARLY_ALL * len(held):
            return self._scored(known, query, k)
        candidates = self._nearest(query, k, known=known, n_held=len(held))
        # A graph may lose the way to some rows; what it cannot reach is found by the scan.
        is_short = len(candidates) < min(k, len(known))
        return self._scored(known if is_short else candidates, query, k)

    def count(self) -> int:
        """Return how many rows can be found."""
        return len(self._held)

    def close(self) -> None:
        """Let go of the files."""
        with self._lock:
            if self._client is not None:
                self._client.close()
            self._client, self._collection = None, None
            self._held = np.empty(0, np.int64)

    def _nearest(
        self, query: npt.NDArray[np.float32], k: int, *, known: Ordinals, n_held: int
    ) -> Ordinals:
        wanted = min(k * OVERSAMPLING, len(known))
        fetch = min(max(wanted, LEAST_FETCH), n_held)
        while True:
            found = self._fetched(query, fetch)
            candidates = found[np.isin(found, known)]
            if len(candidates) >= wanted or fetch >= n_held:
                return candidates
            fetch = min(fetch * 4, n_held)

    def _fetched(self, query: npt.NDArray[np.float32], n: int) -> Ordinals:
        from chromadb.errors import ChromaError

        try:
            answer = self._collection.query(
                query_embeddings=query.reshape(1, -1), n_results=n, include=[]
            )
        except ChromaError as error:
            raise DamagedError(
                f"the vector index cannot be read: {error}",
                hint="`kb doctor --repair` rebuilds it from the catalog.",
            ) from error
        return np.array(answer["ids"][0], dtype=np.int64)

    def _scored(self, ordinals: Ordinals, query: npt.NDArray[np.float32], k: int) -> Ranking:
        best = Ranking.empty()
        for first in range(0, len(ordinals), DIRECT_UP_TO):
            part = ordinals[first : first + DIRECT_UP_TO]
            scores = (self._load(part) @ query).astype(np.float64)
            best = Ranking.of(
                np.concatenate([best.ordinals, part]), np.concatenate([best.scores, scores]), k=k
            )
        return best

    def _opened(self) -> tuple[Any, Any, Ordinals]:
        from chromadb.errors import ChromaError

        versions = sorted(int(child.name) for child in self._folder.iterdir() if _is_version(child))
        version = versions[-1] if versions else 1
        try:
            return _connected(self._folder / str(version))
        except (ChromaError, ValueError) as error:
            logger.warning(
                "vector index is damaged and starts empty", extra={"error": type(error).__name__}
            )
        # Chroma remembers, for the life of a process, a path that it could not open.
        shutil.rmtree(self._folder / str(version), ignore_errors=True)
        return _connected(self._folder / str(version + 1))


def _connected(path: Path) -> tuple[Any, Any, Ordinals]:
    import chromadb
    from chromadb.config import Settings

    # Else a `.env` file in the working folder would configure Chroma.
    options: dict[str, Any] = {"anonymized_telemetry": False, "_env_file": None}
    client: Any = chromadb.PersistentClient(path=str(path), settings=Settings(**options))
    try:
        collection = client.get_or_create_collection(
            _COLLECTION, embedding_function=None, configuration={"hnsw": _GRAPH}
        )
        ids: list[str] = []
        for first in range(0, collection.count(), BATCH):
            ids += collection.get(include=[], limit=BATCH, offset=first)["ids"]
        return client, collection, np.unique(np.array(ids, dtype=np.int64))
    except BaseException:
        client.close()
        raise


def _is_version(path: Path) -> bool:
    return path.name.isascii() and path.name.isdigit() and path.is_dir()


def _keys(ordinals: Ordinals) -> list[str]:
    return [str(ordinal) for ordinal in ordinals.tolist()]


def _write_error(error: Exception) -> StoreError:
    return StoreError(
        f"the vector index cannot be written: {error}",
        hint="Check the free space; vectors.engine = 'exact' needs no files.",
    )
