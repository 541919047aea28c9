"""The only place that turns settings into engines."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from types import TracebackType

from ingest.split import ChunkRules
from ingest.workers import ParserPool
from kb.analyzer import DEFAULT_ANALYZER
from kb.catalog.records import CollectionRecord
from kb.errors import ModelError, NotFoundError, UsageError
from kb.indexes.exact import ExactIndex
from kb.indexes.tantivy import TantivyIndex
from kb.models.registry import resolve
from kb.ports import Embedder, LexicalIndex, VectorIndex, VectorLoader
from kb.settings import Settings
from kb.store import Store

logger = logging.getLogger(__name__)

DEFAULT_COLLECTION = "default"


def _chroma(folder: Path, dimension: int, load_vectors: VectorLoader) -> VectorIndex:
    from kb.indexes.chroma import ChromaIndex

    return ChromaIndex(folder, dimension, load_vectors)


def _exact(folder: Path, dimension: int, load_vectors: VectorLoader) -> VectorIndex:  # noqa: ARG001
    return ExactIndex(dimension, load_vectors)


_VECTOR_ENGINES: dict[str, Callable[[Path, int, VectorLoader], VectorIndex]] = {
    "auto": _exact,
    "exact": _exact,
    "chroma": _chroma,
}


def _lexical(folder: Path) -> LexicalIndex:
    return TantivyIndex(folder)


def vector_factory(name: str) -> Callable[[Path, int, VectorLoader], VectorIndex]:
    """Return the maker of a vector engine: a built-in one, or one from an entry point.

    Raises:
        UsageError: Nobody offers that name.
    """
    if name in _VECTOR_ENGINES:
        return _VECTOR_ENGINES[name]
    offered = {point.name: point for point in entry_points(group="kb.vectors")}
    if name in offered:
        maker: Callable[[Path, int, VectorLoader], VectorIndex] = offered[name].load()
        return maker
    known = ", ".join(sorted({*_VECTOR_ENGINES, *offered}))
    raise UsageError(f"unknown vector engine {name!r}", hint=f"Known: {known}.")


class Engines:
    """Everything that one owner of a home holds open; safe for threads."""

    def __init__(self, home: Path, settings: Settings) -> None:
        self.home = home
        self.settings = settings
        self.store = Store.open(
            home,
            lexical_factory=_lexical,
            vector_factory=vector_factory(settings.vectors.engine),
        )
        self._pool: ParserPool | None = None
        self._embedders: dict[str, Embedder] = {}
        self._loading: dict[str, threading.Thread] = {}
        self._load_errors: dict[str, ModelError] = {}
        self._lock = threading.RLock()
        self._ingest_locks: dict[str, threading.Lock] = {}
        self._notices: list[str] = []

    def __enter__(self) -> Engines:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close everything."""
        self.close()

    @property
    def rules(self) -> ChunkRules:
        """The chunk rules of the settings, for new collections."""
        chunks = self.settings.chunks
        return ChunkRules(
            target=chunks.target, cap=chunks.cap, minimum=chunks.minimum, overlap=chunks.overlap
        )

    @property
    def pool(self) -> ParserPool:
        """The parser processes, started when first asked for."""
        with self._lock:
            if self._pool is None:
                self._pool = ParserPool(2, self.settings.limits)
            return self._pool

    def take_notices(self) -> list[str]:
        """Return what should be said once on stderr, and forget it."""
        with self._lock:
            notices, self._notices = self._notices, []
            return notices

    def collection_for_writing(self, name: str | None) -> CollectionRecord:
        """Return the collection to write to, made under the present settings if new."""
        wanted = name or DEFAULT_COLLECTION
        with self._lock:
            try:
                return self.store.collection(wanted)
            except NotFoundError:
                embedder = self._resolved(self.settings.embedding.model)
                return self.store.create_collection(
                    wanted,
                    model=embedder.identity,
                    analyzer=DEFAULT_ANALYZER,
                    chunk_rules=self.rules.name,
                )

    def embedder(self, collection: CollectionRecord) -> Embedder:
        """Return the model that a collection is pinned to, loading it if need be.

        Raises:
            ModelError: It is not on this machine, or no longer the same.
        """
        name = self._model_name(collection)
        embedder = self._resolved(name)
        if embedder.identity.fingerprint() != collection.model.fingerprint():
            raise ModelError(
                f"collection {collection.name!r} was embedded with {collection.model.name} "
                f"revision {collection.model.revision}; this machine has revision "
                f"{embedder.identity.revision}",
                hint=f"`kb reindex -c {collection.name}` embeds it anew beside the old index.",
            )
        return embedder

    def embedder_if_ready(self, collection: CollectionRecord) -> tuple[Embedder | None, str]:
        """Return the model without waiting, or None and why; loading starts by itself."""
        name = self._model_name(collection)
        with self._lock:
            if name in self._embedders:
                return self.embedder(collection), ""
            if name in self._load_errors:
                return None, self._load_errors[name].message
            if name not in self._loading:
                thread = threading.Thread(
                    target=self._load_quietly, args=(name,), name="load-model", daemon=True
                )
                self._loading[name] = thread
                thread.start()
        return None, "model is loading"

    @contextmanager
    def ingesting(self, collection: str) -> Iterator[None]:
        """Hold the right to write to a collection; others wait."""
        with self._lock:
            lock = self._ingest_locks.setdefault(collection, threading.Lock())
        with lock:
            yield

    def close(self) -> None:
        """Stop the parser processes and close the store."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()
        self.store.close()

    def _model_name(self, collection: CollectionRecord) -> str:
        return collection.model.name

    def _load_quietly(self, name: str) -> None:
        try:
            self._resolved(name)
        except ModelError as error:
            with self._lock:
                self._load_errors[name] = error
                logger.warning("model cannot be loaded", extra={"model": name})

    def _resolved(self, name: str) -> Embedder:
        with self._lock:
            if name in self._embedders:
                return self._embedders[name]
            resolved = resolve(name, settings=self.settings.embedding, home=self.home)
            if resolved.notice:
                self._notices.append(resolved.notice)
            self._embedders[name] = resolved.embedder
            self._embedders[resolved.embedder.identity.name] = resolved.embedder
            return resolved.embedder
