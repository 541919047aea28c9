"""An OpenDocument text's body, block by block, as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ingest.parsers.markup import MarkdownWriter
from ingest.parsers.odt_styles import Counter, OdtStyles
from ingest.parsers.xmltree import Element, attribute, child, local_name

MAX_REPEATED = 1_000
"""A cell or row that repeats more often fills up a sheet and says nothing."""

_SECTIONS = frozenset({"section", "index-body", "text", "text-box", "note-body", "list-header"})
# What was deleted, remarks in the margin, and lists made from the document's own headings.
_UNSEEN = frozenset(
    {"tracked-changes", "annotation", "annotation-end", "table-of-content", "ruby-text", "desc"}
)


class OdtReader:
    """Walks a body and writes what it holds.

    Attributes:
        title: The first paragraph in the style of titles, or None.
        n_images: Pictures met so far.
    """

    def __init__(self, styles: OdtStyles, writer: MarkdownWriter) -> None:
        self._styles = styles
        self._writer = writer
        self._outline = Counter()
        self._boxes: list[Element] = []
        self._notes: list[Element] = []
        self.title: str | None = None
        self.n_images = 0
        self._inline: dict[str, Callable[[Element], str]] = {
            "s": lambda space: " " * min(int(attribute(space, "c", "1")), 200),
            "tab": lambda _: "\t",
            "line-break": lambda _: "\n",
            "note": self._note,
            "image": self._picture,
            "text-box": self._box,
            "number": lambda _: "",
            "object": lambda _: "",
        }

    def read(self, container: Element) -> None:
        """Write the blocks of a body, a section or a text box."""
        for block in container:
            name = local_name(block)
            if name == "h":
                self._heading(block)
            elif name == "p":
                self._paragraph(block)
            elif name == "list":
                self._list(block, depth=0, style="", counter=Counter())
            elif name == "table":
                self._table(block)
            elif name in _SECTIONS:
                self.read(block)
            elif name == "frame":
                self._text(block)
            self._flush_boxes()

    def write_notes(self) -> None:
        """Write the notes that were referred to, in the order of their marks."""
        for number, note in enumerate(list(self._notes), start=1):
            body = child(note, "note-body")
            text = self.plain(body) if body is not None else ""
            self._writer.paragraph(f"[^{number}]: {text}" if text else "")

    def plain(self, container: Element) -> str:
        """Return the text of a cell or a note, a line per paragraph."""
        lines = [self._text(block).strip() for block in _paragraphs(container)]
        while self._boxes:
            lines.append(self.plain(self._boxes.pop(0)))
        return "\n".join(line for line in lines if line)

    def _heading(self, heading: Element) -> None:
        level = int(attribute(heading, "outline-level", "1"))
        text = self._text(heading)
        is_listed = attribute(heading, "is-list-header") != "true"
        label = self._outline.label(self._styles.outline, level) if is_listed else ""
        self._writer.heading(level, f"{label} {text}" if text.strip() else "")

    def _paragraph(self, paragraph: Element) -> None:
        style = attribute(paragraph, "style-name")
        text = self._text(paragraph)
        if self._styles.is_title(style) and text.strip():
            self.title = self.title or " ".join(text.split())
            self._writer.heading(1, text)
        elif self._styles.is_code(style):
            self._writer.code(text.rstrip())
        else:
            self._writer.paragraph(text)

    def _list(self, outer: Element, *, depth: int, style: str, counter: Counter) -> None:
        style = attribute(outer, "style-name") or style
        for entry in outer:
            if local_name(entry) not in {"list-item", "list-header"}:
                continue
            is_first = True
            for block in entry:
                name = local_name(block)
                if name == "list":
                    self._list(block, depth=depth + 1, style=style, counter=counter)
                elif name == "h":
                    self._heading(block)
                elif name == "p" and is_first and local_name(entry) == "list-item":
                    self._entry(entry, block, depth=depth, style=style, counter=counter)
                    is_first = False
                elif name == "p":
                    self._paragraph(block)
                elif name == "table":
                    self._table(block)

    def _entry(
        self, entry: Element, paragraph: Element, *, depth: int, style: str, counter: Counter
    ) -> None:
        style = style or self._styles.list_of(attribute(paragraph, "style-name"))
        label = counter.label(
            self._styles.list_levels(style), depth + 1, attribute(entry, "start-value")
        )
        self._writer.entry(depth, self._text(paragraph), label)

    def _table(self, table: Element) -> None:
        rows: list[list[str]] = []
        for row in _rows(table):
            cells: list[str] = []
            for cell in row:
                name = local_name(cell)
                if name not in {"table-cell", "covered-table-cell"}:
                    continue
                n_times = int(attribute(cell, "number-columns-repeated", "1"))
                text = self.plain(cell) if name == "table-cell" else ""
                cells += [text] * (n_times if n_times <= MAX_REPEATED else 1)
            n_times = int(attribute(row, "number-rows-repeated", "1"))
            rows += [cells] * (n_times if n_times <= MAX_REPEATED else 1)
        self._writer.table(rows)

    def _flush_boxes(self) -> None:
        while self._boxes:
            self.read(self._boxes.pop(0))

    def _text(self, element: Element) -> str:
        """Return an element's text; boxes and notes in it are put aside for later."""
        parts = [element.text or ""]
        for part in element:
            name = local_name(part)
            if name and name not in _UNSEEN:
                parts.append(self._inline.get(name, self._text)(part))
            parts.append(part.tail or "")
        return "".join(parts)

    def _note(self, note: Element) -> str:
        self._notes.append(note)
        return f"[^{len(self._notes)}]"

    def _picture(self, _: Element) -> str:
        self.n_images += 1
        return ""

    def _box(self, box: Element) -> str:
        self._boxes.append(box)
        return ""


def _paragraphs(container: Element) -> Iterator[Element]:
    for block in container:
        name = local_name(block)
        if name in {"p", "h"}:
            yield block
        elif name not in _UNSEEN:
            yield from _paragraphs(block)


def _rows(table: Element) -> Iterator[Element]:
    groups = {"table-header-rows", "table-rows", "table-row-group"}
    for part in table:
        if local_name(part) == "table-row":
            yield part
        elif local_name(part) in groups:
            yield from _rows(part)
