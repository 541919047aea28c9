"""Pieces put together as Markdown."""

from __future__ import annotations

import pytest

from ingest.blocks import blocks_of
from ingest.parsers.markup import MarkdownWriter, PagedText, body_text, fence


def test_list_entries_form_one_list_with_their_own_depth_and_numbers() -> None:
    writer = MarkdownWriter()
    writer.entry(0, "第一步", "1.")
    writer.entry(1, "准备材料")
    writer.entry(3, "检查", "a)")
    writer.entry(0, "第二步\n提交", "2、")
    assert writer.text() == ("1. 第一步\n   - 准备材料\n     - a) 检查\n2. 第二步\n   提交")


def test_lines_of_code_share_a_fence_with_the_blank_lines_between_them() -> None:
    writer = MarkdownWriter()
    writer.paragraph("运行：")
    writer.code("def f():")
    writer.paragraph("")
    writer.code("    return 1")
    writer.paragraph("")
    writer.paragraph("完成。")
    assert writer.text() == "运行：\n\n```\ndef f():\n\n    return 1\n```\n\n完成。"


def test_a_fence_is_longer_than_the_backticks_in_it() -> None:
    assert fence("```\nx\n```", "md") == "````md\n```\nx\n```\n````"


def test_an_endless_heading_is_a_paragraph() -> None:
    writer = MarkdownWriter()
    writer.heading(2, "标" * 201)
    writer.heading(9, "小节")
    assert writer.text() == "标" * 201 + "\n\n###### 小节"


@pytest.mark.parametrize(
    "text",
    ["# comment", "---", "总计\n===", "``` not code", "<script>alert(1)", "> 5 mg", "<!-- note"],
)
def test_a_paragraph_stays_one_whatever_its_lines_look_like(text: str) -> None:
    after = "\n\n# 标题\n\n正文"
    kinds = [block.kind for block in blocks_of(body_text(text) + after, markup="markdown")]
    assert kinds == ["paragraph", "heading", "paragraph"]


def test_pages_cover_the_text_whatever_line_ends_they_came_with() -> None:
    paged = PagedText()
    paged.add(1, "## 1. 甲\r\n\r\n内容")
    paged.add(3, "## 3. 乙\n")
    text = paged.text()
    assert text == "## 1. 甲\n\n内容\n\n## 3. 乙\n\n"
    assert [(page.number, text[page.start : page.end]) for page in paged.pages()] == [
        (1, "## 1. 甲\n\n内容\n\n"),
        (3, "## 3. 乙\n\n"),
    ]
