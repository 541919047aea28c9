"""Rows of an HTML table with its spans filled in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_MAX_SPAN = 200


def table_rows(table: Any, cell_text: Callable[[Any], str]) -> list[list[str]]:
    """Return the rows of a table; a cell that spans several places stands in the first only.

    Repeating its words in every place would count them as often in a search.
    """
    rows: list[list[str]] = []
    hanging: dict[int, int] = {}
    for row in table.iter("tr"):
        owner = next(row.iterancestors("table"), None)
        if owner is not table:
            continue
        cells: list[str] = []
        following: dict[int, int] = {}

        def skip_hanging(cells: list[str] = cells, following: dict[int, int] = following) -> None:
            while hanging.get(len(cells), 0):
                place = len(cells)
                if hanging[place] > 1:
                    following[place] = hanging[place] - 1
                cells.append("")

        for cell in row:
            if cell.tag not in {"td", "th"}:
                continue
            skip_hanging()
            n_rows, n_columns = _span(cell, "rowspan"), _span(cell, "colspan")
            place = len(cells)
            cells += [cell_text(cell), *[""] * (n_columns - 1)]
            if n_rows > 1:
                following.update(dict.fromkeys(range(place, place + n_columns), n_rows - 1))
        skip_hanging()
        hanging = following
        if any(cells):
            rows.append(cells)
    return rows


def _span(cell: Any, name: str) -> int:
    value = str(cell.get(name) or "1").strip()
    return min(int(value), _MAX_SPAN) if value.isdecimal() and int(value) > 0 else 1
