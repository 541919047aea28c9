"""Mending a home from what its catalog still holds."""

from __future__ import annotations

import sqlite3

from kb.catalog.checksums import blob_checksum
from kb.catalog.database import Database
from kb.catalog.publishing import note_unpurged
from kb.engines import EngineTable
from kb.health import (
    Damage,
    counted_statistics,
    find_damage,
    generations_of,
    stored_statistics,
)


def mend(database: Database, engines: EngineTable) -> list[str]:
    """Take out what is damaged, then build statistics and indexes anew; say what was done.

    No view may be held and nothing published meanwhile.
    """
    with database.transaction() as connection:
        done = [_take_out(connection, damage) for damage in find_damage(database)]
        done += _mend_documents(connection)
        # The indexes are built anew below: no entry of theirs is left behind.
        connection.execute("DELETE FROM revisions WHERE state <> 'live'")
        connection.execute("DELETE FROM documents WHERE revision_id IS NULL")
    done = list(dict.fromkeys(done))
    for generation_id, collection in generations_of(database):
        counted = counted_statistics(database, generation_id)
        if stored_statistics(database, generation_id) != counted:
            done.append(f"counted the terms of {collection!r} again")
        with database.transaction() as connection:
            connection.execute("DELETE FROM frequencies WHERE generation_id = ?", (generation_id,))
            connection.executemany(
                "INSERT INTO frequencies VALUES (?, ?, ?)",
                ((generation_id, term, n) for term, n in counted.frequencies.items()),
            )
            connection.execute(
                "UPDATE generations SET n_documents = ?, n_chunks = ?, n_terms = ? WHERE id = ?",
                (counted.n_documents, counted.n_chunks, counted.n_terms, generation_id),
            )
        engines.rebuild(generation_id)
        done.append(f"built the indexes of {collection!r} anew")
    return done


def _take_out(connection: sqlite3.Connection, damage: Damage) -> str:
    """Hide a damaged document; where only a vector is, keep its text and forget the vector."""
    if damage.code == "vector" and damage.embedding_id is not None:
        # Found by its words alone until its source is read again, which the empty hash brings
        # about; the random key lets the model make the vector anew.
        size = connection.execute(
            "SELECT length(vector) FROM embeddings WHERE id = ?", (damage.embedding_id,)
        ).fetchone()[0]
        blank = bytes(size)
        connection.execute(
            "UPDATE embeddings SET key = randomblob(32), vector = ?, checksum = ? WHERE id = ?",
            (blank, blob_checksum(blank), damage.embedding_id),
        )
        connection.execute(
            "UPDATE documents SET content_hash = '', mtime_ns = 0 WHERE id = ?",
            (damage.document_id,),
        )
        return f"forgot a vector of {damage.path!r}; ingest its source again"
    _hide(connection, damage.document_id)
    return f"took out {damage.path!r}; ingest its source again"


def _hide(connection: sqlite3.Connection, document_id: int) -> None:
    connection.execute(
        "UPDATE documents SET revision_id = NULL, root_id = NULL, path = ? WHERE id = ?",
        (f"\0{document_id}", document_id),
    )
    connection.execute(
        "UPDATE revisions SET state = 'dead' WHERE document_id = ? AND state = 'live'",
        (document_id,),
    )
    note_unpurged(connection)


def _mend_documents(connection: sqlite3.Connection) -> list[str]:
    """Hide documents that are not whole, and revisions that no document points at."""
    done: list[str] = []
    for document_id, path in connection.execute(
        "SELECT d.id, d.path FROM documents d LEFT JOIN revisions r ON r.id = d.revision_id "
        "WHERE d.revision_id IS NOT NULL AND (r.id IS NULL OR r.document_id <> d.id "
        "OR r.n_chunks <> (SELECT count(*) FROM chunks k WHERE k.revision_id = r.id) "
        "OR r.n_characters <> length(r.blank_text) + (SELECT coalesce(sum(k.end - k.start), 0) "
        "FROM chunks k WHERE k.revision_id = r.id))"
    ).fetchall():
        _hide(connection, document_id)
        done.append(f"took out {path!r}; ingest its source again")
    connection.execute(
        "UPDATE revisions SET state = 'live' WHERE state = 'dead' "
        "AND id IN (SELECT revision_id FROM documents WHERE revision_id IS NOT NULL)"
    )
    connection.execute(
        "UPDATE revisions SET state = 'dead' WHERE state = 'live' "
        "AND id NOT IN (SELECT revision_id FROM documents WHERE revision_id IS NOT NULL)"
    )
    return done
