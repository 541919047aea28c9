"""New revisions as invisible rows: the first transaction of a publication."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kb.catalog.checksums import blob_checksum, chunk_checksum, revision_checksum
from kb.catalog.reading import signed
from kb.types import ParsedDocument, Revision, Source

_CHUNK_INSERT = f"INSERT INTO chunks VALUES ({', '.join('?' * 21)})"


@dataclass(frozen=True, slots=True, eq=False)
class StagedRevision:
    """A revision whose rows are written but not visible."""

    id: int
    document_id: int
    number: int
    ordinals: range
    revision: Revision


def check_revisions(revisions: Sequence[Revision]) -> None:
    """Refuse what could not be read back as it was parsed.

    Raises:
        ValueError: Two revisions have one path, or the chunks do not make up the text.
    """
    paths = {revision.source.path for revision in revisions}
    if len(paths) != len(revisions):
        raise ValueError("two revisions of one path in one publication")
    for revision in revisions:
        text = revision.parsed.text
        joined = "".join(entry.chunk.core for entry in revision.entries)
        if joined != text if revision.entries else text.strip():
            raise ValueError(f"the chunks of {revision.source.path!r} do not make up its text")


def insert_embeddings(
    connection: sqlite3.Connection,
    fingerprint: str,
    vectors: Mapping[bytes, npt.NDArray[np.float32]],
    *,
    dimension: int,
) -> None:
    """Store vectors; one that is there already is replaced, which heals a damaged one.

    Raises:
        ValueError: A vector has another dimension or is not finite.
    """
    rows = []
    for key, vector in vectors.items():
        if vector.shape != (dimension,) or not np.isfinite(vector).all():
            raise ValueError(f"no vector of {dimension} finite numbers for {key.hex()}")
        blob = vector.astype("<f4").tobytes()
        rows.append((fingerprint, key, blob_checksum(blob), blob))
    connection.executemany(
        "INSERT INTO embeddings (fingerprint, key, checksum, vector) VALUES (?, ?, ?, ?) "
        "ON CONFLICT DO UPDATE SET checksum = excluded.checksum, vector = excluded.vector",
        rows,
    )


def stage(
    connection: sqlite3.Connection,
    *,
    collection_id: int,
    generation_id: int,
    fingerprint: str,
    revisions: Sequence[Revision],
    now: str,
) -> list[StagedRevision]:
    """Write revisions with their chunks, invisible.

    Raises:
        LookupError: A vector is neither in the cache nor was it given.
    """
    keys = {entry.embedding_key for revision in revisions for entry in revision.entries}
    embedding_ids = _embedding_ids(connection, fingerprint, keys)
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'chunks'").fetchone()
    next_ordinal = (int(row[0]) if row else 0) + 1
    staged: list[StagedRevision] = []
    for revision in revisions:
        document_id, number = _document_row(connection, collection_id, revision.source)
        revision_id = _insert_revision(
            connection, document_id, generation_id, revision=revision, number=number, now=now
        )
        ordinals = range(next_ordinal, next_ordinal + len(revision.entries))
        next_ordinal = ordinals.stop
        _insert_chunks(
            connection,
            revision,
            ordinals,
            owners=(generation_id, document_id, revision_id),
            embedding_ids=embedding_ids,
        )
        staged.append(StagedRevision(revision_id, document_id, number, ordinals, revision))
    return staged


def source_columns(source: Source) -> tuple[object, ...]:
    """Return root, source, size, mtime, inode, time of reading and hash as they are stored."""
    return (
        source.root_id,
        source.source,
        source.size_bytes,
        source.mtime_ns,
        signed(source.inode),
        source.read_at_ns,
        source.content_hash,
    )


def _embedding_ids(
    connection: sqlite3.Connection, fingerprint: str, keys: Iterable[bytes]
) -> dict[bytes, int]:
    found: dict[bytes, int] = {}
    for key in keys:
        row = connection.execute(
            "SELECT id FROM embeddings WHERE fingerprint = ? AND key = ?", (fingerprint, key)
        ).fetchone()
        if row is None:
            raise LookupError(f"no vector was given for {key.hex()}")
        found[key] = int(row[0])
    return found


def _document_row(
    connection: sqlite3.Connection, collection_id: int, source: Source
) -> tuple[int, int]:
    """Return the document of a path, made invisible if new, and its next revision number."""
    row = connection.execute(
        "SELECT id FROM documents WHERE collection_id = ? AND path = ?",
        (collection_id, source.path),
    ).fetchone()
    if row is not None:
        number = connection.execute(
            "SELECT coalesce(max(number), 0) + 1 FROM revisions WHERE document_id = ?", (row[0],)
        ).fetchone()[0]
        return int(row[0]), int(number)
    cursor = connection.execute(
        "INSERT INTO documents (collection_id, path, root_id, source, size_bytes, mtime_ns, inode, "
        "read_at_ns, content_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (collection_id, source.path, *source_columns(source)),
    )
    return int(cursor.lastrowid or 0), 1


def _insert_revision(
    connection: sqlite3.Connection,
    document_id: int,
    generation_id: int,
    *,
    revision: Revision,
    number: int,
    now: str,
) -> int:
    parsed = revision.parsed
    texts = (
        revision.source.path,
        revision.title,
        _json(_facts(parsed)),
        _json(dict(parsed.metadata)),
        "" if revision.entries else parsed.text,
        _json([[page.start, page.end, page.number] for page in parsed.pages]),
        _json([[list(s.headings), s.level, s.start, s.end, s.line] for s in revision.sections]),
    )
    cursor = connection.execute(
        "INSERT INTO revisions (document_id, generation_id, number, state, n_chunks, "
        "n_characters, checksum, indexed_at, path, title, facts, metadata, blank_text, pages, "
        "outline) VALUES (?, ?, ?, 'staged', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            document_id,
            generation_id,
            number,
            len(revision.entries),
            len(parsed.text),
            revision_checksum(texts),
            now,
            *texts,
        ),
    )
    return int(cursor.lastrowid or 0)


def _facts(parsed: ParsedDocument) -> dict[str, object]:
    return {
        "media_type": parsed.media_type,
        "markup": parsed.markup,
        "parser": parsed.parser,
        "encoding": parsed.encoding,
        "n_pages": parsed.n_pages,
        "n_images": parsed.n_images,
        "n_source_characters": parsed.n_source_characters,
        "warnings": [[w.code, w.message, w.pages] for w in parsed.warnings],
    }


def _insert_chunks(
    connection: sqlite3.Connection,
    revision: Revision,
    ordinals: range,
    *,
    owners: tuple[int, int, int],
    embedding_ids: Mapping[bytes, int],
) -> None:
    chunk_rows = []
    term_rows = []
    for sequence, (ordinal, entry) in enumerate(zip(ordinals, revision.entries, strict=True)):
        chunk = entry.chunk
        fields = (
            chunk.start,
            chunk.end,
            *chunk.lines,
            *(chunk.pages or (None, None)),
            entry.script,
            chunk.id,
            _json(list(chunk.headings)),
            chunk.prefix,
            chunk.suffix,
            chunk.overlap,
            chunk.core,
        )
        embedding_id = embedding_ids[entry.embedding_key]
        checksum = chunk_checksum(fields)
        chunk_rows.append(
            (ordinal, *owners, sequence, embedding_id, len(entry.terms), checksum, *fields)
        )
        blob = entry.terms.astype("<i8").tobytes()
        term_rows.append((ordinal, blob_checksum(blob), blob))
    connection.executemany(_CHUNK_INSERT, chunk_rows)
    connection.executemany("INSERT INTO terms VALUES (?, ?, ?)", term_rows)


def _json(value: object) -> str:
    # What a parser found in a front matter may be a date: as text it can be compared, too.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
