"""OpenDocument texts."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from ingest.parsers.odt import OdtParser
from kb.errors import DocumentError
from kb.types import ParsedDocument

SPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "text", "table", "style", "draw", "meta", "manifest")
)
DC = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
AUTOMATIC = """
<style:style style:name="P1" style:family="paragraph"
  style:parent-style-name="Preformatted_20_Text"/>
<text:list-style style:name="L1">
  <text:list-level-style-bullet text:level="1" text:bullet-char="•"/>
  <text:list-level-style-number text:level="2" style:num-format="1" style:num-suffix="."/>
</text:list-style>
<text:list-style style:name="L2">
  <text:list-level-style-number text:level="1" style:num-format="一, 二, 三, ..."
    style:num-prefix="第" style:num-suffix="条"/>
</text:list-style>
"""
OUTLINE = """
<text:outline-style style:name="Outline">
  <text:outline-level-style text:level="1" style:num-format="1"/>
  <text:outline-level-style text:level="2" style:num-format="1" text:display-levels="2"/>
</text:outline-style>
"""


def parsed(folder: Path, body: str, **parts: str) -> ParsedDocument:
    path = folder / "文稿.odt"
    members = {
        "content.xml": f"<office:document-content {SPACES}><office:automatic-styles>{AUTOMATIC}"
        f"</office:automatic-styles><office:body><office:text>{body}</office:text></office:body>"
        "</office:document-content>",
        "styles.xml": f"<office:document-styles {SPACES}>{parts.get('styles', '')}"
        "</office:document-styles>",
        "meta.xml": f"<office:document-meta {SPACES} {DC}><office:meta>{parts.get('meta', '')}"
        "</office:meta></office:document-meta>",
        "META-INF/manifest.xml": f"<manifest:manifest {SPACES}>{parts.get('manifest', '')}"
        "</manifest:manifest>",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return OdtParser().parse(path, {})


def text_of(folder: Path, body: str, **parts: str) -> str:
    return parsed(folder, body, **parts).text


def test_headings_paragraphs_and_spaces(tmp_path: Path) -> None:
    body = (
        '<text:p text:style-name="Title">水库手册</text:p>'
        '<text:h text:outline-level="2">概述</text:h>'
        "<text:p>一<text:span>段</text:span>话<text:s text:c='2'/>and"
        "<text:tab/>more<text:line-break/>换行<text:a>链接</text:a>。</text:p><text:p/>"
    )
    found = parsed(tmp_path, body)
    assert found.text == "# 水库手册\n\n## 概述\n\n一段话  and\tmore\n换行链接。"
    assert found.title == "水库手册"


def test_headings_carry_the_numbers_of_the_outline(tmp_path: Path) -> None:
    body = "".join(
        f'<text:h text:outline-level="{level}">{text}</text:h>'
        for text, level in (("总则", 1), ("目的", 2), ("范围", 2), ("附则", 1), ("Dates", 2))
    )
    styles = f"<office:styles>{OUTLINE}</office:styles>"
    assert text_of(tmp_path, body, styles=styles).split("\n\n") == [
        "# 1 总则",
        "## 1.1 目的",
        "## 1.2 范围",
        "# 2 附则",
        "## 2.1 Dates",
    ]


def test_lists_nest_and_count(tmp_path: Path) -> None:
    def entry(text: str, below: str = "") -> str:
        return f"<text:list-item><text:p>{text}</text:p>{below}</text:list-item>"

    inner = f"<text:list>{entry('姓名')}{entry('Address')}</text:list>"
    body = (
        f'<text:list text:style-name="L1">{entry("填表", inner)}{entry("寄出")}</text:list>'
        f'<text:p>条款</text:p><text:list text:style-name="L2">{entry("付款")}{entry("交货")}'
        "</text:list>"
    )
    assert text_of(tmp_path, body) == (
        "- 填表\n  1. 姓名\n  2. Address\n- 寄出\n\n条款\n\n- 第一条 付款\n- 第二条 交货"
    )


def test_tables_keep_repeated_and_covered_cells(tmp_path: Path) -> None:
    body = (
        "<table:table><table:table-header-rows><table:table-row>"
        "<table:table-cell><text:p>项目</text:p></table:table-cell>"
        "<table:table-cell table:number-columns-repeated='2'><text:p>值</text:p></table:table-cell>"
        "</table:table-row></table:table-header-rows><table:table-row>"
        "<table:table-cell table:number-columns-spanned='2'><text:p>a|b</text:p><text:p>c</text:p>"
        "</table:table-cell><table:covered-table-cell><text:p>旧</text:p></table:covered-table-cell>"
        "<table:table-cell><text:p>3</text:p></table:table-cell></table:table-row>"
        "<table:table-row table:number-rows-repeated='1048000'><table:table-cell/>"
        "</table:table-row></table:table>"
    )
    assert text_of(tmp_path, body) == (
        "| 项目 | 值 | 值 |\n| --- | --- | --- |\n| a\\|b c |  | 3 |"
    )


def test_code_boxes_notes_and_pictures(tmp_path: Path) -> None:
    body = (
        '<text:p text:style-name="P1">if x:</text:p><text:p text:style-name="P1">'
        "<text:s text:c='4'/>go()</text:p>"
        "<text:p>正文<text:note><text:note-citation>1</text:note-citation><text:note-body>"
        "<text:p>注释</text:p></text:note-body></text:note>完"
        "<draw:frame><draw:text-box><text:p>方框</text:p></draw:text-box></draw:frame>"
        "<draw:frame><draw:image/></draw:frame></text:p><text:p>后文</text:p>"
    )
    found = parsed(tmp_path, body)
    assert found.text == ("```\nif x:\n    go()\n```\n\n正文[^1]完\n\n方框\n\n后文\n\n[^1]: 注释")
    assert found.n_images == 1


def test_deleted_text_remarks_and_contents_are_left_out(tmp_path: Path) -> None:
    body = (
        "<text:tracked-changes><text:changed-region><text:deletion><text:p>删去</text:p>"
        "</text:deletion></text:changed-region></text:tracked-changes>"
        "<text:table-of-content><text:index-body><text:p>目录行</text:p></text:index-body>"
        "</text:table-of-content><text:section><text:p>留下<office:annotation><text:p>批注</text:p>"
        "</office:annotation>的</text:p></text:section>"
    )
    assert text_of(tmp_path, body) == "留下的"


def test_properties_headers_and_footers_are_metadata(tmp_path: Path) -> None:
    styles = (
        "<office:master-styles><style:master-page><style:header><text:p>内部 资料</text:p>"
        "</style:header><style:footer><text:p>青山公司</text:p><text:p>3</text:p></style:footer>"
        "</style:master-page></office:master-styles>"
    )
    meta = (
        "<dc:title>年报</dc:title><meta:initial-creator>李雷</meta:initial-creator>"
        "<meta:creation-date>2024-03-05T09:00:00</meta:creation-date>"
    )
    found = parsed(tmp_path, "<text:p>正文</text:p>", styles=styles, meta=meta)
    assert found.metadata == {
        "title": "年报",
        "author": "李雷",
        "created": "2024-03-05T09:00:00",
        "header": "内部 资料",
        "footer": "青山公司",
    }
    assert (found.title, found.text) == ("年报", "正文")


def test_a_text_with_a_password_is_encrypted(tmp_path: Path) -> None:
    manifest = "<manifest:file-entry><manifest:encryption-data/></manifest:file-entry>"
    with pytest.raises(DocumentError) as caught:
        parsed(tmp_path, "", manifest=manifest)
    assert caught.value.code == "encrypted"


@pytest.mark.parametrize("body", ["<text:p>", "<text:p>&lol;</text:p>"])
def test_broken_xml_is_damaged(tmp_path: Path, body: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parsed(tmp_path, body)
    assert caught.value.code == "damaged"


def test_endless_nesting_does_not_get_out(tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        parsed(tmp_path, "<text:section>" * 5_000 + "</text:section>" * 5_000)
    assert caught.value.code in {"damaged", "over_limit"}
