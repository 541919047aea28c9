"""Text formats as they stand in the file: Markdown, plain text, code, CSV."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from ingest.encodings import Decoded, decode
from ingest.parsers.front_matter import front_matter
from kb.text import normalize_source
from kb.types import DocumentWarning, ParsedDocument

_MEDIA_TYPES = {
    "markdown": "text/markdown",
    "csv": "text/csv",
    "code": "text/plain",
    "text": "text/plain",
}
_CODE_TYPES = {".json": "application/json", ".xml": "application/xml", ".svg": "image/svg+xml"}
_XML_ENCODING = re.compile(rb"<\?xml[^>]{0,200}encoding=[\"']([A-Za-z0-9._-]{2,40})[\"']")
_PYTHON_ENCODING = re.compile(rb"\A(?:[^\n]*\n)?#[^\n]{0,200}coding[:=][ \t]*([A-Za-z0-9._-]{2,40})")


def parse_plain(path: str, content: bytes, form: str) -> ParsedDocument:
    """Read a text file; its text is the file's own, so that its lines are the file's lines."""
    decoded = decode(content, declared=_declared(content))
    text = normalize_source(decoded.text)
    metadata: Mapping[str, object] = {}
    title: str | None = None
    warnings = encoding_warnings(decoded)
    if form == "markdown":
        metadata, problem = front_matter(text)
        if problem:
            warnings.append(DocumentWarning("front_matter", problem))
        named = metadata.get("title")
        title = named.strip() if isinstance(named, str) and named.strip() else None
    ending = PurePosixPath(path).suffix.lower()
    return ParsedDocument(
        text=text,
        markup={"markdown": "markdown", "text": "plain"}.get(form, "code"),
        media_type=_CODE_TYPES.get(ending, _MEDIA_TYPES.get(form, "text/plain")),
        parser=f"{form if form in _MEDIA_TYPES else 'text'} 1",
        title=title,
        encoding=decoded.encoding,
        metadata=metadata,
        warnings=tuple(warnings),
    )


def encoding_warnings(decoded: Decoded) -> list[DocumentWarning]:
    """Return what a receipt must say about how a text was decoded."""
    if decoded.n_replaced:
        return [
            DocumentWarning(
                "encoding",
                f"read as {decoded.encoding}; {decoded.n_replaced} characters could not be "
                "decoded and are shown as \ufffd",
            )
        ]
    if not decoded.sure:
        return [
            DocumentWarning(
                "encoding", f"the encoding is a guess: {decoded.encoding}; save it as UTF-8"
            )
        ]
    return []


def _declared(content: bytes) -> str | None:
    for pattern in (_XML_ENCODING, _PYTHON_ENCODING):
        match = pattern.search(content[:1_000])
        if match:
            return match.group(1).decode("ascii")
    return None
