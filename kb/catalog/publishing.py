"""What makes staged revisions visible: the second transaction of a publication."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kb.catalog.staging import StagedRevision, source_columns
from kb.types import Receipt, TermIds

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """What a publication did to the visible chunks of a generation.

    Attributes:
        receipts: One per document: revisions in the order given, then deletions.
        entering: Ordinals that became visible, ascending.
        entering_documents: Their documents.
        entering_scripts: Their scripts.
        leaving: Ordinals that are visible no more.
        n_terms: By how much the sum of the visible chunks' term counts grew.
        dead: Revisions whose rows may go once nobody looks at them.
    """

    receipts: list[Receipt]
    entering: npt.NDArray[np.int64]
    entering_documents: npt.NDArray[np.int64]
    entering_scripts: list[str]
    leaving: npt.NDArray[np.int64]
    n_terms: int
    dead: list[int]


def publish(
    connection: sqlite3.Connection,
    *,
    collection_id: int,
    generation_id: int,
    staged: Sequence[StagedRevision],
    deletions: Sequence[int],
    now: str,
) -> Change:
    """Make staged revisions visible and deleted documents invisible."""
    receipts: list[Receipt] = []
    dead: list[int] = []
    for entry in staged:
        old = _point_document(connection, entry, now=now)
        dead += [] if old is None else [old]
        state = "added" if old is None else "updated"
        receipts.append(Receipt(entry.revision.source.path, state, entry.number))
    for document_id in deletions:
        hidden = _hide_document(connection, collection_id, document_id)
        if hidden is not None:
            receipts.append(hidden[0])
            dead.append(hidden[1])
    connection.executemany(
        "UPDATE revisions SET state = 'dead' WHERE id = ?", ((number,) for number in dead)
    )
    leaving, leaving_terms = _chunks_of(connection, dead)
    entering_terms = [e.terms for entry in staged for e in entry.revision.entries]
    _count_terms(connection, generation_id, entering=entering_terms, leaving=leaving_terms)
    n_terms = sum(map(len, entering_terms)) - sum(map(len, leaving_terms))
    n_added = sum(receipt.state == "added" for receipt in receipts)
    n_deleted = sum(receipt.state == "deleted" for receipt in receipts)
    connection.execute(
        "UPDATE generations SET n_documents = n_documents + ?, n_chunks = n_chunks + ?, "
        "n_terms = n_terms + ? WHERE id = ?",
        (n_added - n_deleted, len(entering_terms) - len(leaving), n_terms, generation_id),
    )
    if dead:
        note_unpurged(connection)
    return Change(
        receipts=receipts,
        entering=np.array([o for entry in staged for o in entry.ordinals], dtype=np.int64),
        entering_documents=np.array(
            [entry.document_id for entry in staged for _ in entry.ordinals], dtype=np.int64
        ),
        entering_scripts=[e.script for entry in staged for e in entry.revision.entries],
        leaving=leaving,
        n_terms=n_terms,
        dead=dead,
    )


def note_unpurged(connection: sqlite3.Connection) -> None:
    """Remember that the files hold words that are visible no more."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('unpurged', 'yes')")


def distinct_counts(sequences: Iterable[TermIds]) -> tuple[TermIds, Counts]:
    """Return each term of some chunks and in how many of them it stands."""
    distinct = [np.unique(terms) for terms in sequences]
    if not distinct:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    terms, counts = np.unique(np.concatenate(distinct), return_counts=True)
    return terms, counts.astype(np.int64)


def _count_terms(
    connection: sqlite3.Connection,
    generation_id: int,
    *,
    entering: Sequence[TermIds],
    leaving: Sequence[TermIds],
) -> None:
    """Change the document frequencies by the difference: an edit leaves most as they are."""
    new_terms, new_counts = distinct_counts(entering)
    old_terms, old_counts = distinct_counts(leaving)
    terms, places = np.unique(np.concatenate([new_terms, old_terms]), return_inverse=True)
    changes = np.zeros(len(terms), np.int64)
    np.add.at(changes, places, np.concatenate([new_counts, -old_counts]))
    changed = np.flatnonzero(changes)
    connection.executemany(
        "INSERT INTO frequencies (generation_id, term, n_chunks) VALUES (?, ?, ?) "
        "ON CONFLICT DO UPDATE SET n_chunks = n_chunks + excluded.n_chunks",
        (
            (generation_id, term, change)
            for term, change in zip(terms[changed].tolist(), changes[changed].tolist(), strict=True)
        ),
    )
    connection.executemany(
        "DELETE FROM frequencies WHERE generation_id = ? AND term = ? AND n_chunks <= 0",
        ((generation_id, term) for term in terms[changes < 0].tolist()),
    )


def _point_document(
    connection: sqlite3.Connection, entry: StagedRevision, *, now: str
) -> int | None:
    """Make a document show a staged revision, and return the one it showed before."""
    (old,) = connection.execute(
        "SELECT revision_id FROM documents WHERE id = ?", (entry.document_id,)
    ).fetchone()
    connection.execute(
        "UPDATE documents SET root_id = ?, source = ?, size_bytes = ?, mtime_ns = ?, inode = ?, "
        "read_at_ns = ?, content_hash = ?, revision_id = ? WHERE id = ?",
        (*source_columns(entry.revision.source), entry.id, entry.document_id),
    )
    connection.execute(
        "UPDATE revisions SET state = 'live', indexed_at = ? WHERE id = ?", (now, entry.id)
    )
    return None if old is None else int(old)


def _hide_document(
    connection: sqlite3.Connection, collection_id: int, document_id: int
) -> tuple[Receipt, int] | None:
    row = connection.execute(
        "SELECT d.path, r.number, r.id FROM documents d JOIN revisions r ON r.id = d.revision_id "
        "WHERE d.id = ? AND d.collection_id = ?",
        (document_id, collection_id),
    ).fetchone()
    if row is None:
        return None
    # The row waits for its chunks to go; its path is free for a new document at once.
    connection.execute(
        "UPDATE documents SET revision_id = NULL, path = ?, root_id = NULL WHERE id = ?",
        (f"\0{document_id}", document_id),
    )
    return Receipt(path=row[0], state="deleted", revision=int(row[1])), int(row[2])


def _chunks_of(
    connection: sqlite3.Connection, revision_ids: Sequence[int]
) -> tuple[npt.NDArray[np.int64], list[TermIds]]:
    ordinals: list[int] = []
    sequences: list[TermIds] = []
    for revision_id in revision_ids:
        for ordinal, blob in connection.execute(
            "SELECT k.ordinal, t.ids FROM chunks k JOIN terms t ON t.ordinal = k.ordinal "
            "WHERE k.revision_id = ?",
            (revision_id,),
        ):
            ordinals.append(ordinal)
            # A damaged sequence must not keep its document from being removed.
            sequences.append(np.frombuffer(blob[: len(blob) // 8 * 8], dtype="<i8"))
    return np.array(ordinals, dtype=np.int64), sequences
