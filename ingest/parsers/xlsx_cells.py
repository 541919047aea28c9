"""A worksheet's cells as text, and what its XML says beside them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import IO, Any

from lxml import etree

from ingest.parsers.numbers import shown_number
from ingest.parsers.xmltree import attribute, child, local_name

Row = tuple[int, dict[int, str]]
"""Number of a row and the text of its cells that are not blank, by column (both 1-based)."""

# What WPS Office stores as the value of a cell that shows a picture.
_PICTURE = re.compile(r"=(?:_xlfn\.)?DISPIMG\(")

MAX_ROWS = 1_048_576
MAX_COLUMNS = 16_384


@dataclass(frozen=True, slots=True)
class Range:
    """Cells from one corner to the other, 1-based and inclusive."""

    top: int
    left: int
    bottom: int
    right: int


@dataclass(frozen=True, slots=True)
class SheetFacts:
    """What openpyxl's streaming mode does not tell about a sheet.

    Attributes:
        merged: Merged cells, sorted by their top.
        n_uncomputed: Formulas without a stored value.
    """

    merged: tuple[Range, ...]
    n_uncomputed: int


def sheet_facts(source: IO[bytes]) -> SheetFacts:
    """Read the facts of a sheet's XML, forgetting what was passed.

    Raises:
        lxml.etree.XMLSyntaxError: It is no well-formed XML.
    """
    merged: list[Range] = []
    n_uncomputed = 0
    events = etree.iterparse(
        source, tag=("{*}row", "{*}mergeCell"), resolve_entities=False, no_network=True
    )
    for _, element in events:
        if local_name(element) == "mergeCell":
            merged.append(_range(attribute(element, "ref")))
            continue
        for formula in element.iterfind("{*}c/{*}f"):
            value = child(formula.getparent(), "v")
            n_uncomputed += value is None or not value.text
        element.clear()
    return SheetFacts(tuple(sorted(merged, key=lambda found: found.top)), n_uncomputed)


def _range(reference: str) -> Range:
    from openpyxl.utils.cell import range_boundaries

    left, top, right, bottom = range_boundaries(reference)
    return Range(top or 1, left or 1, bottom or MAX_ROWS, right or MAX_COLUMNS)


def filled_rows(sheet: Any, merged: Iterable[Range]) -> Iterator[Row]:
    """Yield the rows of a streamed openpyxl sheet that hold text.

    The sheet's stated size is not believed: it may span a million blank rows. Cells that a
    merged cell covers are left out, whatever the file keeps in them.
    """
    sheet.reset_dimensions()
    upcoming = sorted(merged, key=lambda found: found.top, reverse=True)
    active: list[Range] = []
    for number, cells in enumerate(sheet.iter_rows(), start=1):
        if not cells:
            continue
        while upcoming and upcoming[-1].top <= number:
            active.append(upcoming.pop())
        active = [found for found in active if found.bottom >= number]
        row: dict[int, str] = {}
        for column, cell in enumerate(cells, start=1):
            text = _shown(cell)
            if text and not _PICTURE.match(text) and not _is_covered(active, number, column):
                row[column] = text
        if row:
            yield number, row


def _shown(cell: Any) -> str:
    value = cell.value
    if value is None or isinstance(value, str):
        return (value or "").strip()
    return cell_text(value, cell.number_format)


def _is_covered(active: Iterable[Range], row: int, column: int) -> bool:
    return any(
        found.left <= column <= found.right and (row, column) != (found.top, found.left)
        for found in active
    )


def cell_text(value: object, number_format: str) -> str:
    """Return a cell's value as its readers see it, dates in ISO 8601."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime):
        if value.time() == time.min and "h" not in number_format.lower():
            return value.date().isoformat()
        return value.isoformat(sep=" ", timespec="minutes" if not value.second else "seconds")
    if isinstance(value, (date, time, timedelta)):
        return str(value)
    if isinstance(value, (int, float)):
        return shown_number(value, number_format)
    return str(value).strip()
