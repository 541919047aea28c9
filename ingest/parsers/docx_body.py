"""A Word document's body, block by block, as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ingest.parsers.docx_numbering import Numbering
from ingest.parsers.docx_styles import (
    Styles,
    is_monospace,
    is_prose,
    numbering_of,
    outline_level,
)
from ingest.parsers.docx_text import InlineContent, InlineReader
from ingest.parsers.drawings import chart_tables, chart_title, diagram_entries
from ingest.parsers.markup import MarkdownWriter
from ingest.parsers.xmltree import Element, attribute, child, children, descendants, local_name

_WRAPPERS = frozenset({"sdtContent", "ins", "customXml", "smartTag", "moveTo", "body"})
_UNDONE = frozenset({"del", "moveFrom"})


class BodyReader:
    """Walks bodies, text boxes and cells in order and writes what they hold.

    Args:
        styles: Of the document.
        numbering: Of the document; counts on as paragraphs are read.
        related: Gives the XML of a part that the body refers to by id, None when it is gone.
        writer: Where the blocks go.

    Attributes:
        title: The first paragraph in the style of titles, or None.
        n_images: Pictures met so far.
        notes: `("footnote" | "endnote", id)` in the order of their marks.
    """

    def __init__(
        self,
        styles: Styles,
        numbering: Numbering,
        *,
        related: Callable[[str], Element | None],
        writer: MarkdownWriter,
    ) -> None:
        self._styles = styles
        self._numbering = numbering
        self._related = related
        self._writer = writer
        self._inline = InlineReader(self._note_mark)
        self.title: str | None = None
        self.n_images = 0
        self.notes: list[tuple[str, str]] = []

    def read(self, container: Element) -> None:
        """Write the blocks of a body, a text box or a cell."""
        for block in _blocks(container):
            if local_name(block) == "tbl":
                self._table(block)
            else:
                self._paragraph(block)

    def plain(self, container: Element) -> str:
        """Return the text of a cell, a note or a header, a line per paragraph."""
        lines: list[str] = []
        for block in _blocks(container):
            if local_name(block) == "tbl":
                lines += (" ".join(row) for row in self.rows(block))
                continue
            content = self._inline.read(block)
            self.n_images += content.n_images
            label = self._numbered(block)[1]
            lines.append(f"{label} {content.text}" if label and content.text else content.text)
            lines += (self.plain(box) for box in content.boxes)
        return "\n".join(line for line in lines if line.strip())

    def rows(self, table: Element) -> list[list[str]]:
        """Return a table's cells; a merged cell's text stands once, at its top left."""
        return [self._cells(row) for row in _rows(table)]

    def _cells(self, row: Element) -> list[str]:
        before = attribute(child(row, "trPr", "gridBefore"), "val", "0")
        cells = [""] * (int(before) if before.isdigit() else 0)
        for cell in _unwrapped(row, "tc"):
            properties = child(cell, "tcPr")
            merged = child(properties, "vMerge")
            is_continued = merged is not None and attribute(merged, "val") != "restart"
            cells.append("" if is_continued else self.plain(cell))
            span = attribute(child(properties, "gridSpan"), "val", "1")
            cells += [""] * (min(int(span), 1_000) - 1 if span.isdigit() else 0)
        return cells

    def _table(self, table: Element) -> None:
        rows = list(_rows(table))
        cells = [cell for row in rows for cell in _unwrapped(row, "tc")]
        if len(cells) == 1:
            # A table of one cell is a frame around ordinary text.
            self.read(cells[0])
        else:
            self._writer.table(self.rows(table))

    def _paragraph(self, paragraph: Element) -> None:
        properties = child(paragraph, "pPr")
        style = attribute(child(properties, "pStyle"), "val")
        content = self._inline.read(paragraph)
        self.n_images += content.n_images
        if not self._styles.is_contents(style):
            self._write(paragraph, style, content)
        for box in content.boxes:
            self.read(box)
        for chart in content.charts:
            self._chart(self._related(chart))
        for diagram in content.diagrams:
            self._diagram(self._related(diagram))

    def _write(self, paragraph: Element, style: str, content: InlineContent) -> None:
        level, label = self._numbered(paragraph)
        heading = self._heading_level(paragraph, style)
        text = content.text
        if heading is not None:
            self._note_title(style, text)
            self._writer.heading(heading, f"{label} {text}" if text.strip() else "")
        elif level is not None:
            self._writer.entry(level, text, label)
        elif self._is_code(paragraph, style, text):
            self._writer.code(text.rstrip())
        else:
            self._writer.paragraph(text)

    def _note_title(self, style: str, text: str) -> None:
        if self.title is None and text.strip() and self._styles.is_title(style):
            self.title = " ".join(text.split())

    def _heading_level(self, paragraph: Element, style: str) -> int | None:
        stated = outline_level(child(paragraph, "pPr"))
        if stated is not None:
            return stated + 1 if stated < 9 else None
        return self._styles.heading_level(style)

    def _numbered(self, paragraph: Element) -> tuple[int | None, str]:
        """Count a paragraph; return its level (None outside lists) and its label."""
        properties = child(paragraph, "pPr")
        style = attribute(child(properties, "pStyle"), "val")
        own = numbering_of(properties)
        inherited = self._styles.numbering(style)
        list_id, level = own or ("", None)
        if not list_id and inherited is not None:
            list_id = inherited[0]
            level = inherited[1] if level is None else level
        if self._numbering.has(list_id):
            if level is None:
                owner = inherited[2] if inherited is not None else style
                level = self._numbering.level_of_style(list_id, owner)
            return level, self._numbering.label(list_id, level)
        named = self._styles.list_name(style) if own is None else None
        if named is None:
            return None, ""
        return named[1], "1." if named[0] == "number" else ""

    def _is_code(self, paragraph: Element, style: str, text: str) -> bool:
        if self._styles.is_code(style):
            return True
        fonts = [
            attribute(child(run, "rPr", "rFonts"), "ascii")
            or self._styles.font(attribute(child(run, "rPr", "rStyle"), "val") or style)
            for run in descendants(paragraph, "r")
            if any((text.text or "").strip() for text in children(run, "t"))
        ]
        return bool(fonts) and all(is_monospace(font) for font in fonts) and not is_prose(text)

    def _chart(self, chart_space: Element | None) -> None:
        if chart_space is None:
            return
        self._writer.paragraph(chart_title(chart_space))
        for table in chart_tables(chart_space):
            self._writer.table(table)

    def _diagram(self, data_model: Element | None) -> None:
        if data_model is not None:
            for depth, text in diagram_entries(data_model):
                self._writer.entry(depth, text)

    def _note_mark(self, kind: str, note_id: str) -> str:
        self.notes.append((kind, note_id))
        return f"[^{len(self.notes)}]"


def _blocks(container: Element) -> Iterator[Element]:
    """Yield paragraphs and tables in order, whatever is wrapped around them."""
    for block in container:
        name = local_name(block)
        if name in {"p", "tbl"}:
            yield block
        elif name == "sdt":
            content = None if _is_contents(block) else child(block, "sdtContent")
            if content is not None:
                yield from _blocks(content)
        elif name in _WRAPPERS:
            yield from _blocks(block)


def _is_contents(control: Element) -> bool:
    gallery = child(control, "sdtPr", "docPartObj", "docPartGallery")
    return attribute(gallery, "val") == "Table of Contents"


def _unwrapped(parent: Element, name: str) -> Iterator[Element]:
    for part in parent:
        if local_name(part) == name:
            yield part
        elif local_name(part) == "sdt":
            content = child(part, "sdtContent")
            if content is not None:
                yield from _unwrapped(content, name)
        elif local_name(part) in _WRAPPERS:
            yield from _unwrapped(part, name)


def _rows(table: Element) -> Iterator[Element]:
    for row in _unwrapped(table, "tr"):
        properties = child(row, "trPr")
        if properties is None or not any(local_name(part) in _UNDONE for part in properties):
            yield row
