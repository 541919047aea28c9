"""Word documents."""

from __future__ import annotations

import io
import struct
import sys
import zipfile
import zlib
from pathlib import Path
from typing import Any

import docx
import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from ingest.parsers.docx import DocxParser
from kb.errors import DocumentError, MissingExtraError
from kb.types import ParsedDocument

RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"


def parsed(document: Any, folder: Path, name: str = "文件.docx") -> ParsedDocument:
    path = folder / name
    document.save(path)
    return DocxParser().parse(path, {})


def add_part(document: Any, name: str, kind: str, xml: str) -> str:
    part = Part(
        PackURI(f"/word/{name}.xml"), "application/xml", xml.encode(), document.part.package
    )
    return str(document.part.relate_to(part, RELATION + kind))


def png() -> io.BytesIO:
    def chunk(kind: bytes, content: bytes) -> bytes:
        packed = kind + content
        return struct.pack(">I", len(content)) + packed + struct.pack(">I", zlib.crc32(packed))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    return io.BytesIO(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0\0"))
        + chunk(b"IEND", b"")
    )


def test_headings_and_paragraphs_come_in_order(tmp_path: Path) -> None:
    document = docx.Document()
    document.core_properties.title = "旧标题"
    document.core_properties.author = "韩梅梅"
    document.add_heading("青山水库手册", 0)
    document.add_heading("概述", 1)
    document.add_paragraph("水库建于山谷。\nIt is full in June.")
    document.add_heading("Levels", 2)
    document.add_paragraph("# 不是标题")
    found = parsed(document, tmp_path)
    assert found.text == (
        "# 青山水库手册\n\n# 概述\n\n水库建于山谷。\nIt is full in June.\n\n"
        "## Levels\n\n\\# 不是标题"
    )
    assert (found.title, found.metadata["title"]) == ("青山水库手册", "旧标题")
    assert found.metadata["author"] == "韩梅梅"
    assert (found.markup, found.pages, found.n_pages) == ("markdown", (), None)
    assert found.parser.startswith("python-docx ")


def test_an_outline_level_makes_a_heading_and_level_nine_unmakes_it(tmp_path: Path) -> None:
    document = docx.Document()
    for text, level in (("附录", 2), ("正文", 9)):
        paragraph = document.add_paragraph(text, style="Heading 1" if level == 9 else None)
        paragraph._p.get_or_add_pPr().append(
            parse_xml(f'<w:outlineLvl {nsdecls("w")} w:val="{level}"/>')
        )
    assert parsed(document, tmp_path).text == "### 附录\n\n正文"


def test_a_table_keeps_merged_cells_once_and_its_bars(tmp_path: Path) -> None:
    document = docx.Document()
    table = document.add_table(rows=3, cols=3)
    for row, texts in enumerate(
        (("项目", "数量", "备注"), ("水泵", "2", "a|b"), ("", "3", "两行\n字"))
    ):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    across = document.add_table(rows=2, cols=2)
    across.cell(0, 0).text, across.cell(1, 1).text = "合计 total", "5"
    across.cell(0, 0).merge(across.cell(0, 1))
    inner = across.cell(1, 0).add_table(rows=1, cols=2)
    inner.cell(0, 0).text, inner.cell(0, 1).text = "内一", "内二"
    assert parsed(document, tmp_path).text == (
        "| 项目 | 数量 | 备注 |\n| --- | --- | --- |\n| 水泵 | 2 | a\\|b |\n|  | 3 | 两行 字 |\n\n"
        "| 合计 total |  |\n| --- | --- |\n| 内一 内二 | 5 |"
    )


def test_a_table_of_one_cell_is_a_frame_around_text(tmp_path: Path) -> None:
    document = docx.Document()
    cell = document.add_table(rows=1, cols=1).cell(0, 0)
    cell.text = "提示：先关阀门。"
    cell.add_paragraph("Then open the lid.")
    assert parsed(document, tmp_path).text == "提示：先关阀门。\n\nThen open the lid."


def test_code_is_told_by_style_or_by_a_fixed_width_font(tmp_path: Path) -> None:
    document = docx.Document()
    document.styles.add_style("Source Code", WD_STYLE_TYPE.PARAGRAPH)
    document.add_paragraph("import sys", style="Source Code")
    document.add_paragraph("    print(sys.argv)", style="Source Code")
    document.add_paragraph("之后运行：")
    for text in ("for x in y:", "\tz = x"):
        document.add_paragraph().add_run(text).font.name = "Consolas"
    mixed = document.add_paragraph("Call ")
    mixed.add_run("printf").font.name = "Courier New"
    document.add_paragraph().add_run(
        "This memo was written on an old machine."
    ).font.name = "Courier New"
    assert parsed(document, tmp_path).text == (
        "```\nimport sys\n    print(sys.argv)\n```\n\n之后运行：\n\n"
        "```\nfor x in y:\n\tz = x\n```\n\nCall printf\n\n"
        "This memo was written on an old machine."
    )


def test_links_keep_their_text_and_unseen_text_is_left_out(tmp_path: Path) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("见 ")
    for xml in (
        "<w:hyperlink {ns}><w:r><w:t>说明书</w:t></w:r></w:hyperlink>",
        '<w:ins {ns} w:id="1" w:author="x"><w:r><w:t>新增</w:t></w:r></w:ins>',
        '<w:del {ns} w:id="2" w:author="x"><w:r><w:delText>删去</w:delText></w:r></w:del>',
        "<w:r {ns}><w:rPr><w:vanish/></w:rPr><w:t>隐藏</w:t></w:r>",
        "<w:r {ns}><w:instrText>PAGEREF x</w:instrText></w:r>",
        "<w:r {ns}><w:noBreakHyphen/><w:t>完</w:t></w:r>",
    ):
        paragraph._p.append(parse_xml(xml.format(ns=nsdecls("w"))))
    assert parsed(document, tmp_path).text == "见 说明书新增-完"


def test_a_table_of_contents_is_left_out(tmp_path: Path) -> None:
    document = docx.Document()
    document.styles.add_style("toc 1", WD_STYLE_TYPE.PARAGRAPH)
    document.add_paragraph("概述\t3", style="toc 1")
    document.add_heading("概述", 1)
    assert parsed(document, tmp_path).text == "# 概述"


def test_a_text_box_is_read_once_after_its_paragraph(tmp_path: Path) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("旁边有方框。")
    box = "<w:txbxContent><w:p><w:r><w:t>方框 box</w:t></w:r></w:p></w:txbxContent>"
    paragraph._p.append(
        parse_xml(
            f'<w:r {nsdecls("w")} xmlns:v="urn:v" xmlns:wps="urn:wps" '
            'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
            f'<mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wps:txbx>{box}</wps:txbx>'
            f"</w:drawing></mc:Choice><mc:Fallback><w:pict><v:textbox>{box}</v:textbox></w:pict>"
            "</mc:Fallback></mc:AlternateContent></w:r>"
        )
    )
    document.add_paragraph("后文。")
    assert parsed(document, tmp_path).text == "旁边有方框。\n\n方框 box\n\n后文。"


def test_notes_stand_at_the_end_with_their_marks(tmp_path: Path) -> None:
    document = docx.Document()
    for text, kind in (("水位下降", "footnote"), ("rain fell", "endnote")):
        document.add_paragraph(text)._p.append(
            parse_xml(f'<w:r {nsdecls("w")}><w:{kind}Reference w:id="2"/></w:r>')
        )
        add_part(
            document,
            f"{kind}s",
            f"{kind}s",
            f'<w:{kind}s {nsdecls("w")}><w:{kind} w:id="2"><w:p><w:r><w:t>注 {kind}</w:t></w:r>'
            f"</w:p></w:{kind}></w:{kind}s>",
        )
    assert parsed(document, tmp_path).text == (
        "水位下降[^1]\n\nrain fell[^2]\n\n[^1]: 注 footnote\n\n[^2]: 注 endnote"
    )


def test_headers_and_footers_are_metadata_only(tmp_path: Path) -> None:
    document = docx.Document()
    document.sections[0].header.paragraphs[0].text = "内部资料"
    document.sections[0].footer.paragraphs[0].text = "青山公司"
    document.sections[0].footer.add_paragraph("7")
    document.add_paragraph("正文")
    found = parsed(document, tmp_path)
    assert found.text == "正文"
    assert (found.metadata["header"], found.metadata["footer"]) == ("内部资料", "青山公司")


def test_a_chart_becomes_a_table_of_its_data(tmp_path: Path) -> None:
    document = docx.Document()
    space = 'xmlns:c="urn:c" xmlns:a="urn:a"'

    def cache(values: list[str]) -> str:
        points = "".join(f'<c:pt idx="{at}"><c:v>{v}</c:v></c:pt>' for at, v in enumerate(values))
        return f"<c:ref><c:cache>{points}</c:cache></c:ref>"

    relation = add_part(
        document,
        "chart1",
        "chart",
        f"<c:chartSpace {space}><c:chart><c:title><a:p><a:r><a:t>降雨 mm</a:t></a:r></a:p>"
        "</c:title>"
        f"<c:plotArea><c:bar><c:ser><c:tx>{cache(['2023'])}</c:tx><c:cat>{cache(['一月', '二月'])}"
        f"</c:cat><c:val>{cache(['4.2999999999999998', '12'])}</c:val></c:ser></c:bar></c:plotArea>"
        "</c:chart></c:chartSpace>",
    )
    document.add_paragraph()._p.append(
        parse_xml(
            f'<w:r {nsdecls("w", "r")} xmlns:c="urn:c"><w:drawing><c:chart r:id="{relation}"/>'
            "</w:drawing></w:r>"
        )
    )
    assert parsed(document, tmp_path).text == (
        "降雨 mm\n\n|  | 2023 |\n| --- | --- |\n| 一月 | 4.3 |\n| 二月 | 12 |"
    )


def test_a_formula_is_readable_text(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_paragraph("面积 ")._p.append(
        parse_xml(
            '<m:oMath xmlns:m="urn:m"><m:r><m:t>A=π</m:t></m:r><m:sSup><m:e><m:r><m:t>r</m:t></m:r>'
            "</m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup><m:f><m:num><m:r><m:t>a+b</m:t>"
            "</m:r></m:num><m:den><m:r><m:t>c</m:t></m:r></m:den></m:f></m:oMath>"
        )
    )
    assert parsed(document, tmp_path).text == "面积 A=πr^2(a+b)/c"


def test_pictures_are_counted(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_picture(png())
    document.add_table(rows=1, cols=2).cell(0, 0).paragraphs[0].add_run().add_picture(png())
    found = parsed(document, tmp_path)
    assert (found.text, found.n_images) == ("", 2)


def test_a_document_with_macros_is_read(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_paragraph("宏文档")
    document.part._content_type = "application/vnd.ms-word.document.macroEnabled.main+xml"
    assert parsed(document, tmp_path, "宏.docm").text == "宏文档"


@pytest.mark.parametrize("kept", [0.3, 0.9])
def test_a_truncated_document_is_damaged(tmp_path: Path, kept: float) -> None:
    document = docx.Document()
    document.add_paragraph("文字")
    parsed(document, tmp_path)
    path = tmp_path / "文件.docx"
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * kept)])
    with pytest.raises(DocumentError) as caught:
        DocxParser().parse(path, {})
    assert caught.value.code == "damaged"


def test_an_archive_without_a_document_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "空.docx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<broken")
    with pytest.raises(DocumentError) as caught:
        DocxParser().parse(path, {})
    assert caught.value.code == "damaged"
    assert str(tmp_path) not in caught.value.message


def test_without_python_docx_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "docx.opc.package", None)
    with pytest.raises(MissingExtraError, match=r"\[office\]"):
        DocxParser().parse(tmp_path / "文件.docx", {})
