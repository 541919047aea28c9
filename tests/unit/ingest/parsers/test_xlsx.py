"""Excel workbooks."""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from pathlib import Path

import openpyxl
import pytest

from ingest.parsers.xlsx import XlsxParser
from kb.errors import DocumentError, MissingExtraError
from kb.types import ParsedDocument

Sheet = Sequence[Sequence[object]]


def workbook_of(**sheets: Sheet) -> openpyxl.Workbook:
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    for name, rows in sheets.items():
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    return workbook


def parsed(workbook: openpyxl.Workbook, folder: Path) -> ParsedDocument:
    path = folder / "数据.xlsx"
    workbook.save(path)
    return XlsxParser().parse(path, {})


def body(rows: Sheet, folder: Path) -> str:
    return parsed(workbook_of(表=rows), folder).text.removeprefix("## 表\n\n").removesuffix("\n\n")


def rewrite(path: Path, member: str, change: Callable[[str], str]) -> None:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members[member] = change(members[member].decode("utf-8")).encode("utf-8")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def test_each_sheet_is_a_section_on_its_own_page(tmp_path: Path) -> None:
    workbook = workbook_of(
        人口=[["镇", "人数"], ["青山", 3200]], 空表=[], Budget=[["Item", "Cost"], ["Pump", 1.5]]
    )
    workbook.properties.title, workbook.properties.creator = "年报", "韩梅梅"
    found = parsed(workbook, tmp_path)
    assert [(page.number, found.text[page.start : page.end]) for page in found.pages] == [
        (1, "## 人口\n\n| 镇 | 人数 |\n| --- | --- |\n| 青山 | 3200 |\n\n"),
        (3, "## Budget\n\n| Item | Cost |\n| --- | --- |\n| Pump | 1.5 |\n\n"),
    ]
    assert (found.n_pages, found.title) == (3, "年报")
    assert found.metadata["author"] == "韩梅梅"


def test_values_are_shown_as_people_see_them(tmp_path: Path) -> None:
    workbook = workbook_of(表=[["名", "值"]])
    sheet = workbook["表"]
    values = (
        (0.1 + 0.2, "General"),
        (7.0, "General"),
        (0.125, "0.0%"),
        (True, "General"),
        (datetime.fromisoformat("2024-03-05"), "yyyy-mm-dd"),
        (datetime.fromisoformat("2024-03-05T14:30"), "yyyy-mm-dd hh:mm"),
        (date(2024, 3, 6), "yyyy-mm-dd"),
        (time(9, 5), "hh:mm"),
        ("a|b\nc", "General"),
        ("#N/A", "General"),
    )
    for number, (value, number_format) in enumerate(values, start=2):
        sheet.cell(number, 1, f"r{number}")
        sheet.cell(number, 2, value).number_format = number_format
    shown = re.findall(r"\| r\d+ \| (.*) \|", parsed(workbook, tmp_path).text)
    assert shown == [
        "0.3",
        "7",
        "12.5%",
        "TRUE",
        "2024-03-05",
        "2024-03-05 14:30",
        "2024-03-06",
        "09:05:00",
        "a\\|b c",
        "#N/A",
    ]


def test_blank_edges_are_trimmed_and_titles_stand_above_their_table(tmp_path: Path) -> None:
    rows = [
        [],
        [None, None, "水泵清单"],
        [None, None, "型号", None, "数量"],
        [None, None, "P-1", None, 3],
    ]
    assert body(rows, tmp_path) == ("水泵清单\n\n| 型号 | 数量 |\n| --- | --- |\n| P-1 | 3 |")


def test_tables_between_blank_rows_keep_their_own_headers(tmp_path: Path) -> None:
    rows = [["镇", "人数"], ["青山", 1], [], ["Town", "Area"], ["Hill", 2]]
    assert body(rows, tmp_path) == (
        "| 镇 | 人数 |\n| --- | --- |\n| 青山 | 1 |\n\n| Town | Area |\n| --- | --- |\n| Hill | 2 |"
    )


def test_a_blank_row_inside_a_table_does_not_make_numbers_a_header(tmp_path: Path) -> None:
    rows = [["项目", 2023, 2024], ["收入", 10, 12], [], ["支出"], ["水费", 3, 4]]
    assert body(rows, tmp_path) == (
        "| 项目 | 2023 | 2024 |\n| --- | --- | --- |\n| 收入 | 10 | 12 |\n| 支出 |  |  |\n"
        "| 水费 | 3 | 4 |"
    )


def test_tables_side_by_side_are_told_apart(tmp_path: Path) -> None:
    rows = [["a", "b"], [1, 2], [3, 4, None, "甲", "乙"], [5, 6, None, 7, 8]]
    assert body(rows, tmp_path) == (
        "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n\n"
        "| 甲 | 乙 |\n| --- | --- |\n| 7 | 8 |"
    )


def test_merged_cells_are_filled_once_whatever_lies_under_them(tmp_path: Path) -> None:
    workbook = workbook_of(表=[["区", "镇"], ["东", "一"], [None, "二"]])
    workbook["表"].merge_cells("A2:A3")
    parsed(workbook, tmp_path)
    path = tmp_path / "数据.xlsx"
    hidden = '<c r="A3" t="inlineStr"><is><t>旧值</t></is></c>'
    rewrite(
        path,
        "xl/worksheets/sheet1.xml",
        lambda xml: re.sub(r'<c r="A3"[^>]*/>', hidden, xml),
    )
    assert XlsxParser().parse(path, {}).text == (
        "## 表\n\n| 区 | 镇 |\n| --- | --- |\n| 东 | 一 |\n|  | 二 |\n\n"
    )


def test_formulas_show_their_stored_value(tmp_path: Path) -> None:
    workbook = workbook_of(表=[["数", "和"], [2, "=A2*3"]])
    parsed(workbook, tmp_path)
    path = tmp_path / "数据.xlsx"
    rewrite(
        path,
        "xl/worksheets/sheet1.xml",
        lambda xml: re.sub(r"<f>A2\*3</f><v ?/?>(?:</v>)?", "<f>A2*3</f><v>6</v>", xml),
    )
    found = XlsxParser().parse(path, {})
    assert "| 2 | 6 |" in found.text
    assert found.warnings == ()


def test_formulas_without_a_stored_value_are_warned_of(tmp_path: Path) -> None:
    found = parsed(workbook_of(甲=[["x"]], 乙=[["数", "和"], [2, "=A2*3"], [3, "=A3*3"]]), tmp_path)
    assert "| 2 |  |" in found.text
    (warning,) = found.warnings
    assert (warning.code, warning.pages) == ("formulas_without_values", (2,))
    assert warning.message.startswith("2 formulas")


def test_a_stated_size_of_a_million_rows_is_not_believed(tmp_path: Path) -> None:
    parsed(workbook_of(表=[["镇", "人数"], ["青山", 1]]), tmp_path)
    path = tmp_path / "数据.xlsx"
    rewrite(
        path,
        "xl/worksheets/sheet1.xml",
        lambda xml: re.sub(
            '<dimension ref="[^"]*"',
            '<dimension ref="A1:XFD1048576"',
            xml.replace(
                "</sheetData>", '<row r="1048576"><c r="XFD1048576" s="0"/></row></sheetData>'
            ),
        ),
    )
    assert XlsxParser().parse(path, {}).text == (
        "## 表\n\n| 镇 | 人数 |\n| --- | --- |\n| 青山 | 1 |\n\n"
    )


def test_a_workbook_without_cells_has_blank_text(tmp_path: Path) -> None:
    found = parsed(openpyxl.Workbook(), tmp_path)
    assert (found.text, found.pages, found.n_pages) == ("", (), 1)


def test_reading_twice_gives_the_same(tmp_path: Path) -> None:
    workbook = workbook_of(表=[["a", "b"]])
    first = parsed(workbook, tmp_path)
    rewrite(
        tmp_path / "数据.xlsx",
        "docProps/core.xml",
        lambda xml: re.sub(r"<dcterms:created.*?</dcterms:created>", "", xml),
    )
    path = tmp_path / "数据.xlsx"
    assert XlsxParser().parse(path, {}) == XlsxParser().parse(path, {})
    assert "created" in first.metadata
    assert "created" not in XlsxParser().parse(path, {}).metadata


def test_a_truncated_workbook_is_damaged(tmp_path: Path) -> None:
    parsed(workbook_of(表=[["a"]]), tmp_path)
    path = tmp_path / "数据.xlsx"
    path.write_bytes(path.read_bytes()[:2_000])
    with pytest.raises(DocumentError) as caught:
        XlsxParser().parse(path, {})
    assert caught.value.code == "damaged"


def test_a_sheet_of_broken_xml_is_damaged(tmp_path: Path) -> None:
    parsed(workbook_of(表=[["a"]]), tmp_path)
    path = tmp_path / "数据.xlsx"
    rewrite(path, "xl/worksheets/sheet1.xml", lambda xml: xml[: len(xml) // 2])
    with pytest.raises(DocumentError) as caught:
        XlsxParser().parse(path, {})
    assert caught.value.code == "damaged"


def test_without_its_library_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"\[office\]"):
        XlsxParser().parse(tmp_path / "数据.xlsx", {})
