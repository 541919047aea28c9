"""Excel workbooks, through openpyxl."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ingest.parsers.archive import check_zip
from ingest.parsers.failures import reading
from ingest.parsers.markup import MarkdownWriter, PagedText
from ingest.parsers.properties import core_properties, own_title
from ingest.parsers.xlsx_cells import filled_rows, sheet_facts
from ingest.parsers.xlsx_regions import write_regions
from kb.errors import MissingExtraError
from kb.types import DocumentWarning, ParsedDocument

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


class XlsxParser:
    """Reads `.xlsx` and `.xlsm`: a section for each sheet, formulas by their stored values."""

    name = "xlsx"

    def parse(self, path: Path, options: Mapping[str, object]) -> ParsedDocument:
        """Read a file.

        Args:
            path: The file.
            options: See `check_zip`.

        Raises:
            DocumentError: `encrypted`, `damaged`, `over_limit` or `unsupported`.
            MissingExtraError: openpyxl is not installed.
        """
        try:
            import openpyxl  # noqa: F401
        except ImportError as error:
            raise MissingExtraError("reading Excel workbooks", "office") from error
        check_zip(path, options)
        with reading(path, "XLSX"), _workbook(path) as workbook, zipfile.ZipFile(path) as archive:
            return _read(workbook, archive, core_properties(path))


@contextmanager
def _workbook(path: Path) -> Iterator[Any]:
    from openpyxl import load_workbook

    # From an open file: openpyxl judges a path by its ending. It warns of parts that it would
    # not write back, which concerns no reader.
    with path.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        workbook = load_workbook(file, read_only=True, data_only=True, keep_links=False)
        try:
            yield workbook
        finally:
            workbook.close()


def _read(workbook: Any, archive: zipfile.ZipFile, core: dict[str, object]) -> ParsedDocument:
    text = PagedText()
    uncomputed: dict[int, int] = {}
    numbers = {name: number for number, name in enumerate(workbook.sheetnames, start=1)}
    for sheet in workbook.worksheets:
        with archive.open(sheet._worksheet_path) as source:
            facts = sheet_facts(source)
        writer = MarkdownWriter()
        write_regions(filled_rows(sheet, facts.merged), writer)
        body = writer.text()
        number = numbers[sheet.title]
        if facts.n_uncomputed:
            uncomputed[number] = facts.n_uncomputed
        if body:
            text.add(number, f"## {' '.join(sheet.title.split())}\n\n{body}")
    return ParsedDocument(
        text=text.text(),
        markup="markdown",
        media_type=MEDIA_TYPE,
        parser=f"openpyxl {version('openpyxl')}",
        title=own_title(core.get("title")),
        pages=text.pages(),
        n_pages=len(numbers),
        metadata=core,
        warnings=_warnings(uncomputed),
        n_images=sum(name.startswith("xl/media/") for name in archive.namelist()),
    )


def _warnings(uncomputed: Mapping[int, int]) -> tuple[DocumentWarning, ...]:
    if not uncomputed:
        return ()
    return (
        DocumentWarning(
            "formulas_without_values",
            f"{sum(uncomputed.values())} formulas have no stored value and were read as blank; "
            "open the workbook in a spreadsheet program and save it to fill them.",
            tuple(uncomputed),
        ),
    )
