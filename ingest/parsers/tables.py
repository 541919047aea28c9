"""Rows of text as a Markdown table."""

from __future__ import annotations

from collections.abc import Sequence

from kb.text import collapse_whitespace


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a Markdown table, the first row its header; empty when all is blank.

    Cells become one line each with `|` escaped; short rows are filled up, blank rows left
    out, and columns that are blank throughout too.
    """
    cells = [[table_cell(cell) for cell in row] for row in rows]
    cells = [row for row in cells if any(row)]
    if not cells:
        return ""
    width = max(len(row) for row in cells)
    padded = [row + [""] * (width - len(row)) for row in cells]
    kept = [column for column in range(width) if any(row[column] for row in padded)]
    lines = ["| " + " | ".join(row[column] for column in kept) + " |" for row in padded]
    lines.insert(1, "|" + " --- |" * len(kept))
    return "\n".join(lines)


def table_cell(text: str) -> str:
    """Return a cell's text on one line, safe between two `|`."""
    return collapse_whitespace(text).replace("|", "\\|")
