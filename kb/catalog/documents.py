"""Visible documents and what is stored of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kb.catalog.checksums import REVISION_FIELDS, revision_checksum
from kb.catalog.database import Database
from kb.catalog.reading import (
    DAMAGED_HINT,
    DOCUMENT_COLUMNS,
    document_of,
    pages_of,
    passages_where,
    sections_of,
    unsigned,
)
from kb.catalog.records import DocumentFacts
from kb.catalog.staging import source_columns
from kb.errors import DamagedError, NotFoundError
from kb.types import DocumentRecord, PageSpan, Passage, Section, Source

_VISIBLE = (
    f"SELECT {DOCUMENT_COLUMNS} FROM documents d JOIN revisions r ON r.id = d.revision_id "
    "JOIN collections c ON c.id = d.collection_id "
)
_FACTS = (
    "SELECT d.path, d.id, d.size_bytes, d.mtime_ns, d.inode, d.read_at_ns, d.content_hash, "
    "r.number, d.source FROM documents d JOIN revisions r ON r.id = d.revision_id "
)
_IN_COLLECTION = "WHERE d.collection_id = (SELECT id FROM collections WHERE name = ?) "


class Documents:
    """Reads documents; publications change them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def document(self, collection: str, path: str) -> DocumentRecord:
        """Return a document.

        Raises:
            NotFoundError: There is none.
        """
        rows = self._database.rows(_VISIBLE + _IN_COLLECTION + "AND d.path = ?", (collection, path))
        if not rows:
            raise NotFoundError(
                f"no document {path!r} in collection {collection!r}",
                code="unknown_document",
                hint="`kb ls` lists what is there.",
            )
        return document_of(rows[0])

    def documents(
        self,
        collection: str,
        *,
        prefix: str = "",
        root_id: int | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[DocumentRecord]:
        """Return documents in the order of their paths' code points.

        Args:
            collection: None of that name has no documents.
            prefix: What their paths begin with.
            root_id: Only those synced from this root.
            after: The last path of the page before.
            limit: None for all.
        """
        conditions, parameters = _range(prefix)
        if root_id is not None:
            conditions += "AND d.root_id = ? "
            parameters.append(root_id)
        if after is not None:
            conditions += "AND d.path > ? "
            parameters.append(after)
        rows = self._database.rows(
            f"{_VISIBLE}{_IN_COLLECTION}{conditions}ORDER BY d.path LIMIT ?",
            (collection, *parameters, -1 if limit is None else limit),
        )
        return [document_of(row) for row in rows]

    def count_documents(self, collection: str, *, prefix: str = "") -> int:
        """Return how many documents have a path that begins so."""
        conditions, parameters = _range(prefix)
        rows = self._database.rows(
            "SELECT count(*) FROM documents d "
            f"{_IN_COLLECTION}{conditions}AND d.revision_id IS NOT NULL",
            (collection, *parameters),
        )
        return int(rows[0][0])

    def document_facts(self, root_id: int) -> dict[str, DocumentFacts]:
        """Return what a sync must know of a root's documents, by path."""
        rows = self._database.rows(_FACTS + "WHERE d.root_id = ?", (root_id,))
        return {row[0]: _facts_of(row) for row in rows}

    def facts_of(self, collection: str, path: str) -> DocumentFacts | None:
        """Return what a sync must know of one document, or None."""
        rows = self._database.rows(_FACTS + _IN_COLLECTION + "AND d.path = ?", (collection, path))
        return _facts_of(rows[0]) if rows else None

    def document_text(self, document: DocumentRecord) -> str:
        """Return a document's text.

        Raises:
            NotFoundError: It was replaced or removed meanwhile.
            DamagedError: What is stored does not make up the text that was read.
        """
        chunks = self.document_chunks(document)
        text = "".join(passage.chunk.core for passage in chunks)
        if not chunks:
            text = self._texts(document)["blank_text"]
        if len(text) != document.n_characters:
            raise _not_whole(document)
        return text

    def document_chunks(self, document: DocumentRecord) -> list[Passage]:
        """Return a document's passages in text order.

        Raises:
            NotFoundError: It was replaced or removed meanwhile.
            DamagedError: One is missing or does not match its checksum.
        """
        found = passages_where(
            self._database, "d.id = ? AND r.number = ?", (document.id, document.revision)
        )
        if len(found) != document.n_chunks:
            self._texts(document)
            raise _not_whole(document)
        return found

    def document_sections(self, document: DocumentRecord) -> list[Section]:
        """Return a document's outline in text order.

        Raises:
            NotFoundError: It was replaced or removed meanwhile.
            DamagedError: It does not match its checksum.
        """
        return sections_of(self._texts(document)["outline"])

    def document_pages(self, document: DocumentRecord) -> tuple[PageSpan, ...]:
        """Return which characters stand on which page.

        Raises:
            NotFoundError: It was replaced or removed meanwhile.
            DamagedError: It does not match its checksum.
        """
        return pages_of(self._texts(document)["pages"])

    def find_chunk(self, chunk_id: str) -> list[Passage]:
        """Return the visible passages of that id.

        Raises:
            DamagedError: One does not match its checksum.
        """
        return passages_where(self._database, "k.id = ? AND d.revision_id = r.id", (chunk_id,))

    def update_source(self, document_id: int, source: Source) -> None:
        """Note that a file was looked at again and holds the same bytes."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE documents SET root_id = ?, source = ?, size_bytes = ?, mtime_ns = ?, "
                "inode = ?, read_at_ns = ?, content_hash = ? WHERE id = ?",
                (*source_columns(source), document_id),
            )

    def _texts(self, document: DocumentRecord) -> dict[str, str]:
        rows: Sequence[Any] = self._database.rows(
            f"SELECT checksum, {REVISION_FIELDS} FROM revisions "
            "WHERE document_id = ? AND number = ?",
            (document.id, document.revision),
        )
        if not rows:
            raise NotFoundError(
                f"{document.path!r} was replaced or removed meanwhile",
                code="unknown_document",
                hint="Look it up again.",
            )
        checksum, *texts = rows[0]
        if revision_checksum(texts) != checksum:
            raise DamagedError(f"the record of {document.path!r} is damaged", hint=DAMAGED_HINT)
        return dict(zip(REVISION_FIELDS.split(", "), texts, strict=True))


def _range(prefix: str) -> tuple[str, list[object]]:
    """Return the condition for paths that begin with a prefix; an index can serve it."""
    if not prefix:
        return "", []
    conditions, parameters = "AND d.path >= ? ", [prefix]
    stem = prefix.rstrip("\U0010ffff")
    if stem:
        following = ord(stem[-1]) + 1
        # Surrogates are no characters: nothing can stand between D7FF and E000.
        following = 0xE000 if 0xD800 <= following < 0xE000 else following
        conditions += "AND d.path < ? "
        parameters.append(stem[:-1] + chr(following))
    return conditions, list(parameters)


def _not_whole(document: DocumentRecord) -> DamagedError:
    return DamagedError(f"the text of {document.path!r} is not whole", hint=DAMAGED_HINT)


def _facts_of(row: Any) -> DocumentFacts:
    return DocumentFacts(
        id=row[1],
        size_bytes=row[2],
        mtime_ns=row[3],
        inode=unsigned(row[4]),
        read_at_ns=row[5],
        content_hash=row[6],
        revision=row[7],
        source=row[8],
    )
