"""Checksums of what the catalog stores, set when it is written and compared when it is read."""

from __future__ import annotations

import zlib
from collections.abc import Sequence


def chunk_checksum(row: Sequence[object]) -> int:
    """Return the checksum of a chunk's stored columns, in the order of `CHUNK_FIELDS`."""
    return zlib.crc32("\0".join(map(str, row)).encode("utf-8", "surrogatepass"))


def revision_checksum(row: Sequence[str]) -> int:
    """Return the checksum of a revision's texts, in the order of `REVISION_FIELDS`."""
    return zlib.crc32("\0".join(row).encode("utf-8", "surrogatepass"))


def blob_checksum(blob: bytes) -> int:
    """Return the checksum of a stored vector or term sequence."""
    return zlib.crc32(blob)


CHUNK_FIELDS = (
    "start, end, first_line, last_line, first_page, last_page, script, id, headings, prefix, "
    "suffix, overlap, core"
)

REVISION_FIELDS = "path, title, facts, metadata, blank_text, pages, outline"
