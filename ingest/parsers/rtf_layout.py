"""Text from RTF as it is laid out: paragraphs, list entries, tables and notes."""

from __future__ import annotations

from ingest.parsers.markup import MarkdownWriter

_UNSEEN = frozenset({"skip", "fonts", "created", "info", "upr"})
_MARGINS = frozenset({"header", "footer"})


class RtfLayout:
    """Takes text by its destination and writes what it forms."""

    def __init__(self, writer: MarkdownWriter) -> None:
        self._writer = writer
        self._texts: dict[str, list[str]] = {}
        self._notes: list[str] = []
        self._cells: list[str] = []
        self._rows: list[list[str]] = []

    def put(self, sink: str, text: str) -> None:
        """Take text that belongs to a destination."""
        if sink not in _UNSEEN:
            self._texts.setdefault(sink, []).append(text)

    def said(self, sink: str) -> str:
        """Return all text of a destination, such as `title`, without blank ends."""
        return _whole("".join(self._texts.get(sink, ()))).strip()

    def open_note(self) -> None:
        """Put the mark of a note into the text."""
        self.put("body", f"[^{len(self._notes) + 1}]")

    def close(self, sink: str) -> None:
        """Note that a destination's group ended."""
        if sink == "note":
            self._notes.append(" ".join(self._taken("note").split()))
        elif sink in _MARGINS:
            self.put(sink, "\n")

    def end_cell(self) -> None:
        """End a cell of a table."""
        label = self._label()
        text = self._taken("body")
        self._cells.append(f"{label} {text}" if label and text.strip() else text)

    def end_row(self) -> None:
        """End a row of a table."""
        if self._cells:
            self._rows.append(self._cells)
        self._cells = []

    def end_paragraph(self, *, outline: int | None, level: int) -> None:
        """End a paragraph.

        Args:
            outline: 0 for a heading of the first level, None for body text.
            level: Of a list entry, 0 the outermost.
        """
        is_entry = bool(self.said("label"))
        label = self._label()
        text = self._taken("body")
        if text.strip():
            self._end_table()
        if outline is not None:
            self._writer.heading(outline + 1, f"{label} {text}" if text.strip() else "")
        elif is_entry:
            self._writer.entry(level, text, label)
        else:
            self._writer.paragraph(text)

    def finish(self) -> None:
        """Write what is left and the notes, in the order of their marks."""
        self.end_paragraph(outline=None, level=0)
        self._end_table()
        for number, note in enumerate(self._notes, start=1):
            self._writer.paragraph(f"[^{number}]: {note}")

    def _taken(self, sink: str) -> str:
        return _whole("".join(self._texts.pop(sink, ())))

    def _label(self) -> str:
        """Return the number before a list entry; empty for bullets."""
        label = self._taken("label").strip()
        return label if any(char.isalnum() for char in label) else ""

    def _end_table(self) -> None:
        self.end_row()
        if self._rows:
            self._writer.table(self._rows)
        self._rows = []


def _whole(text: str) -> str:
    """Return a text with surrogate pairs, which RTF writes apart, as one character each."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
