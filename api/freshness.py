"""Whether the file behind a document still is what was read from it."""

from __future__ import annotations

import hashlib
import os
import urllib.parse
from pathlib import Path

from kb.types import DocumentRecord

_HASH_UP_TO_BYTES = 20_000_000


def source_path(document: DocumentRecord) -> Path | None:
    """Return the file a document was read from, or None for uploads."""
    if document.source is None or not document.source.startswith("file://"):
        return None
    raw = urllib.parse.unquote_to_bytes(document.source.removeprefix("file://"))
    return Path(os.fsdecode(raw))


def is_stale(document: DocumentRecord) -> bool:
    """Return whether the source has changed, or is gone, since it was read.

    Equal size, mtime and inode mean unchanged; where they differ the content decides, up
    to a size at which reading it for every answer would cost too much.
    """
    path = source_path(document)
    if path is None:
        return False
    try:
        status = path.stat()
    except OSError:
        return True
    if (status.st_size, status.st_mtime_ns, status.st_ino) == (
        document.size_bytes,
        document.mtime_ns,
        document.inode,
    ):
        return False
    if status.st_size != document.size_bytes or status.st_size > _HASH_UP_TO_BYTES:
        return True
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() != document.content_hash
    except OSError:
        return True
