"""Collections and their generations in the catalog."""

from __future__ import annotations

import dataclasses
import difflib
import json
from typing import Any

from kb.catalog.clock import now_text
from kb.catalog.database import Database, RowSource
from kb.catalog.names import check_collection_name
from kb.catalog.publishing import note_unpurged
from kb.catalog.records import CollectionRecord
from kb.errors import ConflictError, NotFoundError
from kb.types import ModelIdentity

_COLLECTION = (
    "SELECT c.id, c.name, g.id, g.model, g.analyzer, g.chunk_rules, c.created_at, g.n_documents, "
    "g.n_chunks, g.n_terms FROM collections c JOIN generations g ON g.id = c.generation_id "
)


class Collections:
    """Reads and changes collections."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def collections(self) -> list[CollectionRecord]:
        """Return every collection, by name."""
        return [_record(row) for row in self._database.rows(_COLLECTION + "ORDER BY c.name")]

    def collection(self, name: str) -> CollectionRecord:
        """Return a collection.

        Raises:
            NotFoundError: There is none of that name; a near name is offered.
        """
        return collection_of(self._database, name)

    def create_collection(
        self, name: str, *, model: ModelIdentity, analyzer: str, chunk_rules: str
    ) -> CollectionRecord:
        """Create an empty collection.

        Raises:
            UsageError: The name is not allowed.
            ConflictError: It exists already.
        """
        check_collection_name(name)
        now = now_text()
        with self._database.transaction() as connection:
            if connection.execute("SELECT 1 FROM collections WHERE name = ?", (name,)).fetchone():
                raise ConflictError(
                    f"collection {name!r} exists already",
                    hint="Choose another name, or use it as it is.",
                )
            collection_id = connection.execute(
                "INSERT INTO collections (name, created_at) VALUES (?, ?)", (name, now)
            ).lastrowid
            generation_id = connection.execute(
                "INSERT INTO generations (collection_id, model, fingerprint, analyzer, "
                "chunk_rules, state, created_at) VALUES (?, ?, ?, ?, ?, 'live', ?)",
                (
                    collection_id,
                    json.dumps(dataclasses.asdict(model), ensure_ascii=False),
                    model.fingerprint(),
                    analyzer,
                    chunk_rules,
                    now,
                ),
            ).lastrowid
            connection.execute(
                "UPDATE collections SET generation_id = ? WHERE id = ?",
                (generation_id, collection_id),
            )
        return self.collection(name)

    def _remove_collection(self, record: CollectionRecord) -> list[int]:
        """Delete all rows of a collection, and return its generations."""
        with self._database.transaction() as connection:
            generations = [
                int(row[0])
                for row in connection.execute(
                    "SELECT id FROM generations WHERE collection_id = ?", (record.id,)
                )
            ]
            for generation_id in generations:
                connection.execute(
                    "DELETE FROM frequencies WHERE generation_id = ?", (generation_id,)
                )
            connection.execute("DELETE FROM collections WHERE id = ?", (record.id,))
            note_unpurged(connection)
        return generations


def collection_of(source: RowSource, name: str) -> CollectionRecord:
    """Return a collection as a database or a snapshot has it.

    Raises:
        NotFoundError: There is none of that name; a near name is offered.
    """
    rows = source.rows(_COLLECTION + "WHERE c.name = ?", (name,))
    if rows:
        return _record(rows[0])
    known = sorted(str(row[0]) for row in source.rows("SELECT name FROM collections"))
    close = difflib.get_close_matches(name, known, n=1)
    listed = ", ".join(known) or "none yet"
    raise NotFoundError(
        f"unknown collection {name!r}",
        code="unknown_collection",
        hint=f"Did you mean {close[0]!r}?" if close else f"Known collections: {listed}.",
    )


def _record(row: Any) -> CollectionRecord:
    return CollectionRecord(
        id=row[0],
        name=row[1],
        generation_id=row[2],
        model=ModelIdentity(**json.loads(row[3])),
        analyzer=row[4],
        chunk_rules=row[5],
        created_at=row[6],
        n_documents=row[7],
        n_chunks=row[8],
        n_terms=row[9],
    )
