"""The catalog's tables, as numbered migrations that are never edited once released."""

from __future__ import annotations

# Numbers stand before texts: a row's first page then answers most questions, and the pages
# that a long text overflows to are read only for the text.
_TABLES_1 = """
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE collections (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    generation_id INTEGER,
    created_at TEXT NOT NULL
);
CREATE TABLE generations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection_id INTEGER NOT NULL REFERENCES collections(id) ON DELETE CASCADE,
    state TEXT NOT NULL CHECK (state IN ('building', 'live', 'old')),
    n_documents INTEGER NOT NULL DEFAULT 0,
    n_chunks INTEGER NOT NULL DEFAULT 0,
    n_terms INTEGER NOT NULL DEFAULT 0,
    n_removed INTEGER NOT NULL DEFAULT 0,
    model TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    analyzer TEXT NOT NULL,
    chunk_rules TEXT NOT NULL,
    created_at TEXT NOT NULL
);
CREATE INDEX generations_collection ON generations(collection_id);
CREATE TABLE roots (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection_id INTEGER NOT NULL REFERENCES collections(id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    label TEXT NOT NULL,
    created_at TEXT NOT NULL,
    last_synced_at TEXT,
    UNIQUE (collection_id, path),
    UNIQUE (collection_id, label)
);
CREATE TABLE exclusions (
    root_id INTEGER NOT NULL REFERENCES roots(id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    PRIMARY KEY (root_id, path)
) WITHOUT ROWID;
CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection_id INTEGER NOT NULL REFERENCES collections(id) ON DELETE CASCADE,
    revision_id INTEGER,
    root_id INTEGER REFERENCES roots(id) ON DELETE SET NULL,
    size_bytes INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    read_at_ns INTEGER NOT NULL,
    content_hash TEXT NOT NULL,
    path TEXT NOT NULL,
    source TEXT,
    UNIQUE (collection_id, path)
);
CREATE INDEX documents_root ON documents(root_id) WHERE root_id IS NOT NULL;
CREATE INDEX documents_hidden ON documents(id) WHERE revision_id IS NULL;
CREATE TABLE revisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
    generation_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('staged', 'live', 'dead')),
    n_chunks INTEGER NOT NULL,
    n_characters INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    indexed_at TEXT NOT NULL,
    path TEXT NOT NULL,
    title TEXT NOT NULL,
    facts TEXT NOT NULL,
    metadata TEXT NOT NULL,
    blank_text TEXT NOT NULL,
    pages TEXT NOT NULL,
    outline TEXT NOT NULL,
    UNIQUE (document_id, number)
);
CREATE INDEX revisions_unsettled ON revisions(generation_id, state, n_chunks)
    WHERE state <> 'live';
CREATE TABLE embeddings (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    fingerprint TEXT NOT NULL,
    key BLOB NOT NULL,
    checksum INTEGER NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (fingerprint, key)
);
CREATE TABLE chunks (
    ordinal INTEGER PRIMARY KEY AUTOINCREMENT,
    generation_id INTEGER NOT NULL,
    document_id INTEGER NOT NULL,
    revision_id INTEGER NOT NULL REFERENCES revisions(id) ON DELETE CASCADE,
    sequence INTEGER NOT NULL,
    embedding_id INTEGER NOT NULL REFERENCES embeddings(id),
    n_terms INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    first_line INTEGER NOT NULL,
    last_line INTEGER NOT NULL,
    first_page INTEGER,
    last_page INTEGER,
    script TEXT NOT NULL,
    id TEXT NOT NULL,
    headings TEXT NOT NULL,
    prefix TEXT NOT NULL,
    suffix TEXT NOT NULL,
    overlap TEXT NOT NULL,
    core TEXT NOT NULL
);
CREATE UNIQUE INDEX chunks_revision ON chunks(revision_id, sequence);
CREATE INDEX chunks_id ON chunks(id);
CREATE INDEX chunks_embedding ON chunks(embedding_id);
CREATE INDEX chunks_table
    ON chunks(generation_id, ordinal, document_id, revision_id, n_terms, script);
CREATE TABLE terms (
    ordinal INTEGER PRIMARY KEY REFERENCES chunks(ordinal) ON DELETE CASCADE,
    checksum INTEGER NOT NULL,
    ids BLOB NOT NULL
);
CREATE TABLE frequencies (
    generation_id INTEGER NOT NULL,
    term INTEGER NOT NULL,
    n_chunks INTEGER NOT NULL,
    PRIMARY KEY (generation_id, term)
) WITHOUT ROWID;
"""

MIGRATIONS: tuple[str, ...] = (_TABLES_1,)
"""Script n brings a catalog from format n to n + 1."""

FORMAT_VERSION = len(MIGRATIONS)
"""The `user_version` of a catalog that this kb writes."""
