"""Which format a file is in, by its name and its first bytes."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import PurePosixPath

from ingest.encodings import looks_binary
from kb.errors import DocumentError

HEAD_BYTES = 8_192

_MARKDOWN = frozenset({".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd"})
_HTML = frozenset({".html", ".htm", ".xhtml", ".shtml"})
_CODE = frozenset(
    ".py .pyi .js .mjs .cjs .jsx .ts .tsx .java .kt .kts .scala .c .h .cc .cpp .cxx .hpp .hh .cs "
    ".go .rs .rb .php .swift .m .mm .lua .pl .pm .r .jl .sh .bash .zsh .fish .ps1 .bat .sql .dart "
    ".ex .exs .erl .hs .ml .mli .clj .vue .svelte .css .scss .less .proto .graphql .tf .cmake "
    ".json .jsonl .yaml .yml .toml .ini .cfg .conf .xml .xsd .svg .lock .gradle .properties".split()
)
_CONTAINERS = {
    ".docx": "docx",
    ".docm": "docx",
    ".pptx": "pptx",
    ".pptm": "pptx",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".odt": "odt",
    ".epub": "epub",
}
_BY_NAME = {
    ".csv": "csv",
    ".tsv": "csv",
    ".eml": "email",
    ".ipynb": "notebook",
    ".rtf": "rtf",
    **dict.fromkeys(_MARKDOWN, "markdown"),
    **dict.fromkeys(_HTML, "html"),
    **dict.fromkeys(_CODE, "code"),
}
_MEDIA_TYPES = {
    "text/markdown": ".md",
    "text/plain": ".txt",
    "text/html": ".html",
    "text/csv": ".csv",
    "application/pdf": ".pdf",
    "application/json": ".json",
    "message/rfc822": ".eml",
    "application/epub+zip": ".epub",
    "application/rtf": ".rtf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.oasis.opendocument.text": ".odt",
}
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_HTML_STARTS = (b"<!doctype html", b"<html")


@dataclass(frozen=True, slots=True)
class Format:
    """What a file is.

    Attributes:
        name: A key of the parser table, empty when the file is skipped.
        reason: Why it is skipped: `binary`, `unsupported`.
    """

    name: str = ""
    reason: str = ""


def sniff(path: str, content: bytes, *, media_type: str | None = None) -> Format:
    """Return a file's format.

    Args:
        path: Its name; only the ending counts.
        content: All of it, or at least the beginning for formats that are no containers.
        media_type: What the caller says it is; stands in for a name without an ending.

    Raises:
        DocumentError: The name promises a format that the bytes are not, and they are no text.
    """
    ending = PurePosixPath(path).suffix.lower()
    if not ending and media_type:
        ending = _MEDIA_TYPES.get(media_type.split(";")[0].strip().lower(), "")
    head = content[:HEAD_BYTES]
    if b"%PDF-" in head[:1_024]:
        return Format("pdf")
    if head.startswith(b"PK\x03\x04"):
        return _container(ending, content)
    if head.startswith(_OLE):
        # An encrypted Office document is an OLE file around the packed one.
        name = _CONTAINERS.get(ending, "")
        return Format(name) if name else Format(reason="unsupported")
    if ending == ".pdf" or ending in _CONTAINERS:
        return _promised(path, ending, head)
    if head.startswith(b"{\\rtf"):
        return Format("rtf")
    if looks_binary(head):
        return Format(reason="binary")
    if ending not in _MARKDOWN and head.lstrip().lower().startswith(_HTML_STARTS):
        return Format("html")
    return Format(_BY_NAME.get(ending, "text"))


def _container(ending: str, content: bytes) -> Format:
    if ending in _CONTAINERS:
        return Format(_CONTAINERS[ending])
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            names = archive.namelist()[:200]
    except (zipfile.BadZipFile, OSError, ValueError):
        return Format(reason="binary")
    for start, name in (("word/", "docx"), ("ppt/", "pptx"), ("xl/", "xlsx")):
        if any(member.startswith(start) for member in names):
            return Format(name)
    return Format(reason="unsupported" if ending not in {".zip", ".jar"} else "binary")


def _promised(path: str, ending: str, head: bytes) -> Format:
    if not head.strip():
        return Format("text")  # an empty file: taken in, with the warning that it has no text
    if head.lstrip().lower().startswith(_HTML_STARTS):
        return Format("html")
    raise DocumentError(
        f"{PurePosixPath(path).name} is no {ending[1:].upper()} file",
        code="damaged",
        hint="Open it in its own program and save it again, or remove it from the folder.",
    )
