"""From a chunk to the text that is indexed and the text that is embedded."""

from __future__ import annotations

import hashlib

from kb.ports import Embedder
from kb.types import Chunk

PATH_SEPARATOR = " › "


def indexed_text(chunk: Chunk) -> str:
    """Return what the lexical index sees: path, repeated context, overlap and core."""
    return _joined(chunk.headings, chunk.prefix, chunk.overlap, chunk.core)


def embedded_text(chunk: Chunk, embedder: Embedder) -> str:
    """Return what the model sees, shortened where it would not fit its window.

    The overlap goes first, then the outer headings; a core that is too long by itself
    stays whole and is embedded in windows by the embedder.
    """
    room = embedder.identity.max_tokens
    headings = chunk.headings
    text = indexed_text(chunk)
    # A token is at least one character long, so short texts need no count.
    if len(text) < room or embedder.count_tokens(text) <= room:
        return text
    text = _joined(headings, chunk.prefix, "", chunk.core)
    while headings and embedder.count_tokens(text) > room:
        headings = headings[1:]
        text = _joined(headings, chunk.prefix, "", chunk.core)
    return text


def embedding_key(text: str) -> bytes:
    """Return the key of an embedded text in the embedding cache: sha-256, 32 bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _joined(headings: tuple[str, ...], prefix: str, overlap: str, core: str) -> str:
    path = PATH_SEPARATOR.join(headings)
    return "\n".join(
        part for part in (path, prefix.rstrip("\n"), overlap.strip(), core.strip()) if part
    )
