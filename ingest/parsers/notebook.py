"""Jupyter notebooks: Markdown as it is, code and its text output in fences."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ingest.parsers.failures import damaged, reading
from ingest.parsers.markup import fence
from ingest.parsers.properties import own_title, properties
from kb.text import normalize_source
from kb.types import ParsedDocument

MEDIA_TYPE = "application/x-ipynb+json"
# Such as `<Figure size 640x480 with 1 Axes>`; the picture or the HTML beside it says more.
_OBJECT = re.compile(r"(?:<[^<>]*>)?")
_TERMINAL_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class NotebookParser:
    """Reads `.ipynb` of nbformat 3 and 4."""

    name = "notebook"

    def parse(self, path: Path, options: Mapping[str, object]) -> ParsedDocument:  # noqa: ARG002
        """Read a file.

        Args:
            path: The file.
            options: None are known.

        Raises:
            DocumentError: `damaged`.
        """
        with reading(path, "a notebook"):
            notebook = json.loads(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
            if not isinstance(notebook, dict):
                raise damaged(path, "a notebook", "no notebook inside")
            return _read(path, notebook)


def _read(path: Path, notebook: dict[str, Any]) -> ParsedDocument:
    cells = list(_cells(notebook))
    if not cells and "cells" not in notebook and "worksheets" not in notebook:
        raise damaged(path, "a notebook", "no cells inside")
    metadata = notebook.get("metadata") or {}
    kernel = metadata.get("kernelspec") or {}
    language = (metadata.get("language_info") or {}).get("name") or kernel.get("language")
    blocks: list[str] = []
    n_images = 0
    for cell in cells:
        blocks += _blocks(cell, str(language or cell.get("language") or "python").lower())
        n_images += _n_images(cell)
    authors = (author for author in metadata.get("authors") or () if isinstance(author, dict))
    found = properties(
        {
            "title": metadata.get("title"),
            "author": ", ".join(str(author.get("name", "")) for author in authors),
        }
    )
    return ParsedDocument(
        text=normalize_source("\n\n".join(block for block in blocks if block.strip())),
        markup="markdown",
        media_type=MEDIA_TYPE,
        parser="notebook 1",
        title=own_title(found.get("title")),
        metadata=found,
        n_images=n_images,
    )


def _cells(notebook: dict[str, Any]) -> Iterator[dict[str, Any]]:
    sheets = [notebook, *(notebook.get("worksheets") or ())]
    for sheet in sheets:
        yield from (cell for cell in sheet.get("cells") or () if isinstance(cell, dict))


def _blocks(cell: dict[str, Any], language: str) -> Iterator[str]:
    source = _joined(cell.get("source", cell.get("input"))).strip("\n")
    kind = cell.get("cell_type")
    if kind == "heading":
        yield f"{'#' * int(cell.get('level') or 1)} {source}"
    elif kind != "code":
        yield source
    else:
        if source.strip():
            yield fence(source, language)
        for output in cell.get("outputs") or ():
            yield _output(output)


def _output(output: dict[str, Any]) -> str:
    """Return an output as text: Markdown as it is, the rest in a fence, pictures as nothing."""
    from ingest.parsers.html import html_to_markdown

    if output.get("output_type") in {"error", "pyerr"}:
        text = f"{output.get('ename', '')}: {output.get('evalue', '')}"
    elif output.get("output_type") == "stream":
        text = _joined(output.get("text"))
    else:
        forms = output.get("data") or output
        if forms.get("text/markdown"):
            return _joined(forms["text/markdown"]).strip("\n")
        text = _joined(forms.get("text/plain", forms.get("text")))
        if _OBJECT.fullmatch(text.strip()):
            markup = _joined(forms.get("text/html", forms.get("html")))
            return html_to_markdown(markup).strip("\n")
    text = _TERMINAL_COLOURS.sub("", text).strip("\n")
    return fence(text) if text.strip() else ""


def _n_images(cell: dict[str, Any]) -> int:
    attached = sum(_n_pictures(forms) for forms in (cell.get("attachments") or {}).values())
    return attached + sum(
        _n_pictures(output.get("data") or output) for output in cell.get("outputs") or ()
    )


def _n_pictures(forms: Mapping[str, Any]) -> int:
    """Return 1 when an output has a picture among its forms, else 0."""
    return int(any(name.startswith("image/") or name in {"png", "jpeg", "svg"} for name in forms))


def _joined(text: object) -> str:
    return "".join(map(str, text)) if isinstance(text, list) else str(text or "")
