"""One file to a parsed document: read once, hashed, told apart by content, decoded or parsed."""

from __future__ import annotations

import dataclasses
import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ingest.discover import Found
from ingest.parsers.plain import parse_plain
from ingest.sniff import sniff
from ingest.workers import HEAVY_PARSERS, ParserPool
from kb.errors import DocumentError
from kb.settings import LimitSettings
from kb.store import DocumentFacts
from kb.text import content_hash, normalize_source
from kb.types import DocumentWarning, ParsedDocument

_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """What reading one file gave.

    Attributes:
        parsed: None when the bytes are those that are stored already, or when it is skipped.
        skipped: Why it is left out (`binary`, `unsupported`), or None.
        size_bytes: When it was read.
        mtime_ns: When it was read.
        inode: When it was read.
        read_at_ns: Wall clock when reading began.
        content_hash: sha-256 hex of the bytes.
    """

    parsed: ParsedDocument | None
    skipped: str | None
    size_bytes: int
    mtime_ns: int
    inode: int
    read_at_ns: int
    content_hash: str


def read_document(found: Found, pool: ParserPool, known: DocumentFacts | None) -> ReadDocument:
    """Read a file, unless its bytes are those that are known.

    Raises:
        DocumentError: It is gone, unreadable, over a limit, damaged, encrypted, or is being
            written to.
        MissingExtraError: Its format needs an extra.
    """
    for _ in range(_ATTEMPTS):
        read_at_ns = time.time_ns()
        status, content = _content(found.path, pool.limits)
        digest = content_hash(content)
        parsed, skipped = None, None
        if known is None or known.content_hash != digest:
            form = sniff(found.path.name, content)
            skipped = form.reason or None
            if skipped is None:
                parsed = _parsed(found.relative, content, form.name, path=found.path, pool=pool)
        if _same(status, found.path):
            return ReadDocument(
                parsed=parsed,
                skipped=skipped,
                size_bytes=status.st_size,
                mtime_ns=status.st_mtime_ns,
                inode=status.st_ino,
                read_at_ns=read_at_ns,
                content_hash=digest,
            )
    raise DocumentError(
        "it changes while it is read",
        code="changed_while_read",
        hint="Run the ingest again when it is written.",
    )


def parse_bytes(
    path: str,
    content: bytes,
    *,
    media_type: str | None,
    metadata: Mapping[str, object],
    pool: ParserPool,
) -> ParsedDocument:
    """Read an upload.

    Raises:
        DocumentError: It is of no known format, over a limit, damaged or encrypted.
        MissingExtraError: Its format needs an extra.
    """
    _check_size(len(content), pool.limits)
    form = sniff(path, content, media_type=media_type)
    if form.reason:
        raise DocumentError(
            f"{path!r} is {form.reason}",
            code="unsupported",
            hint="Upload text, Markdown, HTML, PDF, an Office document, EPUB or e-mail.",
        )
    if form.name not in HEAVY_PARSERS:
        parsed = _parsed(path, content, form.name, path=None, pool=pool)
    else:
        with tempfile.TemporaryDirectory(prefix="kb-") as folder:
            file = Path(folder) / f"upload{PurePosixPath(path).suffix.lower()[:12]}"
            file.write_bytes(content)
            parsed = _parsed(path, content, form.name, path=file, pool=pool)
    return dataclasses.replace(parsed, metadata={**parsed.metadata, **metadata})


def _content(path: Path, limits: LimitSettings) -> tuple[os.stat_result, bytes]:
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            _check_size(status.st_size, limits)
            content = file.read(limits.max_file_bytes + 1)
    except FileNotFoundError as error:
        raise DocumentError(
            "it is gone", code="vanished", hint="Run the ingest again to take note of that."
        ) from error
    except OSError as error:
        raise DocumentError(
            f"cannot be read: {error.strerror}",
            code="unreadable",
            hint="Check its permissions and run the ingest again.",
        ) from error
    _check_size(len(content), limits)
    return status, content


def _check_size(size_bytes: int, limits: LimitSettings) -> None:
    if size_bytes > limits.max_file_bytes:
        raise DocumentError(
            f"{size_bytes:,} bytes are over the limit of {limits.max_file_bytes:,}",
            code="over_limit",
            hint="Split the file, or raise limits.max_file_bytes.",
        )


def _same(status: os.stat_result, path: Path) -> bool:
    try:
        now = path.stat()
    except OSError:
        # Gone after it was read: what was read is whole, the next sync sees that it is gone.
        return True
    return (now.st_size, now.st_mtime_ns) == (status.st_size, status.st_mtime_ns)


def _parsed(
    name: str, content: bytes, form: str, *, path: Path | None, pool: ParserPool
) -> ParsedDocument:
    if form in HEAVY_PARSERS and path is not None and content:
        parsed = pool.parse(form, path)
    else:
        parsed = parse_plain(name, content, form)
    text = normalize_source(parsed.text)
    if len(text) > pool.limits.max_text_characters:
        raise DocumentError(
            f"its text of {len(text):,} characters is over the limit of "
            f"{pool.limits.max_text_characters:,}",
            code="over_limit",
            hint="Split the file, or raise limits.max_text_characters.",
        )
    warnings = list(parsed.warnings)
    if not text.strip():
        warnings.append(_no_text(parsed, is_empty=not content))
    if text != parsed.text or len(warnings) != len(parsed.warnings):
        parsed = dataclasses.replace(parsed, text=text, warnings=tuple(warnings))
    return parsed


def _no_text(parsed: ParsedDocument, *, is_empty: bool) -> DocumentWarning:
    if is_empty:
        return DocumentWarning("no_text", "the file is empty")
    if parsed.n_images or parsed.n_pages:
        message = "no readable text: it seems to be a scan or pictures; text recognition is not on"
        return DocumentWarning("no_text", message)
    return DocumentWarning("no_text", "the file holds no readable text")
