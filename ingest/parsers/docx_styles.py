"""What a Word style says about the paragraphs that wear it."""

from __future__ import annotations

import re

from ingest.parsers.xmltree import Element, attribute, child, children

_HEADING_NAME = re.compile(r"(?:heading|标题|標題)\s*([1-9])", re.IGNORECASE)
# `Source Code`, `Source Text`, `HTML Preformatted`; a `Source Reference` is no code.
_CODE_NAME = re.compile(r"code|preformatted|source(?:\s*(?:text|listing)|\Z)", re.IGNORECASE)
_CONTENTS_NAME = re.compile(r"(?:toc|contents|目录|目錄)\s*[1-9]", re.IGNORECASE)
_LIST_NAME = re.compile(r"list (bullet|number)(?:\s*([2-5]))?", re.IGNORECASE)
_MONOSPACE = re.compile(
    r"mono\b|courier|consolas|menlo|monaco|source code|fira code|cascadia|inconsolata"
    r"|lucida console|nimbus mono",
    re.IGNORECASE,
)
_PROSE = re.compile(r"[^{}()\[\]<>=;|\\$_]{20,}[.!?。！？]")
_BODY_OUTLINE_LEVEL = 9


def is_monospace(font: str) -> bool:
    """Return whether a font's name is that of a fixed-width font."""
    return _MONOSPACE.search(font) is not None


def is_prose(text: str) -> bool:
    """Return whether text in a fixed-width font is a sentence rather than code."""
    return _PROSE.fullmatch(text.strip()) is not None


def outline_level(properties: Element | None) -> int | None:
    """Return the outline level that paragraph properties state, 0..8; 9 for body; else None."""
    stated = attribute(child(properties, "outlineLvl"), "val")
    return int(stated) if stated.isdigit() else None


def numbering_of(properties: Element | None) -> tuple[str, int | None] | None:
    """Return the list and level that paragraph properties state, or None."""
    numbering = child(properties, "numPr")
    if numbering is None:
        return None
    level = attribute(child(numbering, "ilvl"), "val")
    return attribute(child(numbering, "numId"), "val"), int(level) if level.isdigit() else None


class Styles:
    """The styles of a document, with what they inherit."""

    def __init__(self, root: Element | None) -> None:
        self._styles: dict[str, Element] = {}
        self._default = ""
        for style in children(root, "style") if root is not None else ():
            name = attribute(style, "styleId")
            self._styles[name] = style
            is_default = attribute(style, "default") in {"1", "true"}
            if is_default and attribute(style, "type") == "paragraph":
                self._default = name

    def _chain(self, style_id: str) -> list[Element]:
        chain: list[Element] = []
        current = style_id or self._default
        while current in self._styles and len(chain) < 20:
            style = self._styles[current]
            chain.append(style)
            current = attribute(child(style, "basedOn"), "val")
        return chain

    def _names(self, style_id: str) -> list[str]:
        return [attribute(child(style, "name"), "val") for style in self._chain(style_id)]

    def heading_level(self, style_id: str) -> int | None:
        """Return 1..9 for a heading's style, 1 for a title's, else None."""
        for style in self._chain(style_id):
            level = outline_level(child(style, "pPr"))
            if level is not None:
                return level + 1 if level < _BODY_OUTLINE_LEVEL else None
            name = attribute(child(style, "name"), "val")
            match = _HEADING_NAME.fullmatch(name)
            if match:
                return int(match.group(1))
        return 1 if self.is_title(style_id) else None

    def is_title(self, style_id: str) -> bool:
        """Return whether paragraphs of this style are the document's title."""
        return any(name.lower() == "title" for name in self._names(style_id))

    def is_code(self, style_id: str) -> bool:
        """Return whether the style's own name, or that of one it is based on, speaks of code."""
        return bool(style_id) and any(_CODE_NAME.search(name) for name in self._names(style_id))

    def is_contents(self, style_id: str) -> bool:
        """Return whether paragraphs of this style are lines of a table of contents."""
        return any(_CONTENTS_NAME.fullmatch(name) for name in self._names(style_id))

    def list_name(self, style_id: str) -> tuple[str, int] | None:
        """Return `bullet` or `number` and the level of a built-in list style, or None."""
        for name in self._names(style_id):
            match = _LIST_NAME.fullmatch(name)
            if match:
                return match.group(1).lower(), int(match.group(2) or 1) - 1
        return None

    def font(self, style_id: str) -> str:
        """Return the Latin font that a style or one below it sets; empty for the default."""
        for style in self._chain(style_id):
            font = attribute(child(style, "rPr", "rFonts"), "ascii")
            if font:
                return font
        return ""

    def numbering(self, style_id: str) -> tuple[str, int | None, str] | None:
        """Return list, level and the style that states them, or None."""
        for style in self._chain(style_id):
            stated = numbering_of(child(style, "pPr"))
            if stated is not None and stated[0]:
                return stated[0], stated[1], attribute(style, "styleId")
        return None
