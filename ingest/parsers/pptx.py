"""PowerPoint presentations, through python-pptx."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.parsers.archive import check_zip
from ingest.parsers.failures import damaged, reading
from ingest.parsers.markup import PagedText
from ingest.parsers.pptx_slide import SlideReader
from ingest.parsers.properties import core_properties, own_title, properties
from kb.errors import MissingExtraError
from kb.types import ParsedDocument

if TYPE_CHECKING:
    from pptx.presentation import Presentation

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.presentationml.presentation"


class PptxParser:
    """Reads `.pptx` and `.pptm`: a section for each slide, its notes at the end."""

    name = "pptx"

    def parse(self, path: Path, options: Mapping[str, object]) -> ParsedDocument:
        """Read a file.

        Args:
            path: The file.
            options: See `check_zip`.

        Raises:
            DocumentError: `encrypted`, `damaged`, `over_limit` or `unsupported`.
            MissingExtraError: python-pptx is not installed.
        """
        try:
            from pptx.package import Package
            from pptx.parts.presentation import PresentationPart
        except ImportError as error:
            raise MissingExtraError("reading PowerPoint presentations", "office") from error
        check_zip(path, options)
        with reading(path, "PPTX"), path.open("rb") as file:
            # Slide shows and templates too, which `pptx.Presentation` turns away.
            part = Package.open(file).main_document_part
            if not isinstance(part, PresentationPart):
                raise damaged(path, "PPTX", "no presentation inside")
            return _read(part.presentation, core_properties(path))


def _read(presentation: Presentation, core: dict[str, object]) -> ParsedDocument:
    reader = SlideReader(presentation.slide_height)
    text = PagedText()
    titles: list[str] = []
    for number, slide in enumerate(presentation.slides, start=1):
        text.add(number, reader.read(slide, number))
        titles.append(reader.title(slide))
    footer = "\n".join(line for line in reader.footers if line)
    return ParsedDocument(
        text=text.text(),
        markup="markdown",
        media_type=MEDIA_TYPE,
        parser=f"python-pptx {version('python-pptx')}",
        title=own_title(core.get("title"), *titles[:1]),
        pages=text.pages(),
        n_pages=len(titles),
        metadata=core | properties({"footer": footer}),
        n_images=reader.n_images,
    )
