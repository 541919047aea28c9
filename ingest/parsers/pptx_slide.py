"""One slide as Markdown: shapes in reading order, then the notes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ingest.parsers.docx_styles import is_monospace, is_prose
from ingest.parsers.docx_text import InlineReader
from ingest.parsers.drawings import chart_tables, chart_title, diagram_entries
from ingest.parsers.markup import MarkdownWriter
from ingest.parsers.numerals import numeral
from ingest.parsers.xmltree import (
    Element,
    attribute,
    child,
    children,
    descendants,
    local_name,
    parse_xml,
)
from kb.text import collapse_whitespace

if TYPE_CHECKING:
    from pptx.slide import Slide

ROWS_PER_SLIDE = 24
"""Shapes whose tops differ by less than this share of a slide stand on one line."""

# Placeholder types, as the XML names them.
_MARGIN_TYPES = frozenset({"dt", "sldNum", "hdr"})
_BULLETED_TYPES = frozenset({"body", "obj"})
_BULLETS = frozenset({"buChar", "buAutoNum", "buBlip"})
_NUMBER_STYLES = (
    (re.compile("ea1Ch|ea1Jpn"), "chineseCounting", "、"),
    (re.compile("alphaLc"), "lowerLetter", "."),
    (re.compile("alphaUc"), "upperLetter", "."),
    (re.compile("romanLc"), "lowerRoman", "."),
    (re.compile("romanUc"), "upperRoman", "."),
    (re.compile("circleNum"), "decimalEnclosedCircle", ""),
    (re.compile(""), "decimal", "."),
)
_Shape = Any  # python-pptx gives a dozen classes; which one is asked by what it holds


class SlideReader:
    """Reads slides of one presentation.

    Args:
        height: Of a slide, in the file's own unit; None when it is not stated.

    Attributes:
        n_images: Pictures met so far.
        footers: The texts of footers met so far.
    """

    def __init__(self, height: int | None) -> None:
        self._row_height = max(1, (height or 6_858_000) // ROWS_PER_SLIDE)
        self.n_images = 0
        self.footers: dict[str, None] = {}

    def title(self, slide: Slide) -> str:
        """Return the text of a slide's title, empty when it has none."""
        title = slide.shapes.title
        return collapse_whitespace(_frame_text(title.element)) if title is not None else ""

    def read(self, slide: Slide, number: int) -> str:
        """Return a slide as a section `## <number>. <title>`."""
        writer = MarkdownWriter()
        writer.heading(2, f"{number}. {self.title(slide)}")
        title = slide.shapes.title
        skipped = title.shape_id if title is not None else None
        self._shapes(slide, slide.shapes, writer, skipped=skipped)
        self.n_images += sum(1 for _ in descendants(slide.element, "blip"))
        if slide.has_notes_slide:
            frame = slide.notes_slide.notes_text_frame
            notes = "\n".join(_lines(frame._txBody)) if frame is not None else ""
            writer.paragraph(f"Notes: {notes}" if notes.strip() else "")
        return writer.text()

    def _shapes(
        self, slide: Slide, shapes: Any, writer: MarkdownWriter, *, skipped: int | None
    ) -> None:
        for shape in sorted(_all_shapes(shapes), key=self._place):
            if shape.shape_id == skipped:
                continue
            if local_name(shape.element) == "grpSp":
                self._shapes(slide, shape.shapes, writer, skipped=skipped)
            elif local_name(shape.element) == "graphicFrame":
                self._graphic(slide, shape, writer)
            else:
                self._text(shape.element, writer)

    def _place(self, shape: _Shape) -> tuple[int, int]:
        return (shape.top or 0) // self._row_height, shape.left or 0

    def _graphic(self, slide: Slide, shape: _Shape, writer: MarkdownWriter) -> None:
        if shape.has_table:
            writer.table(_table_rows(shape.table))
        elif shape.has_chart:
            chart_space = parse_xml(shape.chart_part.blob)
            writer.paragraph(chart_title(chart_space))
            for table in chart_tables(chart_space):
                writer.table(table)
        for relations in descendants(shape.element, "relIds"):
            part = slide.part.related_part(attribute(relations, "dm"))
            for depth, text in diagram_entries(parse_xml(part.blob)):
                writer.entry(depth, text)

    def _text(self, shape: Element, writer: MarkdownWriter) -> None:
        body = child(shape, "txBody")
        placeholder = next(descendants(shape, "ph"), None)
        kind = attribute(placeholder, "type", "obj") if placeholder is not None else ""
        if body is None or kind in _MARGIN_TYPES:
            return
        if kind == "ftr":
            self.footers[collapse_whitespace("\n".join(_lines(body)))] = None
            return
        n_filled = sum(bool(line.strip()) for line in _lines(body))
        _write_paragraphs(body, writer, is_bulleted=kind in _BULLETED_TYPES and n_filled > 1)


def _write_paragraphs(body: Element, writer: MarkdownWriter, *, is_bulleted: bool) -> None:
    counts: dict[int, int] = {}
    for paragraph in children(body, "p"):
        text = _paragraph_text(paragraph)
        properties = child(paragraph, "pPr")
        level = int(attribute(properties, "lvl", "0"))
        marks = {local_name(part) for part in properties} if properties is not None else set()
        counts = {at: count for at, count in counts.items() if at <= level}
        numbering = child(properties, "buAutoNum")
        label = ""
        if numbering is not None and text.strip():
            first = int(attribute(numbering, "startAt", "1"))
            counts[level] = counts.get(level, first - 1) + 1
            label = _label(counts[level], attribute(numbering, "type"))
        if _is_code(paragraph, text):
            writer.code(text)
        elif "buNone" not in marks and (is_bulleted or level > 0 or marks & _BULLETS):
            writer.entry(level, text, label)
        else:
            writer.paragraph(text)


def _label(count: int, kind: str) -> str:
    style, after = next((s, after) for pattern, s, after in _NUMBER_STYLES if pattern.match(kind))
    return numeral(count, style) + after


def _is_code(paragraph: Element, text: str) -> bool:
    fonts = [attribute(child(run, "rPr", "latin"), "typeface") for run in children(paragraph, "r")]
    return bool(fonts) and all(map(is_monospace, fonts)) and not is_prose(text)


def _all_shapes(shapes: Any) -> Iterator[_Shape]:
    """Yield the shapes of a slide or group, with those that stand in a choice of forms."""
    from pptx.shapes.shapetree import BaseShapeFactory

    yield from shapes
    for alternatives in children(shapes.element, "AlternateContent"):
        chosen: Any = child(alternatives, "Choice")
        for element in chosen if chosen is not None else ():
            if local_name(element) in {"sp", "graphicFrame", "grpSp"}:
                yield BaseShapeFactory(element, shapes)


def _table_rows(table: Any) -> list[list[str]]:
    return [
        ["" if cell.is_spanned else "\n".join(_lines(cell._tc)) for cell in row.cells]
        for row in table.rows
    ]


def _frame_text(shape: Element) -> str:
    body = child(shape, "txBody")
    return "\n".join(_lines(body)) if body is not None else ""


def _lines(body: Element) -> list[str]:
    return [_paragraph_text(paragraph) for paragraph in descendants(body, "p")]


def _paragraph_text(paragraph: Element) -> str:
    return InlineReader(lambda _kind, _id: "").read(paragraph).text
