"""Rich Text Format, read without a library."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ingest.parsers.failures import damaged, reading
from ingest.parsers.markup import MarkdownWriter
from ingest.parsers.properties import own_title, properties
from ingest.parsers.rtf_layout import RtfLayout
from ingest.parsers.rtf_reader import RtfReader
from kb.text import normalize_source
from kb.types import DocumentWarning, ParsedDocument

MEDIA_TYPE = "application/rtf"


class RtfParser:
    """Reads `.rtf`; headings by their outline level, notes at the end."""

    name = "rtf"

    def parse(self, path: Path, options: Mapping[str, object]) -> ParsedDocument:  # noqa: ARG002
        """Read a file.

        Args:
            path: The file.
            options: None are known.

        Raises:
            DocumentError: `damaged`.
        """
        with reading(path, "RTF"):
            content = path.read_bytes().lstrip(b"\xef\xbb\xbf \r\n\t")
            if not content.startswith(b"{\\rtf"):
                raise damaged(path, "RTF", "it does not begin like RTF")
            writer = MarkdownWriter()
            layout = RtfLayout(writer)
            reader = RtfReader(layout)
            reader.read(content)
            said = {name: layout.said(name) for name in ("title", "author", "header", "footer")}
            created = _created(reader.date)
        return ParsedDocument(
            text=normalize_source(writer.text()),
            markup="markdown",
            media_type=MEDIA_TYPE,
            parser="rtf 1",
            title=own_title(said["title"]),
            metadata=properties({**said, "created": created}),
            warnings=_warnings(reader.n_open),
            n_images=reader.n_images,
        )


def _created(date: Mapping[str, int]) -> str:
    if not date.get("yr"):
        return ""
    day = f"{date['yr']:04d}-{date.get('mo', 1):02d}-{date.get('dy', 1):02d}"
    return f"{day}T{date['hr']:02d}:{date.get('min', 0):02d}:00" if "hr" in date else day


def _warnings(n_open: int) -> tuple[DocumentWarning, ...]:
    if not n_open:
        return ()
    return (DocumentWarning("truncated", "the end of the file is missing; what is there was read"),)
