"""Blocks to pieces that fit under the cap, each with what must be repeated around it."""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ingest.blocks import Block
from kb.text import sentences, units

_FENCE_OPEN = re.compile(r"(?P<lead>[ \t>*+\-\d.)]*)(?P<marks>`{3,}|~{3,})[^\n]*\n?")
_FENCE_CLOSE = re.compile(r"[ \t>]*(?P<marks>`{3,}|~{3,})\s*")
_JOINERS = re.compile("[\u200c\u200d\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")
_LONGEST_CLUSTER = 64
"""Characters that one base character may carry before a hard cut goes through them."""

_PROSE = frozenset({"paragraph", "list", "item", "quote"})

# How good a cut before a piece is, best first.
CUT_BLOCK = 3
CUT_PART = 2
CUT_SENTENCE = 1
CUT_HARD = 0


@dataclass(frozen=True, slots=True)
class Piece:
    """A span that is never cut further.

    Attributes:
        start: Code points into the text.
        end: Exclusive.
        cut: How good a cut before it is, `CUT_…`.
        is_prose: Whether sentences may overlap into or out of it.
        is_heading: Whether it should stay with what follows.
        prefix: To be repeated where a chunk begins with it.
        suffix: To be added where a chunk ends with it.
    """

    start: int
    end: int
    cut: int
    is_prose: bool = False
    is_heading: bool = False
    prefix: str = ""
    suffix: str = ""


def size_of(text: str, start: int, end: int) -> float:
    """Return the units of a span without the blanks at its end, and before the first words."""
    span = text[start:end].rstrip()
    return units(span if start else span.lstrip())


def pieces_of(text: str, blocks: Sequence[Block], *, cap: float) -> list[Piece]:
    """Return the pieces of blocks, in order, without gaps, each at most `cap` units."""
    return list(_pieces(text, blocks, cap=cap, best=CUT_BLOCK, first=CUT_BLOCK))


def glued(text: str, pieces: Sequence[Piece], *, cap: float) -> list[Piece]:
    """Return pieces with each heading in one piece with what follows, where that fits."""
    kept: list[Piece] = []
    for piece in reversed(pieces):
        after = kept[-1] if kept else None
        if (
            piece.is_heading
            and after is not None
            and not after.prefix
            and size_of(text, piece.start, after.end) <= cap
        ):
            kept[-1] = dataclasses.replace(after, start=piece.start, cut=piece.cut)
        else:
            kept.append(piece)
    return kept[::-1]


def _pieces(
    text: str, blocks: Sequence[Block], *, cap: float, best: int, first: int
) -> Iterator[Piece]:
    """Yield the pieces of sibling blocks: `first` is the cut before them, `best` between them."""
    for number, block in enumerate(blocks):
        cut = best if number else first
        if number and text[blocks[number - 1].start : block.start].rstrip().endswith((":", "：")):
            # What a colon announces should stay with it.
            cut = min(cut, CUT_SENTENCE)
        yield from _pieces_of_block(text, block, cut=cut, cap=cap)


def _pieces_of_block(text: str, block: Block, *, cut: int, cap: float) -> Iterator[Piece]:
    if size_of(text, block.start, block.end) <= cap:
        is_heading = block.kind == "heading"
        yield Piece(block.start, block.end, cut, block.kind in _PROSE, is_heading)
    elif block.children:
        best = CUT_PART if block.kind == "list" and cut == CUT_BLOCK else CUT_SENTENCE
        yield from _pieces(text, block.children, cap=cap, best=best, first=cut)
    elif block.kind == "table" and len(block.rows) > 1:
        yield from _rows(text, block, cut=cut, cap=cap)
    elif block.kind == "fence":
        yield from _fence(text, block, cut=cut, cap=cap)
    elif block.kind in {"code", "html", "front_matter"}:
        yield from _lines(text, block.start, block.end, cut=cut, cap=cap)
    else:
        yield from _sentences(text, block.start, block.end, cut=cut, cap=cap)


def _rows(text: str, block: Block, *, cut: int, cap: float) -> Iterator[Piece]:
    # The delimiter row has no row of its own: it goes with the header.
    header_end = block.rows[1]
    prefix = text[_line_start(text, block.rows[0]) : header_end].rstrip("\n") + "\n"
    # A header that no chunk could hold is not repeated, or a text could grow without bound.
    prefix = prefix if units(prefix) <= cap else ""
    body = [*block.rows[1:], block.end]
    spans = list(pairwise(body))
    if size_of(text, block.start, spans[0][1]) <= cap:
        spans[0] = (block.start, spans[0][1])
    else:
        spans.insert(0, (block.start, header_end))
    for number, (start, end) in enumerate(spans):
        here = CUT_PART if number else cut
        for piece in _sentences(text, start, end, cut=here, cap=cap):
            repeated = prefix if piece.start >= header_end else ""
            yield dataclasses.replace(piece, is_prose=False, prefix=repeated)


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _fence(text: str, block: Block, *, cut: int, cap: float) -> Iterator[Piece]:
    pieces = list(_lines(text, block.start, block.end, cut=cut, cap=cap))
    opening = _FENCE_OPEN.match(text, _first_line(text, block.start))
    if opening is None:
        yield from pieces
        return
    is_short = units(opening.group()) <= cap
    shown_to = opening.end() if is_short else opening.end("marks")
    prefix = text[opening.start() : shown_to].rstrip("\n") + "\n"
    # A list's marker stands only once; what closes the fence is indented like its items.
    lead = re.sub(r"[^\s>]", " ", opening.group("lead"))
    suffix = f"{lead}{opening.group('marks')}\n"
    body = text[block.start : block.end].rstrip()
    last = block.start + body.rfind("\n") + 1
    closing = _FENCE_CLOSE.fullmatch(text, last, block.start + len(body))
    is_closed = closing is not None and closing.group("marks").startswith(opening.group("marks"))
    if is_closed and len(pieces) > 1 and pieces[-1].start == last:
        # The closing line alone says nothing: it goes over the cap by itself or not at all.
        before = pieces[-2]
        if size_of(text, before.start, block.end) <= cap:
            pieces[-2:] = [dataclasses.replace(before, end=block.end)]
    for piece in pieces:
        is_last = piece.end == block.end
        yield dataclasses.replace(
            piece,
            prefix=prefix if piece.start >= opening.end() else "",
            suffix="" if is_last and is_closed else _closing(text, piece.end, suffix),
        )


def _closing(text: str, end: int, suffix: str) -> str:
    return suffix if text[end - 1 : end] == "\n" else "\n" + suffix


def _first_line(text: str, at: int) -> int:
    """Return where the first line with ink begins."""
    ink = at
    while ink < len(text) and text[ink].isspace():
        ink += 1
    return max(at, _line_start(text, ink))


def _lines(text: str, start: int, end: int, *, cut: int, cap: float) -> Iterator[Piece]:
    """Yield lines, blank ones with the line before them; long ones are cut hard."""
    indent = blank = 0
    is_first = True
    for line_start, line_end in _line_spans(text, start, end):
        line = text[line_start:line_end]
        indent_before, blank_before = indent, blank
        indent = len(line) - len(line.lstrip())
        blank = line.count("\n") - 1
        here = _line_cut(indent, indent_before, blank_before)
        yield from _hard(text, line_start, line_end, cut=cut if is_first else here, cap=cap)
        is_first = False


def _line_spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield lines, blank ones with the line before them, leading ones with the first."""
    opened = start
    has_ink = False
    at = start
    while at < end:
        stop = text.find("\n", at, end)
        stop = end if stop < 0 else stop + 1
        if text[at:stop].strip():
            if has_ink:
                yield opened, at
                opened = at
            has_ink = True
        at = stop
    yield opened, end


def _line_cut(indent: int, indent_before: int, blank_before: int) -> int:
    if blank_before > 0:
        return CUT_PART
    return CUT_SENTENCE if indent < indent_before or indent == 0 else CUT_HARD


def _sentences(text: str, start: int, end: int, *, cut: int, cap: float) -> Iterator[Piece]:
    if size_of(text, start, end) <= cap:
        yield Piece(start, end, cut, is_prose=True)
        return
    for number, (first, last) in enumerate(sentences(text[start:end])):
        here = CUT_SENTENCE if number else cut
        for piece in _hard(text, start + first, start + last, cut=here, cap=cap):
            yield dataclasses.replace(piece, is_prose=True)


def _hard(text: str, start: int, end: int, *, cut: int, cap: float) -> Iterator[Piece]:
    """Cut a run without any better place: at a space if one is near, never in a character."""
    at = start
    while at < end:
        stop = _hard_stop(text, at, end, cap=cap)
        yield Piece(at, stop, CUT_HARD if at > start else cut)
        at = stop


def _hard_stop(text: str, start: int, end: int, *, cap: float) -> int:
    ink = start
    while ink < end and text[ink].isspace():
        ink += 1
    # The longest span under the cap has between cap and 3·cap characters: halve to find it.
    measured_from = start or ink
    low = max(measured_from + max(1, int(cap)), ink + 1)
    high = max(low, min(end, measured_from + int(cap * 3)))
    while low < high:
        middle = (low + high + 1) // 2
        if units(text[measured_from:middle].rstrip()) <= cap:
            low = middle
        else:
            high = middle - 1
    stop = min(low, end)
    if stop < end:
        space = max(text.rfind(" ", ink, stop), text.rfind("\n", ink, stop))
        is_near = space > ink + (stop - ink) * 3 // 4
        stop = space + 1 if is_near else _between_characters(text, stop, least=ink + 1)
    # Blanks go with what is before them, so that no piece is blank.
    while stop < end and text[stop].isspace():
        stop += 1
    return stop


def _between_characters(text: str, stop: int, *, least: int) -> int:
    """Return the nearest place at or before `stop` that no combining mark or joiner spans."""
    for place in range(stop, max(stop - _LONGEST_CLUSTER, least), -1):
        char, before = text[place], text[place - 1]
        is_carried = _JOINERS.match(char) or unicodedata.category(char).startswith("M")
        if not is_carried and before != "\u200d" and not _parts_flag(text, place, least=least):
            return place
    return stop


def _parts_flag(text: str, place: int, *, least: int) -> bool:
    """Return whether a cut would part two regional indicators that make one flag."""
    first = place
    while first >= least and "\U0001f1e6" <= text[first - 1] <= "\U0001f1ff":
        first -= 1
    return (place - first) % 2 == 1 and "\U0001f1e6" <= text[place] <= "\U0001f1ff"
