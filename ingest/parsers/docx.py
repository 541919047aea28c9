"""Word documents, through python-docx."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.parsers.archive import check_zip
from ingest.parsers.docx_body import BodyReader
from ingest.parsers.docx_numbering import Numbering
from ingest.parsers.docx_styles import Styles
from ingest.parsers.failures import reading
from ingest.parsers.markup import MarkdownWriter
from ingest.parsers.properties import core_properties, own_title, properties
from ingest.parsers.xmltree import Element, attribute, children, descendants, parse_xml
from kb.errors import MissingExtraError
from kb.text import collapse_whitespace, normalize_source
from kb.types import ParsedDocument

if TYPE_CHECKING:
    from docx.opc.package import OpcPackage
    from docx.opc.part import Part
    from docx.parts.document import DocumentPart

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_ALSO_DOCUMENTS = (
    "application/vnd.ms-word.document.macroEnabled.main+xml",
    "application/vnd.ms-word.template.macroEnabledTemplate.main+xml",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml",
)


class DocxParser:
    """Reads `.docx` and `.docm`.

    Headings come with the numbers Word shows; deleted and hidden text and the lines of a
    table of contents are left out; notes stand at the end; headers and footers are metadata.
    """

    name = "docx"

    def parse(self, path: Path, options: Mapping[str, object]) -> ParsedDocument:
        """Read a file.

        Args:
            path: The file.
            options: See `check_zip`.

        Raises:
            DocumentError: `encrypted`, `damaged`, `over_limit` or `unsupported`.
            MissingExtraError: python-docx is not installed.
        """
        try:
            from docx.opc.package import OpcPackage
        except ImportError as error:
            raise MissingExtraError("reading Word documents", "office") from error
        check_zip(path, options)
        with reading(path, "DOCX"), path.open("rb") as file:
            _learn_content_types()
            return _read(OpcPackage.open(file), core_properties(path))


def _learn_content_types() -> None:
    """Let python-docx open documents with macros and templates, whose XML is the same."""
    from docx.opc.part import PartFactory
    from docx.parts.document import DocumentPart

    for content_type in _ALSO_DOCUMENTS:
        PartFactory.part_type_for[content_type] = DocumentPart


def _read(package: OpcPackage, core: dict[str, object]) -> ParsedDocument:
    part: DocumentPart = package.main_document_part
    writer = MarkdownWriter()
    reader = BodyReader(
        Styles(_of_type(part, "styles")),
        Numbering(_of_type(part, "numbering")),
        related=lambda relation: _related(part, relation),
        writer=writer,
    )
    for body in children(part.element, "body"):
        reader.read(body)
    n_images = reader.n_images
    _write_notes(part, reader, writer)
    margins = properties(
        {"header": _margin(part, reader, "header"), "footer": _margin(part, reader, "footer")}
    )
    return ParsedDocument(
        text=normalize_source(writer.text()),
        markup="markdown",
        media_type=MEDIA_TYPE,
        parser=f"python-docx {version('python-docx')}",
        title=own_title(reader.title, core.get("title")),
        metadata=core | margins,
        n_images=n_images,
    )


def _of_type(part: Part, kind: str) -> Element | None:
    """Return the XML of the part that a document has one of, None when it has none."""
    for relation in part.rels.values():
        if relation.reltype.endswith("/" + kind) and not relation.is_external:
            return parse_xml(relation.target_part.blob)
    return None


def _related(part: Part, relation_id: str) -> Element | None:
    relation = part.rels.get(relation_id)
    if relation is None or relation.is_external:
        return None
    return parse_xml(relation.target_part.blob)


def _write_notes(part: Part, reader: BodyReader, writer: MarkdownWriter) -> None:
    """Write the notes that were referred to, in the order of their marks."""
    texts: dict[tuple[str, str], Element] = {}
    for kind in ("footnote", "endnote"):
        root = _of_type(part, kind + "s")
        for note in children(root, kind) if root is not None else ():
            texts[(kind, attribute(note, "id"))] = note
    for number, key in enumerate(list(reader.notes), start=1):
        if key in texts:
            writer.paragraph(f"[^{number}]: {reader.plain(texts[key]).strip()}")


def _margin(part: DocumentPart, reader: BodyReader, kind: str) -> str:
    """Return the different texts of all headers or footers, a line each."""
    references = (
        attribute(reference, "id") for reference in descendants(part.element, kind + "Reference")
    )
    elements = (_related(part, relation) for relation in references)
    return _distinct(reader.plain(element) for element in elements if element is not None)


def _distinct(texts: Iterable[str]) -> str:
    lines = (collapse_whitespace(line) for text in texts for line in text.splitlines())
    # A bare number is the page's.
    return "\n".join(dict.fromkeys(line for line in lines if not line.isdigit()))
