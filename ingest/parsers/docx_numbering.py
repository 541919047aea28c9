"""The numbers that Word shows before list entries and headings but does not store."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ingest.parsers.numerals import numeral
from ingest.parsers.xmltree import Element, attribute, child, children

MAX_LEVELS = 9
_PLACE = re.compile("%([1-9])")


@dataclass(frozen=True, slots=True)
class _Level:
    style: str
    text: str
    start: int
    paragraph_style: str
    is_decimal_throughout: bool
    restarts: bool


class Numbering:
    """Counts through a document's lists; ask for labels in the order of the paragraphs."""

    def __init__(self, root: Element | None) -> None:
        self._levels: dict[str, dict[int, _Level]] = {}
        self._abstract_of: dict[str, str] = {}
        self._overrides: dict[str, dict[int, int]] = {}
        self._counters: dict[str, list[int | None]] = {}
        self._met: set[str] = set()
        if root is not None:
            self._read(root)

    def _read(self, root: Element) -> None:
        style_links: dict[str, str] = {}
        by_link: dict[str, str] = {}
        for abstract in children(root, "abstractNum"):
            name = attribute(abstract, "abstractNumId")
            self._levels[name] = {
                int(attribute(level, "ilvl", "0")): _level(level)
                for level in children(abstract, "lvl")
            }
            by_link[attribute(child(abstract, "styleLink"), "val")] = name
            linked = attribute(child(abstract, "numStyleLink"), "val")
            if linked:
                style_links[name] = linked
        for name, linked in style_links.items():
            self._levels[name] = self._levels.get(by_link.get(linked, ""), {})
        for number in children(root, "num"):
            name = attribute(number, "numId")
            self._abstract_of[name] = attribute(child(number, "abstractNumId"), "val")
            self._overrides[name] = {
                int(attribute(override, "ilvl", "0")): int(
                    attribute(child(override, "startOverride"), "val", "1")
                )
                for override in children(number, "lvlOverride")
                if child(override, "startOverride") is not None
            }

    def has(self, list_id: str) -> bool:
        """Return whether a list is known; `0` takes a paragraph out of its style's list."""
        return bool(self._levels.get(self._abstract_of.get(list_id, "")))

    def level_of_style(self, list_id: str, style_id: str) -> int:
        """Return the level that a list ties to a style, 0 when it ties none."""
        levels = self._levels.get(self._abstract_of.get(list_id, ""), {})
        return next((at for at, level in levels.items() if level.paragraph_style == style_id), 0)

    def label(self, list_id: str, level: int) -> str:
        """Count one paragraph and return what stands before it; empty for a bullet or nothing."""
        abstract = self._abstract_of.get(list_id, "")
        levels = self._levels.get(abstract, {})
        level = min(level, MAX_LEVELS - 1)
        if level not in levels:
            return ""
        counters = self._counters.setdefault(abstract, [None] * MAX_LEVELS)
        starts = self._starts(list_id, levels, counters)
        value = counters[level]
        counters[level] = starts.get(level, 1) if value is None else value + 1
        for deeper in range(level + 1, MAX_LEVELS):
            if deeper not in levels or levels[deeper].restarts:
                counters[deeper] = None
        own = levels[level]
        if own.style in {"bullet", "none"}:
            return ""

        def shown(match: re.Match[str]) -> str:
            at = int(match.group(1)) - 1
            count = counters[at]
            if count is None:
                count = counters[at] = starts.get(at, 1)
            style = "decimal" if own.is_decimal_throughout or at not in levels else levels[at].style
            return numeral(count, style)

        return _PLACE.sub(shown, own.text).strip()

    def _starts(
        self, list_id: str, levels: dict[int, _Level], counters: list[int | None]
    ) -> dict[int, int]:
        """Return where each level starts; a list met first begins anew where it says so."""
        overrides = self._overrides.get(list_id, {})
        if list_id not in self._met:
            self._met.add(list_id)
            for at in overrides:
                if at < MAX_LEVELS:
                    counters[at] = None
        return {at: level.start for at, level in levels.items()} | overrides


def _level(level: Element) -> _Level:
    start = attribute(child(level, "start"), "val", "1")
    style = attribute(child(level, "numFmt"), "val")
    if not style:
        # Newer formats stand in a choice beside a plain one.
        style = attribute(child(level, "AlternateContent", "Fallback", "numFmt"), "val", "decimal")
    return _Level(
        style=style,
        text=attribute(child(level, "lvlText"), "val"),
        start=int(start) if start.isdigit() else 1,
        paragraph_style=attribute(child(level, "pStyle"), "val"),
        is_decimal_throughout=child(level, "isLgl") is not None,
        restarts=attribute(child(level, "lvlRestart"), "val") != "0",
    )
