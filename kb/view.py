"""What a search sees of one collection: a state that stays as it is while it is held."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kb.catalog.database import RowSource
from kb.catalog.publishing import Change
from kb.catalog.reading import as_json, passages_where, sections_of, terms_of, vectors_of
from kb.catalog.records import CollectionRecord
from kb.engines import Engine
from kb.globs import path_filter
from kb.ports import LexicalIndex, VectorIndex
from kb.text import SCRIPTS
from kb.types import (
    DocumentRecord,
    ModelIdentity,
    Ordinals,
    Passage,
    Section,
    TermIds,
    Vectors,
)

_SCRIPT_CODES = {script: code for code, script in enumerate(SCRIPTS)}


@dataclass(frozen=True, slots=True, eq=False)
class ChunkTable:
    """The visible chunks of a generation; never changed, only replaced.

    Attributes:
        ordinals: Sorted, int64 (n,).
        documents: Document row of each, int64 (n,).
        scripts: Index into `SCRIPTS` of each, int8 (n,).
        n_terms: Sum of the chunks' term counts.
    """

    ordinals: Ordinals
    documents: npt.NDArray[np.int64]
    scripts: npt.NDArray[np.int8]
    n_terms: int

    def after(self, change: Change) -> ChunkTable:
        """Return the table after a publication."""
        stays: npt.NDArray[np.bool_] | slice = slice(None)
        if len(change.leaving):
            stays = np.ones(len(self.ordinals), np.bool_)
            stays[np.searchsorted(self.ordinals, change.leaving)] = False
        codes = np.array([_SCRIPT_CODES[s] for s in change.entering_scripts], dtype=np.int8)
        # New ordinals are larger than all before them, so the order holds.
        return ChunkTable(
            ordinals=np.concatenate([self.ordinals[stays], change.entering]),
            documents=np.concatenate([self.documents[stays], change.entering_documents]),
            scripts=np.concatenate([self.scripts[stays], codes]),
            n_terms=self.n_terms + change.n_terms,
        )


def load_table(source: RowSource, generation_id: int) -> ChunkTable:
    """Read the visible chunks of a generation."""
    rows = source.rows(
        "SELECT ordinal, document_id, script, n_terms FROM chunks WHERE generation_id = ? "
        "AND revision_id NOT IN (SELECT id FROM revisions WHERE state <> 'live') ORDER BY ordinal",
        (generation_id,),
    )
    return ChunkTable(
        ordinals=np.array([row[0] for row in rows], dtype=np.int64),
        documents=np.array([row[1] for row in rows], dtype=np.int64),
        scripts=np.array([_SCRIPT_CODES[row[2]] for row in rows], dtype=np.int8),
        n_terms=sum(row[3] for row in rows),
    )


class StoredView:
    """A `CollectionView` over a snapshot of the catalog; safe for threads."""

    def __init__(
        self, source: RowSource, record: CollectionRecord, *, table: ChunkTable, engine: Engine
    ) -> None:
        self._source = source
        self._record = record
        self._table = table
        self._engine = engine

    @property
    def name(self) -> str:
        """The collection's name."""
        return self._record.name

    @property
    def model(self) -> ModelIdentity:
        """The model that its vectors were made by."""
        return self._record.model

    @property
    def analyzer(self) -> str:
        """Name and version of its analyzer."""
        return self._record.analyzer

    @property
    def ordinals(self) -> Ordinals:
        """All visible chunks, sorted, int64 (n_chunks,)."""
        return self._table.ordinals

    @property
    def n_terms(self) -> int:
        """Sum of the visible chunks' term counts."""
        return self._table.n_terms

    @property
    def lexical(self) -> LexicalIndex:
        """The lexical engine."""
        return self._engine.lexical

    @property
    def vectors(self) -> VectorIndex:
        """The vector engine, filled from the catalog when first asked for.

        Raises:
            DamagedError: A stored vector does not match its checksum.
        """
        return self._engine.vectors(self.model.dimension)

    def document_frequencies(self, term_ids: Sequence[int]) -> npt.NDArray[np.int64]:
        """Return in how many visible chunks each term stands, int64 (n,)."""
        rows = self._source.rows(
            "SELECT term, n_chunks FROM frequencies WHERE generation_id = ? AND term IN "
            "(SELECT value FROM json_each(?))",
            (self._record.generation_id, as_json(int(term) for term in term_ids)),
        )
        counts = dict(rows)
        return np.array([counts.get(int(term), 0) for term in term_ids], dtype=np.int64)

    def term_sequences(self, ordinals: Ordinals) -> tuple[TermIds, npt.NDArray[np.int64]]:
        """Return the chunks' term ids end to end, and n+1 offsets into them.

        Raises:
            DamagedError: A stored sequence does not match its checksum.
        """
        return terms_of(self._source, ordinals)

    def load_vectors(self, ordinals: Ordinals) -> Vectors:
        """Return stored float32 vectors (n, dim) in the order asked for.

        Raises:
            DamagedError: One does not match its checksum.
        """
        return vectors_of(self._source, ordinals, dimension=self.model.dimension)

    def scripts(self, ordinals: Ordinals) -> list[str]:
        """Return each chunk's dominant script."""
        return [SCRIPTS[code] for code in self._table.scripts[self._places(ordinals)]]

    def document_ids(self, ordinals: Ordinals) -> npt.NDArray[np.int64]:
        """Return each chunk's document row."""
        return self._table.documents[self._places(ordinals)]

    def passages(self, ordinals: Ordinals) -> list[Passage]:
        """Return chunks with their documents, in the order asked for.

        Raises:
            DamagedError: A stored text does not match its checksum.
        """
        found = passages_where(
            self._source,
            "k.ordinal IN (SELECT value FROM json_each(?))",
            (as_json(ordinals.tolist()),),
        )
        by_ordinal = {int(passage.ordinal): passage for passage in found}
        return [by_ordinal[ordinal] for ordinal in ordinals.tolist()]

    def neighbours(self, passage: Passage, *, before: int, after: int) -> list[Passage]:
        """Return the passage with up to so many chunks around it, in order.

        Raises:
            DamagedError: A stored text does not match its checksum.
        """
        return passages_where(
            self._source,
            "k.revision_id = (SELECT revision_id FROM chunks WHERE ordinal = ?) "
            "AND k.sequence BETWEEN ? AND ?",
            (int(passage.ordinal), passage.sequence - before, passage.sequence + after),
        )

    def sections(self, document: DocumentRecord) -> list[Section]:
        """Return a visible document's outline in text order."""
        rows = self._source.rows(
            "SELECT outline FROM revisions WHERE document_id = ? AND number = ?",
            (document.id, document.revision),
        )
        return sections_of(rows[0][0]) if rows else []

    def allowed(self, *, path: str | None, where: Mapping[str, str]) -> Ordinals:
        """Return the visible chunks that pass the filters, sorted.

        Args:
            path: A glob over paths, see `kb.globs.path_filter`; None for all.
            where: Metadata key to value, compared as text; a list passes with one member.

        Raises:
            UsageError: The glob cannot be understood.
        """
        if path is None and not where:
            return self.ordinals
        passes = path_filter(path)
        rows = self._source.rows(
            "SELECT d.id, d.path, NULL FROM documents d "
            "WHERE d.collection_id = ? AND d.revision_id IS NOT NULL"
            if not where
            else "SELECT d.id, d.path, r.metadata FROM documents d "
            "JOIN revisions r ON r.id = d.revision_id WHERE d.collection_id = ?",
            (self._record.id,),
        )
        chosen = [
            document_id
            for document_id, document_path, metadata in rows
            if passes(document_path) and (not where or _holds(json.loads(metadata), where))
        ]
        mask = np.isin(self._table.documents, np.array(chosen, dtype=np.int64))
        return self.ordinals[mask]

    def _places(self, ordinals: Ordinals) -> npt.NDArray[np.int64]:
        return np.searchsorted(self._table.ordinals, ordinals).astype(np.int64)


def _holds(metadata: Mapping[str, object], where: Mapping[str, str]) -> bool:
    """Compare as text; a list holds a value when one of its members equals it."""
    for key, wanted in where.items():
        value = metadata.get(key)
        members = value if isinstance(value, list) else [value]
        if wanted not in {_as_text(member) for member in members if member is not None}:
            return False
    return True


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
