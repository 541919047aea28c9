"""Repairs of the Markdown that a layout engine makes from a PDF page."""

from __future__ import annotations

import re

from kb.text import CJK_CLASS

_FENCE = re.compile(r"[ \t]*(```|~~~)")
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)")
_BREAK = re.compile(r"[ \t]*<br\s*/?>[ \t]*")
_CJK_GAP = re.compile(rf"(?<=[{CJK_CLASS}])[ \t]+(?=[{CJK_CLASS}])")
_TAGS = re.compile(r"</?(?:sup|sub|u|b|i|mark|span)\b[^>]*>")
_BOLD = re.compile(r"\*\*[ \t]*((?:(?!\*\*)[^\n])+?)[ \t]*\*\*")
_ITALIC = re.compile(r"(?<![\w_])_((?:(?!_)[^\n])+?)_(?![\w_])")
_PICTURE = re.compile(r"(?m)^[ \t]*(?:\*\*)?==> picture .*? intentionally omitted <==(?:\*\*)?.*\n?")
_CAPTION = re.compile(
    r"(?:表|图|附表|附图|表格|清单)\s*[\d一二三四五六七八九十]+[-.\d]*(?:\s|：|:|$)"
    r"|(?:Table|Figure|Fig\.|Listing|Algorithm|Exhibit|Chart)\s+[\dIVX]+[-.:\d]*",
    re.IGNORECASE,
)
_MAX_HEADING = 80
_NUMERAL = "一二三四五六七八九十百零〇\\d"
_LEVELS: tuple[tuple[re.Pattern[str], int], ...] = (
    (re.compile(rf"第\s*[{_NUMERAL}]+\s*[编篇部卷章]"), 1),
    (re.compile(rf"第\s*[{_NUMERAL}]+\s*节"), 2),
    (re.compile("[一二三四五六七八九十]+、"), 2),
    (re.compile("[（(][一二三四五六七八九十]+[）)]"), 3),
)
_DECIMAL = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,4})\.?\s+\S")
_HYPHENATED = re.compile(r"(?<=[a-z])-\n(?=[a-z])")


def clean_page(markdown: str) -> str:
    """Return a page's Markdown without what only its layout put there."""
    text = _PICTURE.sub("", markdown.replace("\r\n", "\n"))
    lines: list[str] = []
    in_fence = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            in_fence = not in_fence
            lines.append(line.rstrip())
        elif in_fence:
            lines.append(line.rstrip())
        else:
            lines.append(_clean_line(line))
    if in_fence:
        lines.append("```")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")


def plain_page(layer: str) -> str:
    """Return a page's text layer as paragraphs: lines joined, no space between CJK lines."""
    layer = _HYPHENATED.sub("", layer.replace("\r", "\n"))
    paragraphs = re.split(r"\n[ \t]*\n+", layer)
    return "\n\n".join(
        escaped for part in paragraphs if (escaped := _escape(_joined(part.split("\n"))))
    )


def _joined(lines: list[str]) -> str:
    text = ""
    for line in (line.strip() for line in lines):
        if text and line:
            text += " "
        text += line
    return _CJK_GAP.sub("", text)


def _escape(text: str) -> str:
    return re.sub(r"\A(#{1,6}\s|[-+*>]\s|```|~~~|\|)", r"\\\1", text.strip())


def _clean_line(line: str) -> str:
    match = _HEADING.match(line.strip())
    if match:
        return _heading(len(match.group(1)), _inline(match.group(2)))
    if line.lstrip().startswith("|"):
        line = _BREAK.sub(" ", line)
    return _inline(line).rstrip()


def _inline(text: str) -> str:
    text = _TAGS.sub("", _BREAK.sub(" ", text))
    for pattern in (_BOLD, _ITALIC):
        text = pattern.sub(r"\1", text)
    return _CJK_GAP.sub("", text).replace("**", "")


def _heading(level: int, title: str) -> str:
    """Return a heading line, or a paragraph where it is a caption, code or a whole sentence."""
    title = " ".join(title.split())
    is_none = (
        not title
        or len(title) > _MAX_HEADING
        or _CAPTION.match(title)
        or title.startswith(("`", "|"))
        or title.endswith(("。", "；", "，", ";", ","))
        or not any(map(str.isalnum, title))
    )
    if is_none:
        return f"\n{_escape(title)}\n" if title else ""
    for pattern, wanted in _LEVELS:
        if pattern.match(title):
            return f"{'#' * wanted} {title}"
    decimal = _DECIMAL.match(title)
    if decimal:
        level = min(6, decimal.group(1).count(".") + 2)
    return f"{'#' * level} {title}"
