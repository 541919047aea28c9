"""The numbers and lists of Word documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import docx
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from ingest.parsers.docx import DocxParser

NUMBERING = f"""
<w:numbering {nsdecls("w")}>
  <w:abstractNum w:abstractNumId="0">
    <w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="chineseCountingThousand"/>
      <w:pStyle w:val="Heading1"/><w:lvlText w:val="第%1章"/></w:lvl>
    <w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:isLgl/>
      <w:pStyle w:val="Heading2"/><w:lvlText w:val="%1.%2"/></w:lvl>
  </w:abstractNum>
  <w:abstractNum w:abstractNumId="1">
    <w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/>
      <w:lvlText w:val="%1."/></w:lvl>
    <w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/>
      <w:lvlText w:val="(%2)"/></w:lvl>
  </w:abstractNum>
  <w:abstractNum w:abstractNumId="2">
    <w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="·"/></w:lvl>
  </w:abstractNum>
  <w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>
  <w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>
  <w:num w:numId="3"><w:abstractNumId w:val="1"/>
    <w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num>
  <w:num w:numId="4"><w:abstractNumId w:val="2"/></w:num>
</w:numbering>
"""


def text_of(document: Any, folder: Path) -> str:
    path = folder / "文件.docx"
    document.save(path)
    return DocxParser().parse(path, {}).text


def number(paragraph: Any, list_id: int, level: int = 0) -> None:
    paragraph._p.get_or_add_pPr().append(
        parse_xml(
            f'<w:numPr {nsdecls("w")}><w:ilvl w:val="{level}"/><w:numId w:val="{list_id}"/>'
            "</w:numPr>"
        )
    )


def with_numbering() -> Any:
    document = docx.Document()
    numbering = document.part.numbering_part._element
    for old in list(numbering):
        numbering.remove(old)
    numbering.extend(list(parse_xml(NUMBERING)))
    for level in (1, 2):
        style = document.styles[f"Heading {level}"].element
        style.get_or_add_pPr().append(
            parse_xml(f'<w:numPr {nsdecls("w")}><w:numId w:val="1"/></w:numPr>')
        )
    return document


def test_headings_show_the_numbers_that_word_shows(tmp_path: Path) -> None:
    document = with_numbering()
    for text, level in (("总则", 1), ("目的", 2), ("范围", 2), ("附则", 1), ("Dates", 2)):
        document.add_heading(text, level)
    unnumbered = document.add_heading("后记", 1)
    number(unnumbered, 0)
    assert text_of(document, tmp_path).split("\n\n") == [
        "# 第一章 总则",
        "## 1.1 目的",
        "## 1.2 范围",
        "# 第二章 附则",
        "## 2.1 Dates",
        "# 后记",
    ]


def test_lists_nest_count_and_begin_anew(tmp_path: Path) -> None:
    document = with_numbering()
    for text, list_id, level in (
        ("填表", 2, 0),
        ("姓名", 2, 1),
        ("地址", 2, 1),
        ("Sign", 2, 0),
        ("寄出", 3, 0),
        ("红色", 4, 0),
    ):
        number(document.add_paragraph(text), list_id, level)
    assert text_of(document, tmp_path) == (
        "1. 填表\n   - (a) 姓名\n   - (b) 地址\n2. Sign\n1. 寄出\n- 红色"
    )


def test_built_in_list_styles_make_lists(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_paragraph("apples", style="List Bullet")
    document.add_paragraph("green ones", style="List Bullet 2")
    document.add_paragraph("第一", style="List Number")
    document.add_paragraph("第二", style="List Number")
    lines = text_of(document, tmp_path).split("\n")
    assert lines[0] == "- apples"
    assert lines[1].strip() == "- green ones"
    assert lines[2:] == ["1. 第一", "2. 第二"]


def test_a_list_with_a_style_of_its_own_is_found_through_the_link(tmp_path: Path) -> None:
    document = with_numbering()
    numbering = document.part.numbering_part._element
    for xml in (
        '<w:abstractNum {ns} w:abstractNumId="7"><w:styleLink w:val="法条"/><w:lvl w:ilvl="0">'
        '<w:numFmt w:val="upperRoman"/><w:lvlText w:val="%1."/></w:lvl></w:abstractNum>',
        '<w:abstractNum {ns} w:abstractNumId="8"><w:numStyleLink w:val="法条"/></w:abstractNum>',
        '<w:num {ns} w:numId="9"><w:abstractNumId w:val="8"/></w:num>',
    ):
        numbering.append(parse_xml(xml.format(ns=nsdecls("w"))))
    for text in ("甲方", "乙方"):
        number(document.add_paragraph(text), 9)
    assert text_of(document, tmp_path) == "- I. 甲方\n- II. 乙方"


def test_numbered_cells_show_their_number(tmp_path: Path) -> None:
    document = with_numbering()
    table = document.add_table(rows=2, cols=2)
    for row, text in enumerate(("水泵", "valve")):
        number(table.cell(row, 0).paragraphs[0], 2)
        table.cell(row, 0).paragraphs[0].add_run(text)
        table.cell(row, 1).text = "好"
    assert text_of(document, tmp_path) == "| 1. 水泵 | 好 |\n| --- | --- |\n| 2. valve | 好 |"
