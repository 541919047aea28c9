"""PowerPoint presentations."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pptx
import pytest
from lxml import etree
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.util import Inches

from ingest.parsers.pptx import PptxParser
from kb.errors import DocumentError, MissingExtraError
from kb.types import ParsedDocument

TITLE_AND_CONTENT, TITLE_ONLY, BLANK = 1, 5, 6
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"


def parsed(presentation: Any, folder: Path, name: str = "汇报.pptx") -> ParsedDocument:
    path = folder / name
    presentation.save(path)
    return PptxParser().parse(path, {})


def slide_of(presentation: Any, layout: int, title: str = "") -> Any:
    slide = presentation.slides.add_slide(presentation.slide_layouts[layout])
    if title:
        slide.shapes.title.text = title
    return slide


def box(shapes: Any, text: str, left: float, top: float) -> Any:
    shape = shapes.add_textbox(Inches(left), Inches(top), Inches(2), Inches(1))
    shape.text_frame.text = text
    return shape


def test_each_slide_is_a_section_on_its_own_page(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    presentation.core_properties.title = "PowerPoint Presentation"
    presentation.core_properties.author = "李雷"
    slide_of(presentation, TITLE_ONLY, "水库\n现状")
    slide_of(presentation, BLANK)
    last = slide_of(presentation, TITLE_ONLY, "Plans")
    box(last.shapes, "明年扩建。", 1, 3)
    found = parsed(presentation, tmp_path)
    assert [(page.number, found.text[page.start : page.end]) for page in found.pages] == [
        (1, "## 1. 水库 现状\n\n"),
        (2, "## 2.\n\n"),
        (3, "## 3. Plans\n\n明年扩建。\n\n"),
    ]
    assert "".join(found.text[page.start : page.end] for page in found.pages) == found.text
    assert (found.n_pages, found.title) == (3, "水库 现状")
    assert found.metadata["author"] == "李雷"


def test_body_text_is_a_list_with_its_levels(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    frame = slide_of(presentation, TITLE_AND_CONTENT, "要点").placeholders[1].text_frame
    for at, (text, level) in enumerate((("供水", 0), ("城区", 1), ("Power", 0))):
        paragraph = frame.paragraphs[0] if at == 0 else frame.add_paragraph()
        paragraph.text, paragraph.level = text, level
    single = slide_of(presentation, TITLE_AND_CONTENT, "结论").placeholders[1].text_frame
    single.text = "只有一段。"
    assert parsed(presentation, tmp_path).text == (
        "## 1. 要点\n\n- 供水\n  - 城区\n- Power\n\n## 2. 结论\n\n只有一段。\n\n"
    )


def test_numbered_paragraphs_keep_their_numbers(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    frame = box(slide_of(presentation, BLANK).shapes, "开阀", 1, 1).text_frame
    frame.add_paragraph().text = "注水"
    for paragraph, kind in zip(frame.paragraphs, ("arabicPeriod", "arabicPeriod"), strict=True):
        etree.SubElement(
            paragraph._p.get_or_add_pPr(), f"{{{DRAWING}}}buAutoNum", type=kind, startAt="3"
        )
    assert parsed(presentation, tmp_path).text == "## 1.\n\n3. 开阀\n4. 注水\n\n"


def test_shapes_are_read_from_top_to_bottom_and_left_to_right(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    shapes = slide_of(presentation, BLANK).shapes
    box(shapes, "底部", 1, 5)
    box(shapes, "右 right", 5, 1.02)
    box(shapes, "左 left", 1, 1.05)
    group = shapes.add_group_shape()
    box(group.shapes, "组内二", 3, 3.5)
    box(group.shapes, "组内一", 3, 2.5)
    assert parsed(presentation, tmp_path).text.split() == [
        *("##", "1."),
        *("左", "left"),
        *("右", "right"),
        "组内一",
        "组内二",
        "底部",
    ]


def test_tables_keep_merged_cells_once(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    shapes = slide_of(presentation, TITLE_ONLY, "数据").shapes
    table = shapes.add_table(2, 3, Inches(1), Inches(2), Inches(6), Inches(1)).table
    for row, texts in enumerate((("指标", "合并", "看不见"), ("a|b", "2", "第一\n第二"))):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    table.cell(0, 1).merge(table.cell(0, 2))
    assert (
        "| 指标 | 合并 看不见 |  |\n| --- | --- | --- |\n| a\\|b | 2 | 第一 第二 |"
        in parsed(presentation, tmp_path).text
    )


def test_charts_become_tables_of_their_data(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    shapes = slide_of(presentation, TITLE_ONLY, "图").shapes
    bars = CategoryChartData(number_format="0%")
    bars.categories = ["一季度", "Q2"]
    bars.add_series("东区", (0.5, None))
    bars.add_series("West", (0.25, 0.75))
    frame = shapes.add_chart(
        XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(1), Inches(2), Inches(4), Inches(2), bars
    )
    frame.chart.has_title = True
    frame.chart.chart_title.text_frame.text = "蓄水率"
    points = XyChartData()
    points.add_series("测点").add_data_point(1.5, 2.5)
    shapes.add_chart(XL_CHART_TYPE.XY_SCATTER, Inches(1), Inches(5), Inches(4), Inches(2), points)
    assert parsed(presentation, tmp_path).text == (
        "## 1. 图\n\n蓄水率\n\n|  | 东区 | West |\n| --- | --- | --- |\n| 一季度 | 50% | 25% |\n"
        "| Q2 |  | 75% |\n\n|  | 测点 |\n| --- | --- |\n| 1.5 | 2.5 |\n\n"
    )


def test_notes_follow_their_slide(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    slide = slide_of(presentation, TITLE_ONLY, "封面")
    slide.notes_slide.notes_text_frame.text = "先问好。\nThen start."
    slide_of(presentation, TITLE_ONLY, "下一页")
    assert parsed(presentation, tmp_path).text == (
        "## 1. 封面\n\nNotes: 先问好。\nThen start.\n\n## 2. 下一页\n\n"
    )


def test_a_diagram_becomes_a_list(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    slide = slide_of(presentation, TITLE_ONLY, "流程")
    points = "".join(
        f'<d:pt modelId="{name}"><d:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></d:t></d:pt>'
        for name, text in (("3", "验收"), ("1", "立项"), ("2", "预算"))
    )
    links = "".join(
        f'<d:cxn srcId="{source}" destId="{to}" srcOrd="{order}"/>'
        for source, to, order in (("0", "1", 0), ("0", "3", 1), ("1", "2", 0))
    )
    model = (
        f'<d:dataModel xmlns:d="urn:d" xmlns:a="{DRAWING}"><d:ptLst>'
        f'<d:pt modelId="0" type="doc"/>{points}</d:ptLst>'
        f"<d:cxnLst>{links}</d:cxnLst></d:dataModel>"
    )
    part = Part(
        PackURI("/ppt/diagrams/data1.xml"), "application/xml", slide.part.package, model.encode()
    )
    relation = slide.part.relate_to(part, "urn:diagramData")
    frame = slide.shapes.add_table(1, 1, 0, Inches(3), Inches(1), Inches(1))._element
    data = frame.find(f".//{{{DRAWING}}}graphicData")
    data.remove(data[0])
    data.set("uri", "http://schemas.openxmlformats.org/drawingml/2006/diagram")
    data.append(etree.fromstring(f'<d:relIds xmlns:d="urn:d" xmlns:r="urn:r" r:dm="{relation}"/>'))
    assert parsed(presentation, tmp_path).text == ("## 1. 流程\n\n- 立项\n  - 预算\n- 验收\n\n")


def test_a_truncated_presentation_is_damaged(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    slide_of(presentation, TITLE_ONLY, "封面")
    parsed(presentation, tmp_path)
    path = tmp_path / "汇报.pptx"
    path.write_bytes(path.read_bytes()[:9_000])
    with pytest.raises(DocumentError) as caught:
        PptxParser().parse(path, {})
    assert caught.value.code == "damaged"


def test_a_word_document_named_pptx_is_damaged(tmp_path: Path) -> None:
    import docx

    path = tmp_path / "其实是文档.pptx"
    docx.Document().save(str(path))
    with pytest.raises(DocumentError) as caught:
        PptxParser().parse(path, {})
    assert caught.value.code == "damaged"


def test_without_its_library_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pptx.package", None)
    with pytest.raises(MissingExtraError, match=r"\[office\]"):
        PptxParser().parse(tmp_path / "汇报.pptx", {})
