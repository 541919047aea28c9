"""Blocks to pieces that fit under the cap, each with what must be repeated around it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingest.blocks import Block
from kb.text import sentences, units

_FENCE_OPEN = re.compile(r"[ \t]*(`{3,}|~{3,})[^\n]*\n?")
_KEEPS_WITH_PREVIOUS = re.compile(
    "[\u0300-\u036f\u0e31\u0e34-\u0e3a\u200c\u200d\u20d0-\u20ff\ufe00-\ufe0f\U0001f3fb-\U0001f3ff]"
)
_PROSE = frozenset({"paragraph", "list", "quote"})

# How good a cut before a piece is, best first.
CUT_BLOCK = 3
CUT_PART = 2
CUT_AFTER_COLON = 1
CUT_SENTENCE = 1
CUT_HARD = 0


@dataclass(frozen=True, slots=True)
class Piece:
    """A span that is never cut further.

    Attributes:
        start: Code points into the text.
        end: Exclusive.
        size: Units of its text without trailing blanks.
        cut: How good a cut before it is, `CUT_…`.
        is_prose: Whether sentences may overlap into or out of it.
        prefix: To be repeated where a chunk begins with it.
        suffix: To be added where a chunk ends with it.
    """

    start: int
    end: int
    size: float
    cut: int
    is_prose: bool
    prefix: str = ""
    suffix: str = ""


def pieces_of(text: str, blocks: Sequence[Block], *, cap: float) -> list[Piece]:
    """Return the pieces of blocks, in order, without gaps, each at most `cap` units."""
    pieces: list[Piece] = []
    for block in blocks:
        cut = CUT_BLOCK
        if pieces and text[pieces[-1].start : block.start].rstrip().endswith((":", "：")):
            # What a colon announces should stay with it.
            cut = CUT_AFTER_COLON
        pieces += _pieces_of_block(text, block, cut=cut, cap=cap)
    return pieces


def size_of(text: str, start: int, end: int) -> float:
    """Return the units of a span without the blanks at its end."""
    return units(text[start:end].rstrip())


def _pieces_of_block(text: str, block: Block, *, cut: int, cap: float) -> list[Piece]:
    size = size_of(text, block.start, block.end)
    is_prose = block.kind in _PROSE
    if size <= cap:
        return [Piece(block.start, block.end, size, cut, is_prose)]
    if block.kind == "table" and len(block.parts) > 1:
        return _rows(text, block, cut=cut, cap=cap)
    if block.kind == "fence":
        return _fence(text, block, cut=cut, cap=cap)
    if block.kind == "list" and len(block.parts) > 1:
        return _items(text, block, cut=cut, cap=cap)
    if block.kind in {"code", "html", "front_matter"}:
        return _lines(text, block.start, block.end, cut=cut, cap=cap)
    return _sentences(text, block.start, block.end, cut=cut, cap=cap)


def _spans(block: Block, starts: Sequence[int]) -> list[tuple[int, int]]:
    edges = [block.start, *starts[1:], block.end]
    return list(zip(edges, edges[1:], strict=False))


def _items(text: str, block: Block, *, cut: int, cap: float) -> list[Piece]:
    pieces: list[Piece] = []
    for start, end in _spans(block, block.parts):
        size = size_of(text, start, end)
        here = cut if not pieces else CUT_PART
        if size <= cap:
            pieces.append(Piece(start, end, size, here, is_prose=True))
        else:
            pieces += _sentences(text, start, end, cut=here, cap=cap)
    return pieces


def _rows(text: str, block: Block, *, cut: int, cap: float) -> list[Piece]:
    # The first part is the header row; the delimiter row has no token of its own.
    rows = _spans(block, (block.parts[0], *block.parts[1:]))
    header_end = rows[0][1]
    prefix = text[_line_start(text, block.parts[0]) : header_end].rstrip("\n") + "\n"
    first = rows[1] if len(rows) > 1 else rows[0]
    spans = [(block.start, first[1]), *rows[2:]]
    pieces: list[Piece] = []
    for number, (start, end) in enumerate(spans):
        size = size_of(text, start, end)
        repeated = prefix if number else ""
        if size <= cap:
            here = CUT_PART if number else cut
            pieces.append(Piece(start, end, size, here, is_prose=False, prefix=repeated))
            continue
        inner = _sentences(text, start, end, cut=CUT_PART if number else cut, cap=cap)
        pieces += [
            Piece(
                p.start,
                p.end,
                p.size,
                p.cut,
                is_prose=False,
                prefix=prefix if p.start >= header_end else "",
            )
            for p in inner
        ]
    return pieces


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _fence(text: str, block: Block, *, cut: int, cap: float) -> list[Piece]:
    opening = _FENCE_OPEN.match(text, _first_ink(text, block.start))
    if opening is None:
        return _lines(text, block.start, block.end, cut=cut, cap=cap)
    prefix = opening.group().rstrip("\n") + "\n"
    indent = prefix[: len(prefix) - len(prefix.lstrip())]
    suffix = f"{indent}{opening.group(1)}\n"
    pieces = _lines(text, block.start, block.end, cut=cut, cap=cap)
    body_from, body_to = opening.end(), _fence_end(text, block, opening.group(1))
    return [
        Piece(
            p.start,
            p.end,
            p.size,
            p.cut,
            is_prose=False,
            prefix=prefix if p.start >= body_from and p.start < body_to else "",
            suffix=_closing(text, p.end, suffix) if body_from <= p.end < body_to else "",
        )
        for p in pieces
    ]


def _closing(text: str, end: int, suffix: str) -> str:
    return suffix if text[end - 1 : end] == "\n" else "\n" + suffix


def _fence_end(text: str, block: Block, marks: str) -> int:
    """Return where the closing line begins, or the end for a fence that is never closed."""
    body = text[: block.end].rstrip()
    last = _line_start(text, len(body))
    line = body[last:].strip()
    is_closing = len(line) >= len(marks) and set(line) == {marks[0]}
    # Cut behind the last line of code, the closing line still closes its own piece.
    return last + 1 if is_closing and last > block.start else block.end + 1


def _first_ink(text: str, at: int) -> int:
    while at < len(text) and text[at] == "\n":
        at += 1
    return at


def _lines(text: str, start: int, end: int, *, cut: int, cap: float) -> list[Piece]:
    """Group lines up to the cap, cutting at blank lines or where the indent goes back."""
    pieces: list[Piece] = []
    for line_start, line_end in _line_spans(text, start, end):
        size = size_of(text, line_start, line_end)
        here = _line_cut(text, line_start, line_end, pieces) if pieces else cut
        if size <= cap:
            pieces.append(Piece(line_start, line_end, size, here, is_prose=False))
        else:
            pieces += _hard(text, line_start, line_end, cut=here, cap=cap, is_prose=False)
    return pieces


def _line_spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield lines, blank ones with the line before them."""
    at = start
    while at < end:
        stop = text.find("\n", at, end)
        stop = end if stop < 0 else stop + 1
        while stop < end:
            following = text.find("\n", stop, end)
            following = end if following < 0 else following + 1
            if text[stop:following].strip():
                break
            stop = following
        yield at, stop
        at = stop


def _line_cut(text: str, start: int, end: int, pieces: Sequence[Piece]) -> int:
    before = text[pieces[-1].start : pieces[-1].end]
    if before.endswith("\n\n") or before.rstrip(" \t").endswith("\n\n"):
        return CUT_PART
    line = text[start:end]
    indent = len(line) - len(line.lstrip(" \t"))
    indent_before = len(before) - len(before.lstrip(" \t"))
    return CUT_SENTENCE if indent < indent_before or indent == 0 else CUT_HARD


def _sentences(text: str, start: int, end: int, *, cut: int, cap: float) -> list[Piece]:
    pieces: list[Piece] = []
    for first, last in sentences(text[start:end]):
        size = size_of(text, start + first, start + last)
        here = CUT_SENTENCE if pieces else cut
        if size <= cap:
            pieces.append(Piece(start + first, start + last, size, here, is_prose=True))
        else:
            pieces += _hard(text, start + first, start + last, cut=here, cap=cap, is_prose=True)
    return pieces


def _hard(text: str, start: int, end: int, *, cut: int, cap: float, is_prose: bool) -> list[Piece]:
    """Cut a run without any better place, at a space where one is near, never inside a character."""
    pieces: list[Piece] = []
    at = start
    while at < end:
        stop = _hard_stop(text, at, end, cap=cap)
        here = CUT_HARD if pieces else cut
        pieces.append(Piece(at, stop, size_of(text, at, stop), here, is_prose=is_prose))
        at = stop
    return pieces


def _hard_stop(text: str, start: int, end: int, *, cap: float) -> int:
    # The longest span under the cap is between cap and 3·cap characters: halve to find it.
    low, high = start + max(1, int(cap)), min(end, start + int(cap * 3))
    if units(text[start:high].rstrip()) <= cap:
        low = high
    while low < high:
        middle = (low + high + 1) // 2
        if units(text[start:middle]) <= cap:
            low = middle
        else:
            high = middle - 1
    stop = min(low, end)
    if stop < end:
        space = max(text.rfind(" ", start, stop), text.rfind("\n", start, stop))
        if space > start + (stop - start) * 3 // 4:
            stop = space + 1
        while stop > start + 1 and (
            _KEEPS_WITH_PREVIOUS.match(text[stop]) or text[stop - 1] == "\u200d"
        ):
            stop -= 1
    # Blanks go with what is before them, so that no piece is blank.
    while stop < end and text[stop].isspace():
        stop += 1
    return stop
