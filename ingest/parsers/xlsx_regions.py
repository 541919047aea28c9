"""The tables that a worksheet's rows form."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from ingest.parsers.markup import MarkdownWriter
from ingest.parsers.xlsx_cells import Row

_NUMBER = re.compile(r"[-+]?[¥$€£]?\s?[\d,]*\.?\d+(?:e[-+]?\d+)?%?", re.IGNORECASE)
_YEAR = re.compile(r"(?:19|20)\d\d")
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?: \d\d:\d\d(?::\d\d)?)?")


def write_regions(rows: Iterable[Row], writer: MarkdownWriter) -> None:
    """Write rows as tables, one for each region between blank rows.

    Lines that stand above a table (one filled cell) become paragraphs. A region that goes
    on in the columns of the one above, and begins with numbers rather than names, is no
    table of its own: the blank row was only there for looks.
    """
    region: list[Row] = []
    for following in _regions(rows):
        if region and not _continues(region, following):
            _write(region, writer)
            region = []
        region.extend(following)
    _write(region, writer)


def _regions(rows: Iterable[Row]) -> Iterator[list[Row]]:
    region: list[Row] = []
    for row in rows:
        if region and row[0] > region[-1][0] + 1:
            yield region
            region = []
        region.append(row)
    if region:
        yield region


def _continues(region: Sequence[Row], following: Sequence[Row]) -> bool:
    columns = _columns(region)
    first = next((cells for _, cells in following if len(cells) > 1), {})
    is_table = len(columns) > 1 and max(len(cells) for _, cells in region) > 1
    return (
        is_table and set(_columns(following)) <= set(columns) and any(map(is_value, first.values()))
    )


def is_value(text: str) -> bool:
    """Return whether a cell holds a number or a date, which headers seldom do; years they do."""
    if _YEAR.fullmatch(text):
        return False
    return _NUMBER.fullmatch(text) is not None or _DAY.fullmatch(text) is not None


def _columns(region: Sequence[Row]) -> list[int]:
    return sorted({column for _, cells in region for column in cells})


def _write(region: Sequence[Row], writer: MarkdownWriter) -> None:
    columns = _columns(region)
    at = 0
    if len(columns) > 1 or len(region) == 1:
        while at < len(region) and len(region[at][1]) == 1:
            writer.paragraph(" ".join(next(iter(region[at][1].values())).split()))
            at += 1
    for side in _sides(region[at:]):
        columns = _columns(side)
        writer.table([[cells.get(column, "") for column in columns] for _, cells in side])


def _sides(region: Sequence[Row]) -> list[list[Row]]:
    """Split tables that stand side by side: a blank column between, and unequal first rows."""
    columns = _columns(region)
    for left, right in itertools.pairwise(columns):
        n_left = columns.index(right)
        if right == left + 1 or n_left < 2 or len(columns) - n_left < 2:
            continue
        before = _part(region, columns[:n_left])
        after = _part(region, columns[n_left:])
        if before[0][0] != after[0][0]:
            return [before, *_sides(after)]
    return [list(region)] if region else []


def _part(region: Sequence[Row], columns: Sequence[int]) -> list[Row]:
    first, last = columns[0], columns[-1]
    parts = (
        (number, {at: text for at, text in cells.items() if first <= at <= last})
        for number, cells in region
    )
    return [(number, cells) for number, cells in parts if cells]
