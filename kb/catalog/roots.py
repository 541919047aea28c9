"""Synced folders and what was removed from them on purpose."""

from __future__ import annotations

import os
import sqlite3
import urllib.parse
from pathlib import PurePath

from kb.catalog.clock import now_text
from kb.catalog.database import Database
from kb.catalog.records import RootRecord
from kb.errors import NotFoundError

_ROOT = (
    "SELECT r.id, c.name, r.path, r.label, r.last_synced_at FROM roots r "
    "JOIN collections c ON c.id = r.collection_id "
)


class Roots:
    """Reads and changes recorded folders."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def roots(self, collection: str | None = None) -> list[RootRecord]:
        """Return the roots of a collection, or of all, by collection and label."""
        condition, parameters = ("WHERE c.name = ? ", (collection,)) if collection else ("", ())
        rows = self._database.rows(_ROOT + condition + "ORDER BY c.name, r.label", parameters)
        return [RootRecord(*row) for row in rows]

    def root_for(self, collection: str, real_path: str) -> RootRecord | None:
        """Return the root that is the folder or holds it, the innermost of several."""
        wanted = PurePath(real_path)
        holders = [r for r in self.roots(collection) if wanted.is_relative_to(r.path)]
        return max(holders, key=lambda root: len(root.path), default=None)

    def add_root(self, collection: str, real_path: str) -> RootRecord:
        """Record a folder under its base name, or `name~2` and so on where that is taken.

        A folder that is recorded already is returned as it is. Documents that were read from
        it before, when it was a root, become its documents again.

        Raises:
            NotFoundError: There is no such collection.
        """
        base = PurePath(real_path).name or "root"
        with self._database.transaction() as connection:
            collection_id = _collection_id(connection, collection)
            known = connection.execute(
                _ROOT + "WHERE r.collection_id = ? AND r.path = ?", (collection_id, real_path)
            ).fetchone()
            if known is not None:
                return RootRecord(*known)
            number, label = 1, base
            while (own := _own_documents(connection, collection_id, label, real_path)) is None:
                number += 1
                label = f"{base}~{number}"
            root_id = connection.execute(
                "INSERT INTO roots (collection_id, path, label, created_at) VALUES (?, ?, ?, ?)",
                (collection_id, real_path, label, now_text()),
            ).lastrowid
            connection.executemany(
                "UPDATE documents SET root_id = ? WHERE id = ?", ((root_id, one) for one in own)
            )
        return RootRecord(int(root_id or 0), collection, real_path, label, None)

    def is_root_label(self, collection: str, label: str) -> bool:
        """Return whether a root's documents begin with that name."""
        return any(root.label == label for root in self.roots(collection))

    def touch_root(self, root_id: int) -> None:
        """Note that a root was synced as a whole."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE roots SET last_synced_at = ? WHERE id = ?", (now_text(), root_id)
            )

    def exclusions(self, root_id: int) -> frozenset[str]:
        """Return the paths that were removed on purpose."""
        rows = self._database.rows("SELECT path FROM exclusions WHERE root_id = ?", (root_id,))
        return frozenset(row[0] for row in rows)

    def add_exclusion(self, root_id: int, path: str) -> None:
        """Keep a path out of later syncs."""
        with self._database.transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO exclusions VALUES (?, ?)", (root_id, path))

    def lift_exclusion(self, root_id: int, path: str) -> None:
        """Let a path in again."""
        with self._database.transaction() as connection:
            connection.execute(
                "DELETE FROM exclusions WHERE root_id = ? AND path = ?", (root_id, path)
            )

    def _forget_root(self, root_id: int) -> None:
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM roots WHERE id = ?", (root_id,))


def _collection_id(connection: sqlite3.Connection, name: str) -> int:
    row = connection.execute("SELECT id FROM collections WHERE name = ?", (name,)).fetchone()
    if row is None:
        raise NotFoundError(
            f"unknown collection {name!r}",
            code="unknown_collection",
            hint="`kb collections` lists them.",
        )
    return int(row[0])


def _own_documents(
    connection: sqlite3.Connection, collection_id: int, label: str, real_path: str
) -> list[int] | None:
    """Return the documents under a label that came from a folder; None if the label is taken."""
    if connection.execute(
        "SELECT 1 FROM roots WHERE collection_id = ? AND label = ?", (collection_id, label)
    ).fetchone():
        return None
    # "0" follows "/": the range is every path that begins with the label and a slash.
    rows = connection.execute(
        "SELECT id, path, source FROM documents WHERE collection_id = ?1 "
        "AND revision_id IS NOT NULL AND (path = ?2 OR path >= ?2 || '/' AND path < ?2 || '0')",
        (collection_id, label),
    ).fetchall()
    for _, path, source in rows:
        if _source_path(source) != os.fspath(PurePath(real_path, path[len(label) + 1 :])):
            return None
    return [int(row[0]) for row in rows]


def _source_path(source: str | None) -> str | None:
    if source is None:
        return None
    raw = urllib.parse.unquote_to_bytes(source.removeprefix("file://"))
    return os.fspath(PurePath(os.fsdecode(raw)))
