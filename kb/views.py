"""Which states of the collections are looked at: tables of visible chunks and the views held."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from kb.catalog.collections import collection_of
from kb.catalog.database import Database, RowSource
from kb.catalog.publishing import Change
from kb.engines import EngineTable
from kb.view import ChunkTable, StoredView, load_table

logger = logging.getLogger(__name__)

PATIENCE_S = 10.0
"""How long an exchange of indexes waits for running searches; they take milliseconds."""


class Views:
    """Gives out views, and says which publication the oldest one in use has seen.

    Publications are counted: the number of the last one is the epoch.
    """

    def __init__(self, database: Database, engines: EngineTable) -> None:
        self._database = database
        self._engines = engines
        self._lock = threading.RLock()
        self._released = threading.Condition(self._lock)
        self._epoch = 0
        self._held: Counter[int] = Counter()
        self._tables: dict[int, ChunkTable] = {}

    @contextmanager
    def view(self, collection: str) -> Iterator[StoredView]:
        """Yield the collection's present state; it stays as it is while it is held.

        Raises:
            NotFoundError: There is no such collection.
        """
        # An index that must be rebuilt first would keep all others waiting under the lock.
        self._engines.of(collection_of(self._database, collection).generation_id)
        with ExitStack() as stack:
            with self._lock:
                snapshot = stack.enter_context(self._database.snapshot())
                record = collection_of(snapshot, collection)
                engine = self._engines.of(record.generation_id)
                table = self._table(record.generation_id, snapshot)
                stack.enter_context(self._holding())
            yield StoredView(snapshot, record, table=table, engine=engine)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let no view begin.

        One that began between a commit and `replace` would get a snapshot of the one state and
        a table of the other.
        """
        with self._lock:
            yield

    def replace(self, generation_id: int, change: Change) -> int:
        """Show what was committed while views were paused, and return the new epoch."""
        with self._lock:
            self._epoch += 1
            # A table that nobody has asked for yet is read from the catalog when somebody does.
            table = self._tables.get(generation_id)
            if table is not None:
                self._tables[generation_id] = table.after(change)
            return self._epoch

    def oldest_held(self) -> int | None:
        """Return the epoch of the oldest view in use, or None."""
        with self._lock:
            return min(self._held, default=None)

    def wait_for_present(self) -> None:
        """Wait until every view in use has seen the last publication."""
        with self._lock:
            self._released.wait_for(lambda: set(self._held) <= {self._epoch}, PATIENCE_S)

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Wait until no view is held, and let none begin."""
        with self._lock:
            if not self._released.wait_for(lambda: not self._held, PATIENCE_S):
                logger.warning("a search does not end; going on beside it")
            yield

    def forget_tables(self) -> None:
        """Read the tables from the catalog again when they are asked for."""
        with self._lock:
            self._tables.clear()

    def _table(self, generation_id: int, source: RowSource) -> ChunkTable:
        if generation_id not in self._tables:
            self._tables[generation_id] = load_table(source, generation_id)
        return self._tables[generation_id]

    @contextmanager
    def _holding(self) -> Iterator[None]:
        epoch = self._epoch
        self._held[epoch] += 1
        try:
            yield
        finally:
            with self._lock:
                self._held[epoch] -= 1
                if not self._held[epoch]:
                    del self._held[epoch]
                self._released.notify_all()
