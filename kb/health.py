"""Checks of every invariant between catalog and indexes, and the digest of what is visible."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kb.catalog.checksums import (
    CHUNK_FIELDS,
    REVISION_FIELDS,
    blob_checksum,
    chunk_checksum,
    revision_checksum,
)
from kb.catalog.database import RowSource
from kb.catalog.publishing import distinct_counts
from kb.catalog.reading import terms_of
from kb.catalog.records import Problem
from kb.engines import EngineTable, count_chunks
from kb.errors import DamagedError

_PAGE_ROWS = 2_000
_SAMPLED_CHUNKS = 2_000
"""How many chunks are looked up in a lexical index; its count is compared for all."""

_RESTORE = "Restore a snapshot (`kb snapshot restore FILE`), or ingest the folders into a new home."
_READ_AGAIN = (
    "`kb doctor --repair` takes it out; the next `kb ingest` of its source reads it again."
)
_REBUILD = "`kb doctor --repair` rebuilds it from the catalog."


@dataclass(frozen=True, slots=True)
class Statistics:
    """The counters of a generation, and in how many visible chunks each term stands."""

    n_documents: int
    n_chunks: int
    n_terms: int
    frequencies: dict[int, int]


@dataclass(frozen=True, slots=True)
class Damage:
    """Stored bytes that do not match their checksum.

    Attributes:
        code: `passage`, `vector`, `terms` or `document`.
        document_id: The document they belong to.
        path: Its path.
        embedding_id: The vector, or None.
    """

    code: str
    document_id: int
    path: str
    embedding_id: int | None = None


def visible_digest(source: RowSource) -> str:
    """Return a hash of collections, models, documents, texts and chunks; no ids, no times."""
    whole = hashlib.sha256()
    collections = source.rows(
        "SELECT c.id, c.name, g.model, g.analyzer, g.chunk_rules FROM collections c "
        "JOIN generations g ON g.id = c.generation_id ORDER BY c.name"
    )
    for collection_id, *facts in collections:
        _feed(whole, "collection", *facts)
        for document in source.rows(
            "SELECT r.id, d.path, d.content_hash, r.title, r.metadata, r.pages, r.outline, "
            "r.blank_text FROM documents d JOIN revisions r ON r.id = d.revision_id "
            "WHERE d.collection_id = ? ORDER BY d.path",
            (collection_id,),
        ):
            _feed(whole, "document", *document[1:])
            for chunk in source.rows(
                f"SELECT {CHUNK_FIELDS} FROM chunks WHERE revision_id = ? ORDER BY sequence",
                (document[0],),
            ):
                _feed(whole, "chunk", *chunk)
    return whole.hexdigest()


def sizes_of(home: Path) -> dict[str, int]:
    """Return the bytes of `catalog`, `lexical`, `vectors` and, as `total`, of all the home."""
    sizes = {"catalog": 0, "lexical": 0, "vectors": 0, "total": 0}
    for path in home.rglob("*"):
        size = 0
        # An index may merge its files away meanwhile.
        with suppress(FileNotFoundError):
            size = path.stat().st_size if path.is_file() else 0
        first = path.relative_to(home).parts[0]
        kind = "catalog" if first.startswith("catalog.") else first
        if kind in sizes and kind != "total":
            sizes[kind] += size
        sizes["total"] += size
    return sizes


def find_problems(source: RowSource, engines: EngineTable) -> list[Problem]:
    """Return every invariant that does not hold; nothing may be published meanwhile."""
    unsound = [row[0] for row in source.rows("PRAGMA quick_check(5)") if row[0] != "ok"]
    if unsound:
        return [Problem("catalog", f"the catalog is damaged: {text}", _RESTORE) for text in unsound]
    problems = [
        Problem(damage.code, f"the stored {damage.code} of {damage.path!r} is damaged", _READ_AGAIN)
        for damage in find_damage(source)
    ]
    problems += _check_documents(source)
    for generation_id, collection in generations_of(source):
        problems += _check_statistics(source, generation_id, collection)
        problems += _check_lexical(source, engines, generation_id, collection=collection)
    return problems


def generations_of(source: RowSource) -> list[tuple[int, str]]:
    """Return every generation with the name of its collection."""
    return source.rows(
        "SELECT g.id, c.name FROM generations g JOIN collections c ON c.id = g.collection_id "
        "ORDER BY g.id"
    )


def find_damage(source: RowSource) -> Iterator[Damage]:
    """Yield the visible documents whose stored bytes do not match their checksums."""
    for checksum, document_id, *texts in source.rows(
        f"SELECT checksum, document_id, {REVISION_FIELDS} FROM revisions WHERE state = 'live'"
    ):
        if revision_checksum(texts) != checksum:
            yield Damage("document", document_id, texts[0])
    fields = ", ".join(f"k.{field}" for field in CHUNK_FIELDS.split(", "))
    last = 0
    while rows := source.rows(
        "SELECT k.ordinal, k.document_id, r.path, k.checksum, e.id, e.vector, e.checksum, t.ids, "
        f"t.checksum, k.n_terms, {fields} FROM chunks k JOIN revisions r ON r.id = k.revision_id "
        "LEFT JOIN embeddings e ON e.id = k.embedding_id "
        "LEFT JOIN terms t ON t.ordinal = k.ordinal "
        "WHERE k.ordinal > ? AND r.state = 'live' ORDER BY k.ordinal LIMIT ?",
        (last, _PAGE_ROWS),
    ):
        for row in rows:
            yield from _damage_of(row)
        last = rows[-1][0]


def _damage_of(row: Any) -> Iterator[Damage]:
    _, document_id, path, checksum, embedding_id, vector, vector_sum, ids, ids_sum, n_terms = row[
        :10
    ]
    if chunk_checksum(row[10:]) != checksum:
        yield Damage("passage", document_id, path)
    if vector is None or blob_checksum(vector) != vector_sum:
        yield Damage("vector", document_id, path, embedding_id)
    if ids is None or blob_checksum(ids) != ids_sum or len(ids) != 8 * n_terms:
        yield Damage("terms", document_id, path)


def _check_documents(source: RowSource) -> Iterator[Problem]:
    for table, _, parent, _ in source.rows("PRAGMA foreign_key_check"):
        yield Problem("orphan", f"a row of {table} has lost its {parent}", _RESTORE)
    for path, n_chunks, n_characters, blank, state, is_current, found, characters in source.rows(
        "SELECT d.path, r.n_chunks, r.n_characters, length(r.blank_text), r.state, "
        "r.generation_id = c.generation_id AND r.document_id = d.id, count(k.ordinal), "
        "coalesce(sum(k.end - k.start), 0) FROM documents d JOIN collections c "
        "ON c.id = d.collection_id JOIN revisions r ON r.id = d.revision_id "
        "LEFT JOIN chunks k ON k.revision_id = r.id GROUP BY d.id"
    ):
        if state != "live" or not is_current:
            yield Problem("document", f"{path!r} points at a revision that is not live", _REBUILD)
        if n_chunks != found or n_characters != (characters if found else blank):
            yield Problem("document", f"the text of {path!r} is not whole", _READ_AGAIN)
    for (path,) in source.rows(
        "SELECT r.path FROM revisions r LEFT JOIN documents d ON d.id = r.document_id "
        "WHERE r.state = 'live' AND d.revision_id IS NOT r.id"
    ):
        yield Problem("document", f"{path!r} has a second live revision", _REBUILD)


def _check_statistics(source: RowSource, generation_id: int, collection: str) -> Iterator[Problem]:
    if stored_statistics(source, generation_id) != counted_statistics(source, generation_id):
        yield Problem("statistics", f"the term statistics of {collection!r} are wrong", _REBUILD)


def stored_statistics(source: RowSource, generation_id: int) -> Statistics:
    """Return the statistics that searches use."""
    counters = source.rows(
        "SELECT n_documents, n_chunks, n_terms FROM generations WHERE id = ?", (generation_id,)
    )
    frequencies = source.rows(
        "SELECT term, n_chunks FROM frequencies WHERE generation_id = ?", (generation_id,)
    )
    n_documents, n_chunks, n_terms = counters[0]
    return Statistics(n_documents, n_chunks, n_terms, dict(frequencies))


def counted_statistics(source: RowSource, generation_id: int) -> Statistics:
    """Return the statistics as they follow from the visible chunks."""
    rows = source.rows(
        "SELECT t.ids FROM chunks k JOIN terms t ON t.ordinal = k.ordinal "
        "WHERE k.generation_id = ? "
        "AND k.revision_id IN (SELECT revision_id FROM documents WHERE revision_id IS NOT NULL)",
        (generation_id,),
    )
    sequences = [np.frombuffer(row[0][: len(row[0]) // 8 * 8], dtype="<i8") for row in rows]
    terms, counts = distinct_counts(sequences)
    n_documents = source.rows(
        "SELECT count(*) FROM documents d JOIN revisions r ON r.id = d.revision_id "
        "WHERE r.generation_id = ?",
        (generation_id,),
    )[0][0]
    return Statistics(
        n_documents=n_documents,
        n_chunks=len(sequences),
        n_terms=sum(map(len, sequences)),
        frequencies=dict(zip(terms.tolist(), counts.tolist(), strict=True)),
    )


def _check_lexical(
    source: RowSource, engines: EngineTable, generation_id: int, *, collection: str
) -> Iterator[Problem]:
    try:
        lexical = engines.of(generation_id).lexical
    except DamagedError as error:
        yield Problem("lexical", f"{collection!r} cannot be searched: {error.message}", _REBUILD)
        return
    expected, held = count_chunks(source, generation_id), lexical.count()
    if expected != held:
        yield Problem(
            "lexical",
            f"the lexical index of {collection!r} holds {held} passages instead of {expected}",
            _REBUILD,
        )
        return
    rows = source.rows(
        "SELECT ordinal FROM chunks WHERE generation_id = ? AND n_terms > 0 "
        "AND revision_id IN (SELECT revision_id FROM documents WHERE revision_id IS NOT NULL) "
        "ORDER BY ordinal",
        (generation_id,),
    )
    step = max(1, len(rows) // _SAMPLED_CHUNKS)
    ordinals = np.array([row[0] for row in rows[::step]], dtype=np.int64)
    with suppress(DamagedError):  # reported as damage already
        flat, offsets = terms_of(source, ordinals)
        for place, ordinal in enumerate(ordinals):
            terms = flat[offsets[place] : offsets[place + 1]]
            weights = dict.fromkeys(np.unique(terms).tolist()[:8], 1.0)
            if not len(lexical.search(weights, k=1, allowed=ordinals[place : place + 1])):
                yield Problem(
                    "lexical",
                    f"the lexical index of {collection!r} does not find passage {ordinal}",
                    _REBUILD,
                )
                return


def _feed(whole: Any, *parts: object) -> None:
    whole.update(json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode("utf-8"))
    whole.update(b"\n")
