"""The query flow: candidates of every collection, judged, cut, folded and cited."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kb.analyzer import analyzer_for
from kb.text import collapse_whitespace
from kb.types import DocumentRecord, Passage
from kb.uris import document_uri
from retrieval.budget import fitting
from retrieval.candidates import Candidates, SearchSource, Stopwatch, find_candidates
from retrieval.explain import dropped_entry, explanation
from retrieval.focus import citation_of, focus_of, headings_at
from retrieval.request import SearchHit, SearchRequest, SearchResult

__all__ = ["SearchSource", "search"]

MAX_DROPPED = 20
_READ_AHEAD = 4


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """A candidate that reached the threshold."""

    found: Candidates
    place: int
    relevance: float | None

    @property
    def key(self) -> tuple[float, float]:
        fused = float(self.found.fused[self.place])
        return (-1.0 if self.relevance is None else self.relevance, fused)


def search(
    request: SearchRequest,
    sources: Sequence[SearchSource],
    *,
    clock: Callable[[], float],
    is_stale: Callable[[DocumentRecord], bool],
    request_id: str,
) -> SearchResult:
    """Answer a request from the collections given.

    Args:
        request: Checked here.
        sources: A held view of each collection.
        clock: Seconds, for `timings_ms`.
        is_stale: Whether a document's source has changed.
        request_id: Names this search.

    Raises:
        UsageError: The request is out of range.
    """
    request = request.checked()
    watch = Stopwatch(clock)
    found = [find_candidates(source, request, watch=watch) for source in sources]
    degraded = _degraded(found, request)
    choices, n_below = _chosen(found, request)
    passages = _passages(choices, request)
    hits, also_in = _folded(passages, request)
    results = [
        _hit(choice, passage, also_in=also_in[number], request=request, is_stale=is_stale)
        for number, (choice, passage) in enumerate(hits)
    ]
    n_duplicates = sum(map(len, also_in))
    watch.lap("fuse")
    result = SearchResult(
        query=request.query,
        collections=tuple(source.view.name for source in sources),
        answerable=_answerable(found, results, request),
        min_relevance=request.min_relevance,
        request_id=request_id,
        hits=tuple(results),
        degraded=degraded,
        omitted={"below_threshold": n_below, "duplicates": n_duplicates, "over_budget": 0},
        timings_ms=watch.timings_ms(),
        dropped=_dropped(found, choices, request) if request.explain else None,
    )
    return fitting(result, max_tokens=request.max_tokens)


def _degraded(found: Sequence[Candidates], request: SearchRequest) -> tuple[str, ...]:
    reasons = [reason for candidates in found for reason in candidates.degraded]
    for candidates in found:
        name = candidates.source.view.name
        if candidates.mode != "lexical" and not candidates.source.profile.has_model:
            reasons.append(
                f"relevance: the model of {name!r} is not calibrated; judged by words alone"
            )
        if len(candidates.ordinals) and np.isnan(candidates.relevance).all():
            reasons.append(
                f"relevance: nothing in {name!r} could be judged for a question in this script"
            )
    if request.rerank:
        reasons.append("rerank: no reranker is configured")
    return tuple(dict.fromkeys(reasons))


def _chosen(
    found: Sequence[Candidates], request: SearchRequest
) -> tuple[list[_Choice], int]:
    """Return the candidates that may be shown, best first, and how many were below."""
    choices: list[_Choice] = []
    n_below = 0
    for candidates in found:
        for place, value in enumerate(candidates.relevance.tolist()):
            if np.isnan(value):
                # Not judged: shown only when no threshold is wanted.
                if request.min_relevance == 0:
                    choices.append(_Choice(candidates, place, None))
                else:
                    n_below += 1
            elif value >= request.min_relevance:
                choices.append(_Choice(candidates, place, value))
            else:
                n_below += 1
    choices.sort(key=lambda choice: choice.key, reverse=True)
    return choices, n_below


def _passages(choices: Sequence[_Choice], request: SearchRequest) -> list[tuple[_Choice, Passage]]:
    """Read the passages of the best choices, in the final order: relevance, then id."""
    # Duplicates fold away, so more than k are read; all that tie with the last one, too, since
    # ids decide between them.
    limit = min(len(choices), request.k * _READ_AHEAD + 16)
    while 0 < limit < len(choices) and choices[limit].key[0] == choices[limit - 1].key[0]:
        limit += 1
    read: list[tuple[_Choice, Passage]] = []
    for candidates in {id(choice.found): choice.found for choice in choices[:limit]}.values():
        mine = [choice for choice in choices[:limit] if choice.found is candidates]
        ordinals = candidates.ordinals[[choice.place for choice in mine]]
        read += zip(mine, candidates.source.view.passages(ordinals), strict=True)
    read.sort(key=lambda pair: (-pair[0].key[0], *_tie(pair[0]), pair[1].chunk.id))
    return read


def _tie(choice: _Choice) -> tuple[float, ...]:
    # What could not be judged has no relevance to go by: the scores decide, then the id.
    return (-choice.key[1],) if choice.relevance is None else ()


def _folded(
    passages: Sequence[tuple[_Choice, Passage]], request: SearchRequest
) -> tuple[list[tuple[_Choice, Passage]], list[tuple[str, ...]]]:
    """Return at most k passages, and for each the uris of others with the same words."""
    kept: dict[str, int] = {}
    hits: list[tuple[_Choice, Passage]] = []
    also_in: list[list[str]] = []
    for choice, passage in passages:
        words = collapse_whitespace(passage.chunk.core)
        uri = _uri(passage)
        if request.fold and words in kept:
            place = kept[words]
            if uri != _uri(hits[place][1]) and uri not in also_in[place]:
                also_in[place].append(uri)
            continue
        if len(hits) >= request.k:
            continue
        kept[words] = len(hits)
        hits.append((choice, passage))
        also_in.append([])
    return hits, [tuple(sorted(uris)) for uris in also_in]


def _uri(passage: Passage) -> str:
    return document_uri(passage.document.collection, passage.document.path)


def _hit(
    choice: _Choice,
    passage: Passage,
    *,
    also_in: tuple[str, ...],
    request: SearchRequest,
    is_stale: Callable[[DocumentRecord], bool],
) -> SearchHit:
    candidates, place = choice.found, choice.place
    view = candidates.source.view
    document, chunk = passage.document, passage.chunk
    focus = focus_of(passage, candidates.terms, analyzer_for(view.analyzer))
    headings = headings_at(view.sections(document), focus.chars[0]) or chunk.headings
    cosine = float(candidates.cosine[place])
    return SearchHit(
        id=chunk.id,
        uri=_uri(passage),
        title=document.title,
        text=chunk.core,
        citation=citation_of(document.path, headings, focus),
        focus=focus,
        headings=chunk.headings,
        lines=chunk.lines,
        chars=(chunk.start, chunk.end),
        pages=chunk.pages,
        relevance=choice.relevance,
        scores={
            "lexical": round(float(candidates.bm25[place]), 4),
            "dense": None if np.isnan(cosine) else round(cosine, 6),
            "fused": round(float(candidates.fused[place]), 6),
            "rerank": None,
        },
        also_in=also_in,
        metadata=document.metadata,
        source=document.source,
        indexed_at=document.indexed_at,
        stale=is_stale(document),
        explain=explanation(candidates, place, passage) if request.explain else None,
    )


def _answerable(
    found: Sequence[Candidates], hits: Sequence[SearchHit], request: SearchRequest
) -> bool | None:
    judged = [c for c in found if len(c.ordinals) and not np.isnan(c.relevance).all()]
    if not judged and any(len(c.ordinals) for c in found):
        return None
    if any(c.degraded and c.mode == "lexical" for c in found) and not hits:
        # Words alone cannot say that another script holds no answer.
        return None if any(np.isnan(c.relevance).any() for c in found) else False
    return any(hit.relevance is not None for hit in hits) if request.min_relevance else bool(hits)


def _dropped(
    found: Sequence[Candidates], choices: Sequence[_Choice], request: SearchRequest
) -> tuple[dict[str, object], ...]:
    """Return the best candidates below the threshold, with the reason."""
    chosen = {(id(choice.found), choice.place) for choice in choices}
    left = [
        (float(np.nan_to_num(candidates.relevance[place], nan=-1.0)), candidates, place)
        for candidates in found
        for place in range(len(candidates.ordinals))
        if (id(candidates), place) not in chosen
    ]
    left.sort(key=lambda entry: (-entry[0], int(entry[1].ordinals[entry[2]])))
    entries: list[dict[str, object]] = []
    for value, candidates, place in left[:MAX_DROPPED]:
        passage = candidates.source.view.passages(candidates.ordinals[place : place + 1])[0]
        reason = "below_threshold" if value >= 0 else "not_judged"
        entries.append(dropped_entry(candidates, place, passage, reason=reason))
    return tuple(entries)
