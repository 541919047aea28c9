"""Text to chunks: packed inside sections, cut where the text itself suggests it."""

from __future__ import annotations

import bisect
import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ingest.blocks import blocks_of
from ingest.outline import Part, Ruler, common_path, joined, may_join, parts_of, sections_of_blocks
from ingest.pieces import Piece
from kb.text import collapse_whitespace, last_sentences, line_of, line_starts
from kb.types import Chunk, ChunkId, PageSpan, Section

RULES_VERSION = "headings/2"

_WINDOW = 0.5
"""Of the target: cuts at the best place within it to both sides lie 1 to 2 windows apart, and
chunks come to 0.97 of the target in the mean; from .4 to .6 little changes."""

_MERGE_ROUNDS = 2
"""One leaves 2 % of the chunks under the minimum on the texts measured, two 0.1 %."""

_REACH = 32
"""Characters to both sides that tell cuts of one kind apart; longer, and edits move more cuts."""

_Strength = tuple[bool, int, int, bytes]


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
        """What a collection pins, such as `headings/2:500-700-100-80`."""
        return f"{RULES_VERSION}:{self.target}-{self.cap}-{self.minimum}-{self.overlap}"


@dataclass(frozen=True, slots=True)
class Split:
    """Chunks and outline of one text."""

    chunks: tuple[Chunk, ...]
    sections: tuple[Section, ...]


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
    pieces, parts = parts_of(text, blocks, sections, cap=rules.cap)
    parts = _Packer(text, pieces, rules).packed(parts)
    chunks = _chunks(text, pieces, parts, uri=uri, pages=pages, rules=rules)
    return Split(tuple(chunks), tuple(sections))


class _Packer:
    """Packs sections into chunks by rules that look at the neighbourhood only.

    Where to cut and what to merge never depends on what was decided further away, so that an
    edit leaves all chunks but those beside it as they are.
    """

    def __init__(self, text: str, pieces: Sequence[Piece], rules: ChunkRules) -> None:
        self._text = text
        self._pieces = pieces
        self._rules = rules
        self._ruler = Ruler(text, pieces)
        self._hashes: dict[int, bytes] = {}

    def packed(self, sections: Sequence[Part]) -> list[Part]:
        """Return the parts that become chunks."""
        parts: list[Part] = []
        run: list[Part] = []
        for section in sections:
            is_small = self._is_small(section)
            if run and not (is_small and may_join(run[-1].headings, section.headings)):
                parts += self._cut_run(run)
                run = []
            if is_small:
                run.append(section)
            else:
                parts += self._cut_section(section)
        parts += self._cut_run(run)
        for _ in range(_MERGE_ROUNDS):
            parts = self._merged(parts)
        return parts

    def _is_small(self, part: Part) -> bool:
        return self._ruler.size(part.first, part.end) < self._rules.minimum

    def _cut_section(self, section: Part) -> list[Part]:
        edges = range(section.first, section.end + 1)
        scores = [self._pieces[edge].cut for edge in edges[:-1]]
        places = self._places(edges, scores, most=self._rules.cap)
        return [
            Part(first, end, section.headings, section.section) for first, end in pairwise(places)
        ]

    def _cut_run(self, run: Sequence[Part]) -> list[Part]:
        """Merge neighbours that are all small, up to the target."""
        if not run:
            return []
        edges = [*(part.first for part in run), run[-1].end]
        # The less two neighbours have in common, the better the cut between them.
        pairs = pairwise(run)
        scores = [0, *(-len(common_path(a.headings, b.headings)) for a, b in pairs)]
        places = set(self._places(edges, scores, most=self._rules.target))
        parts: list[Part] = []
        for part in run:
            if part.first in places:
                parts.append(part)
            else:
                parts[-1] = joined(parts[-1], part)
        return parts

    def _places(self, edges: Sequence[int], scores: Sequence[int], *, most: float) -> list[int]:
        """Return the edges to cut at, the outer ones included.

        First each that is the best one within a window to both sides; then, where what lies
        between two of them is too large still, the best ones in the middle.
        """
        if self._ruler.size(edges[0], edges[-1]) <= most:
            return [edges[0], edges[-1]]
        distance, least = self._ruler.distance, self._rules.minimum
        keys = {
            n: (scores[n], self._hash(edges[n]))
            for n in range(1, len(edges) - 1)
            if min(distance(edges[0], edges[n]), distance(edges[n], edges[-1])) >= least
        }
        peaks = self._ruler.peaks(edges, keys, window=self._rules.target * _WINDOW)
        firsts, ends = [0, *peaks], [*peaks, len(edges) - 1]
        stack = list(zip(firsts, ends, strict=True))[::-1]
        places = [edges[0]]
        while stack:
            first, end = stack.pop()
            if end - first <= 1 or self._ruler.size(edges[first], edges[end]) <= most:
                places.append(edges[end])
                continue
            middle = self._middle(edges[first : end + 1], scores[first : end + 1], most=most)
            stack += [(first + middle, end), (first, first + middle)]
        return places

    def _middle(self, edges: Sequence[int], scores: Sequence[int], *, most: float) -> int:
        """Return which edge parts a stretch that is too large."""
        size = self._ruler.size
        is_long = size(edges[0], edges[-1]) > 2 * most

        def key(n: int) -> tuple[bool, int, bytes, float]:
            sides = size(edges[0], edges[n]), size(edges[n], edges[-1])
            if min(sides) < self._rules.minimum or (max(sides) > most and not is_long):
                return False, 0, b"", -max(sides)
            return True, scores[n], self._hash(edges[n]) if is_long else b"", -max(sides)

        return max(range(1, len(edges) - 1), key=key)

    def _merged(self, parts: Sequence[Part]) -> list[Part]:
        """Merge neighbours wherever the boundary between them is weaker than those beside it."""
        keys = [self._boundary(a, b) for a, b in pairwise(parts)]
        merged: list[Part] = []
        for number, part in enumerate(parts):
            if number and _is_weakest(keys, number - 1):
                merged[-1] = joined(merged[-1], part)
            else:
                merged.append(part)
        return merged

    def _boundary(self, before: Part, after: Part) -> _Strength | None:
        """Return how strong the boundary between two parts is, None if it must stay."""
        if self._ruler.size(before.first, after.end) > self._rules.cap:
            return None
        is_inner = before.section is not None and before.section == after.section
        has_small = self._is_small(before) or self._is_small(after)
        if not is_inner and not (has_small and may_join(before.headings, after.headings)):
            return None
        n_common = len(common_path(before.headings, after.headings))
        return not is_inner, -n_common, self._pieces[after.first].cut, self._hash(after.first)

    def _hash(self, number: int) -> bytes:
        """Return a number that depends only on the words just before and after a piece's start."""
        if number not in self._hashes:
            at = self._pieces[number].start
            around = collapse_whitespace(self._text[max(0, at - _REACH) : at + _REACH])
            content = around.encode("utf-8", "surrogatepass")
            self._hashes[number] = hashlib.blake2b(content, digest_size=8).digest()
        return self._hashes[number]


def _is_weakest(keys: Sequence[_Strength | None], number: int) -> bool:
    key = keys[number]
    before = keys[number - 1] if number else None
    after = keys[number + 1] if number + 1 < len(keys) else None
    is_weaker = key is not None and (before is None or key < before)
    return is_weaker and (after is None or key is None or key <= after)


def _chunks(
    text: str,
    pieces: Sequence[Piece],
    parts: Sequence[Part],
    *,
    uri: str,
    pages: Sequence[PageSpan],
    rules: ChunkRules,
) -> list[Chunk]:
    spans = [(pieces[part.first].start, pieces[part.end - 1].end) for part in parts]
    cores = [text[start:end] for start, end in spans]
    ids = _ids(uri, [part.headings for part in parts], cores)
    starts = line_starts(text)
    chunks: list[Chunk] = []
    for number, (part, (start, end)) in enumerate(zip(parts, spans, strict=True)):
        first = pieces[part.first]
        overlap = ""
        if number and part.section is not None and parts[number - 1].section == part.section:
            is_prose = pieces[part.first - 1].is_prose and first.is_prose and not first.prefix
            overlap = last_sentences(cores[number - 1], most=rules.overlap) if is_prose else ""
        chunks.append(
            Chunk(
                id=ids[number],
                headings=part.headings,
                core=cores[number],
                start=start,
                end=end,
                lines=(line_of(starts, start), line_of(starts, end - 1)),
                pages=_pages_of(text, pages, (start, end)),
                prefix=first.prefix,
                suffix=pieces[part.end - 1].suffix,
                overlap=overlap,
            )
        )
    return chunks


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


def _pages_of(
    text: str, pages: Sequence[PageSpan], part: tuple[int, int]
) -> tuple[int, int] | None:
    """Return the first and last page that the words of a span stand on."""
    start, end = part
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    first = bisect.bisect_right(pages, start, key=lambda page: page.end)
    stop = bisect.bisect_left(pages, end, key=lambda page: page.start)
    return (pages[first].number, pages[stop - 1].number) if first < stop else None
