"""HTML to Markdown: the main content, headings, lists, tables and code; no scripts, no menus."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import lxml.html
from lxml import etree

from ingest.encodings import decode
from ingest.parsers.html_tables import table_rows
from ingest.parsers.plain import encoding_warnings
from ingest.parsers.tables import markdown_table
from kb.types import ParsedDocument

_DROPPED = frozenset(
    "script style noscript template head nav form button select input textarea iframe object "
    "svg canvas dialog menu".split()
)
_FRAME = frozenset({"header", "footer", "aside"})
_FRAME_ROLES = frozenset({"navigation", "banner", "contentinfo", "search", "complementary"})
_BLOCKS = frozenset(
    "p div section article main body html header footer aside figure figcaption address details "
    "summary fieldset center dl dd dt tbody td th tr hgroup".split()
)
_MAX_DEPTH = 150
_MIN_MAIN_SHARE = 0.4
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}charset=[\"']?\s*([A-Za-z0-9._-]{2,40})", re.IGNORECASE)
_LANGUAGE = re.compile(r"(?:language|lang|highlight|brush)[-:]([\w+#-]{1,20})")
_MARKS = re.compile(r"(?m)^(\s{0,3})(#{1,6}\s|[-+*]\s|>|```|~~~|\||={3,}\s*$|-{3,}\s*$)")


class HtmlParser:
    """Reads web pages."""

    name = "html"

    def parse(self, path: Path, options: Mapping[str, object]) -> ParsedDocument:  # noqa: ARG002
        """Read a file."""
        content = path.read_bytes()
        match = _META_CHARSET.search(content[:4_000])
        decoded = decode(content, declared=match.group(1).decode("ascii") if match else None)
        page = _parsed(decoded.text)
        walker = _Walker()
        text = walker.markdown(_main(page)) if page is not None else ""
        title = " ".join((page.findtext(".//title") or "").split()) if page is not None else ""
        return ParsedDocument(
            text=text,
            markup="markdown",
            media_type="text/html",
            parser=f"lxml {version('lxml')}",
            title=title[:300] or None,
            encoding=decoded.encoding,
            metadata=_metadata(page) if page is not None else {},
            warnings=tuple(encoding_warnings(decoded)),
            n_images=walker.n_images,
        )


def html_to_markdown(markup: str) -> str:
    """Return a page, or a part of one, as Markdown."""
    page = _parsed(markup)
    return _Walker().markdown(_main(page)) if page is not None else ""


def _parsed(markup: str) -> Any:
    # A declaration of another encoding would make lxml refuse a text that is decoded already.
    markup = re.sub(r"\A\s*<\?xml[^>]*\?>", "", markup).replace("\x00", "\ufffd")
    if not markup.strip():
        return None
    parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=False)
    try:
        return lxml.html.document_fromstring(markup.encode("utf-8", "replace"), parser=parser)
    except (etree.ParserError, ValueError):
        return None


def _metadata(page: Any) -> dict[str, object]:
    found: dict[str, object] = {}
    for name in ("author", "description", "keywords", "date"):
        for value in page.xpath(f"//meta[@name='{name}']/@content")[:1]:
            if str(value).strip():
                found[name] = " ".join(str(value).split())[:1_000]
    language = page.get("lang")
    if language:
        found["language"] = str(language)[:40]
    return found


def _main(page: Any) -> Any:
    """Return the element that holds the content: `main` or one `article` if they hold enough."""
    body = page.find("body")
    body = page if body is None else body
    for path in (".//main", ".//*[@role='main']", ".//article"):
        found = body.findall(path)
        if len(found) == 1 and _n_ink(found[0]) >= _MIN_MAIN_SHARE * _n_ink(body):
            return found[0]
    return body


def _n_ink(element: Any) -> int:
    return len("".join(element.text_content().split()))


class _Walker:
    """Walks a tree and writes blocks."""

    def __init__(self) -> None:
        self.n_images = 0
        self._handlers: dict[str, Callable[[Any, int], list[str]]] = {
            "pre": lambda element, _: [_fence(element)],
            "table": self._table,
            "ul": self._list,
            "ol": self._list,
            "blockquote": self._quote,
            "hr": lambda *_: [],
            **{f"h{level}": self._heading for level in range(1, 7)},
        }

    def markdown(self, element: Any) -> str:
        blocks = self._blocks(element, 0)
        return "\n\n".join(block for block in blocks if block.strip()) + ("\n" if blocks else "")

    def _blocks(self, element: Any, depth: int) -> list[str]:
        """Return an element's children as blocks; runs of inline content are paragraphs."""
        if depth > _MAX_DEPTH:
            return [_escaped(" ".join(element.text_content().split()))]
        blocks: list[str] = []
        inline = [element.text or ""]

        def flush() -> None:
            paragraph = _paragraph("".join(inline))
            if paragraph:
                blocks.append(paragraph)
            inline.clear()

        for child in element:
            tag = child.tag if isinstance(child.tag, str) else ""
            if tag and not _is_dropped(child, tag):
                if tag in self._handlers:
                    flush()
                    blocks += self._handlers[tag](child, depth + 1)
                elif tag in _BLOCKS or _holds_blocks(child):
                    flush()
                    blocks += self._blocks(child, depth + 1)
                else:
                    inline.append(self._inline(child, depth + 1))
            inline.append(child.tail or "")
        flush()
        return blocks

    def _inline(self, element: Any, depth: int) -> str:
        tag = element.tag
        if tag == "br":
            return "\x0b"
        if tag == "img":
            self.n_images += 1
            alt = " ".join((element.get("alt") or "").split())
            source = element.get("src") or ""
            return f"![{alt}]({'' if source.startswith('data:') else source})" if alt else ""
        if depth > _MAX_DEPTH:
            return str(element.text_content())
        parts = [element.text or ""]
        for child in element:
            child_tag = child.tag if isinstance(child.tag, str) else ""
            if child_tag and not _is_dropped(child, child_tag):
                parts.append(self._inline(child, depth + 1))
            parts.append(child.tail or "")
        inner = "".join(parts)
        if tag in {"code", "kbd", "samp", "tt"} and inner.strip() and "`" not in inner:
            return f"`{' '.join(inner.split())}`"
        return inner

    def _heading(self, element: Any, depth: int) -> list[str]:
        title = " ".join(self._inline(element, depth).replace("\x0b", " ").split())
        title = title.rstrip("¶#").rstrip()
        return [f"{'#' * int(element.tag[1])} {title}"] if title else []

    def _list(self, element: Any, depth: int) -> list[str]:
        lines: list[str] = []
        number = 1
        for child in element:
            if child.tag != "li":
                if isinstance(child.tag, str) and child.tag in {"ul", "ol"}:
                    nested = self._list(child, depth + 1)
                    lines += [f"  {line}" for block in nested for line in block.split("\n")]
                continue
            mark = f"{number}. " if element.tag == "ol" else "- "
            number += 1
            blocks = self._blocks(child, depth + 1)
            if not blocks:
                continue
            body = "\n".join(blocks).split("\n")
            pad = " " * len(mark)
            lines.append(mark + body[0])
            lines += [pad + line if line else "" for line in body[1:]]
        return ["\n".join(lines)] if lines else []

    def _quote(self, element: Any, depth: int) -> list[str]:
        blocks = "\n\n".join(self._blocks(element, depth))
        return ["\n".join(f"> {line}".rstrip() for line in blocks.split("\n"))] if blocks else []

    def _table(self, element: Any, depth: int) -> list[str]:
        caption = element.find("caption")
        blocks: list[str] = []
        if caption is not None:
            blocks.append(_paragraph(self._inline(caption, depth)))
        if _is_layout(element):
            for row in element.iter("tr"):
                if _owner(row) is element:
                    for cell in row:
                        blocks += self._blocks(cell, depth + 1)
            return blocks
        rows = table_rows(element, lambda cell: self._cell(cell, depth))
        if rows:
            blocks.append(markdown_table(rows))
        return blocks

    def _cell(self, cell: Any, depth: int) -> str:
        parts = self._blocks(cell, depth + 1)
        return " ".join(" ".join(parts).split())


def _is_dropped(element: Any, tag: str) -> bool:
    if tag in _DROPPED or element.get("hidden") is not None:
        return True
    if element.get("role") in _FRAME_ROLES or element.get("aria-hidden") == "true":
        return True
    # A header inside an article is its title; one of the page is a menu.
    return tag in _FRAME and not any(
        ancestor.tag in {"article", "main", "section"} for ancestor in element.iterancestors()
    )


def _holds_blocks(element: Any) -> bool:
    for count, inner in enumerate(element.iter()):
        if count > 200:
            return True
        if inner is not element and isinstance(inner.tag, str):
            if inner.tag in _BLOCKS or inner.tag in {"pre", "table", "ul", "ol", "blockquote"}:
                return True
            if inner.tag in {"h1", "h2", "h3", "h4", "h5", "h6"}:
                return True
    return False


def _is_layout(table: Any) -> bool:
    if table.get("role") == "presentation":
        return True
    inner = (e for e in table.iter("table", "h1", "h2", "h3", "pre") if e is not table)
    return next(inner, None) is not None or all(len(row) <= 1 for row in table.iter("tr"))


def _owner(row: Any) -> Any:
    return next((a for a in row.iterancestors("table")), None)


def _fence(element: Any) -> str:
    code = element.text_content().strip("\n")
    if not code.strip():
        return ""
    inner = element.find("code")
    classes = " ".join(
        str(e.get("class") or "")
        for e in (element, inner, element.getparent())
        if e is not None
    )
    match = _LANGUAGE.search(classes)
    longest = max((len(run) for run in re.findall("`+", code)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}{match.group(1) if match else ''}\n{code}\n{marks}"


def _paragraph(text: str) -> str:
    lines = [" ".join(line.split()) for line in text.split("\x0b")]
    return _escaped("\n".join(line for line in lines if line))


def _escaped(text: str) -> str:
    return _MARKS.sub(r"\1\\\2", text)
