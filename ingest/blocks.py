"""Text to its top-level blocks: contiguous spans that cover it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from markdown_it import MarkdownIt
from mdit_py_plugins.front_matter import front_matter_plugin

from kb.text import CJK_CLASS

MAX_NESTING = 20
"""Deeper lists and quotes stay one block; markdown-it's own limit, which keeps it linear."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a text.

    Attributes:
        kind: `heading`, `paragraph`, `list`, `item`, `table`, `fence`, `code`, `quote`, `html`,
            `front_matter` or `rule`.
        start: Code points into the text.
        end: Exclusive; blank lines after a block belong to it.
        level: Of a heading, 1..6; else 0.
        title: Of a heading, without markup; else empty.
        rows: Where the rows of a table begin, the header first.
        children: The blocks inside a list (its items), an item or a quote; they cover it.
    """

    kind: str
    start: int
    end: int
    level: int = 0
    title: str = ""
    rows: tuple[int, ...] = ()
    children: tuple[Block, ...] = ()


@dataclass(slots=True)
class _Found:
    """A block while its children are looked for."""

    kind: str
    start: int
    level: int = 0
    title: str = ""
    rows: list[int] = field(default_factory=list)
    children: list[_Found] = field(default_factory=list)


_KINDS = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "list_item_open": "item",
    "table_open": "table",
    "fence": "fence",
    "code_block": "code",
    "blockquote_open": "quote",
    "html_block": "html",
    "front_matter": "front_matter",
    "hr": "rule",
}

_HEADING_ID = re.compile(r"\s*\{[^{}]*\}\s*\Z")
_IMAGE_OR_LINK = re.compile(
    r"!?\[([^\[\]]*)\]\([^()\s]*(?:\([^()]*\)[^()\s]*)?(?:\s+\"[^\"]*\")?\)"
)
_TAG = re.compile(r"<[^<>]*>")
_EMPHASIS = re.compile(r"(\*\*\*|\*\*|\*|~~|`{1,3})(\S(?:.*?\S)?)\1")
_UNDERSCORES = re.compile(r"(?<!\w)(__|_)(\S(?:.*?\S)?)\1(?!\w)")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_MAX_TITLE = 300

_CHINESE_NUMERAL = "一二三四五六七八九十百千零〇两\\d"
_PLAIN_HEADINGS: tuple[tuple[re.Pattern[str], int], ...] = (
    (re.compile(rf"第[{_CHINESE_NUMERAL}]+[编篇部卷](?:\s|　|$).*"), 1),
    (re.compile(rf"第[{_CHINESE_NUMERAL}]+章(?:\s|　|[^，。；,;]*$).*"), 1),
    (re.compile(rf"第[{_CHINESE_NUMERAL}]+节(?:\s|　|[^，。；,;]*$).*"), 2),
    (re.compile("[一二三四五六七八九十]+、.+"), 2),
    (re.compile("[（(][一二三四五六七八九十]+[）)].+"), 3),
    (re.compile(r"(?:Chapter|CHAPTER|Part|PART|Appendix|APPENDIX)\s+[\dA-Z]+\b.*"), 1),
    (re.compile(r"(?:Section|SECTION)\s+\d+\b.*"), 2),
)
_NUMBERED = re.compile(rf"(\d{{1,3}}(?:\.\d{{1,3}})*)\.?\s+(?=[A-Z{CJK_CLASS}]).{{1,70}}")
_ENDS_SENTENCE = re.compile("[。！？；，,;.!?:：]\\Z")
_MAX_PLAIN_HEADING = 60


@lru_cache(maxsize=1)
def _markdown() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable("table")
    parser.use(front_matter_plugin)
    # Block structure only: inline parsing is not needed and is where long lines cost time;
    # link definitions stay paragraphs, so that every character belongs to a block.
    parser.core.ruler.enableOnly(["normalize", "block"])
    parser.disable("reference")
    return parser


def blocks_of(text: str, *, markup: str) -> list[Block]:
    """Return the blocks of a text, in order, without gaps; none for blank text.

    Args:
        text: Normalised.
        markup: `markdown`, `plain` or `code`.
    """
    if not text.strip():
        return []
    found = _markdown_blocks(text) if markup == "markdown" else _plain_blocks(text, markup=markup)
    return list(_covering(text, found, 0, len(text))) or [Block("paragraph", 0, len(text))]


def _covering(text: str, found: Sequence[_Found], start: int, end: int) -> tuple[Block, ...]:
    """Let blocks cover a span: each reaches to the next one, the first from the beginning."""
    inked: list[_Found] = []
    for number, block in enumerate(found):
        following = found[number + 1].start if number + 1 < len(found) else end
        # What is blank for Python need not be so for Markdown (U+3000, U+00A0): it goes with
        # its neighbour.
        if text[block.start : following].strip():
            inked.append(block)
    covering: list[Block] = []
    for number, block in enumerate(inked):
        first = block.start if number else start
        last = inked[number + 1].start if number + 1 < len(inked) else end
        children = _covering(text, block.children, first, last)
        rows = tuple(block.rows)
        covering.append(Block(block.kind, first, last, block.level, block.title, rows, children))
    return tuple(covering)


def _markdown_blocks(text: str) -> list[_Found]:
    starts = _line_starts(text)
    tokens = _markdown().parse(text)
    roots: list[_Found] = []
    # Where the blocks go that are met next; what is no block of ours hands on its parent's.
    levels: list[list[_Found]] = [roots]
    table: _Found | None = None
    for number, token in enumerate(tokens):
        if token.nesting < 0:
            levels.pop()
            continue
        inside = levels[-1]
        kind = _KINDS.get(token.type)
        if kind is not None and token.map is not None:
            block = _Found(kind, starts[token.map[0]])
            if kind == "heading":
                block.level = int(token.tag[1])
                block.title = clean_title(tokens[number + 1].content)
            table = block if kind == "table" else table
            levels[-1].append(block)
            inside = block.children
        elif token.type == "tr_open" and table is not None and token.map is not None:
            table.rows.append(starts[token.map[0]])
        if token.nesting > 0:
            levels.append(inside)
    return roots


def _line_starts(text: str) -> list[int]:
    """Return where each line begins, and the end of the text once more for exclusive ends."""
    starts = [0]
    at = text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    starts.append(len(text))
    return starts


def clean_title(title: str) -> str:
    """Return a heading's words without ids, links, emphasis, tags and escapes."""
    title = _HEADING_ID.sub("", title[: _MAX_TITLE * 2])
    title = _IMAGE_OR_LINK.sub(r"\1", title)
    title = _TAG.sub("", title)
    for pattern in (_EMPHASIS, _UNDERSCORES):
        title = pattern.sub(r"\2", title)
    title = _ESCAPE.sub(r"\1", title)
    return " ".join(title.split())[:_MAX_TITLE]


def _plain_blocks(text: str, *, markup: str) -> list[_Found]:
    starts = _line_starts(text)
    lines = [text[a:b] for a, b in pairwise(starts)]
    found: list[_Found] = []
    is_open = False
    kind = "code" if markup == "code" else "paragraph"
    for number, line in enumerate(lines):
        if not line.strip():
            is_open = False
            continue
        heading = _plain_heading(lines, number) if markup == "plain" else None
        if heading is not None:
            found.append(_Found("heading", starts[number], *heading))
        elif not is_open:
            found.append(_Found(kind, starts[number]))
        is_open = heading is None
    return found


def _plain_heading(lines: Sequence[str], number: int) -> tuple[int, str] | None:
    """Return level and title of a line that stands alone and is numbered like a heading."""
    line = lines[number].strip()
    alone_before = number == 0 or not lines[number - 1].strip()
    alone_after = number + 1 >= len(lines) or not lines[number + 1].strip()
    if len(line) > _MAX_PLAIN_HEADING or _ENDS_SENTENCE.search(line) or not alone_before:
        return None
    for pattern, level in _PLAIN_HEADINGS:
        # 第三章 says so itself; 一、 may as well begin a list, so it must stand alone.
        if pattern.fullmatch(line) and (alone_after or line.startswith("第")):
            return level, line
    match = _NUMBERED.fullmatch(line)
    if match and alone_after:
        return min(6, match.group(1).count(".") + 1), line
    return None
