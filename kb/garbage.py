"""Rows and index entries that nobody can see any more, and their removal."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

from kb.catalog.database import Database
from kb.catalog.publishing import note_unpurged
from kb.catalog.reading import as_json
from kb.engines import EngineTable
from kb.faults import reach

_BATCH_CHUNKS = 5_000


class Garbage:
    """Removes dead revisions once no search that began before their death is running.

    The indexes go first and the rows after, so that a row never leaves an index entry behind
    that nobody knows; both can be done again after a crash.
    """

    def __init__(self, database: Database, engines: EngineTable) -> None:
        self._database = database
        self._engines = engines
        self._lock = threading.Lock()
        self._died_at: dict[int, int] = {}

    def note(self, epoch: int, revision_ids: Sequence[int]) -> None:
        """Remember at which publication revisions died."""
        with self._lock:
            self._died_at.update(dict.fromkeys(revision_ids, epoch))

    def abandon(self, revision_ids: Sequence[int]) -> None:
        """Give up staged revisions whose publication failed."""
        with self._database.transaction() as connection:
            connection.executemany(
                "UPDATE revisions SET state = 'dead' WHERE id = ?", ((one,) for one in revision_ids)
            )

    def recover(self) -> None:
        """Remove what a killed process left staged or dead; run before an engine is open."""
        self._engines.drop_unknown()
        for generation_id, revision_ids, _ in self._batches("state <> 'live'"):
            reach("open.recovering")
            self._engines.unindex_unopened(generation_id, self._ordinals(revision_ids))
            self._delete_rows(generation_id, revision_ids)

    def collect(self, *, oldest_held: int | None, max_chunks: int | None) -> int:
        """Remove dead revisions, idempotently, and return how many chunks went.

        Args:
            oldest_held: Epoch of the oldest view in use, None for none.
            max_chunks: About how many at most; None for all.
        """
        with self._lock:
            kept = frozenset(
                revision_id
                for revision_id, epoch in self._died_at.items()
                if oldest_held is not None and epoch > oldest_held
            )
        removed = 0
        condition = "state <> 'live' AND state = 'dead'"
        size = min(max_chunks or _BATCH_CHUNKS, _BATCH_CHUNKS)
        for generation_id, revision_ids, n_chunks in self._batches(condition, kept, size=size):
            reach("garbage.begin")
            ordinals = self._ordinals(revision_ids)
            if ordinals:
                self._engines.of(generation_id).unindex(ordinals)
            reach("garbage.index")
            self._delete_rows(generation_id, revision_ids)
            reach("garbage.rows")
            removed += n_chunks
            if max_chunks is not None and removed >= max_chunks:
                break
        return removed

    def needs_purge(self) -> bool:
        """Return whether a file may hold words that are visible no more."""
        return bool(self._database.rows("SELECT 1 FROM meta WHERE key = 'unpurged'"))

    def forget_unused_embeddings(self) -> None:
        """Drop cached vectors that no chunk uses."""
        with self._database.transaction() as connection:
            connection.execute(
                "DELETE FROM embeddings WHERE id NOT IN (SELECT embedding_id FROM chunks)"
            )

    def worn_generations(self) -> list[int]:
        """Return the generations whose lexical index may hold traces of removed chunks."""
        rows = self._database.rows("SELECT id FROM generations WHERE n_removed > 0 ORDER BY id")
        return [int(row[0]) for row in rows]

    def note_fresh(self, generation_id: int) -> None:
        """Note that a lexical index was written anew."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE generations SET n_removed = 0 WHERE id = ?", (generation_id,)
            )

    def note_purged(self) -> None:
        """Note that no file holds words that are visible no more."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM meta WHERE key = 'unpurged'")

    def _batches(
        self, condition: str, kept: frozenset[int] = frozenset(), *, size: int = _BATCH_CHUNKS
    ) -> Iterator[tuple[int, list[int], int]]:
        """Yield generation, revisions and their number of chunks, about so many at a time."""
        rows = self._database.rows(
            "SELECT generation_id, id, n_chunks FROM revisions "
            f"WHERE {condition} ORDER BY generation_id, id"
        )
        rows = [row for row in rows if row[1] not in kept]
        batch: list[int] = []
        n_chunks = 0
        for place, (generation_id, revision_id, n) in enumerate(rows):
            batch.append(revision_id)
            n_chunks += n
            is_last = place + 1 == len(rows) or rows[place + 1][0] != generation_id
            if is_last or n_chunks >= size:
                yield generation_id, batch, n_chunks
                batch, n_chunks = [], 0

    def _ordinals(self, revision_ids: Sequence[int]) -> list[int]:
        rows = self._database.rows(
            "SELECT ordinal FROM chunks WHERE revision_id IN (SELECT value FROM json_each(?))",
            (as_json(revision_ids),),
        )
        return [row[0] for row in rows]

    def _delete_rows(self, generation_id: int, revision_ids: Sequence[int]) -> None:
        with self._database.transaction() as connection:
            connection.execute(
                "DELETE FROM revisions WHERE id IN (SELECT value FROM json_each(?))",
                (as_json(revision_ids),),
            )
            connection.execute(
                "DELETE FROM documents WHERE revision_id IS NULL AND NOT EXISTS "
                "(SELECT 1 FROM revisions r WHERE r.document_id = documents.id)"
            )
            connection.execute(
                "UPDATE generations SET n_removed = n_removed + 1 WHERE id = ?", (generation_id,)
            )
            note_unpurged(connection)
        with self._lock:
            for revision_id in revision_ids:
                self._died_at.pop(revision_id, None)
