"""Pieces of a document put together as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ingest.parsers.tables import markdown_table
from kb.text import collapse_whitespace, normalize_source
from kb.types import PageSpan

MAX_HEADING_CHARACTERS = 200
"""A longer "heading" is body text that somebody gave a heading's style."""

_OPENS_BLOCK = re.compile(r"#{1,6}(?=\s|\Z)|[-=]+\s*\Z|`{3}|~{3}|>|<(?=[A-Za-z/!?])")
_PLAIN_NUMBER = re.compile(r"(\d{1,9})[.)、．）]?")
_BACKTICKS = re.compile("`+")


def body_text(text: str) -> str:
    """Return a paragraph's text so that no line of it turns into other Markdown.

    Lists that somebody typed by hand (`- `, `1. `) are left to be lists.
    """
    lines = (line.strip() for line in text.split("\n"))
    return "\n".join("\\" + line if _OPENS_BLOCK.match(line) else line for line in lines if line)


def fence(code: str, language: str = "") -> str:
    """Return code between fences longer than any run of backticks in it."""
    longest = max((len(run) for run in _BACKTICKS.findall(code)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}{language}\n{code}\n{marks}"


class MarkdownWriter:
    """Collects headings, paragraphs, list entries, code and tables in order.

    List entries that follow one another form one list, lines of code one fence.
    """

    def __init__(self) -> None:
        self._blocks: list[str] = []
        self._entries: list[str] = []
        self._indents: list[tuple[int, int]] = []
        self._code: list[str] = []

    def heading(self, level: int, text: str) -> None:
        """Add a heading of level 1..6; deeper ones become 6, endless ones paragraphs."""
        title = collapse_whitespace(text)
        if len(title) > MAX_HEADING_CHARACTERS:
            self.paragraph(title)
        elif title:
            self.block(f"{'#' * max(1, min(6, level))} {title}")

    def paragraph(self, text: str) -> None:
        """Add a paragraph; a blank one only keeps its line between lines of code."""
        escaped = body_text(text)
        if escaped:
            self.block(escaped)
        elif self._code:
            self._code.append("")

    def entry(self, level: int, text: str, label: str = "") -> None:
        """Add a list entry.

        Args:
            level: 0 for the outermost list; jumps count as one step.
            text: Further lines stay in the entry.
            label: Its number as readers see it, such as `3.` or `第三条`; empty for bullets.
        """
        escaped = body_text(text)
        if not escaped:
            return
        self._close_code()
        while self._indents and self._indents[-1][0] >= level:
            self._indents.pop()
        indent = " " * sum(width for _, width in self._indents)
        number = _PLAIN_NUMBER.fullmatch(label)
        marker = f"{number.group(1)}. " if number else "- "
        if label and not number:
            escaped = f"{label} {escaped}"
        continued = "\n" + indent + " " * len(marker)
        self._entries.append(indent + marker + escaped.replace("\n", continued))
        self._indents.append((level, len(marker)))

    def code(self, text: str) -> None:
        """Add lines of code to the fence that is open, or open one."""
        self._close_list()
        self._code.append(text)

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """Add a table, its first row the header."""
        self.block(markdown_table(rows))

    def block(self, markdown: str) -> None:
        """Add what is Markdown already; nothing for an empty string."""
        self._close_list()
        self._close_code()
        if markdown.strip():
            self._blocks.append(markdown)

    def text(self) -> str:
        """Return everything so far, blocks a blank line apart, no line end at the end."""
        self._close_list()
        self._close_code()
        return "\n\n".join(self._blocks)

    def _close_list(self) -> None:
        if self._entries:
            self._blocks.append("\n".join(self._entries))
        self._entries = []
        self._indents = []

    def _close_code(self) -> None:
        code = "\n".join(self._code).strip("\n")
        if code.strip():
            self._blocks.append(fence(code))
        self._code = []


class PagedText:
    """A text made of pages, with where each lies in it."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._pages: list[PageSpan] = []
        self._length = 0

    def add(self, number: int, markdown: str) -> None:
        """Add what page `number` (1-based) holds."""
        part = normalize_source(markdown).rstrip("\n") + "\n\n"
        self._parts.append(part)
        end = self._length + len(part)
        self._pages.append(PageSpan(self._length, end, number))
        self._length = end

    def text(self) -> str:
        """Return all pages, a blank line after each."""
        return "".join(self._parts)

    def pages(self) -> tuple[PageSpan, ...]:
        """Return the span of each page; together they cover the text."""
        return tuple(self._pages)
