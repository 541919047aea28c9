"""From rows to values, with checksums verified."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kb.catalog.checksums import CHUNK_FIELDS, blob_checksum, chunk_checksum
from kb.catalog.database import RowSource
from kb.errors import DamagedError
from kb.types import (
    Chunk,
    ChunkId,
    DocumentRecord,
    DocumentWarning,
    Ordinal,
    Ordinals,
    PageSpan,
    Passage,
    Section,
    TermIds,
    Vectors,
)

DOCUMENT_COLUMNS = (
    "d.id, c.name, r.path, d.root_id, d.source, d.size_bytes, d.mtime_ns, d.inode, d.read_at_ns, "
    "d.content_hash, r.number, r.title, r.facts, r.n_chunks, r.n_characters, r.metadata, "
    "r.indexed_at"
)
_N_DOCUMENT_COLUMNS = DOCUMENT_COLUMNS.count(",") + 1
_CHUNK_COLUMNS = "k.ordinal, k.sequence, k.checksum, " + ", ".join(
    f"k.{field}" for field in CHUNK_FIELDS.split(", ")
)
_QUERY_ORDINALS = 20_000
_QUERY_KEYS = 500

DAMAGED_HINT = (
    "`kb doctor` lists what is damaged; after `kb doctor --repair` the next `kb ingest` reads "
    "those documents again. A snapshot brings all back."
)


def document_of(row: Sequence[Any]) -> DocumentRecord:
    """Return a document from `DOCUMENT_COLUMNS`.

    Raises:
        DamagedError: What is stored of it cannot be read.
    """
    try:
        facts = json.loads(row[12])
        metadata = json.loads(row[15])
    except ValueError as error:
        raise DamagedError(f"the record of {row[2]!r} is damaged", hint=DAMAGED_HINT) from error
    return DocumentRecord(
        id=row[0],
        collection=row[1],
        path=row[2],
        root_id=row[3],
        source=row[4],
        size_bytes=row[5],
        mtime_ns=row[6],
        inode=unsigned(row[7]),
        read_at_ns=row[8],
        content_hash=row[9],
        revision=row[10],
        title=row[11],
        media_type=facts["media_type"],
        markup=facts["markup"],
        parser=facts["parser"],
        encoding=facts["encoding"],
        n_chunks=row[13],
        n_characters=row[14],
        n_pages=facts["n_pages"],
        n_images=facts["n_images"],
        n_source_characters=facts["n_source_characters"],
        metadata=metadata,
        warnings=tuple(
            DocumentWarning(code, message, tuple(pages) if pages is not None else None)
            for code, message, pages in facts["warnings"]
        ),
        indexed_at=row[16],
    )


def signed(number: int) -> int:
    """Return an inode as SQLite can hold it: some file systems use all 64 bits."""
    return (number + 2**63) % 2**64 - 2**63


def unsigned(number: int) -> int:
    """Return the inode that `signed` was given."""
    return number % 2**64


def passages_where(
    source: RowSource, condition: str, parameters: Sequence[object]
) -> list[Passage]:
    """Return the chunks of a condition over `k`, `r`, `d`, `c`, by revision and sequence.

    Raises:
        DamagedError: A stored text does not match its checksum.
    """
    rows = source.rows(
        f"SELECT {DOCUMENT_COLUMNS}, {_CHUNK_COLUMNS} FROM chunks k "
        "JOIN revisions r ON r.id = k.revision_id JOIN documents d ON d.id = r.document_id "
        f"JOIN collections c ON c.id = d.collection_id WHERE {condition} "
        "ORDER BY k.revision_id, k.sequence",
        parameters,
    )
    documents: dict[tuple[int, int], DocumentRecord] = {}
    found: list[Passage] = []
    for row in rows:
        key = (row[0], row[10])
        if key not in documents:
            documents[key] = document_of(row)
        ordinal, sequence, checksum, *fields = row[_N_DOCUMENT_COLUMNS:]
        chunk = _chunk_of(fields, checksum=checksum)
        found.append(Passage(Ordinal(ordinal), sequence, chunk, documents[key]))
    return found


def _chunk_of(fields: Sequence[Any], *, checksum: int) -> Chunk:
    if chunk_checksum(fields) != checksum:
        raise DamagedError(f"the stored passage {fields[7]} is damaged", hint=DAMAGED_HINT)
    start, end, first_line, last_line, first_page, last_page, _, *texts = fields
    chunk_id, headings, prefix, suffix, overlap, core = texts
    return Chunk(
        id=ChunkId(chunk_id),
        headings=tuple(json.loads(headings)),
        core=core,
        start=start,
        end=end,
        lines=(first_line, last_line),
        pages=(first_page, last_page) if first_page is not None else None,
        prefix=prefix,
        suffix=suffix,
        overlap=overlap,
    )


def vectors_of(source: RowSource, ordinals: Ordinals, *, dimension: int) -> Vectors:
    """Return stored vectors in the order asked for, float32 (n, dim).

    Raises:
        DamagedError: One is missing or does not match its checksum.
    """
    blobs = _blobs(
        source,
        ordinals,
        query="SELECT k.ordinal, e.vector, e.checksum FROM chunks k "
        "JOIN embeddings e ON e.id = k.embedding_id "
        "WHERE k.ordinal IN (SELECT value FROM json_each(?))",
        what="vector",
    )
    for ordinal, blob in zip(ordinals.tolist(), blobs, strict=True):
        if len(blob) != 4 * dimension:
            raise DamagedError(f"the vector of passage {ordinal} is damaged", hint=DAMAGED_HINT)
    return np.frombuffer(b"".join(blobs), dtype="<f4").reshape(-1, dimension)


def terms_of(source: RowSource, ordinals: Ordinals) -> tuple[TermIds, npt.NDArray[np.int64]]:
    """Return stored term ids end to end in the order asked for, and n+1 offsets into them.

    Raises:
        DamagedError: A sequence is missing or does not match its checksum.
    """
    blobs = _blobs(
        source,
        ordinals,
        query="SELECT ordinal, ids, checksum FROM terms "
        "WHERE ordinal IN (SELECT value FROM json_each(?))",
        what="terms",
    )
    offsets = np.zeros(len(blobs) + 1, np.int64)
    np.cumsum([len(blob) // 8 for blob in blobs], out=offsets[1:])
    return np.frombuffer(b"".join(blobs), dtype="<i8"), offsets


def _blobs(source: RowSource, ordinals: Ordinals, *, query: str, what: str) -> list[bytes]:
    found: dict[int, bytes] = {}
    for first in range(0, len(ordinals), _QUERY_ORDINALS):
        part = as_json(ordinals[first : first + _QUERY_ORDINALS].tolist())
        for ordinal, blob, checksum in source.rows(query, (part,)):
            if blob_checksum(blob) != checksum:
                raise DamagedError(f"the {what} of passage {ordinal} is damaged", hint=DAMAGED_HINT)
            found[ordinal] = blob
    try:
        return [found[ordinal] for ordinal in ordinals.tolist()]
    except KeyError as error:
        raise DamagedError(f"the {what} of passage {error} is missing", hint=DAMAGED_HINT) from None


def known_keys(source: RowSource, fingerprint: str, keys: Sequence[bytes]) -> set[bytes]:
    """Return which embedding keys have a vector that matches its checksum."""
    found: set[bytes] = set()
    for first in range(0, len(keys), _QUERY_KEYS):
        part = keys[first : first + _QUERY_KEYS]
        rows = source.rows(
            "SELECT key, checksum, vector FROM embeddings WHERE fingerprint = ? "
            f"AND key IN ({', '.join('?' * len(part))})",
            (fingerprint, *part),
        )
        found.update(key for key, checksum, blob in rows if blob_checksum(blob) == checksum)
    return found


def sections_of(outline: str) -> list[Section]:
    """Return the sections that were stored as JSON."""
    return [
        Section(headings=tuple(headings), level=level, start=start, end=end, line=line)
        for headings, level, start, end, line in json.loads(outline)
    ]


def pages_of(pages: str) -> tuple[PageSpan, ...]:
    """Return the page spans that were stored as JSON."""
    return tuple(PageSpan(start, end, number) for start, end, number in json.loads(pages))


def as_json(numbers: Iterable[int]) -> str:
    """Return numbers as one bound value, which `json_each` takes apart again."""
    return json.dumps(list(numbers))
