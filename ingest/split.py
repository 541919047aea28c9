"""Text to chunks: packed inside sections, cut where the text itself suggests it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ingest.blocks import Block, blocks_of
from ingest.outline import sections_of_blocks
from ingest.pieces import Piece, pieces_of, size_of
from kb.text import collapse_whitespace, line_of, line_starts, sentences, units
from kb.types import Chunk, ChunkId, PageSpan, Section

RULES_VERSION = "headings/1"


@dataclass(frozen=True, slots=True)
class ChunkRules:
    """Sizes in units: 1 per CJK character, 1/3 per other character.

    Attributes:
        target: Small sibling sections are merged up to this.
        cap: No core is larger.
        minimum: No core is smaller where that can be helped.
        overlap: Most that is repeated from the chunk before.
    """

    target: int = 500
    cap: int = 700
    minimum: int = 100
    overlap: int = 80

    @property
    def name(self) -> str:
        """What a collection pins, such as `headings/1:500-700-100-80`."""
        return f"{RULES_VERSION}:{self.target}-{self.cap}-{self.minimum}-{self.overlap}"


@dataclass(frozen=True, slots=True)
class Split:
    """Chunks and outline of one text."""

    chunks: tuple[Chunk, ...]
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class _Group:
    """Pieces that belong to one section, or to small sections merged under one path."""

    headings: tuple[str, ...]
    pieces: tuple[Piece, ...]


def split(
    text: str,
    *,
    markup: str,
    uri: str,
    title: str = "",  # noqa: ARG001  part of the port: formats without headings may use it
    pages: Sequence[PageSpan] = (),
    rules: ChunkRules | None = None,
) -> Split:
    """Cut a text into chunks whose cores joined are the text.

    Args:
        text: Normalised; blank text has no chunks.
        markup: `markdown`, `plain` or `code`.
        uri: Of the document; part of the ids.
        title: Of the document.
        pages: Which characters stand on which page.
        rules: Sizes; None for the defaults.
    """
    rules = rules or ChunkRules()
    blocks = blocks_of(text, markup=markup)
    sections = sections_of_blocks(text, blocks)
    groups = _groups(text, blocks, sections, rules=rules)
    packed: list[tuple[tuple[str, ...], Sequence[Piece]]] = []
    for group in groups:
        packed += [(group.headings, part) for part in _cut(text, group.pieces, rules=rules)]
    chunks = _chunks(text, packed, uri=uri, pages=pages, rules=rules)
    return Split(tuple(chunks), tuple(sections))


def _groups(
    text: str, blocks: Sequence[Block], sections: Sequence[Section], *, rules: ChunkRules
) -> list[_Group]:
    """Return what may share a chunk: a section, or a run of small neighbours in the outline."""
    groups: list[_Group] = []
    run: list[tuple[Section, list[Piece]]] = []
    waiting: list[Piece] = []
    at = 0

    def close_run() -> None:
        if run:
            common = _common_path([section.headings for section, _ in run])
            groups.append(_Group(common, tuple(p for _, pieces in run for p in pieces)))
            run.clear()

    for number, section in enumerate(sections):
        mine: list[Block] = []
        while at < len(blocks) and blocks[at].start < section.end:
            mine.append(blocks[at])
            at += 1
        pieces = waiting + _section_pieces(text, mine, cap=rules.cap)
        waiting = []
        following = sections[number + 1] if number + 1 < len(sections) else None
        has_child = following is not None and following.level > section.level > 0
        if has_child and all(block.kind == "heading" for block in mine):
            # A heading without text of its own leans forward into its first child.
            waiting = pieces
            continue
        if sum(piece.size for piece in pieces) >= rules.minimum:
            close_run()
            groups.append(_Group(section.headings, tuple(pieces)))
        else:
            if run and not _may_join(run, section):
                close_run()
            run.append((section, pieces))
    close_run()
    return groups


def _section_pieces(text: str, blocks: Sequence[Block], *, cap: float) -> list[Piece]:
    """Return a section's pieces, its heading glued to what follows where that fits."""
    pieces = pieces_of(text, blocks, cap=cap)
    if len(pieces) > 1 and blocks[0].kind == "heading":
        first, second = pieces[0], pieces[1]
        size = size_of(text, first.start, second.end)
        if size <= cap and not second.prefix:
            glued = Piece(
                first.start, second.end, size, first.cut, second.is_prose, "", second.suffix
            )
            return [glued, *pieces[2:]]
    return pieces


def _may_join(run: Sequence[tuple[Section, list[Piece]]], section: Section) -> bool:
    """Return whether a small section lies under the same parent as the run's first one."""
    first = run[0][0].headings
    common = _common_path([first, section.headings])
    return len(common) >= len(first) - 1


def _common_path(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    common = paths[0]
    for path in paths[1:]:
        n = 0
        while n < min(len(common), len(path)) and common[n] == path[n]:
            n += 1
        common = common[:n]
    return common


def _cut(text: str, pieces: Sequence[Piece], *, rules: ChunkRules) -> list[Sequence[Piece]]:
    """Cut a group at its best places until every part is under the cap.

    The place with the best cut, ties broken by a hash of the words around it, depends on
    nothing before or after: an edit moves only the cuts whose own neighbourhood it changes.
    """
    done: list[Sequence[Piece]] = []
    stack: list[Sequence[Piece]] = [pieces]
    while stack:
        part = stack.pop()
        sizes = [piece.size for piece in part]
        total = sum(sizes)
        if len(part) <= 1 or total <= rules.cap:
            done.append(part)
            continue
        place = _best_place(text, part, sizes, total, rules=rules)
        stack.append(part[place:])
        stack.append(part[:place])
    return done


def _best_place(
    text: str, part: Sequence[Piece], sizes: Sequence[float], total: float, *, rules: ChunkRules
) -> int:
    allowed: list[int] = []
    before = 0.0
    for place in range(1, len(part)):
        before += sizes[place - 1]
        after = total - before
        if before < rules.minimum or after < rules.minimum:
            continue
        if total <= 2 * rules.cap and (before > rules.cap or after > rules.cap):
            continue
        allowed.append(place)
    if not allowed:
        # Only lopsided places are left: the most even one.
        return _most_even(sizes, total)
    return max(allowed, key=lambda place: (part[place].cut, _local_hash(text, part, place)))


def _most_even(sizes: Sequence[float], total: float) -> int:
    best, best_gap, before = 1, float("inf"), 0.0
    for place in range(1, len(sizes)):
        before += sizes[place - 1]
        gap = abs(total - 2 * before)
        if gap < best_gap:
            best, best_gap = place, gap
    return best


def _local_hash(text: str, part: Sequence[Piece], place: int) -> bytes:
    """Return a number that depends only on the words just before and after a cut."""
    at = part[place].start
    around = collapse_whitespace(text[max(0, at - 32) : at + 32])
    return hashlib.blake2b(around.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _chunks(
    text: str,
    packed: Sequence[tuple[tuple[str, ...], Sequence[Piece]]],
    *,
    uri: str,
    pages: Sequence[PageSpan],
    rules: ChunkRules,
) -> list[Chunk]:
    spans = [(part[0].start, part[-1].end) for _, part in packed]
    cores = [text[start:end] for start, end in spans]
    ids = _ids(uri, [headings for headings, _ in packed], cores)
    starts = line_starts(text)
    chunks: list[Chunk] = []
    for number, (headings, part) in enumerate(packed):
        start, end = spans[number]
        overlap = ""
        if number and packed[number - 1][0] == headings and not part[0].prefix:
            before = packed[number - 1][1]
            if before[-1].is_prose and part[0].is_prose:
                overlap = _overlap(cores[number - 1], most=rules.overlap)
        chunks.append(
            Chunk(
                id=ids[number],
                headings=headings,
                core=cores[number],
                start=start,
                end=end,
                lines=(line_of(starts, start), line_of(starts, end - 1)),
                pages=_pages_of(text, pages, start, end),
                prefix=part[0].prefix,
                suffix=part[-1].suffix,
                overlap=overlap,
            )
        )
    return chunks


def _overlap(core: str, *, most: float) -> str:
    """Return whole sentences from the end of a core, at most so many units."""
    # Only the tail can matter; a sentence that begins before it is too long anyway.
    tail_from = max(0, len(core) - int(most * 6) - 1)
    tail = core[tail_from:]
    chosen = len(tail)
    size = 0.0
    for start, end in reversed(sentences(tail)):
        if start == 0 and tail_from:
            break
        size += units(tail[start:end])
        if size > most:
            break
        chosen = start
    overlap = tail[chosen:]
    return overlap if overlap.strip() and len(overlap) < len(core) else ""


def _ids(uri: str, paths: Sequence[tuple[str, ...]], cores: Sequence[str]) -> list[ChunkId]:
    """Return ids from uri, path and words; equal ones are told apart by their neighbours."""
    words = [collapse_whitespace(core) for core in cores]
    keys = [("\x1f".join(path), word) for path, word in zip(paths, words, strict=True)]
    repeated = {key for key, n in Counter(keys).items() if n > 1}
    seen: Counter[tuple[str, ...]] = Counter()
    ids: list[ChunkId] = []
    for number, key in enumerate(keys):
        parts: tuple[str, ...] = (uri, *key)
        if key in repeated:
            before = words[number - 1] if number else ""
            after = words[number + 1] if number + 1 < len(words) else ""
            parts = (*parts, before, after)
            seen[parts] += 1
            if seen[parts] > 1:
                parts = (*parts, str(seen[parts]))
        joined = "\x00".join(parts).encode("utf-8", "surrogatepass")
        ids.append(ChunkId(hashlib.sha256(joined).hexdigest()[:20]))
    return ids


def _pages_of(text: str, pages: Sequence[PageSpan], start: int, end: int) -> tuple[int, int] | None:
    if not pages:
        return None
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    touched = [page.number for page in pages if page.start < end and page.end > start]
    return (touched[0], touched[-1]) if touched else None
