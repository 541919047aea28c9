"""Blocks to sections: the outline of a document."""

from __future__ import annotations

import bisect
from collections.abc import Sequence

from ingest.blocks import Block, blocks_of
from kb.types import Section


def sections(text: str, *, markup: str) -> list[Section]:
    """Return the sections of a text, in order; they cover it without gaps.

    Args:
        text: Normalised.
        markup: `markdown`, `plain` or `code`.
    """
    return sections_of_blocks(text, blocks_of(text, markup=markup))


def sections_of_blocks(text: str, blocks: Sequence[Block]) -> list[Section]:
    """Return the sections that the headings among blocks open; jumped levels stay as they are."""
    found: list[Section] = []
    stack: list[tuple[int, str]] = []
    line, counted_to = 1, 0
    for block in blocks:
        if block.kind != "heading":
            if not found:
                found.append(Section((), 0, block.start, block.end, 1))
            continue
        while stack and stack[-1][0] >= block.level:
            stack.pop()
        stack.append((block.level, block.title))
        heading_at = _first_ink(text, block.start, block.end)
        line += text.count("\n", counted_to, heading_at)
        counted_to = heading_at
        titles = tuple(title for _, title in stack if title)
        found.append(Section(titles, block.level, block.start, block.end, line))
    ends = [section.start for section in found[1:]] + [len(text)]
    return [
        Section(s.headings, s.level, s.start, end, s.line)
        for s, end in zip(found, ends, strict=True)
    ]


def _first_ink(text: str, start: int, end: int) -> int:
    while start < end and text[start].isspace():
        start += 1
    return start


def section_at(sections: Sequence[Section], offset: int) -> Section | None:
    """Return the innermost section that holds a character, or None before the first."""
    place = bisect.bisect_right([section.start for section in sections], offset) - 1
    return sections[place] if place >= 0 else None
