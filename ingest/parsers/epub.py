"""EPUB books: their chapters in reading order."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from urllib.parse import unquote

from ingest.parsers.archive import check_zip
from ingest.parsers.failures import damaged, reading
from ingest.parsers.properties import own_title, properties
from ingest.parsers.xmltree import Element, attribute, child, children, descendants, parse_xml
from kb.errors import DocumentError
from kb.text import normalize_source
from kb.types import ParsedDocument

MEDIA_TYPE = "application/epub+zip"
_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_CHAPTER_TYPES = frozenset({"application/xhtml+xml", "text/html", "application/xml"})
_DECLARED = re.compile(rb"<\?xml[^>]{0,200}encoding=[\"']([A-Za-z0-9._-]{2,40})[\"']")
_PICTURE = re.compile(r"<(?:img|image)[\s/]", re.IGNORECASE)


class EpubParser:
    """Reads `.epub`; the book's own table of contents is left out."""

    name = "epub"

    def parse(self, path: Path, options: Mapping[str, object]) -> ParsedDocument:
        """Read a file.

        Args:
            path: The file.
            options: See `check_zip`.

        Raises:
            DocumentError: `encrypted`, `damaged` or `over_limit`.
        """
        check_zip(path, options)
        with reading(path, "EPUB"), zipfile.ZipFile(path) as archive:
            return _read(path, archive)


def _read(path: Path, archive: zipfile.ZipFile) -> ParsedDocument:
    from ingest.parsers.html import html_to_markdown

    names = set(archive.namelist())
    if _CONTAINER not in names:
        raise damaged(path, "EPUB", "no container.xml inside")
    container = parse_xml(archive.read(_CONTAINER))
    opf = attribute(next(descendants(container, "rootfile"), None), "full-path")
    if opf not in names:
        raise damaged(path, "EPUB", "no package document inside")
    package = parse_xml(archive.read(opf))
    chapters = [name for name in _chapters(package, posixpath.dirname(opf)) if name in names]
    if _locked(archive) & set(chapters):
        raise DocumentError(
            f"{path.name} is protected by its seller (DRM)",
            code="encrypted",
            hint="Ask the publisher for a copy without protection.",
        )
    markups = [_decoded(archive.read(name)) for name in chapters]
    texts = (normalize_source(html_to_markdown(markup)).strip("\n") for markup in markups)
    metadata = _metadata(child(package, "metadata"))
    return ParsedDocument(
        text="\n\n".join(text for text in texts if text.strip()),
        markup="markdown",
        media_type=MEDIA_TYPE,
        parser=f"lxml {version('lxml')}",
        title=own_title(metadata.get("title")),
        metadata=metadata,
        n_images=sum(len(_PICTURE.findall(markup)) for markup in markups),
    )


def _chapters(package: Element, folder: str) -> list[str]:
    """Return the members that the spine names, in order, without tables of contents."""
    manifest = child(package, "manifest")
    spine = child(package, "spine")
    if manifest is None or spine is None:
        return []
    files = {
        attribute(entry, "id"): posixpath.normpath(
            posixpath.join(folder, unquote(attribute(entry, "href")))
        )
        for entry in children(manifest, "item")
        if attribute(entry, "media-type") in _CHAPTER_TYPES
        and "nav" not in attribute(entry, "properties").split()
    }
    order = (attribute(entry, "idref") for entry in children(spine, "itemref"))
    return list(dict.fromkeys(files[name] for name in order if name in files))


def _locked(archive: zipfile.ZipFile) -> set[str]:
    """Return the members that are encrypted; fonts alone often are, which hurts nobody."""
    if _ENCRYPTION not in archive.namelist():
        return set()
    root = parse_xml(archive.read(_ENCRYPTION))
    references = descendants(root, "CipherReference")
    return {unquote(attribute(reference, "URI")) for reference in references}


def _decoded(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", errors="replace")
    declared = _DECLARED.match(content.lstrip(b"\xef\xbb\xbf"))
    encoding = declared.group(1).decode("ascii") if declared else "utf-8"
    try:
        return content.decode(encoding, errors="replace").removeprefix("\ufeff")
    except LookupError:
        return content.decode("utf-8", errors="replace").removeprefix("\ufeff")


def _metadata(element: Element | None) -> dict[str, object]:
    if element is None:
        return {}
    authors = (author.text or "" for author in children(element, "creator"))
    title, day = child(element, "title"), child(element, "date")
    language = child(element, "language")
    return properties(
        {
            "title": title.text if title is not None else "",
            "author": ", ".join(name.strip() for name in authors if name.strip()),
            "created": day.text if day is not None else "",
            "language": language.text if language is not None else "",
        }
    )
