"""Everything one home holds, behind one writer: the write protocol and the views of searches."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from kb.catalog.clock import now_text
from kb.catalog.collections import Collections
from kb.catalog.database import Database
from kb.catalog.documents import Documents
from kb.catalog.publishing import publish
from kb.catalog.reading import known_keys
from kb.catalog.records import CollectionRecord, DocumentFacts, Problem, RootRecord
from kb.catalog.roots import Roots
from kb.catalog.staging import StagedRevision, check_revisions, insert_embeddings, stage
from kb.engines import EngineTable, LexicalFactory, VectorFactory
from kb.errors import KnowledgeBaseError, NotFoundError, StoreError
from kb.faults import reach
from kb.garbage import Garbage
from kb.health import find_problems, sizes_of, visible_digest
from kb.purge import purge
from kb.repair import mend
from kb.types import Receipt, Revision
from kb.view import StoredView
from kb.views import Views

__all__ = ["CollectionRecord", "DocumentFacts", "Problem", "RootRecord", "Store"]

logger = logging.getLogger(__name__)

CATALOG_NAME = "catalog.sqlite3"
BATCH_DELETIONS = 256


class Store(Collections, Roots, Documents):
    """One home's catalog and indexes; one per process and home, safe for threads.

    The caller holds the home's lock. A document's revisions are numbered from 1 on; one that
    is removed and ingested again is a new document and begins at 1.
    """

    def __init__(
        self, home: Path, *, lexical_factory: LexicalFactory, vector_factory: VectorFactory
    ) -> None:
        database = Database(home / CATALOG_NAME)
        super().__init__(database)
        self._home = home
        self._engines = EngineTable(
            home, database, lexical_factory=lexical_factory, vector_factory=vector_factory
        )
        self._publishing = threading.Lock()
        self._views = Views(database, self._engines)
        self._garbage = Garbage(database, self._engines)
        try:
            self._garbage.recover()
        except BaseException:
            database.close()
            raise

    @classmethod
    def open(
        cls, home: Path, *, lexical_factory: LexicalFactory, vector_factory: VectorFactory
    ) -> Store:
        """Open a home and undo what a killed process left half done.

        Args:
            home: An existing folder.
            lexical_factory: Opens the lexical index in a folder.
            vector_factory: Opens a vector index: folder, dimension, loader of stored vectors.

        Raises:
            NewerFormatError: Written by a newer kb.
            DamagedError: The catalog is not sound.
            DiskFullError: There is no room.
            StoreError: It cannot be used.
        """
        return cls(home, lexical_factory=lexical_factory, vector_factory=vector_factory)

    def close(self) -> None:
        """Collect what is dead and close the engines and the catalog."""
        with self._publishing:
            try:
                self._garbage.collect(oldest_held=None, max_chunks=20_000)
            except KnowledgeBaseError as error:
                # Collected by the next owner; nothing that is seen depends on it.
                logger.warning("garbage is left for the next start", extra={"why": error.message})
            self._engines.close()
            self._database.close()

    def known_embeddings(self, fingerprint: str, keys: Sequence[bytes]) -> set[bytes]:
        """Return which of the keys have a sound vector in the cache."""
        return known_keys(self._database, fingerprint, keys)

    def publish(
        self,
        collection: str,
        revisions: Sequence[Revision],
        *,
        vectors: Mapping[bytes, npt.NDArray[np.float32]],
        deletions: Sequence[int] = (),
    ) -> list[Receipt]:
        """Make new revisions visible and documents invisible, all at once and durably.

        Args:
            collection: An existing one.
            revisions: At most one per path.
            vectors: For every embedding key that the cache does not know, float32 (dim,).
            deletions: Document rows; unknown ones are ignored.

        Returns:
            What was done; all of it is durable and visible now.

        Raises:
            NotFoundError: There is no such collection.
            DiskFullError: There is no room; nothing of this call is visible.
        """
        check_revisions(revisions)
        with self._publishing:
            reach("publish.begin")
            record = self.collection(collection)
            engine = self._engines.of(record.generation_id)
            staged = self._stage(record, revisions, vectors=vectors) if revisions else []
            try:
                if staged:
                    ordinals = [ordinal for entry in staged for ordinal in entry.ordinals]
                    terms = [e.terms for entry in staged for e in entry.revision.entries]
                    engine.index(ordinals, terms, dimension=record.model.dimension)
                    reach("publish.indexed")
                return self._show(record, staged, deletions=deletions)
            except Exception:
                with suppress(StoreError):
                    self._garbage.abandon([entry.id for entry in staged])
                raise

    def view(self, collection: str) -> AbstractContextManager[StoredView]:
        """Give the collection's present state for a `with`; it stays as it is while held.

        Raises:
            NotFoundError: There is no such collection.
        """
        return self._views.view(collection)

    def collect_garbage(self, *, max_chunks: int = 2_000) -> int:
        """Remove rows and index entries that nobody can see, and return how many chunks went."""
        with self._publishing:
            oldest = self._views.oldest_held()
            return self._garbage.collect(oldest_held=oldest, max_chunks=max_chunks)

    def delete_collection(self, name: str) -> None:
        """Delete a collection with all its documents.

        Raises:
            NotFoundError: There is none of that name.
        """
        with self._publishing:
            generations = self._remove_collection(self.collection(name))
            reach("delete.committed")
            with self._views.quiet():
                for generation_id in generations:
                    self._engines.drop(generation_id)

    def remove_root(self, root_id: int, *, documents: Literal["keep", "delete"] = "keep") -> None:
        """Forget a root; its documents become documents of their own, or go.

        Raises:
            NotFoundError: There is no such root.
        """
        root = next((root for root in self.roots() if root.id == root_id), None)
        if root is None:
            raise NotFoundError(f"no root {root_id}", hint="`kb roots` lists them.")
        if documents == "delete":
            ids = [facts.id for facts in self.document_facts(root_id).values()]
            for first in range(0, len(ids), BATCH_DELETIONS):
                part = ids[first : first + BATCH_DELETIONS]
                self.publish(root.collection, [], vectors={}, deletions=part)
        self._forget_root(root_id)

    def digest(self) -> str:
        """Return a hash of what is visible: equal for equal content, whatever the history."""
        with self._database.snapshot() as snapshot:
            return visible_digest(snapshot)

    def sizes(self) -> dict[str, int]:
        """Return the bytes of `catalog`, `lexical`, `vectors` and, as `total`, of the home."""
        return sizes_of(self._home)

    def check(self) -> list[Problem]:
        """Return every invariant that does not hold; writers wait meanwhile."""
        with self._publishing, self._database.snapshot() as snapshot:
            return find_problems(snapshot, self._engines)

    def repair(self) -> list[str]:
        """Mend what can be mended from the catalog, and say what was.

        Documents whose text is damaged are taken out, so that the next ingest of their source
        reads them again; indexes and statistics are built anew.
        """
        with self._publishing, self._views.quiet():
            self._views.forget_tables()
            return mend(self._database, self._engines)

    def needs_purge(self) -> bool:
        """Return whether a file of the home may hold words that are visible no more."""
        return self._garbage.needs_purge()

    def purge(self) -> None:
        """Leave nothing of removed documents in any file of the home.

        Raises:
            StoreError: A reader that does not end keeps the log from being emptied.
            DiskFullError: There is no room for the copy of the catalog that this takes.
        """
        with self._publishing:
            if self._garbage.needs_purge():
                purge(self._database, self._engines, garbage=self._garbage, views=self._views)

    def _stage(
        self,
        record: CollectionRecord,
        revisions: Sequence[Revision],
        *,
        vectors: Mapping[bytes, npt.NDArray[np.float32]],
    ) -> list[StagedRevision]:
        fingerprint = record.model.fingerprint()
        with self._database.transaction() as connection:
            insert_embeddings(connection, fingerprint, vectors, dimension=record.model.dimension)
            staged = stage(
                connection,
                collection_id=record.id,
                generation_id=record.generation_id,
                fingerprint=fingerprint,
                revisions=revisions,
                now=now_text(),
            )
        reach("publish.staged")
        return staged

    def _show(
        self,
        record: CollectionRecord,
        staged: Sequence[StagedRevision],
        *,
        deletions: Sequence[int],
    ) -> list[Receipt]:
        with ExitStack() as stack:
            with self._database.transaction() as connection:
                change = publish(
                    connection,
                    collection_id=record.id,
                    generation_id=record.generation_id,
                    staged=staged,
                    deletions=deletions,
                    now=now_text(),
                )
                stack.enter_context(self._views.paused())
            reach("publish.committed")
            epoch = self._views.replace(record.generation_id, change)
            self._garbage.note(epoch, change.dead)
        reach("publish.viewed")
        return change.receipts
