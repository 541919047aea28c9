"""Jupyter notebooks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ingest.parsers.notebook import NotebookParser
from kb.errors import DocumentError
from kb.types import ParsedDocument


def parsed(folder: Path, *cells: object, **top: object) -> ParsedDocument:
    path = folder / "笔记.ipynb"
    notebook = {"nbformat": 4, "metadata": {}, "cells": list(cells), **top}
    path.write_text(json.dumps(notebook, ensure_ascii=False), encoding="utf-8")
    return NotebookParser().parse(path, {})


def code(source: str, *outputs: object) -> dict[str, object]:
    return {"cell_type": "code", "source": source, "outputs": list(outputs)}


def test_cells_come_in_order_with_code_and_output_in_fences(tmp_path: Path) -> None:
    found = parsed(
        tmp_path,
        {"cell_type": "markdown", "source": ["# 水位\n", "\n", "每日记录。"]},
        code("print('高')", {"output_type": "stream", "name": "stdout", "text": ["高\n"]}),
        code("1 + 1", {"output_type": "execute_result", "data": {"text/plain": ["2"]}}),
        metadata={"kernelspec": {"language": "R"}, "title": "水位笔记"},
    )
    assert found.text == (
        "# 水位\n\n每日记录。\n\n```r\nprint('高')\n```\n\n```\n高\n```\n\n"
        "```r\n1 + 1\n```\n\n```\n2\n```"
    )
    assert (found.title, found.markup) == ("水位笔记", "markdown")


def test_rich_outputs_give_their_best_text(tmp_path: Path) -> None:
    def shown(**data: object) -> dict[str, object]:
        forms = {kind.replace("_", "/"): form for kind, form in data.items()}
        return {"output_type": "display_data", "data": forms}

    table = "<table><tr><th>甲</th><th>乙</th></tr><tr><td>1</td><td>2</td></tr></table>"
    found = parsed(
        tmp_path,
        code("", shown(text_markdown="**粗**", text_plain="<Markdown object>")),
        code("", shown(text_html=table)),
        code("", shown(image_png="AAAA", text_plain="<Figure size 640x480 with 1 Axes>")),
        code("", shown(text_plain="   a\n0  1", text_html="<table></table>")),
    )
    assert found.text == "**粗**\n\n| 甲 | 乙 |\n| --- | --- |\n| 1 | 2 |\n\n```\n   a\n0  1\n```"
    assert found.n_images == 1


def test_an_error_is_named_without_its_traceback_and_colours(tmp_path: Path) -> None:
    error = {
        "output_type": "error",
        "ename": "ValueError",
        "evalue": "\x1b[31m水位为负\x1b[0m",
        "traceback": ["long"],
    }
    assert parsed(tmp_path, code("", error)).text == "```\nValueError: 水位为负\n```"


def test_an_old_notebook_is_read(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": "旧版"},
        {"cell_type": "code", "language": "python", "input": "x = 1", "outputs": []},
    ]
    found = parsed(tmp_path, nbformat=3, worksheets=[{"cells": cells}])
    assert found.text == "## 旧版\n\n```python\nx = 1\n```"


def test_pictures_attached_to_text_are_counted(tmp_path: Path) -> None:
    cell = {
        "cell_type": "markdown",
        "source": "![月](attachment:a.png)",
        "attachments": {"a.png": {"image/png": "AAAA"}},
    }
    assert parsed(tmp_path, cell).n_images == 1


@pytest.mark.parametrize(
    "content", ["", "not json", "[]", "{}", '{"cells": 3}', '{"cells": [{"outputs": 1}', "\xff"]
)
def test_what_is_no_notebook_is_damaged(tmp_path: Path, content: str) -> None:
    path = tmp_path / "坏.ipynb"
    path.write_text(content, encoding="latin-1")
    with pytest.raises(DocumentError) as caught:
        NotebookParser().parse(path, {})
    assert caught.value.code == "damaged"


def test_a_notebook_without_cells_has_blank_text(tmp_path: Path) -> None:
    assert parsed(tmp_path).text == ""


def test_endless_nesting_does_not_get_out(tmp_path: Path) -> None:
    path = tmp_path / "深.ipynb"
    path.write_text('{"cells": ' + "[" * 200_000, encoding="utf-8")
    with pytest.raises(DocumentError) as caught:
        NotebookParser().parse(path, {})
    assert caught.value.code in {"damaged", "over_limit"}
