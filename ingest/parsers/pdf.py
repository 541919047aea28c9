"""PDF to Markdown with page numbers: the layout engine of PyMuPDF, or pypdfium2 without it."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ingest.parsers.pdf_markdown import clean_page, plain_page
from kb.errors import DocumentError
from kb.types import DocumentWarning, PageSpan, ParsedDocument

MIN_COVERAGE = 0.8
"""A page whose Markdown holds less of the text layer's characters is taken from that layer."""

MAX_UNMAPPED = 0.05
_PAGE_BREAK = "\n\n"
_BAD_TITLES = ("microsoft word", "microsoft powerpoint", "untitled", "powerpoint presentation")


@dataclass(frozen=True, slots=True)
class _Page:
    """One page as Markdown.

    Attributes:
        text: Cleaned; empty for a page without text.
        n_source: Ink characters of the page's text layer.
        n_images: Pictures on it.
    """

    text: str
    n_source: int
    n_images: int


class PdfParser:
    """Reads PDF files; without the extra [pdf] their headings and tables are not seen."""

    name = "pdf"

    def parse(self, path: Path, options: Mapping[str, object]) -> ParsedDocument:
        """Read a file.

        Raises:
            DocumentError: It is encrypted, damaged or has too many pages.
        """
        most = options.get("max_pages", 5_000)
        max_pages = most if isinstance(most, int) else 5_000
        if importlib.util.find_spec("pymupdf4llm") is None:
            return _with_pdfium(path, max_pages=max_pages)
        return _with_layout(path, max_pages=max_pages)


def _with_layout(path: Path, *, max_pages: int) -> ParsedDocument:
    import pymupdf

    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    try:
        document = pymupdf.open(str(path), filetype="pdf")
    except (RuntimeError, ValueError) as error:
        raise _damaged(error) from error
    with document:
        if document.needs_pass:
            raise _encrypted()
        _check_pages(document.page_count, max_pages)
        pages = list(_layout_pages(document))
        facts = document.metadata or {}
        warnings = []
        if document.is_repaired:
            warnings.append(
                DocumentWarning("repaired", "the file is damaged; what could be read was taken in")
            )
    return _document(
        pages,
        parser=f"pymupdf4llm {version('pymupdf4llm')}",
        metadata=_metadata(facts),
        title=_title(facts.get("title")),
        warnings=warnings,
    )


def _layout_pages(document: Any) -> Iterator[_Page]:
    import pymupdf4llm

    for number in range(document.page_count):
        try:
            page = document.load_page(number)
            layer = page.get_text("text", sort=True)
            n_images = len(page.get_images())
        except (RuntimeError, ValueError):
            yield _Page("", 0, 0)
            continue
        if not layer.strip():
            yield _Page("", 0, n_images)
            continue
        try:
            chunks = pymupdf4llm.to_markdown(
                document,
                pages=[number],
                page_chunks=True,
                use_ocr=False,
                header=False,
                footer=False,
                show_progress=False,
            )
            text = clean_page(chunks[0]["text"])
        except Exception:  # noqa: BLE001  the layout engine raises anything; the layer is there
            text = ""
        if n_ink(text) < MIN_COVERAGE * n_ink(layer):
            text = plain_page(layer)
        yield _Page(text, n_ink(layer), n_images)


def _with_pdfium(path: Path, *, max_pages: int) -> ParsedDocument:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise _encrypted() from error
        raise _damaged(error) from error
    try:
        _check_pages(len(document), max_pages)
        pages: list[_Page] = []
        for page in document:
            layer = page.get_textpage().get_text_bounded().replace("\r\n", "\n")
            pages.append(_Page(plain_page(layer), n_ink(layer), 0))
        facts = document.get_metadata_dict()
    finally:
        document.close()
    return _document(
        pages,
        parser=f"pypdfium2 {version('pypdfium2')}",
        metadata=_metadata({key.lower(): value for key, value in facts.items()}),
        title=_title(facts.get("Title")),
        warnings=[
            DocumentWarning(
                "plain_pdf",
                "read without headings and tables; pip install 'kb-cited[pdf]' reads them",
            )
        ],
    )


def _document(
    pages: Sequence[_Page],
    *,
    parser: str,
    metadata: Mapping[str, object],
    title: str | None,
    warnings: list[DocumentWarning],
) -> ParsedDocument:
    spans: list[PageSpan] = []
    parts: list[str] = []
    at = 0
    for number, page in enumerate(pages, start=1):
        if not page.text:
            continue
        part = page.text + _PAGE_BREAK
        spans.append(PageSpan(at, at + len(part), number))
        parts.append(part)
        at += len(part)
    text = "".join(parts)
    return ParsedDocument(
        text=text,
        markup="markdown",
        media_type="application/pdf",
        parser=parser,
        title=title,
        pages=tuple(spans),
        n_pages=len(pages),
        metadata=metadata,
        warnings=(*warnings, *_quality(pages, text)),
        n_images=sum(page.n_images for page in pages),
        n_source_characters=sum(page.n_source for page in pages),
    )


def _quality(pages: Sequence[_Page], text: str) -> list[DocumentWarning]:
    warnings: list[DocumentWarning] = []
    blank = tuple(number for number, page in enumerate(pages, start=1) if not page.text)
    if blank and len(blank) < len(pages):
        warnings.append(
            DocumentWarning(
                "pages_without_text", f"{len(blank)} of {len(pages)} pages have no text", blank
            )
        )
    n_unmapped = sum(char == "\ufffd" or "\ue000" <= char <= "\uf8ff" for char in text)
    if text and n_unmapped > MAX_UNMAPPED * n_ink(text):
        warnings.append(
            DocumentWarning(
                "unmapped_characters",
                f"{n_unmapped} characters have no Unicode meaning in this file's fonts",
            )
        )
    return warnings


def n_ink(text: str) -> int:
    """Return how many characters are letters, digits or CJK: what a reader would miss."""
    return sum(map(str.isalnum, text))


def _check_pages(n_pages: int, max_pages: int) -> None:
    if n_pages == 0:
        raise DocumentError(
            "the PDF has no pages", code="damaged", hint="Open it in a reader and save it again."
        )
    if n_pages > max_pages:
        raise DocumentError(
            f"{n_pages} pages are over the limit of {max_pages}",
            code="over_limit",
            hint="Split the file, or raise limits.max_pages.",
        )


def _encrypted() -> DocumentError:
    return DocumentError(
        "the PDF is encrypted",
        code="encrypted",
        hint="Save a copy without a password and ingest that.",
    )


def _damaged(error: Exception) -> DocumentError:
    return DocumentError(
        f"the PDF cannot be opened ({error})"[:300],
        code="damaged",
        hint="Open it in a reader and save it again.",
    )


def _metadata(facts: Mapping[str, Any]) -> dict[str, object]:
    names = {"author": "author", "subject": "subject", "keywords": "keywords"}
    found = {name: facts[key] for key, name in names.items() if facts.get(key)}
    created = facts.get("creationdate") or facts.get("creationDate")
    if created:
        digits = "".join(char for char in str(created) if char.isdigit())[:8]
        if len(digits) == 8:
            found["created"] = f"{digits[:4]}-{digits[4:6]}-{digits[6:]}"
    return found


def _title(title: str | None) -> str | None:
    title = " ".join((title or "").split())
    looks_bad = title.lower().startswith(_BAD_TITLES) or title.lower().endswith(
        (".doc", ".docx", ".pdf", ".tex", ".dvi", ".ppt", ".pptx", ".xls", ".indd")
    )
    return title if 3 < len(title) <= 200 and not looks_bad else None
