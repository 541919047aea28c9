"""Blocks to sections: the outline of a document, and what of it may share a chunk."""

from __future__ import annotations

import bisect
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ingest.blocks import Block, blocks_of
from ingest.pieces import Piece, glued, pieces_of
from kb.text import n_cjk
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


def common_path(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    """Return the headings that two sections stand under together."""
    n = 0
    while n < min(len(first), len(second)) and first[n] == second[n]:
        n += 1
    return first[:n]


def may_join(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Return whether a text may stand under the common path of two neighbours in the outline.

    Siblings may, a section with its subsections, and one with its parent's next section; what
    has only the document in common may where both are its outermost sections.
    """
    n_common = len(common_path(first, second))
    if n_common == 0:
        return max(len(first), len(second)) <= 1
    return n_common >= min(len(first), len(second)) - 1


class Ruler:
    """The sizes of runs of pieces, in constant time each."""

    def __init__(self, text: str, pieces: Sequence[Piece]) -> None:
        # Whole thirds of a unit, so that sums are exact.
        self._before = [0]
        self._blank: list[int] = []
        for piece in pieces:
            span = text[piece.start : piece.end]
            span = span.lstrip() if piece.start == 0 else span
            whole = _thirds(span)
            self._before.append(self._before[-1] + whole)
            self._blank.append(whole - _thirds(span.rstrip()))

    def size(self, first: int, end: int) -> float:
        """Return the units of the pieces `[first, end)` without the blanks at their end."""
        return (self._before[end] - self._before[first] - self._blank[end - 1]) / 3

    def distance(self, first: int, second: int) -> float:
        """Return the units, blanks included, between the beginnings of two pieces."""
        return abs(self._before[second] - self._before[first]) / 3

    def peaks(
        self, edges: Sequence[int], keys: Mapping[int, tuple[int, bytes]], *, window: float
    ) -> list[int]:
        """Return which of some edges no other one surpasses within a window to both sides.

        Args:
            edges: Numbers of pieces, ascending.
            keys: Place among the edges to how good it is.
            window: In units.
        """
        order = sorted(keys)
        forward = self._leaders(edges, keys, order, window=window)
        backward = self._leaders(edges, keys, order[::-1], window=window)
        return sorted(forward & backward)

    def _leaders(
        self,
        edges: Sequence[int],
        keys: Mapping[int, tuple[int, bytes]],
        order: Sequence[int],
        *,
        window: float,
    ) -> set[int]:
        leaders: set[int] = set()
        ahead: deque[int] = deque()
        for place in order:
            while ahead and self.distance(edges[ahead[0]], edges[place]) > window:
                ahead.popleft()
            # The later one of equals wins, so that there is exactly one.
            while ahead and (keys[ahead[-1]], ahead[-1]) < (keys[place], place):
                ahead.pop()
            if not ahead:
                leaders.add(place)
            ahead.append(place)
        return leaders


def _thirds(text: str) -> int:
    return len(text) + 2 * n_cjk(text)


@dataclass(frozen=True, slots=True)
class Part:
    """Pieces on their way to one chunk.

    Attributes:
        first: Number of its first piece.
        end: Exclusive.
        headings: The path of its section, or the common one of several.
        section: Number of its section, None when it holds several.
    """

    first: int
    end: int
    headings: tuple[str, ...]
    section: int | None


def parts_of(
    text: str, blocks: Sequence[Block], sections: Sequence[Section], *, cap: float
) -> tuple[list[Piece], list[Part]]:
    """Return the pieces of a text and one part a section.

    A heading without text of its own leans forward into its first child.
    """
    pieces: list[Piece] = []
    parts: list[Part] = []
    waiting: list[Block] = []
    at = 0
    for number, section in enumerate(sections):
        mine = waiting
        while at < len(blocks) and blocks[at].start < section.end:
            mine.append(blocks[at])
            at += 1
        following = sections[number + 1] if number + 1 < len(sections) else None
        has_child = following is not None and following.level > section.level > 0
        if has_child and mine[-1].kind == "heading":
            continue
        waiting = []
        first = len(pieces)
        pieces += glued(text, pieces_of(text, mine, cap=cap), cap=cap)
        parts.append(Part(first, len(pieces), section.headings, number))
    return pieces, parts


def joined(first: Part, second: Part) -> Part:
    """Return two neighbours as one part under their common path."""
    section = first.section if first.section == second.section else None
    headings = common_path(first.headings, second.headings)
    return Part(first.first, second.end, headings, section)
