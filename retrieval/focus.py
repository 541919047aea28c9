"""The sentence of a passage that answers best, and the citation that points at it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from kb.analyzer import Analyzer, QueryTerm
from kb.text import line_of, line_starts, sentences
from kb.types import Passage, Section
from retrieval.request import Focus

_NO_ANSWER = re.compile(r"\s*(?:#{1,6}\s|```|~~~|---|\|?[\s:|-]+\|?\s*\Z)")


def focus_of(
    passage: Passage, terms: Sequence[tuple[QueryTerm, float]], analyzer: Analyzer
) -> Focus:
    """Return the part of a passage with the largest share of the question's weight.

    The first of equal ones; where no word is shared, the first sentence that is no heading.
    """
    core = passage.chunk.core
    spans = sentences(core)
    best, best_score = spans[0], -1.0
    for start, end in spans:
        text = core[start:end]
        if not text.strip() or _NO_ANSWER.match(text):
            continue
        score = _share(text, terms, analyzer)
        if score > best_score + 1e-9:
            best, best_score = (start, end), score
    return _trimmed(passage, *best)


def _share(text: str, terms: Sequence[tuple[QueryTerm, float]], analyzer: Analyzer) -> float:
    present = set(np.unique(analyzer.passage_terms(text)).tolist())
    groups: dict[int, float] = {}
    for term, weight in terms:
        if term.id in present:
            groups[term.group] = max(groups.get(term.group, 0.0), weight)
    return sum(groups.values())


def _trimmed(passage: Passage, start: int, end: int) -> Focus:
    chunk = passage.chunk
    while start < end - 1 and chunk.core[start].isspace():
        start += 1
    while end - 1 > start and chunk.core[end - 1].isspace():
        end -= 1
    starts = line_starts(chunk.core)
    first = chunk.lines[0] + line_of(starts, start) - 1
    last = chunk.lines[0] + line_of(starts, end - 1) - 1
    return Focus((chunk.start + start, chunk.start + end), (first, last), chunk.pages)


def citation_of(path: str, headings: Sequence[str], focus: Focus) -> str:
    """Return a string that a person can follow: path › headings (lines or pages)."""
    place, word = (focus.pages, "p.") if focus.pages else (focus.lines, "line")
    first, last = place
    if first == last:
        where = f"{word} {first}"
    else:
        where = f"{'pp.' if focus.pages else 'lines'} {first}–{last}"
    return f"{' › '.join([path, *headings])} ({where})"


def headings_at(sections: Sequence[Section], offset: int) -> tuple[str, ...]:
    """Return the deepest path of headings above a character."""
    found: tuple[str, ...] = ()
    for section in sections:
        if section.start > offset:
            break
        found = section.headings
    return found
