"""What OpenDocument styles say: code, titles, and how lists and headings are numbered."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ingest.parsers.numerals import numeral
from ingest.parsers.xmltree import Element, attribute, child, children, descendants, local_name

_CODE = re.compile("preformatted|source|code", re.IGNORECASE)
_SPACE = "_20_"
_MAX_LEVELS = 10


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a list or of the headings.

    Attributes:
        number_format: As OpenDocument writes it (`1`, `i`, `一, 二, 三, ...`); empty for bullets.
        prefix: Before the number.
        suffix: After the number.
        n_shown: How many levels the number shows: 3 for `1.2.3`.
        start: Of its first entry.
    """

    number_format: str
    prefix: str = ""
    suffix: str = ""
    n_shown: int = 1
    start: int = 1


class OdtStyles:
    """The styles of a document, from its styles.xml and its content.xml."""

    def __init__(self, roots: Iterable[Element]) -> None:
        self._parents: dict[str, str] = {}
        self._lists: dict[str, dict[int, Level]] = {}
        self._lists_of_styles: dict[str, str] = {}
        self.outline: dict[int, Level] = {}
        for root in roots:
            for style in descendants(root, "style"):
                name = attribute(style, "name")
                self._parents[name] = attribute(style, "parent-style-name")
                self._lists_of_styles[name] = attribute(style, "list-style-name")
            for style in descendants(root, "list-style"):
                self._lists[attribute(style, "name")] = _levels(style)
            for style in descendants(root, "outline-style"):
                self.outline = _levels(style)

    def names(self, style: str) -> list[str]:
        """Return a style and those it is based on, as people see their names."""
        found: list[str] = []
        while style and len(found) < 20:
            found.append(style.replace(_SPACE, " "))
            style = self._parents.get(style, "")
        return found

    def is_code(self, style: str) -> bool:
        """Return whether a style is one for code."""
        return any(_CODE.search(name) for name in self.names(style))

    def is_title(self, style: str) -> bool:
        """Return whether a style is the one for a document's title."""
        return "Title" in self.names(style)

    def list_levels(self, name: str) -> dict[int, Level]:
        """Return the levels of a list style by their number, 1 the outermost."""
        return self._lists.get(name, {})

    def list_of(self, style: str) -> str:
        """Return the list style that a paragraph style belongs to, or an empty name."""
        return self._lists_of_styles.get(style, "")


def _levels(style: Element) -> dict[int, Level]:
    levels: dict[int, Level] = {}
    for level in style:
        name = local_name(level)
        if not name.startswith(("list-level-style", "outline-level-style")):
            continue
        is_bullet = name in {"list-level-style-bullet", "list-level-style-image"}
        levels[int(attribute(level, "level", "1"))] = Level(
            number_format="" if is_bullet else attribute(level, "num-format"),
            prefix=attribute(level, "num-prefix"),
            suffix=attribute(level, "num-suffix"),
            n_shown=int(attribute(level, "display-levels", "1")),
            start=int(attribute(level, "start-value", "1")),
        )
    return levels


class Counter:
    """Counts entries level by level and names them."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def label(self, levels: dict[int, Level], at: int, restart: str = "") -> str:
        """Count one entry and return its number as shown; empty for bullets.

        Args:
            levels: Of its list.
            at: Its level, 1 the outermost.
            restart: A number that this entry begins anew with, or empty.
        """
        level = levels.get(at)
        if level is None:
            return ""
        if restart.isdigit():
            self._counts[at] = int(restart)
        else:
            self._counts[at] = self._counts.get(at, level.start - 1) + 1
        self._counts = {deep: count for deep, count in self._counts.items() if deep <= at}
        if not level.number_format:
            return ""
        first = max(1, at - level.n_shown + 1)
        shown = [
            numeral(self._counts.get(deep, levels[deep].start), levels[deep].number_format)
            for deep in range(first, at + 1)
            if deep in levels and levels[deep].number_format
        ]
        return f"{level.prefix}{'.'.join(shown)}{level.suffix}".strip()


def margins(root: Element | None, kind: str) -> str:
    """Return the different lines of all headers or footers of a styles.xml."""
    lines: dict[str, None] = {}
    master = child(root, "master-styles")
    for page in children(master, "master-page") if master is not None else ():
        for part in page:
            if local_name(part).startswith(kind) and not local_name(part).endswith("style"):
                for paragraph in descendants(part, "p"):
                    text = " ".join("".join(paragraph.itertext()).split())
                    if text and not text.isdigit():
                        lines[text] = None
    return "\n".join(lines)
