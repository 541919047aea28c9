"""Rows of the catalog as frozen values."""

from __future__ import annotations

from dataclasses import dataclass

from kb.types import ModelIdentity


@dataclass(frozen=True, slots=True)
class CollectionRecord:
    """A collection and its live generation.

    Attributes:
        id: Catalog row.
        name: As the user wrote it.
        generation_id: The state that is searched.
        model: What its vectors were made by.
        analyzer: Name and version.
        chunk_rules: Name of the rules its chunks were cut by.
        created_at: RFC 3339 UTC.
        n_documents: Visible ones.
        n_chunks: Visible ones.
        n_terms: Sum of their term counts.
    """

    id: int
    name: str
    generation_id: int
    model: ModelIdentity
    analyzer: str
    chunk_rules: str
    created_at: str
    n_documents: int
    n_chunks: int
    n_terms: int


@dataclass(frozen=True, slots=True)
class RootRecord:
    """A folder that is synced into a collection.

    Attributes:
        id: Catalog row.
        collection: Name of the collection.
        path: Real path.
        label: First name of its documents' paths.
        last_synced_at: RFC 3339 UTC, or None before the first whole sync.
    """

    id: int
    collection: str
    path: str
    label: str
    last_synced_at: str | None


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """What a sync must know of a document to see whether its file has changed."""

    id: int
    size_bytes: int
    mtime_ns: int
    inode: int
    read_at_ns: int
    content_hash: str
    revision: int
    source: str | None


@dataclass(frozen=True, slots=True)
class Problem:
    """An invariant that does not hold.

    Attributes:
        code: A stable word.
        message: What is wrong, with the value it is wrong for.
        hint: The way out.
    """

    code: str
    message: str
    hint: str
