"""OpenDocument texts, read from their XML."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from ingest.parsers.archive import check_zip, encrypted
from ingest.parsers.failures import damaged, reading
from ingest.parsers.markup import MarkdownWriter
from ingest.parsers.odt_body import OdtReader
from ingest.parsers.odt_styles import OdtStyles, margins
from ingest.parsers.properties import own_title, properties
from ingest.parsers.xmltree import Element, child, descendants, parse_xml
from kb.text import normalize_source
from kb.types import ParsedDocument

MEDIA_TYPE = "application/vnd.oasis.opendocument.text"


class OdtParser:
    """Reads `.odt`; headings come with their numbers, notes stand at the end."""

    name = "odt"

    def parse(self, path: Path, options: Mapping[str, object]) -> ParsedDocument:
        """Read a file.

        Args:
            path: The file.
            options: See `check_zip`.

        Raises:
            DocumentError: `encrypted`, `damaged` or `over_limit`.
        """
        check_zip(path, options)
        with reading(path, "ODT"), zipfile.ZipFile(path) as archive:
            manifest = _part(archive, "META-INF/manifest.xml")
            if manifest is not None and any(True for _ in descendants(manifest, "encryption-data")):
                raise encrypted(path)
            content = _part(archive, "content.xml")
            body = child(content, "body", "text")
            if content is None or body is None:
                raise damaged(path, "ODT", "no text document inside")
            return _read(
                content,
                body,
                styles=_part(archive, "styles.xml"),
                meta=_part(archive, "meta.xml"),
            )


def _part(archive: zipfile.ZipFile, name: str) -> Element | None:
    return parse_xml(archive.read(name)) if name in archive.namelist() else None


def _read(
    content: Element, body: Element, *, styles: Element | None, meta: Element | None
) -> ParsedDocument:
    writer = MarkdownWriter()
    roots = [root for root in (styles, content) if root is not None]
    reader = OdtReader(OdtStyles(roots), writer)
    reader.read(body)
    reader.write_notes()
    said = {
        name: child(meta, "meta", element)
        for name, element in (
            ("title", "title"),
            ("author", "initial-creator"),
            ("created", "creation-date"),
        )
    }
    found = {name: element.text for name, element in said.items() if element is not None}
    found |= {kind: margins(styles, kind) for kind in ("header", "footer")}
    metadata = properties(found)
    return ParsedDocument(
        text=normalize_source(writer.text()),
        markup="markdown",
        media_type=MEDIA_TYPE,
        parser=f"lxml {version('lxml')}",
        title=own_title(reader.title, metadata.get("title")),
        metadata=metadata,
        n_images=reader.n_images,
    )
